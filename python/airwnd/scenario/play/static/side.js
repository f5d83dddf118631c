/** A configuration: its engine, its recent past and its present. */

import { theme } from "airwnd/canvas.js";
import { PHONE } from "airwnd/cell.js";
import { Engine, RemoteEngine } from "airwnd/engine.js";
import { COLUMNS, History } from "airwnd/history.js";
import { Packets } from "airwnd/packets.js";

/** Period of the time series in milliseconds. */
export const INTERVAL = 50;
/** Memory limit of a simulation in bytes. */
const MEMORY = 1.5e9;
/** Values of the last samples that are averaged for display. */
const RECENT = 10;

export class Side {
  constructor(name, look, isRemote) {
    Object.assign(this, { name, look, engine: isRemote ? new RemoteEngine() : new Engine() });
    this.clear();
  }

  get hasCells() {
    return this.cells.x_m?.length > 0;
  }

  colour() {
    return theme.dark ? this.look.dark : this.look.colour;
  }

  clear() {
    Object.assign(this, { ready: false, ended: false, now: 0, ues: new Float64Array(), cells: {}, buffer: null, histories: new Map(), packets: new Packets(), waits: new History(), bin: { index: 0, sum: 0, count: 0 }, kinds: {}, drops: 0, resolved: null });
  }

  /** Begins a scenario. */
  async begin(toml, seed) {
    this.clear();
    const begun = await this.engine.request("begin", { toml, seed, interval: INTERVAL, memory: MEMORY, packetsOf: PHONE });
    const { resolved, cells, flows, tti } = begun;
    Object.assign(this, { resolved, cells, tti });
    this.#place(begun);
    /** Positions at the beginning. */
    this.places = begun.ues;
    this.buffer = bytes(resolved.rlc?.queue?.buffer);
    this.flows = flows;
    await this.#watch(flows.filter(({ ue }) => ue === PHONE));
    this.ready = true;
  }

  /** Watches the flows of the phone: the first one with a constant rate is the game, the first other one the download. */
  async #watch(own) {
    const traffic = (flow) => this.resolved.flow.find(({ id }) => id === flow.group)?.traffic;
    const isGame = (flow) => traffic(flow)?.kind === "cbr";
    const download = own.find((flow) => !isGame(flow)) ?? own[0];
    const game = own.find(isGame);
    this.kinds = { download: download?.id, game: game?.id };
    this.download = this.flows.indexOf(download);
    const ids = Object.values(this.kinds).filter(Boolean);
    this.histories = new Map(ids.map((id) => [id, new History()]));
    await this.engine.request("watch", { flows: ids, columns: COLUMNS });
  }

  /** Sets a value of the download or the phone. */
  set(what, value) {
    return this.engine.request("set", { what, target: what === "weight" ? PHONE : this.download, value });
  }

  /** Advances to a time, and takes what has happened. */
  async advance(request) {
    const done = await this.engine.request("advance", request);
    for (const [id, rows] of Object.entries(done.series)) this.histories.get(id)?.append(rows);
    this.drops += done.events.filter(({ kind, flow }) => kind === "drop" && flow === this.kinds.download).length;
    this.#wait(this.packets.append(done.packets, done.blocks, done.now));
    this.ended = done.ended;
    this.#place(done);
    return done;
  }

  /** Means of the delays in the queue: a row for each period of the time series that has ended. */
  #wait(waits) {
    const period = INTERVAL * 1e-3;
    for (const { time, wait } of waits) {
      const index = Math.ceil(time / period);
      if (index !== this.bin.index) {
        const { count, sum } = this.bin;
        if (count) this.waits.append({ time_s: [this.bin.index * period], wait_ms: [(1e3 * sum) / count] });
        this.bin = { index, sum: 0, count: 0 };
      }
      this.bin.sum += wait;
      this.bin.count++;
    }
  }

  /** Whether the source of the flow of a kind always has data. */
  isStream(kind) {
    const settings = this.#settings(kind);
    return settings !== undefined && (settings.traffic?.kind ?? "bulk") === "bulk";
  }

  /** Start of the flow of a kind in seconds. */
  startOf(kind) {
    const [, number, prefix] = /^([\d.]+)(ms|s)$/.exec(this.#settings(kind)?.start ?? "") ?? [];
    return number === undefined ? 0 : Number(number) * (prefix === "ms" ? 1e-3 : 1);
  }

  #settings(kind) {
    const flow = this.flows.find(({ id }) => id === this.kinds[kind]);
    return this.resolved.flow.find(({ id }) => id === flow?.group);
  }

  #place({ now, ues, use }) {
    Object.assign(this, { now, ues, use });
  }

  /** Points of a column of the flow of a kind. */
  points(kind, column, from, size) {
    return this.#history(kind)?.points(column, from, size) ?? { time: [], values: [] };
  }

  mean(kind, column, from, to) {
    return this.#history(kind)?.mean(column, from, to) ?? NaN;
  }

  max(kind, column, from, to) {
    return this.#history(kind)?.max(column, from, to) ?? NaN;
  }

  /** Mean over the last half second. */
  recent(kind, column) {
    return this.mean(kind, column, this.now - RECENT * INTERVAL * 1e-3);
  }

  has(kind) {
    return Boolean(this.#history(kind));
  }

  #history(kind) {
    if (kind === "phone") return this.hasCells ? this.waits : undefined;
    return this.histories.get(this.kinds[kind]);
  }
}

/** Number of bytes of a size in a resolved scenario, such as "1MB"; `null`: no limit. */
function bytes(size) {
  const [, number, prefix] = /^([\d.]+)([kMGT]?i?)B$/.exec(size ?? "") ?? [];
  if (number === undefined) return null;
  const exponent = ["", "k", "M", "G", "T"].indexOf(prefix.replace("i", ""));
  return Number(number) * (prefix.endsWith("i") ? 1024 : 1000) ** exponent;
}

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

/** @typedef {"download" | "game" | "phone"} Kind of flow; the phone stands for all in its queue */

export class Side {
  /** @type {boolean} whether the simulation has begun */
  ready;
  /** @type {boolean} */
  ended;
  /** @type {number} present in seconds */
  now;
  /** @type {number} lost packets of the download */
  drops;
  /** @type {Numbers} state of the UEs */
  ues;
  /** @type {Numbers} state of the UEs at the beginning */
  places;
  /** @type {Numbers} use of the cells */
  use;
  /** @type {Partial<Cells>} */
  cells;
  /** @type {number | null} limit of the phone's queue in bytes */
  buffer;
  /** @type {FlowOfRun[]} */
  flows;
  /** @type {Map<string, History>} time series by flow */
  histories;
  /** @type {Packets} */
  packets;
  /** @type {History} waiting times in the phone's queue */
  waits;
  /** @type {{ index: number, sum: number, count: number }} the present period of the time series */
  bin;
  /** @type {Partial<Record<Kind, string>>} flows by kind */
  kinds;
  /** @type {Resolved | null} */
  resolved;

  /**
   * @param {"a" | "b"} name
   * @param {TwoColours} look
   * @param {boolean} isRemote
   */
  constructor(name, look, isRemote) {
    this.name = name;
    this.look = look;
    /** @type {AnyEngine} */
    this.engine = isRemote ? new RemoteEngine() : new Engine();
    this.tti = 1;
    /** Number of the download. */
    this.download = -1;
    this.clear();
  }

  get hasCells() {
    return (this.cells.x_m?.length ?? 0) > 0;
  }

  colour() {
    return theme.dark ? this.look.dark : this.look.colour;
  }

  clear() {
    this.ready = false;
    this.ended = false;
    this.now = 0;
    this.drops = 0;
    this.ues = this.use = this.places = new Float64Array();
    this.cells = {};
    this.buffer = null;
    this.flows = [];
    this.histories = new Map();
    this.packets = new Packets();
    this.waits = new History();
    this.bin = { index: 0, sum: 0, count: 0 };
    this.kinds = {};
    this.resolved = null;
  }

  /**
   * Begins a scenario.
   *
   * @param {string} toml
   * @param {number} [seed]
   */
  async begin(toml, seed) {
    this.clear();
    const begun = await this.engine.request("begin", { toml, seed, interval: INTERVAL, memory: MEMORY, packetsOf: PHONE });
    ({ resolved: this.resolved, cells: this.cells, flows: this.flows, tti: this.tti, ues: this.places } = begun);
    this.#place(begun);
    this.buffer = bytes(begun.resolved.rlc?.queue?.buffer);
    await this.#watch(this.flows.filter(({ ue }) => ue === PHONE));
    this.ready = true;
  }

  /** Watches the flows of the phone: the first one with a constant rate is the game, the first other one the download. */
  async #watch(/** @type {FlowOfRun[]} */ own) {
    const isGame = (/** @type {FlowOfRun} */ { group }) => this.#settings(group)?.traffic?.kind === "cbr";
    const download = own.find((flow) => !isGame(flow)) ?? own[0];
    const game = own.find(isGame);
    this.kinds = { download: download?.id, game: game?.id };
    this.download = download ? this.flows.indexOf(download) : -1;
    const ids = Object.values(this.kinds).filter((id) => id !== undefined);
    this.histories = new Map(ids.map((id) => [id, new History()]));
    await this.engine.request("watch", { flows: ids, columns: COLUMNS });
  }

  /**
   * Sets a value of the download or the phone.
   *
   * @param {string} what
   * @param {number} value
   */
  set(what, value) {
    return this.engine.request("set", { what, target: what === "weight" ? PHONE : this.download, value });
  }

  /** Advances to a time, and takes what has happened. */
  async advance(/** @type {AdvanceRequest} */ request) {
    const done = await this.engine.request("advance", request);
    for (const [id, rows] of Object.entries(done.series)) this.histories.get(id)?.append(rows);
    this.drops += done.events.filter(({ kind, flow }) => kind === "drop" && flow === this.kinds.download).length;
    this.#wait(this.packets.append(done.packets, done.blocks, done.now));
    this.ended = done.ended;
    this.#place(done);
    return done;
  }

  /** Means of the delays in the queue: a row for each period of the time series that has ended. */
  #wait(/** @type {import("airwnd/packets.js").Wait[]} */ waits) {
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
  isStream(/** @type {Kind} */ kind) {
    const settings = this.#settingsOf(kind);
    return settings !== undefined && (settings.traffic?.kind ?? "bulk") === "bulk";
  }

  /** Start of the flow of a kind in seconds. */
  startOf(/** @type {Kind} */ kind) {
    const [, number, prefix] = /^([\d.]+)(ms|s)$/.exec(this.#settingsOf(kind)?.start ?? "") ?? [];
    return number === undefined ? 0 : Number(number) * (prefix === "ms" ? 1e-3 : 1);
  }

  #settingsOf(/** @type {Kind} */ kind) {
    return this.#settings(this.flows.find(({ id }) => id === this.kinds[kind])?.group);
  }

  #settings(/** @type {string | undefined} */ group) {
    return this.resolved?.flow.find(({ id }) => id === group);
  }

  #place(/** @type {Present} */ present) {
    ({ now: this.now, ues: this.ues, use: this.use } = present);
  }

  /**
   * Points of a column of the flow of a kind.
   *
   * @param {Kind} kind
   * @param {string} column
   * @param {number} from
   * @param {number} [size]
   * @returns {{ time: number[], values: number[] }}
   */
  points(kind, column, from, size) {
    return this.#history(kind)?.points(column, from, size) ?? { time: [], values: [] };
  }

  /**
   * @param {Kind} kind
   * @param {string} column
   * @param {number} from
   * @param {number} [to]
   */
  mean(kind, column, from, to) {
    return this.#history(kind)?.mean(column, from, to) ?? NaN;
  }

  /**
   * @param {Kind} kind
   * @param {string} column
   * @param {number} from
   * @param {number} [to]
   */
  max(kind, column, from, to) {
    return this.#history(kind)?.max(column, from, to) ?? NaN;
  }

  /**
   * Mean over the last half second.
   *
   * @param {Kind} kind
   * @param {string} column
   */
  recent(kind, column) {
    return this.mean(kind, column, this.now - RECENT * INTERVAL * 1e-3);
  }

  has(/** @type {Kind} */ kind) {
    return Boolean(this.#history(kind));
  }

  #history(/** @type {Kind} */ kind) {
    if (kind === "phone") return this.hasCells ? this.waits : undefined;
    return this.histories.get(this.kinds[kind] ?? "");
  }
}

/** Number of bytes of a size in a resolved scenario, such as "1MB"; `null`: no limit. */
function bytes(/** @type {string | undefined} */ size) {
  const [, number, prefix] = /^([\d.]+)([kMGT]?i?)B$/.exec(size ?? "") ?? [];
  if (number === undefined) return null;
  const exponent = ["", "k", "M", "G", "T"].indexOf(prefix.replace("i", ""));
  return Number(number) * (prefix.endsWith("i") ? 1024 : 1000) ** exponent;
}

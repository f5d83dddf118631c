/** Packets of the phone on their way, and the blocks that have parts of them, in memory that does not grow. */

/** Seconds that are kept after the end of a packet or block. */
const KEPT = 4;
/** Packets that are kept. */
const MAX_PACKETS = 20_000;

/**
 * A packet: `flow` is its number, `up` whether it goes to the server. Times are in seconds: `sent`, `queued` at the eNB,
 * `received`, `dropped`; `begun` is the decision on the first of its `blocks`. NaN: not yet.
 *
 * A block: `rounds` are its transmissions, each with `time` on air, `prbs`, `number` and whether it was `decoded`.
 */
export class Packets {
  constructor() {
    this.list = [];
    this.blocks = [];
    this.open = new Map();
    this.filling = new Map();
  }

  /** Adds the stages and transmissions of a step of the engine. Returns the waiting times in the queue that have ended. */
  append(steps, rounds, now) {
    const waits = [];
    const [stages, transmissions] = [steps.time_s ?? [], rounds.time_s ?? []];
    for (let step = 0, round = 0; step < stages.length || round < transmissions.length; ) {
      if (round < transmissions.length && !(stages[step] < transmissions[round])) {
        this.#round(rounds, round++);
      } else {
        const wait = this.#step(steps, step++);
        if (wait !== null) waits.push(wait);
      }
    }
    this.#forget(now);
    return waits;
  }

  #step({ time_s: times, stage, flow, up, id, bytes, process }, row) {
    const time = times[row];
    const key = `${flow[row]} ${up[row]} ${id[row]}`;
    if (stage[row] === "sent") {
      const packet = { flow: flow[row], up: up[row] === 1, id: id[row], bytes: bytes[row], sent: time, queued: NaN, begun: NaN, received: NaN, dropped: NaN, blocks: [] };
      this.open.set(key, packet);
      this.list.push(packet);
      return null;
    }
    // Packets that were sent in the warm-up are not known.
    const packet = this.open.get(key);
    if (!packet) return null;
    if (stage[row] === "queued") {
      packet.queued = time;
    } else if (stage[row] === "block") {
      const block = this.#block(`${up[row]} ${process[row]}`, packet.up);
      if (!packet.blocks.includes(block)) packet.blocks.push(block);
      block.packets.add(packet);
      if (packet.begun === packet.begun) return null;
      packet.begun = time;
      return packet.up || !(packet.queued <= time) ? null : { time, wait: time - packet.queued, flow: packet.flow };
    } else {
      packet[stage[row]] = time;
      this.open.delete(key);
    }
    return null;
  }

  /** The block that a process is filling: after its first transmission the next one begins. */
  #block(key, up) {
    let block = this.filling.get(key);
    if (!block || block.rounds.length) {
      block = { up, packets: new Set(), rounds: [] };
      this.filling.set(key, block);
      this.blocks.push(block);
    }
    return block;
  }

  #round({ time_s: times, up, process, transmission, prbs, mcs, bytes, outcome }, row) {
    if (outcome[row] === "unused") return;
    const key = `${up[row]} ${process[row]}`;
    const block = transmission[row] === 1 || !this.filling.has(key) ? this.#block(key, up[row] === 1) : this.filling.get(key);
    block.rounds.push({ time: times[row], number: transmission[row], prbs: prbs[row], mcs: mcs[row], bytes: bytes[row], decoded: outcome[row] === "decoded", outcome: outcome[row] });
  }

  #forget(now) {
    const from = now - KEPT;
    const isOver = ({ received, dropped }) => received < from || dropped < from;
    let over = 0;
    while (over < this.list.length && (isOver(this.list[over]) || this.list.length - over > MAX_PACKETS)) {
      const { flow, up, id } = this.list[over++];
      this.open.delete(`${flow} ${up ? 1 : 0} ${id}`);
    }
    // A splice moves all that remain: not for a few.
    if (over > 500 || this.list.length > MAX_PACKETS) this.list.splice(0, over);
    let old = 0;
    while (old < this.blocks.length && (this.blocks[old].rounds.at(-1)?.time ?? now) < from) old++;
    if (old > 500) this.blocks.splice(0, old);
  }
}

/** Packets of the phone on their way, and the blocks that have parts of them, in memory that does not grow. */

/** Seconds that are kept after the end of a packet or block. */
const KEPT = 4;
/** Packets that are kept. */
const MAX_PACKETS = 20_000;

/**
 * @typedef {object} Packet times are in seconds; NaN: not yet
 * @property {number} flow number of the flow
 * @property {boolean} up whether it goes to the server
 * @property {number} id
 * @property {number} bytes
 * @property {number} sent
 * @property {number} queued arrival at the eNB
 * @property {number} begun decision on the first of its blocks
 * @property {number} received
 * @property {number} dropped
 * @property {Block[]} blocks
 *
 * @typedef {object} Block
 * @property {boolean} up
 * @property {Set<Packet>} packets
 * @property {Round[]} rounds its transmissions
 *
 * @typedef {{ time: number, number: number, prbs: number, mcs: number, bytes: number, decoded: boolean, outcome: string }} Round
 * @typedef {{ time: number, wait: number, flow: number }} Wait a time in the queue, and its end
 */

/** The packets and blocks that are kept. */
export class Packets {
  /** @type {Packet[]} */
  list = [];
  /** @type {Block[]} */
  blocks = [];
  /** @type {Map<string, Packet>} packets on their way */
  open = new Map();
  /** @type {Map<string, Block>} the newest block of each process */
  filling = new Map();

  /**
   * Adds the stages and transmissions of a step of the engine. Returns the waiting times in the queue that have ended.
   *
   * @param {Partial<Stages>} someSteps
   * @param {Partial<Transmissions>} someRounds
   * @param {number} now
   */
  append(someSteps, someRounds, now) {
    /** @type {Wait[]} */
    const waits = [];
    // Without packets, the engine has no columns.
    const [steps, rounds] = [/** @type {Stages} */ (someSteps), /** @type {Transmissions} */ (someRounds)];
    const [stages, transmissions] = [someSteps.time_s ?? [], someRounds.time_s ?? []];
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

  /**
   * @param {Stages} steps
   * @param {number} row
   * @returns {Wait | null}
   */
  #step({ time_s: times, stage, flow, up, id, bytes, process }, row) {
    const time = times[row];
    const key = `${flow[row]} ${up[row]} ${id[row]}`;
    const reached = stage[row];
    if (reached === "sent") {
      /** @type {Packet} */
      const packet = { flow: flow[row], up: up[row] === 1, id: id[row], bytes: bytes[row], sent: time, queued: NaN, begun: NaN, received: NaN, dropped: NaN, blocks: [] };
      this.open.set(key, packet);
      this.list.push(packet);
      return null;
    }
    // Packets that were sent in the warm-up are not known.
    const packet = this.open.get(key);
    if (!packet) return null;
    if (reached === "queued") {
      packet.queued = time;
    } else if (reached === "block") {
      const block = this.#block(`${up[row]} ${process[row]}`, packet.up);
      if (!packet.blocks.includes(block)) packet.blocks.push(block);
      block.packets.add(packet);
      if (packet.begun === packet.begun) return null;
      packet.begun = time;
      return packet.up || !(packet.queued <= time) ? null : { time, wait: time - packet.queued, flow: packet.flow };
    } else {
      packet[reached] = time;
      this.open.delete(key);
    }
    return null;
  }

  /**
   * The block that a process is filling: after its first transmission the next one begins.
   *
   * @param {string} key
   * @param {boolean} up
   */
  #block(key, up) {
    let block = this.filling.get(key);
    if (!block || block.rounds.length) {
      block = { up, packets: new Set(), rounds: [] };
      this.filling.set(key, block);
      this.blocks.push(block);
    }
    return block;
  }

  /**
   * @param {Transmissions} rounds
   * @param {number} row
   */
  #round({ time_s: times, up, process, transmission, prbs, mcs, bytes, outcome }, row) {
    if (outcome[row] === "unused") return;
    const key = `${up[row]} ${process[row]}`;
    const block = (transmission[row] === 1 ? undefined : this.filling.get(key)) ?? this.#block(key, up[row] === 1);
    block.rounds.push({ time: times[row], number: transmission[row], prbs: prbs[row], mcs: mcs[row], bytes: bytes[row], decoded: outcome[row] === "decoded", outcome: outcome[row] });
  }

  #forget(/** @type {number} */ now) {
    const from = now - KEPT;
    const isOver = (/** @type {Packet} */ { received, dropped }) => received < from || dropped < from;
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

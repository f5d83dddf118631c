/** The way of single packets: lanes from the server's application to the phone and back, over the last milliseconds. */

import { fresh, theme } from "airwnd/canvas.js";
import { marker } from "airwnd/looks.js";
import { follow, rule } from "airwnd/pen.js";
import { lowerBound, tickText, ticks, valueText } from "airwnd/scale.js";

/**
 * @import { Block, Packet } from "airwnd/packets.js"
 * @import { Side } from "airwnd/side.js"
 *
 * @typedef {{ top: number, bottom: number, middle: number }} Lane
 * @typedef {"application" | "sender" | "queue" | "air" | "receiver" | "window"} LaneName
 * @typedef {(time: number) => number} ToX
 */

/**
 * Widths of the picture in seconds of simulated time.
 *
 * @type {Record<string, string>}
 */
export const SPANS = { 0.02: "20 ms", 0.1: "100 ms", 0.5: "500 ms", 2: "2 s" };

const LEFT = 78;
const RIGHT = 8;
const FOOT = 18;
/**
 * Share of the height of each lane, from the top.
 *
 * @type {{ key: LaneName, label: string, share: number }[]}
 */
const LANES = [
  { key: "application", label: "application", share: 1 },
  { key: "sender", label: "sender", share: 1 },
  { key: "queue", label: "RLC queue", share: 3 },
  { key: "air", label: "PRBs, air", share: 3.4 },
  { key: "receiver", label: "receiver", share: 1 },
  { key: "window", label: "window", share: 2.4 },
];
const TOTAL = LANES.reduce((sum, { share }) => sum + share, 0);
/** Packets that are drawn, and those of them whose way through the queue is: more would be a surface. */
const [MAX_DRAWN, MAX_WAITING] = [2500, 60];

const isTime = (/** @type {number} */ time) => time === time;
const isWaiting = (/** @type {Packet} */ { up, queued, begun, dropped }) => !up && isTime(queued) && !isTime(begun) && !isTime(dropped);
const ms = (/** @type {number} */ seconds) => `${valueText(seconds * 1e3, 1)} ms`;

export class Timeline {
  /** Width in seconds of simulated time. */
  span = 0.1;
  /** @type {"download" | "game"} */
  flow = "download";
  /** @type {Packet | null} */
  followed = null;
  wanted = false;
  /** Sending time after which the next packet is followed; `null`: that of the newest one.
   * @type {number | null} */
  after = null;
  /** Place in the queue of each packet that waits, as a share of the lane's height.
   * @type {Map<Packet, number>} */
  levels = new Map();
  opacity = 1;
  /** Of this many packets, the way of one is drawn through the queue. */
  every = 1;

  constructor(/** @type {HTMLCanvasElement} */ canvas) {
    this.canvas = canvas;
  }

  reset() {
    this.followed = null;
    this.wanted = false;
  }

  /** Follows the next packet that is sent. */
  followNext() {
    this.followed = null;
    this.wanted = true;
    this.after = null;
  }

  /** Packets of the shown flow; those of the other direction are its ACKs. */
  #own(/** @type {Side} */ side) {
    const number = side.flows.findIndex(({ id }) => id === side.kinds[this.flow]);
    return side.packets.list.filter(({ flow }) => flow === number);
  }

  /**
   * @param {Side} side
   * @param {Surface} [surface] instead of the canvas
   */
  draw(side, surface) {
    const { context, width, height } = surface ?? fresh(this.canvas);
    const to = Math.max(side.now, this.span);
    const from = to - this.span;
    const x = (/** @type {number} */ time) => LEFT + ((time - from) / this.span) * (width - LEFT - RIGHT);
    const lanes = this.#lanes(context, width, height);
    this.#times(context, { width, height, from, to, x, tti: side.tti * 1e-3 });
    const own = this.#own(side);
    if (this.wanted) this.#choose(own);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT - RIGHT, height - FOOT);
    context.clip();
    this.#application(context, lanes.application, side, own, x);
    this.#air(context, lanes.air, side, x, from);
    this.#window(context, lanes.window, side, x, from);
    const shown = own.filter((packet) => !(packet.received < from || packet.dropped < from));
    const waiting = shown.filter(isWaiting);
    // The first of those that wait is at the lower edge of the queue.
    this.levels = new Map(waiting.map((packet, place) => [packet, (place + 0.5) / waiting.length]));
    this.opacity = Math.min(0.8, Math.max(0.4, 30 / shown.length));
    this.every = Math.ceil(shown.length / MAX_WAITING);
    for (const packet of shown.slice(-MAX_DRAWN)) if (packet !== this.followed) this.#packet(context, lanes, packet, x, to, side.colour(), 1);
    if (this.followed) this.#packet(context, lanes, this.followed, x, to, theme.ink, 2.4);
    context.restore();
  }

  /**
   * @param {Pen} context
   * @param {number} width
   * @param {number} height
   */
  #lanes(context, width, height) {
    const unit = (height - FOOT) / TOTAL;
    const lanes = /** @type {Record<LaneName, Lane>} */ ({});
    let top = 0;
    LANES.forEach(({ key, label, share }, index) => {
      lanes[key] = { top: top + 1, bottom: top + share * unit - 1, middle: top + (share * unit) / 2 };
      if (index % 2 === 0) {
        context.fillStyle = theme.wash;
        context.fillRect(0, top, width, share * unit);
      }
      context.fillStyle = theme.ink;
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.fillText(label, 4, top + (share * unit) / 2, LEFT - 8);
      top += share * unit;
    });
    return lanes;
  }

  /**
   * @param {Pen} context
   * @param {{ width: number, height: number, from: number, to: number, x: ToX, tti: number }} frame
   */
  #times(context, { width, height, from, to, x, tti }) {
    const bottom = height - FOOT;
    if ((width - LEFT) / ((to - from) / tti) >= 5) {
      for (let time = Math.ceil(from / tti) * tti; time <= to; time += tti) rule(context, [x(time), 0], [x(time), bottom], theme.grid);
    }
    const { step, values } = ticks(from, to, width / 90);
    context.fillStyle = theme.soft;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const value of values) {
      const at = x(value);
      rule(context, [at, bottom], [at, bottom + 3], theme.zero);
      if (at > LEFT + 10 && at < width - 40) context.fillText(tickText(value, step), at, bottom + 4);
    }
    context.textAlign = "right";
    context.fillText("s", width - RIGHT, bottom + 4);
  }

  /**
   * A stream of bytes always has data; a source of datagrams writes each of them.
   *
   * @param {Pen} context
   * @param {Lane} lane
   * @param {Side} side
   * @param {Packet[]} own
   * @param {ToX} x
   */
  #application(context, { middle, top, bottom }, side, own, x) {
    if (side.isStream(this.flow)) {
      context.fillStyle = theme.soft;
      context.globalAlpha = 0.5;
      const begin = Math.max(LEFT, x(side.startOf(this.flow)));
      context.fillRect(begin, middle - 3, Math.max(0, x(Math.max(side.now, this.span)) - begin), 6);
      context.globalAlpha = 1;
      return;
    }
    for (const { up, sent } of own) if (!up) rule(context, [x(sent), top + 3], [x(sent), bottom - 3], theme.ink);
  }

  /**
   * Blocks on air: their height is the share of the carrier; failed ones are crossed.
   *
   * @param {Pen} context
   * @param {Lane} lane
   * @param {Side} side
   * @param {ToX} x
   * @param {number} from
   */
  #air(context, { top, bottom }, side, x, from) {
    const tti = side.tti * 1e-3;
    const wide = Math.max(1, x(from + tti) - x(from) - 0.8);
    const high = bottom - top - 4;
    const most = Math.max(1, side.use[1]);
    for (const block of side.packets.blocks) {
      const hasFollowed = this.followed && block.packets.has(this.followed);
      block.rounds.forEach(({ time, prbs, number, decoded }, index) => {
        if (time + tti < from) return;
        // ACKs go up: from the upper edge.
        const tall = Math.max(3, (Math.min(prbs, most) / most) * high);
        const [left, upper] = [x(time), block.up ? top + 2 : bottom - 2 - tall];
        context.globalAlpha = block.up ? 0.35 : 0.55;
        context.fillStyle = hasFollowed ? theme.ink : block.up ? theme.soft : side.colour();
        context.fillRect(left, upper, wide, tall);
        context.globalAlpha = 1;
        if (!decoded) {
          rule(context, [left, upper], [left + wide, upper + tall], theme.ink);
          rule(context, [left, upper + tall], [left + wide, upper], theme.ink);
        }
        if (wide >= 9 && number > 1) {
          context.fillStyle = theme.ink;
          context.textAlign = "center";
          context.textBaseline = "bottom";
          context.fillText(String(number), left + wide / 2, block.up ? upper + tall + 12 : upper - 1);
        }
        if (index > 0) rule(context, [x(block.rounds[index - 1].time + tti), bottom - 3], [left, bottom - 3], theme.soft, [2, 2]);
      });
    }
  }

  /**
   * @param {Pen} context
   * @param {Lane} lane
   * @param {Side} side
   * @param {ToX} x
   * @param {number} from
   */
  #window(context, { top, bottom }, side, x, from) {
    const begin = from - 0.1;
    const lines = [
      { column: "cwnd_bytes", dashes: [] },
      { column: "in_flight_bytes", dashes: [1, 2] },
      { column: "rwnd_bytes", dashes: [5, 3] },
    ].map((line) => ({ ...line, ...side.points(this.flow, line.column, begin) }));
    const inside = Math.max(1, ...[...lines[0].values, ...lines[1].values].filter(isTime));
    const all = Math.max(inside, ...lines[2].values.filter(isTime));
    const limit = Math.min(all, 2 * inside) * 1.15;
    const y = (/** @type {number} */ value) => bottom - 2 - (value / limit) * (bottom - top - 4);
    for (const { time, values, dashes } of lines) follow(context, { time, values }, x, y, { colour: side.colour(), width: 1.4, dashes });
  }

  /**
   * The way of a packet: down from the sender, or up from the receiver.
   *
   * @param {Pen} context
   * @param {Record<LaneName, Lane>} lanes
   * @param {Packet} packet
   * @param {ToX} x
   * @param {number} to
   * @param {string} colour
   * @param {number} width
   */
  #packet(context, lanes, packet, x, to, colour, width) {
    const { up, sent, queued, begun, received, dropped, blocks } = packet;
    const [start, end] = up ? [lanes.receiver, lanes.sender] : [lanes.sender, lanes.receiver];
    const points = [[sent, start.middle]];
    if (!up && isTime(queued)) points.push([queued, lanes.queue.top]);
    if (!up && isTime(begun)) points.push([begun, lanes.queue.bottom]);
    if (up && isTime(begun)) points.push([begun, lanes.air.bottom]);
    const onAir = blocks.at(-1)?.rounds.at(-1);
    if (onAir) points.push([onAir.time, up ? lanes.air.top : lanes.air.middle]);
    if (isTime(received)) points.push([received, end.middle]);
    context.beginPath();
    const isLeftOut = (/** @type {number} */ level) => !up && level === lanes.queue.bottom && width === 1 && packet.id % this.every !== 0;
    points.forEach(([time, level], index) => (index && !isLeftOut(level) ? context.lineTo(x(time), level) : context.moveTo(x(time), level)));
    // A packet in the queue waits on: its line ends at the present.
    if (isWaiting(packet) && (width > 1 || packet.id % this.every === 0)) context.lineTo(x(to), lanes.queue.bottom - (this.levels.get(packet) ?? 0) * (lanes.queue.bottom - lanes.queue.top));
    context.lineWidth = width;
    context.strokeStyle = up ? theme.soft : colour;
    context.globalAlpha = width > 1 ? 1 : up ? 0.5 : this.opacity;
    context.setLineDash(up ? [3, 2] : []);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.fillStyle = up ? theme.soft : colour;
    for (const { time, lane } of [{ time: sent, lane: start }, { time: received, lane: end }]) {
      if (!isTime(time)) continue;
      marker(context, up ? "^" : "v", x(time), lane.middle, width > 1 ? 5 : 3);
      context.fill();
    }
    if (!isTime(dropped)) return;
    marker(context, "X", x(dropped), lanes.queue.top + 5, 5);
    context.fillStyle = theme.ink;
    context.fill();
  }

  /** Takes the first packet that is sent after the wish. */
  #choose(/** @type {Packet[]} */ own) {
    const data = own.filter(({ up }) => !up);
    const after = (this.after ??= data.at(-1)?.sent ?? -1);
    this.followed = data.find(({ sent }) => sent > after) ?? null;
    this.wanted = this.followed === null;
  }

  /**
   * Follows the packet whose line is nearest to a point of the picture.
   *
   * @param {Side} side
   * @param {number} left
   */
  pick(side, left) {
    const width = this.canvas.clientWidth - LEFT - RIGHT;
    const time = Math.max(side.now, this.span) - this.span + ((left - LEFT) / width) * this.span;
    const data = this.#own(side).filter(({ up }) => !up);
    const after = Math.min(lowerBound(data.map(({ sent }) => sent), time), data.length - 1);
    if (after >= 0) this.followed = data[after];
  }

  /** The way of the followed packet so far, in words. */
  words(/** @type {Side} */ side) {
    const packet = this.followed;
    if (!packet) return this.wanted ? "waits for the next packet" : "";
    const { id, bytes, sent, queued, begun, received, dropped, blocks } = packet;
    const parts = [`Packet ${id}, ${bytes} bytes: sent at ${valueText(sent, 4)} s`];
    if (isTime(queued)) parts.push(`at the eNB after ${ms(queued - sent)}`);
    if (isTime(begun)) parts.push(`${ms(begun - queued)} in the RLC queue`);
    else if (isTime(queued) && !isTime(dropped)) parts.push(`waits in the RLC queue for ${ms(side.now - queued)} so far`);
    const rounds = Math.max(0, ...blocks.map((block) => block.rounds.length));
    const times = rounds > 1 ? `${rounds} HARQ transmissions` : "one transmission";
    if (rounds) parts.push(`in ${blocks.length === 1 ? "one block" : `${blocks.length} blocks`}, ${times}`);
    if (isTime(received)) parts.push(`received after ${ms(received - sent)}`);
    if (isTime(dropped)) parts.push(`dropped after ${ms(dropped - sent)}`);
    return `${parts.join("; ")}.`;
  }
}

/** Pictures of the cell: UEs on a map, the RLC queue of the phone, and the PRBs of each TTI. */

import { fresh, theme } from "airwnd/canvas.js";
import { marker } from "airwnd/looks.js";
import { rule } from "airwnd/pen.js";
import { valueText } from "airwnd/scale.js";

/**
 * @import { Side } from "airwnd/side.js"
 * @typedef {{ left: number, top: number, width: number, height: number }} Box
 */

/** Values of a UE in a state. */
const STRIDE = 6;
const [X, Y, , SINR, BYTES, PACKETS] = [0, 1, 2, 3, 4, 5];
/** Packets of a queue that are drawn one by one. */
const SINGLE = 900;
/** TTIs of the picture of PRBs. */
const TTIS = 60;
/** Pixels around the map. */
const MARGIN = 14;
/** UEs above this number are dots. */
const MANY = 150;

/** Number of the phone: the first UE of the scenario. */
export const PHONE = 0;

/**
 * @param {Numbers} ues
 * @param {number} number
 * @returns {UeState}
 */
export function ue(ues, number) {
  const at = number * STRIDE;
  return { x: ues[at + X], y: ues[at + Y], sinr: ues[at + SINR], bytes: ues[at + BYTES], packets: ues[at + PACKETS] };
}

/** Draws sites and UEs; the area of a ring is the queue of a UE. */
export class CellMap {
  constructor(/** @type {HTMLCanvasElement} */ canvas) {
    this.canvas = canvas;
    this.extent = 0;
    /** Where UEs are drawn, in metres.
     * @type {UeState[]} */
    this.places = [];
    /** UE that is being moved: number and position; `null`: none.
     * @type {(Place & { number: number, text: string }) | null} */
    this.moved = null;
    /** Size in pixels, and pixels per metre. */
    this.view = { width: 0, height: 0, scale: 1 };
  }

  /**
   * Position of the canvas in metres.
   *
   * @param {number} left
   * @param {number} top
   */
  metres(left, top) {
    const { width, height, scale } = this.view;
    return { x: (left - width / 2) / scale, y: (height / 2 - top) / scale };
  }

  /**
   * Number of the UE at a position of the canvas, within a finger's reach; -1: there is none.
   *
   * @param {number} left
   * @param {number} top
   * @param {number} reach
   */
  at(left, top, reach) {
    const { x, y } = this.metres(left, top);
    const distances = this.places.map((place) => Math.hypot(place.x - x, place.y - y) * this.view.scale);
    const nearest = distances.reduce((best, distance, number) => (distance < distances[best] ? number : best), 0);
    return distances[nearest] <= reach ? nearest : -1;
  }

  draw(/** @type {Side} */ side) {
    const { ues, cells: { x_m: east = [], y_m: north = [] } } = side;
    const { context, width, height } = fresh(this.canvas);
    const radius = Math.min(width, height) / 2 - MARGIN;
    if (radius <= 0) return;
    const count = ues.length / STRIDE;
    const places = Array.from({ length: count }, (_, number) => ue(ues, number));
    // A UE may be moved out of the picture; its scale stays until it is there.
    const reach = Math.max(50, ...places.map(({ x, y }) => Math.max(Math.abs(x), Math.abs(y))), ...east.map(Math.abs), ...north.map(Math.abs));
    // The scale changes only if UEs leave the picture or use less than half of it.
    if (reach > this.extent || reach < this.extent / 2) this.extent = reach * 1.1;
    const scale = radius / this.extent;
    this.places = places;
    this.view = { width, height, scale };
    /** @type {(x: number, y: number) => [number, number]} */
    const at = (x, y) => [width / 2 + x * scale, height / 2 - y * scale];
    this.#rings(context, at(0, 0), scale);
    east.forEach((x, cell) => this.#site(context, at(x, north[cell])));
    places.forEach((place, number) => number !== PHONE && this.#other(context, at(place.x, place.y), place, count));
    this.#phone(context, at(places[PHONE].x, places[PHONE].y), places[PHONE], side.colour());
    if (this.moved) this.#ghost(context, at(places[this.moved.number].x, places[this.moved.number].y), at(this.moved.x, this.moved.y), this.moved.text);
    const sinr = valueText(places[PHONE].sinr, 1);
    this.canvas.setAttribute("aria-label", `Map of the cell with ${count} UEs; the phone has an SINR of ${sinr} dB`);
  }

  /**
   * The new place of a UE that is being moved, joined to the old one.
   *
   * @param {CanvasRenderingContext2D} context
   * @param {[number, number]} from
   * @param {[number, number]} to
   * @param {string} text
   */
  #ghost(context, from, [x, y], text) {
    rule(context, from, [x, y], theme.ink, [3, 3]);
    marker(context, "o", x, y, 8);
    context.strokeStyle = theme.ink;
    context.lineWidth = 2;
    context.stroke();
    const right = x + 14 + context.measureText(text).width < this.canvas.clientWidth;
    context.textAlign = right ? "left" : "right";
    context.textBaseline = "bottom";
    outlined(context, text, right ? x + 11 : x - 11, Math.max(14, y - 4));
  }

  /**
   * @param {Pen} context
   * @param {[number, number]} centre
   * @param {number} scale
   */
  #rings(context, [x, y], scale) {
    const step = [50, 100, 200, 500, 1000, 2000, 5000, 10000].find((metres) => this.extent / metres <= 3.5) ?? this.extent / 3;
    context.textBaseline = "bottom";
    context.textAlign = "center";
    for (let radius = step; radius <= this.extent; radius += step) {
      context.beginPath();
      context.arc(x, y, radius * scale, 0, 2 * Math.PI);
      context.strokeStyle = theme.grid;
      context.lineWidth = 1;
      context.stroke();
      context.fillStyle = theme.soft;
      context.fillText(radius >= 1000 ? `${radius / 1000} km` : `${radius} m`, x, y - radius * scale - 1);
    }
  }

  /**
   * @param {Pen} context
   * @param {[number, number]} place
   */
  #site(context, [x, y]) {
    context.strokeStyle = theme.ink;
    context.lineWidth = 1.6;
    context.beginPath();
    context.moveTo(x - 5, y + 7);
    context.lineTo(x, y - 8);
    context.lineTo(x + 5, y + 7);
    context.moveTo(x - 3, y + 1);
    context.lineTo(x + 3, y + 1);
    context.stroke();
    marker(context, "o", x, y - 9, 2.4);
    context.fillStyle = theme.ink;
    context.fill();
  }

  /**
   * @param {Pen} context
   * @param {[number, number]} place
   * @param {UeState} state
   * @param {number} count
   */
  #other(context, [x, y], { bytes }, count) {
    if (bytes > 0) {
      context.globalAlpha = 0.25;
      marker(context, "o", x, y, queueRadius(bytes));
      context.fillStyle = theme.soft;
      context.fill();
      context.globalAlpha = 1;
    }
    marker(context, "o", x, y, count > MANY ? 1.5 : 3.2);
    context.fillStyle = theme.soft;
    context.fill();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {[number, number]} place
   * @param {UeState} state
   * @param {string} colour
   */
  #phone(context, [x, y], { bytes }, colour) {
    context.globalAlpha = 0.3;
    marker(context, "o", x, y, queueRadius(bytes));
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
    marker(context, "o", x, y, 5);
    context.fillStyle = colour;
    context.fill();
    context.strokeStyle = theme.paper;
    context.lineWidth = 1.5;
    context.stroke();
    const text = "phone";
    const right = x + 12 + context.measureText(text).width < this.canvas.clientWidth;
    context.textAlign = right ? "left" : "right";
    context.textBaseline = "middle";
    outlined(context, text, right ? x + 9 : x - 9, y);
  }
}

/**
 * Writes a text that can be read on top of others.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} x
 * @param {number} y
 */
function outlined(context, text, x, y) {
  context.lineWidth = 3;
  context.strokeStyle = theme.paper;
  context.strokeText(text, x, y);
  context.fillStyle = theme.ink;
  context.fillText(text, x, y);
}

/** Area in proportion to the queue: 1 MB has a radius of 24 pixels. */
const queueRadius = (/** @type {number} */ bytes) => 24 * Math.sqrt(Math.min(bytes, 4e6) / 1e6);

/** Draws the RLC queue of the phone of each configuration: a vessel of its buffer that packets fill. */
export class QueuePicture {
  constructor(/** @type {HTMLCanvasElement} */ canvas) {
    this.canvas = canvas;
  }

  draw(/** @type {Side[]} */ sides) {
    const { context, width, height } = fresh(this.canvas);
    /** @type {string[]} */
    const texts = [];
    sides.forEach((side, index) => {
      const each = width / sides.length;
      const left = index * each + 10;
      const { bytes, packets } = ue(side.ues, PHONE);
      this.#vessel(context, { left, top: 20, width: each - 20, height: height - 44 }, side, bytes, packets);
      const prefix = sides.length > 1 ? `${side.name.toUpperCase()}: ` : "";
      const line = `${prefix}${size(bytes)}, ${valueText(packets, 0)} packets`;
      texts.push(line);
      context.fillStyle = theme.ink;
      context.textAlign = "left";
      context.textBaseline = "bottom";
      // On a small screen there is no room for the packets.
      const room = each - 14;
      context.fillText(context.measureText(line).width <= room ? line : prefix + size(bytes), left, height - 6, room);
    });
    this.canvas.setAttribute("aria-label", `RLC queue of the phone: ${texts.join("; ")}`);
  }

  /**
   * @param {Pen} context
   * @param {Box} box
   * @param {Side} side
   * @param {number} bytes
   * @param {number} packets
   */
  #vessel(context, { left, top, width, height }, side, bytes, packets) {
    context.fillStyle = theme.soft;
    context.textAlign = "left";
    context.textBaseline = "bottom";
    const share = side.buffer ? Math.min(1, bytes / side.buffer) : Math.min(1, packets / SINGLE);
    const isFull = side.buffer !== null && share >= 0.97;
    const limit = side.buffer ? `buffer ${size(side.buffer)}` : "no limit in bytes";
    // On a small screen there is room for one of the two.
    const hasRoom = context.measureText(`${limit}  full`).width <= width;
    if (hasRoom || !isFull) context.fillText(limit, left, top - 4, width);
    context.fillStyle = theme.wash;
    context.fillRect(left, top, width, height);
    context.fillStyle = side.colour();
    const whole = side.buffer ? side.buffer / Math.max(1, bytes / Math.max(1, packets)) : SINGLE;
    if (whole <= SINGLE && packets > 0) this.#packets(context, { left, top, width, height }, packets, whole);
    else context.fillRect(left, top + (1 - share) * height, width, share * height);
    context.strokeStyle = theme.zero;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(left, top);
    context.lineTo(left, top + height);
    context.lineTo(left + width, top + height);
    context.lineTo(left + width, top);
    context.stroke();
    if (!isFull || side.buffer === null) return;
    context.fillStyle = theme.ink;
    context.textAlign = "right";
    context.fillText(hasRoom ? "full" : `${size(side.buffer)}, full`, left + width, top - 4, width);
  }

  /**
   * Packets as squares that fill the vessel from below.
   *
   * @param {Pen} context
   * @param {Box} box
   * @param {number} packets
   * @param {number} whole
   */
  #packets(context, { left, top, width, height }, packets, whole) {
    const columns = Math.max(1, Math.ceil(Math.sqrt((whole * width) / height)));
    const rows = Math.ceil(whole / columns);
    const [wide, high] = [width / columns, height / rows];
    const gap = Math.min(wide, high) > 4 ? 1 : 0.5;
    for (let i = 0; i < packets && i < columns * rows; i++) {
      const row = Math.floor(i / columns);
      context.fillRect(left + (i % columns) * wide + gap / 2, top + height - (row + 1) * high + gap / 2, wide - gap, high - gap);
    }
  }
}

function size(/** @type {number} */ bytes) {
  if (bytes < 1e6) return `${valueText(bytes / 1e3, bytes < 1e4 && bytes % 1e3 ? 1 : 0)} kB`;
  return `${valueText(bytes / 1e6, bytes % 1e6 ? 2 : 0)} MB`;
}

/** PRBs: the allocations of the last TTIs. */
export class Grid {
  /** @type {{ time: number, ue: number, rbgs: number, again: boolean }[]} */
  rows;

  constructor(/** @type {HTMLCanvasElement} */ canvas) {
    this.canvas = canvas;
    this.groups = 1;
    this.reset();
  }

  reset() {
    this.rows = [];
  }

  /**
   * Adds the allocations of a step, in seconds and masks of RBGs.
   *
   * @param {Allocations} allocations
   * @param {Side} side
   */
  append({ time_s: time = [], ue: ues = [], rbgs = [], transmission = [], carrier = [], cell = [] }, { now, tti }) {
    this.rows = this.rows.filter((row) => row.time > now - (TTIS + 1) * tti * 1e-3);
    for (let i = Math.max(0, time.length - 40 * TTIS); i < time.length; i++) {
      if (carrier[i] !== 0 || cell[i] !== 0) continue;
      this.rows.push({ time: time[i], ue: ues[i], rbgs: rbgs[i], again: transmission[i] > 1 });
    }
  }

  draw(/** @type {Side} */ side) {
    const { context, width, height } = fresh(this.canvas);
    const [left, top, bottom] = [46, 4, height - 18];
    const { now, tti } = side;
    const slot = tti * 1e-3;
    const end = Math.floor(now / slot + 1e-6);
    const groups = Math.max(1, ...this.rows.map(({ rbgs }) => 32 - Math.clz32(rbgs)));
    this.groups = Math.max(this.groups, groups);
    const wide = (width - left - 8) / TTIS;
    const high = (bottom - top) / this.groups;
    context.fillStyle = theme.wash;
    context.fillRect(left, top, width - left - 8, bottom - top);
    for (const { time, ue: owner, rbgs, again } of this.rows) {
      const column = TTIS - (end - Math.round(time / slot));
      if (column < 0 || column >= TTIS) continue;
      context.fillStyle = owner === PHONE ? side.colour() : theme.zero;
      context.globalAlpha = owner === PHONE ? 1 : 0.35 + 0.45 * ((owner * 0.618) % 1);
      for (let group = 0; group < this.groups; group++) {
        if (!((rbgs >>> group) & 1)) continue;
        const [x, y] = [left + column * wide, bottom - (group + 1) * high];
        context.fillRect(x, y, wide - 0.6, high - 0.6);
        if (again) {
          context.globalAlpha = 1;
          rule(context, [x, y + high], [x + wide, y], theme.ink);
          context.globalAlpha = owner === PHONE ? 1 : 0.6;
        }
      }
    }
    context.globalAlpha = 1;
    this.#labels(context, { left, top, bottom, width, end, slot });
  }

  /**
   * @param {Pen} context
   * @param {{ left: number, top: number, bottom: number, width: number, end: number, slot: number }} frame
   */
  #labels(context, { left, top, bottom, width, end, slot }) {
    context.fillStyle = theme.soft;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText("RBG 0", left - 5, bottom - 6);
    if (this.groups > 1) context.fillText(String(this.groups - 1), left - 5, top + 6);
    context.textBaseline = "top";
    context.textAlign = "left";
    context.fillText(`${((end - TTIS) * slot).toFixed(3)} s`, left, bottom + 4);
    context.textAlign = "right";
    context.fillText(`${(end * slot).toFixed(3)} s`, width - 8, bottom + 4);
  }
}

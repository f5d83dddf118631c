/** Events along the time axis, with a lane for each kind. */

import { FONT, fresh, LEFT, NARROW, RIGHT, theme } from "airwnd/canvas.js";
import { Events } from "airwnd/events.js";
import { marker } from "airwnd/looks.js";

const MARKS = 18;
// Height of the label above the marks, used if there is no room next to them.
const LABEL = 13;
const LOW = 6;
/** Events that change a UE's cell, drawn as lines through all panels. */
const CHANGES = ["handover_end", "handover_failure", "radio_link_failure", "reestablishment"];
const NEAR = 4;
const MOST_IN_TIP = 8;

export class Lanes {
  /**
   * @param {import("airwnd/state.js").State} state
   * @param {import("airwnd/looks.js").Looks} looks
   * @param {Events} events
   */
  constructor(state, looks, events) {
    this.state = state;
    this.looks = looks;
    this.events = events;
    this.element = document.getElementById("lanes");
    const [base, over] = this.element.querySelectorAll("canvas");
    this.base = base;
    this.over = over;
    this.tip = document.getElementById("tip");
    this.pictures = [];
    state.on(["theme"], () => this.pictures.forEach(([canvas, kind]) => this.#paint(canvas, kind)));
  }

  /** Width of the widest label. */
  get labels() {
    const context = this.base.getContext("2d");
    context.font = FONT;
    return Math.ceil(Math.max(0, ...this.kinds.map((kind) => context.measureText(this.state.facts.kinds[kind]).width)));
  }

  get height() {
    return MARKS + (window.innerWidth < NARROW ? LABEL : 0);
  }

  /** Style of a kind of event, in the lanes and on lines. */
  look(kind) {
    const order = [1, 6, 2, 3, 0, 4, 5];
    const place = Object.keys(this.state.facts.kinds).indexOf(kind);
    const { looks } = this.looks;
    return { colour: looks[order[place % 7]].colour, css: looks[order[place % 7]].css, marker: ["X", "v", "^", "D", "s", "P", "o"][place % 7] };
  }

  get kinds() {
    return this.events.kinds.filter((kind) => this.state.kindsShown.has(kind));
  }

  arrange() {
    this.element.hidden = this.kinds.length === 0;
    this.element.style.height = `${this.kinds.length * this.height + 4}px`;
  }

  draw(frame) {
    if (this.element.hidden) return;
    const { context, width } = fresh(this.base);
    this.frame = frame;
    const { kinds, state } = this;
    const chosen = state.selected.size > 0;
    const counts = new Map(kinds.map((kind) => [kind, { all: new Uint16Array(frame.columns + 1), chosen: new Uint16Array(frame.columns + 1) }]));
    const totals = new Map(kinds.map((kind) => [kind, 0]));
    this.events.visit(state, frame.from, frame.to, (kind, line, events, i) => {
      const column = Math.floor((frame.x(events.time[i]) - LEFT) * frame.ratio);
      const count = counts.get(kind);
      count.all[column]++;
      if (state.selected.has(line)) count.chosen[column]++;
      totals.set(kind, totals.get(kind) + 1);
    });
    kinds.forEach((kind, lane) => {
      const above = this.height > MARKS;
      const y = lane * this.height + 2 + (this.height - MARKS);
      const look = this.look(kind);
      context.fillStyle = theme.wash;
      context.fillRect(LEFT, y, width - LEFT - RIGHT, MARKS - 2);
      context.textAlign = above ? "left" : "right";
      context.textBaseline = "middle";
      context.fillStyle = theme.soft;
      context.fillText(state.facts.kinds[kind], above ? LEFT : LEFT - 6, above ? y - LABEL / 2 : y + MARKS / 2 - 1);
      const count = counts.get(kind);
      const max = count.all.reduce((largest, value) => Math.max(largest, value), 1);
      this.#ticks(context, count.all, max, y, chosen ? theme.dim : look.colour);
      if (chosen) this.#ticks(context, count.chosen, max, y, look.colour);
      this.element.dataset[kind] = String(totals.get(kind));
    });
  }

  /** Draws a mark for each pixel with events; its height grows with their number and reaches the lane's at `max`. */
  #ticks(context, counts, max, y, colour) {
    context.fillStyle = colour;
    counts.forEach((count, column) => {
      if (!count) return;
      const size = LOW + (MARKS - 3 - LOW) * (max > 1 ? (count - 1) / (max - 1) : 1);
      context.fillRect(LEFT + column / this.frame.ratio - 0.5, y + MARKS - 2.5 - size, 1.5, size);
    });
  }

  drawOver() {
    if (this.element.hidden) return;
    const { context, height } = fresh(this.over);
    const { cursor } = this.state;
    if (cursor === null) return;
    const x = this.frame.x(cursor);
    context.strokeStyle = theme.soft;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, height);
    context.stroke();
  }

  /** Describes the events under the pointer. */
  explain(event) {
    const box = this.element.getBoundingClientRect();
    const kind = this.kinds[Math.floor((event.clientY - box.top - 2) / this.height)];
    const x = event.clientX - box.left;
    const near = [];
    let more = 0;
    const several = this.state.facts.runs.length > 1;
    this.events.visit(this.state, this.frame.time(x - NEAR), this.frame.time(x + NEAR), (found, line, events, i) => {
      if (found !== kind) return;
      if (near.length === MOST_IN_TIP) more++;
      else near.push(Events.text(found, line, events, i, several ? this.state.facts.runs[line.run].label : ""));
    });
    this.tip.hidden = near.length === 0;
    this.tip.textContent = near.join("\n") + (more ? `\nand ${more} more` : "");
    const { offsetWidth, offsetHeight } = this.tip;
    this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, window.innerWidth - offsetWidth - 8))}px`;
    this.tip.style.top = `${Math.max(4, event.clientY - offsetHeight - 10)}px`;
  }

  /** Marks of the drawn lines: points on cwnd, and, if they are few, guides through all panels. */
  marks(frame) {
    const drawn = new Set(this.state.single());
    const points = [];
    this.events.visit(this.state, frame.from, frame.to, (kind, line, events, i) => {
      if (drawn.has(line)) points.push({ kind, line, time: events.time[i] });
    });
    const few = (some) => (some.length <= 60 ? some : []);
    return {
      points: points.length <= 400 ? points : [],
      guides: few(points.filter(({ line, kind }) => this.state.selected.has(line) && !CHANGES.includes(kind))),
      changes: few(points.filter(({ kind }) => CHANGES.includes(kind))),
    };
  }

  /** Marker of a kind, for its checkbox. */
  picture(kind) {
    const canvas = document.createElement("canvas");
    Object.assign(canvas.style, { position: "static", width: "12px", height: "12px", display: "inline-block", verticalAlign: "-2px" });
    this.pictures.push([canvas, kind]);
    this.#paint(canvas, kind);
    return canvas;
  }

  #paint(canvas, kind) {
    canvas.width = canvas.height = 24;
    const context = canvas.getContext("2d");
    marker(context, this.look(kind).marker, 12, 12, 8);
    context.fillStyle = this.look(kind).colour;
    context.fill();
  }
}

/** A panel: one quantity over time. */

import { fresh, LEFT, RIGHT, theme } from "airwnd/canvas.js";
import { Density } from "airwnd/density.js";
import { marker } from "airwnd/looks.js";
import { follow, ground, rule } from "airwnd/pen.js";
import { Readout } from "airwnd/readout.js";
import { tickText, ticks, valueText } from "airwnd/scale.js";
import { Traces } from "airwnd/traces.js";

// Height of the title and the values above the plot.
const TOP = 19;
const BOTTOM = 5;
const MOST_READ = 4;

export class Panel {
  /** @type {import("airwnd/canvas.js").Frame} */
  frame;
  /** @type {number} */
  height;

  /**
   * @param {RunFacts["panels"][0]} spec
   * @param {import("airwnd/state.js").State} state
   * @param {import("airwnd/looks.js").Looks} looks
   */
  constructor(spec, state, looks) {
    this.spec = spec;
    this.state = state;
    this.looks = looks;
    this.traces = new Traces(spec, state);
    this.readout = new Readout(this.traces, looks);
    this.title = document.createElement("h3");
    this.base = document.createElement("canvas");
    this.base.setAttribute("role", "img");
    this.base.setAttribute("aria-label", `${spec.title} over time`);
    this.over = document.createElement("canvas");
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.plot.append(this.base, this.over);
    const head = document.createElement("header");
    head.append(this.title, this.readout.element);
    this.element = document.createElement("section");
    this.element.className = "panel";
    this.element.dataset.column = spec.column;
    this.element.append(head, this.plot);
    this.x = (time) => this.frame.x(time);
  }

  /** Returns the vertical scale of a run: the shared one, or a separate one. */
  y(run) {
    const { low, high } = this.ends[this.state.scales === "own" ? run : 0];
    return (value) => TOP + ((high - value) / (high - low)) * (this.height - TOP - BOTTOM);
  }

  get shown() {
    return this.state.panelsShown.has(this.spec.column);
  }

  /** Draws everything except the cursor; `marks` are the events of the drawn lines. */
  draw(frame, marks, kindLook) {
    const { context, width, height, ratio } = fresh(this.base);
    this.frame = frame;
    this.height = height;
    this.traces.frame = frame;
    const lines = this.#drawn().map((line) => this.traces.trace(line));
    const crowds = this.state.crowded() ? this.traces.crowds().map((crowd) => this.#crowd(crowd)) : [];
    this.#scale([...lines, ...crowds]);
    this.#name();
    this.#grid(context, width);
    context.save();
    this.#clip(context, width);
    for (const crowd of crowds) crowd.draw(context, ratio);
    for (const { time } of marks.guides) this.#upright(context, Math.round(this.x(time)) + 0.5, theme.dim, [2, 2]);
    for (const { time } of marks.changes) this.#upright(context, Math.round(this.x(time)) + 0.5, theme.ink, [5, 3]);
    for (const trace of lines) this.#stroke(context, trace);
    if (this.spec.column === "cwnd_bytes") for (const mark of marks.points) this.#point(context, mark, kindLook);
    context.restore();
    const [{ low, high }] = this.ends;
    Object.assign(this.element.dataset, { from: frame.from, to: frame.to, low, high, changes: marks.changes.length });
  }

  /** Draws the cursor, the hovered line, and the values at the cursor. */
  drawOver(drag) {
    const { context, width, height } = fresh(this.over);
    const { state } = this;
    this.readout.clear();
    this.#clip(context, width);
    if (drag) {
      context.fillStyle = "#0072b238";
      context.fillRect(drag[0], 0, drag[1] - drag[0], height);
    }
    const looked = state.hovered ? state.kin(state.hovered).filter((line) => this.traces.isVisible(line)) : [];
    for (const line of looked) this.#bringForward(context, this.traces.trace(line));
    if (state.cursor === null) return;
    this.#upright(context, this.x(state.cursor), theme.soft);
    const drawn = this.#drawn();
    const read = drawn.length <= MOST_READ ? drawn : drawn.filter((line) => state.selected.has(line)).slice(0, MOST_READ);
    const others = looked.filter((line) => !read.includes(line));
    this.readout.show(read, others);
    for (const line of [...read, ...others]) this.#dot(context, line);
  }

  /** Returns the visible line nearest to a vertical position, at the sample under the cursor. */
  nearest(y) {
    let best = null;
    let distance = Infinity;
    const runs = this.state.series.map((series, run) => ({ at: this.traces.sampled(series, this.state.cursor), y: this.y(run) }));
    for (const line of this.state.visible()) {
      const { at, y: place } = runs[line.run];
      const away = Math.abs(place(at(line)) - y);
      if (away < distance) [best, distance] = [line, away];
    }
    return best;
  }

  /** Lines that are drawn separately. */
  #drawn() {
    return this.state.single().filter((line) => this.traces.isVisible(line));
  }

  #clip(context, width) {
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT - RIGHT, this.height);
    context.clip();
  }

  /** Band or density of many lines. */
  #crowd(crowd) {
    return this.state.many === "band" ? this.#band(crowd) : this.#density(crowd);
  }

  #band(crowd) {
    const { time, lines: [low, median, high] } = this.traces.band(crowd);
    const { colour } = this.looks.crowd(crowd.run);
    const draw = (context) => {
      const y = this.y(crowd.run);
      ground(context, low, high, (i) => this.x(time[i]), y, `${colour}38`);
      follow(context, { time, values: median }, this.x, y, { colour, width: 1.6 });
    };
    return { run: crowd.run, low, high, draw };
  }

  #density(crowd) {
    const { low, high, rows } = this.traces.all(crowd);
    const draw = (context, ratio) => {
      const density = new Density(this.frame.columns, Math.round(this.height * ratio));
      const y = this.y(crowd.run);
      const [scale, shift] = [(y(1) - y(0)) * ratio, y(0) * ratio];
      for (const ends of rows) density.add(...ends, scale, shift);
      const single = Math.min(0.6, Math.max(0.22, 8 / rows.length));
      context.save();
      context.setTransform(1, 0, 0, 1, 0, 0);
      density.draw(context, Math.round(LEFT * ratio), 0, this.looks.crowd(crowd.run).colour, single);
      context.restore();
    };
    return { run: crowd.run, low, high, draw };
  }

  /** Shows the title; for smoothed quantities, with the averaging time. */
  #name() {
    const { runsShown, series } = this.state;
    const steps = [...runsShown].filter((run) => this.spec.smooth && this.traces.step(run) > 1);
    const longest = Math.max(...steps.map((run) => this.traces.step(run) * series[run].interval * 1e3));
    this.title.textContent = this.spec.title + (steps.length ? `, means of ${valueText(Math.round(longest))} ms` : "");
  }

  /** Sets the ranges of the vertical axes, which include zero: one axis for all runs, or one for each. */
  #scale(drawn) {
    const own = this.state.scales === "own";
    this.ends = (own ? this.state.facts.runs : [null]).map((_, run) => {
      const those = own ? drawn.filter((each) => (each.line?.run ?? each.run) === run) : drawn;
      return reach(those);
    });
  }

  #grid(context, width) {
    const { height, looks, state } = this;
    context.textBaseline = "middle";
    this.ends.forEach(({ low, high }, run) => {
      const { step, values } = ticks(low, high, Math.max(2, height / 34));
      const y = this.y(run);
      context.textAlign = run === 0 ? "right" : "left";
      context.fillStyle = state.scales === "own" ? looks.run(run).colour : theme.soft;
      for (const value of values) {
        const at = Math.round(y(value)) + 0.5;
        if (run === 0) rule(context, [LEFT, at], [width - RIGHT, at], value === 0 ? theme.zero : theme.grid);
        context.fillText(tickText(value, step), run === 0 ? LEFT - 6 : width - RIGHT + 6, Math.min(height - 6, Math.max(6, at)));
      }
    });
    const axis = ticks(this.frame.from, this.frame.to, width / 90);
    for (const value of axis.values) this.#upright(context, Math.round(this.x(value)) + 0.5, theme.grid);
  }

  #upright(context, x, colour, dashes) {
    rule(context, [x, 0], [x, this.height], colour, dashes);
  }

  #stroke(context, trace, min = 1.3) {
    const { colour, dashes } = this.looks.line(this.state, trace.line);
    const width = this.state.selected.has(trace.line) ? Math.max(min, 2) : min;
    const y = this.y(trace.line.run);
    if (trace.wide) {
      const x = (column) => LEFT + (column + 0.5) / this.frame.ratio;
      ground(context, trace.low, trace.high, x, y, `${colour}50`);
    }
    follow(context, trace, this.x, y, { colour, width, dashes: dashes.map((dash) => dash * width) });
    const { beside } = this.spec;
    if (!beside || !this.traces.series(trace.line).has(beside)) return;
    const look = { colour: `${colour}b0`, width: 1, dashes: [1.5, 3] };
    follow(context, this.traces.trace(trace.line, beside), this.x, y, look);
  }

  /** Draws a line again, above the others. */
  #bringForward(context, trace) {
    const own = this.state.single().includes(trace.line);
    if (!own) follow(context, trace, this.x, this.y(trace.line.run), { colour: `${theme.paper}c0`, width: 4 });
    this.#stroke(context, trace, own ? 2.4 : 1.7);
  }

  /** Marks a line at the sample under the cursor, if the line passes through its samples. */
  #dot(context, line) {
    if (this.spec.smooth && this.traces.step(line.run) > 1) return;
    const series = this.traces.series(line);
    const { cursor } = this.state;
    context.beginPath();
    context.arc(this.x(series.time[series.nearest(cursor)]), this.y(line.run)(this.traces.at(line, cursor)), 3.2, 0, 2 * Math.PI);
    context.fillStyle = this.looks.line(this.state, line).colour;
    context.fill();
  }

  #point(context, { time, line, kind }, kindLook) {
    const value = this.traces.at(line, time, this.spec.column);
    if (Number.isNaN(value)) return;
    const look = kindLook(kind);
    marker(context, look.marker, this.x(time), this.y(line.run)(value), 4);
    context.fillStyle = look.colour;
    context.strokeStyle = theme.paper;
    context.lineWidth = 0.8;
    context.fill();
    context.stroke();
  }
}

/** Range of an axis for the given lines. */
function reach(drawn) {
  let min = 0;
  let largest = 0;
  for (const { low, high } of drawn) {
    for (let i = 0; i < low.length; i++) {
      if (low[i] < min) min = low[i];
      if (high[i] > largest) largest = high[i];
    }
  }
  return { low: min * 1.06, high: largest === min ? min + 1 : largest * 1.06 };
}

/** One quantity over time. */

import { fresh, INK, LEFT, RIGHT, RULE, SOFT } from "airwnd/canvas.js";
import { Density } from "airwnd/density.js";
import { marker, swatch } from "airwnd/looks.js";
import { lowerBound, tickText, ticks, valueText } from "airwnd/scale.js";

// The title and the values stand above the plot.
const TOP = 19;
const BOTTOM = 5;

export class Panel {
  constructor(spec, state, looks) {
    Object.assign(this, { spec, state, looks });
    this.element = document.createElement("section");
    this.element.className = "panel";
    this.element.dataset.column = spec.column;
    const title = document.createElement("h3");
    title.textContent = spec.title;
    this.values = document.createElement("div");
    this.values.className = "values";
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.base = document.createElement("canvas");
    this.base.setAttribute("role", "img");
    this.base.setAttribute("aria-label", `${spec.title} over time`);
    this.over = document.createElement("canvas");
    this.plot.append(this.base, this.over);
    this.element.append(title, this.values, this.plot);
  }

  get shown() {
    return this.state.panelsShown.has(this.spec.column);
  }

  /** Draw everything but the cursor; `marks` are the events of the lines drawn. */
  draw(frame, marks, kindLook) {
    const { context, width, height, ratio } = fresh(this.base);
    Object.assign(this, { frame, height });
    const singles = this.state.single().filter((line) => this.#series(line).has(this.spec.column));
    const traces = singles.map((line) => this.#trace(line));
    const crowd = this.state.crowded() ? this.#crowd() : [];
    this.#scale([...traces, ...crowd]);
    this.#grid(context, width);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT - RIGHT, height);
    context.clip();
    for (const part of crowd) part.draw(context, ratio);
    for (const mark of marks.guides) this.#guide(context, mark);
    traces.forEach((trace) => this.#stroke(context, trace));
    if (this.spec.column === "cwnd_bytes") for (const mark of marks.points) this.#point(context, mark, kindLook);
    context.restore();
    Object.assign(this.element.dataset, { from: frame.from, to: frame.to, low: this.low, high: this.high });
  }

  /** Draw the cursor, the line that is looked at, and the values there. */
  drawOver(drag) {
    const { context, width, height } = fresh(this.over);
    const { frame, state } = this;
    if (drag) {
      context.fillStyle = "#0072b220";
      context.fillRect(drag[0], 0, drag[1] - drag[0], height);
    }
    this.values.replaceChildren();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT - RIGHT, height);
    context.clip();
    const looked = state.hovered ? state.kin(state.hovered).filter((line) => this.#isVisible(line)) : [];
    for (const line of looked) this.#stroke(context, this.#trace(line), 2.4, state.single().includes(line) ? null : INK);
    if (state.cursor === null) return;
    const x = frame.x(state.cursor);
    context.strokeStyle = SOFT;
    context.lineWidth = 1;
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, height);
    context.stroke();
    this.#readOut(context, looked);
  }

  /** The visible line that is nearest to a place, at the sample under the cursor. */
  nearest(y) {
    let best = null;
    let distance = Infinity;
    for (const line of this.state.visible()) {
      const away = Math.abs(this.y(this.#at(line)) - y);
      if (away < distance) [best, distance] = [line, away];
    }
    return best;
  }

  y(value) {
    return TOP + ((this.high - value) / (this.high - this.low)) * (this.height - TOP - BOTTOM);
  }

  #series(line) {
    return this.state.series[line.run];
  }

  #isVisible(line) {
    return this.state.shown.has(line) && this.state.runsShown.has(line.run) && this.#series(line).has(this.spec.column);
  }

  #at(line, column = this.spec.column) {
    const series = this.#series(line);
    return series.value(column, line.flow, series.nearest(this.state.cursor));
  }

  /** Where a line goes: its samples, or its least and largest values for each pixel column. */
  #trace(line, column = this.spec.column) {
    const { frame } = this;
    const series = this.#series(line);
    const look = this.looks.line(line.run, this.state.slot(line));
    if (frame.sparse(line.run)) {
      const [first, end] = frame.samples(line.run, series.length);
      const offset = line.flow * series.length;
      const values = series.columns.get(column).subarray(offset + first, offset + end);
      return { line, look, low: values, high: values, time: series.time.subarray(first, end) };
    }
    return { line, look, ...this.#columns(line, column) };
  }

  #columns(line, column) {
    const low = new Float32Array(this.frame.columns);
    const high = new Float32Array(this.frame.columns);
    this.#series(line).pyramid(column).columns(line.flow, this.frame.edges[line.run], low, high);
    return { low, high };
  }

  /** What stands for many lines: a band for each run, or the depth of all its lines. */
  #crowd() {
    const { state } = this;
    return [...state.runsShown].flatMap((run) => {
      const lines = state.visible().filter((line) => line.run === run);
      if (!lines.length || !state.series[run].has(this.spec.column)) return [];
      return [state.many === "band" ? this.#band(run, lines) : this.#density(run, lines)];
    });
  }

  #bandWithin(run, lines) {
    const series = this.state.series[run];
    const band = series.band(this.spec.column, lines.map((line) => line.flow));
    return band.within(this.frame.step(run), ...this.frame.samples(run, series.length));
  }

  #band(run, lines) {
    const { time, lines: [low, median, high] } = this.#bandWithin(run, lines);
    const look = { colour: this.looks.run(run), dashes: [] };
    const draw = (context) => {
      context.fillStyle = `${look.colour}38`;
      this.#fill(context, { low, high, time });
      this.#stroke(context, { low: median, high: median, time, look }, 1.6);
    };
    return { low, high, draw };
  }

  #density(run, lines) {
    const traces = lines.map((line) => (this.frame.sparse(run) ? this.#between(line) : this.#columns(line, this.spec.column)));
    const least = traces.map((trace) => least_(trace.low));
    const most = traces.map((trace) => most_(trace.high));
    const draw = (context, ratio) => {
      const density = new Density(this.frame.columns, Math.round(this.height * ratio));
      const [scale, shift] = [this.y(1) - this.y(0), this.y(0)].map((value) => value * ratio);
      const place = (values) => values.map((value) => value * scale + shift);
      for (const { low, high } of traces) density.add(place(high), place(low));
      context.save();
      context.setTransform(1, 0, 0, 1, 0, 0);
      density.draw(context, Math.round(LEFT * ratio), 0, this.looks.run(run), Math.min(0.6, Math.max(0.16, 8 / lines.length)));
      context.restore();
    };
    return { low: least, high: most, draw };
  }

  /** Least and largest values of straight lines between samples, for each pixel column. */
  #between(line) {
    const { frame } = this;
    const series = this.#series(line);
    const { columns } = frame;
    const low = new Float32Array(columns).fill(NaN);
    const high = new Float32Array(columns).fill(NaN);
    const [first, end] = frame.samples(line.run, series.length);
    const place = (sample) => ((series.time[sample] - frame.from) / (frame.to - frame.from)) * columns;
    const put = (column, value) => {
      if (!(low[column] <= value)) low[column] = value;
      if (!(high[column] >= value)) high[column] = value;
    };
    for (let sample = first; sample < end; sample++) {
      const here = place(sample);
      const value = series.value(this.spec.column, line.flow, sample);
      if (value !== value) continue;
      if (here >= 0 && here < columns) put(Math.floor(here), value);
      if (sample + 1 === end) break;
      const there = place(sample + 1);
      const next = series.value(this.spec.column, line.flow, sample + 1);
      if (next !== next) continue;
      for (let column = Math.max(0, Math.ceil(here)); column < Math.min(columns, there); column++) {
        put(column, value + ((next - value) * (column - here)) / (there - here));
      }
    }
    return { low, high };
  }

  /** The vertical axis holds what is drawn, and zero. */
  #scale(drawn) {
    let low = 0;
    let high = 0;
    for (const trace of drawn) {
      low = Math.min(low, least_(trace.low));
      high = Math.max(high, most_(trace.high));
    }
    this.low = low * 1.06;
    this.high = high === low ? low + 1 : high * 1.06;
  }

  #grid(context, width) {
    const { height } = this;
    const { step, values } = ticks(this.low, this.high, Math.max(2, height / 34));
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of values) {
      const y = Math.round(this.y(value)) + 0.5;
      context.strokeStyle = value === 0 ? "#9aa4ad" : RULE;
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(width - RIGHT, y);
      context.stroke();
      context.fillStyle = SOFT;
      context.fillText(tickText(value, step), LEFT - 6, Math.min(height - 6, Math.max(6, y)));
    }
    const axis = ticks(this.frame.from, this.frame.to, width / 90);
    context.strokeStyle = RULE;
    for (const value of axis.values) {
      const x = Math.round(this.frame.x(value)) + 0.5;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height);
      context.stroke();
    }
  }

  /** Visit the points of a trace, `visit(x, low, high, joined)`; empty columns are passed over, gaps are not joined. */
  #visit(trace, visit) {
    const { frame } = this;
    const edges = trace.line && !trace.time ? frame.edges[trace.line.run] : null;
    let joined = false;
    for (let i = 0; i < trace.low.length; i++) {
      if (edges && edges[i] === edges[i + 1]) continue;
      if (trace.low[i] !== trace.low[i]) {
        joined = false;
        continue;
      }
      const x = trace.time ? frame.x(trace.time[i]) : LEFT + (i + 0.5) / frame.ratio;
      visit(x, this.y(trace.low[i]), this.y(trace.high[i]), joined);
      joined = true;
    }
  }

  #stroke(context, trace, width = 1.3, colour = null) {
    const selected = this.state.selected.has(trace.line);
    const thick = selected ? Math.max(width, 2) : width;
    context.beginPath();
    let before = 0;
    this.#visit(trace, (x, low, high, joined) => {
      const [near, far] = Math.abs(before - low) < Math.abs(before - high) ? [low, high] : [high, low];
      if (joined) context.lineTo(x, near);
      else context.moveTo(x, near);
      // A point of its own is a dot: a line of no length with round ends.
      if (far !== near || !joined) context.lineTo(x, far);
      before = far;
    });
    context.lineWidth = thick;
    context.lineJoin = "round";
    context.lineCap = trace.look.dashes.length ? "butt" : "round";
    context.strokeStyle = colour ?? trace.look.colour;
    context.setLineDash(colour ? [] : trace.look.dashes.map((dash) => dash * thick));
    context.stroke();
    context.setLineDash([]);
    if (this.spec.beside && trace.line && this.#series(trace.line).has(this.spec.beside)) this.#beside(context, trace);
  }

  #beside(context, { line, look }) {
    const trace = this.#trace(line, this.spec.beside);
    context.beginPath();
    this.#visit(trace, (x, low, high, joined) => (joined ? context.lineTo(x, high) : context.moveTo(x, high)));
    context.lineWidth = 1;
    context.strokeStyle = `${look.colour}b0`;
    context.setLineDash([1.5, 3]);
    context.stroke();
    context.setLineDash([]);
  }

  #fill(context, trace) {
    // A gap ends a piece of the band; a piece goes along the top and back along the bottom.
    let piece = [];
    const close = () => {
      context.beginPath();
      for (const [x, , top] of piece) context.lineTo(x, top);
      for (const [x, bottom] of piece.reverse()) context.lineTo(x, bottom);
      context.fill();
      piece = [];
    };
    this.#visit(trace, (x, bottom, top, joined) => {
      if (!joined && piece.length) close();
      piece.push([x, bottom, top]);
    });
    if (piece.length) close();
  }

  #guide(context, { time }) {
    const x = Math.round(this.frame.x(time)) + 0.5;
    context.strokeStyle = "#1c202438";
    context.setLineDash([2, 2]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, this.height);
    context.stroke();
    context.setLineDash([]);
  }

  #point(context, { time, line, kind }, kindLook) {
    const series = this.#series(line);
    const value = series.value(this.spec.column, line.flow, series.nearest(time));
    if (Number.isNaN(value)) return;
    const look = kindLook(kind);
    marker(context, look.marker, this.frame.x(time), this.y(value), 4);
    context.fillStyle = look.colour;
    context.strokeStyle = "#fff";
    context.lineWidth = 0.8;
    context.fill();
    context.stroke();
  }

  #readOut(context, looked) {
    const { state, frame } = this;
    const singles = state.single().filter((line) => this.#isVisible(line));
    const chosen = singles.length <= 4 ? singles : singles.filter((line) => state.selected.has(line)).slice(0, 4);
    for (const line of new Set([...chosen, ...looked])) {
      const value = this.#at(line);
      const beside = this.spec.beside ? this.#at(line, this.spec.beside) : NaN;
      const own = singles.includes(line);
      const colour = own ? this.looks.line(line.run, state.slot(line)) : { colour: INK };
      const text = valueText(value) + (Number.isNaN(beside) ? "" : ` (ssthresh ${valueText(beside)})`);
      this.#show(swatch(colour), own ? text : `${line.id} ${text}`, { run: line.run, flow: line.id, value });
      const series = this.#series(line);
      const sample = series.time[series.nearest(state.cursor)];
      context.beginPath();
      context.arc(frame.x(sample), this.y(value), 3.2, 0, 2 * Math.PI);
      context.fillStyle = colour.colour;
      context.fill();
    }
    if (state.crowded() && state.many === "band") this.#readBands();
  }

  #readBands() {
    const { state } = this;
    for (const run of state.runsShown) {
      const lines = state.visible().filter((line) => line.run === run);
      if (!lines.length || !state.series[run].has(this.spec.column)) continue;
      const band = this.#bandWithin(run, lines);
      const after = Math.min(lowerBound(band.time, state.cursor), band.time.length - 1);
      const before = Math.max(after - 1, 0);
      const step = state.cursor - band.time[before] < band.time[after] - state.cursor ? before : after;
      const values = band.lines.map((line) => line[step]);
      const [low, median, high] = values.map((value) => valueText(value, Math.abs(value) < 100 ? 1 : 0));
      const picture = swatch({ colour: this.looks.run(run) }, 7, 0.35);
      this.#show(picture, `median ${median} (${low} – ${high})`, { run, low: values[0], median: values[1], high: values[2] });
    }
  }

  #show(picture, text, data) {
    const item = document.createElement("span");
    item.append(picture, ` ${text}`);
    Object.assign(item.dataset, data);
    this.values.append(item);
  }
}

function least_(values) {
  let found = Infinity;
  for (const value of values) if (value < found) found = value;
  return found;
}

function most_(values) {
  let found = -Infinity;
  for (const value of values) if (value > found) found = value;
  return found;
}

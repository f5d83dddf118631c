/** One quantity over time. */

import { BAND } from "airwnd/band.js";
import { fresh, INK, LEFT, RIGHT, RULE, SOFT } from "airwnd/canvas.js";
import { Density } from "airwnd/density.js";
import { BROAD, marker, swatch } from "airwnd/looks.js";
import { lowerBound, tickText, ticks, valueText } from "airwnd/scale.js";

// The title and the values stand above the plot.
const TOP = 19;
const BOTTOM = 5;
// A flow is served now and then: its rate at an instant is nothing or a peak. Pixels for a mean that can be read.
const SMOOTH = 4;

export class Panel {
  constructor(spec, state, looks) {
    Object.assign(this, { spec, state, looks });
    this.element = document.createElement("section");
    this.element.className = "panel";
    this.element.dataset.column = spec.column;
    this.title = document.createElement("h3");
    this.values = document.createElement("div");
    this.values.className = "values";
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.base = document.createElement("canvas");
    this.base.setAttribute("role", "img");
    this.base.setAttribute("aria-label", `${spec.title} over time`);
    this.over = document.createElement("canvas");
    this.plot.append(this.base, this.over);
    const head = document.createElement("header");
    head.append(this.title, this.values);
    this.element.append(head, this.plot);
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
    this.#name();
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
    for (const line of looked) {
      const own = state.single().includes(line);
      const trace = this.#trace(line);
      if (!own) this.#follow(context, trace, [], 4, "#ffffffc0");
      this.#stroke(context, trace, own ? 2.4 : 1.7, own ? undefined : this.#colour(line).colour);
    }
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

  /** How many samples go into a point of a line: those of a pixel, or of some where single samples say little. */
  #step(run) {
    return this.frame.step(run, this.spec.smooth ? SMOOTH : 1);
  }

  #points(line, column) {
    const series = this.#series(line);
    return series.means(column, line.flow, this.#step(line.run), ...this.frame.samples(line.run, series.length));
  }

  /** Where a line goes, and, where a point is a mean of many samples, the least and largest for each pixel column. */
  #trace(line, column = this.spec.column) {
    const points = this.#points(line, column);
    const look = this.looks.line(line.run, this.state.slot(line));
    const wide = this.#step(line.run) > 1 && !this.spec.smooth;
    if (!wide) return { line, look, ...points, low: points.values, high: points.values, wide };
    const low = new Float32Array(this.frame.columns);
    const high = new Float32Array(this.frame.columns);
    this.#reach(line, column, low, high);
    return { line, look, ...points, low, high, wide };
  }

  #reach(line, column, low, high) {
    this.#series(line).pyramid(column).columns(line.flow, this.frame.edges[line.run], low, high);
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
    const step = this.frame.step(run, this.spec.smooth ? SMOOTH : BAND);
    const band = series.band(this.spec.column, lines.map((line) => line.flow));
    return band.within(step, ...this.frame.samples(run, series.length));
  }

  #band(run, lines) {
    const { time, lines: [low, median, high] } = this.#bandWithin(run, lines);
    const look = { colour: this.looks.crowd(run), dashes: [] };
    const draw = (context) => {
      context.fillStyle = `${look.colour}38`;
      this.#fill(context, low, high, (i) => this.frame.x(time[i]));
      this.#stroke(context, { values: median, time, look }, 1.6);
    };
    return { low, high, draw };
  }

  #density(run, lines) {
    const { columns } = this.frame;
    const thick = this.#step(run) > 1 && !this.spec.smooth;
    const low = new Float32Array(lines.length * columns);
    const high = new Float32Array(lines.length * columns);
    const rows = lines.map((line, row) => {
      const ends = [low, high].map((values) => values.subarray(row * columns, (row + 1) * columns));
      if (thick) this.#reach(line, this.spec.column, ...ends);
      else this.#between(this.#points(line, this.spec.column), ...ends);
      return ends;
    });
    const draw = (context, ratio) => {
      const density = new Density(columns, Math.round(this.height * ratio));
      const [scale, shift] = [(this.y(1) - this.y(0)) * ratio, this.y(0) * ratio];
      for (const [least, largest] of rows) density.add(least, largest, scale, shift);
      context.save();
      context.setTransform(1, 0, 0, 1, 0, 0);
      density.draw(context, Math.round(LEFT * ratio), 0, this.looks.crowd(run), Math.min(0.6, Math.max(0.22, 8 / lines.length)));
      context.restore();
    };
    return { low, high, draw };
  }

  /** Least and largest values of the straight lines between points, for each pixel column. */
  #between({ time, values }, low, high) {
    const { columns, from, to } = this.frame;
    const scale = columns / (to - from);
    low.fill(NaN);
    high.fill(NaN);
    let there = (time[0] - from) * scale;
    for (let i = 0; i < values.length; i++) {
      const [here, value, next] = [there, values[i], values[i + 1]];
      there = (time[i + 1] - from) * scale;
      if (value !== value) continue;
      const own = Math.floor(here);
      if (own >= 0 && own < columns) {
        if (!(low[own] <= value)) low[own] = value;
        if (!(high[own] >= value)) high[own] = value;
      }
      if (next !== next || next === undefined) continue;
      const slope = (next - value) / (there - here);
      const end = there < columns ? there : columns;
      for (let column = here > 0 ? Math.ceil(here) : 0; column < end; column++) {
        const between = value + slope * (column - here);
        if (!(low[column] <= between)) low[column] = between;
        if (!(high[column] >= between)) high[column] = between;
      }
    }
  }

  /** The title says over what time the points are means, where single samples would say little. */
  #name() {
    const { runsShown, series } = this.state;
    const steps = [...runsShown].filter((run) => this.spec.smooth && this.#step(run) > 1);
    const longest = Math.max(...steps.map((run) => this.#step(run) * series[run].interval * 1e3));
    this.title.textContent = this.spec.title + (steps.length ? `, means of ${valueText(Math.round(longest))} ms` : "");
  }

  /** The vertical axis holds what is drawn, and zero. */
  #scale(drawn) {
    let least = 0;
    let largest = 0;
    for (const { low, high } of drawn) {
      for (let i = 0; i < low.length; i++) {
        if (low[i] < least) least = low[i];
        if (high[i] > largest) largest = high[i];
      }
    }
    this.low = least * 1.06;
    this.high = largest === least ? least + 1 : largest * 1.06;
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

  #stroke(context, trace, width = 1.3, colour = trace.look.colour) {
    const dashes = colour === trace.look.colour ? trace.look.dashes : [];
    const thick = this.state.selected.has(trace.line) ? Math.max(width, 2) : width;
    if (trace.wide) {
      context.fillStyle = `${colour}50`;
      this.#fill(context, trace.low, trace.high, (column) => LEFT + (column + 0.5) / this.frame.ratio);
    }
    this.#follow(context, trace, dashes.map((dash) => dash * thick), thick, colour);
    if (this.spec.beside && trace.line && this.#series(trace.line).has(this.spec.beside)) {
      this.#follow(context, this.#trace(trace.line, this.spec.beside), [1.5, 3], 1, `${trace.look.colour}b0`);
    }
  }

  #follow(context, { time, values }, dashes, width, colour) {
    context.beginPath();
    let joined = false;
    for (let i = 0; i < values.length; i++) {
      const known = values[i] === values[i];
      if (known) {
        const [x, y] = [this.frame.x(time[i]), this.y(values[i])];
        // A line of no length is not drawn: what stands alone between gaps gets a little of it.
        if (!joined) context.moveTo(x - 0.6, y);
        context.lineTo(joined ? x : x + 0.6, y);
      }
      joined = known;
    }
    context.lineWidth = width;
    context.lineJoin = "round";
    context.strokeStyle = colour;
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
  }

  /** Fill between two curves; a gap ends a piece, which goes along the top and back along the bottom. */
  #fill(context, low, high, x) {
    context.beginPath();
    for (let start = 0; start < low.length; start++) {
      let end = start;
      while (low[end] === low[end] && end < low.length) end++;
      if (end === start) continue;
      for (let i = start; i < end; i++) context.lineTo(x(i), this.y(high[i]));
      for (let i = end - 1; i >= start; i--) context.lineTo(x(i), this.y(low[i]));
      context.closePath();
      context.moveTo(x(end), 0);
      start = end;
    }
    context.fill();
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

  /** How a line is drawn: by its own look, or, out of many, dark; or by its run, where there are several. */
  #colour(line) {
    if (this.state.single().includes(line)) return this.looks.line(line.run, this.state.slot(line));
    return { colour: this.looks.several ? this.looks.run(line.run) : INK };
  }

  #readOut(context, looked) {
    const { state, frame } = this;
    const singles = state.single().filter((line) => this.#isVisible(line));
    const chosen = singles.length <= 4 ? singles : singles.filter((line) => state.selected.has(line)).slice(0, 4);
    const others = looked.filter((line) => !chosen.includes(line));
    chosen.forEach((line) => this.#readLine(line));
    if (others.length) this.#show([others[0].id]);
    others.forEach((line) => this.#readLine(line));
    for (const line of [...chosen, ...others]) {
      if (this.#step(line.run) > 1 && this.spec.smooth) continue;
      const series = this.#series(line);
      const sample = series.time[series.nearest(state.cursor)];
      context.beginPath();
      context.arc(frame.x(sample), this.y(this.#at(line)), 3.2, 0, 2 * Math.PI);
      context.fillStyle = this.#colour(line).colour;
      context.fill();
    }
    if (state.crowded() && state.many === "band") this.#readBands();
  }

  #readLine(line) {
    const value = this.#at(line);
    const beside = this.spec.beside && line === this.state.hovered ? this.#at(line, this.spec.beside) : NaN;
    const text = valueText(value) + (Number.isNaN(beside) ? "" : ` (ssthresh ${valueText(beside)})`);
    this.#show([swatch(this.#colour(line), { length: 16 }), ` ${text}`], { run: line.run, flow: line.id, value });
  }

  /** The band under the cursor; of several runs the median only. */
  #readBands() {
    const { state } = this;
    this.#show(["median"]);
    for (const run of state.runsShown) {
      const lines = state.visible().filter((line) => line.run === run);
      if (!lines.length || !state.series[run].has(this.spec.column)) continue;
      const band = this.#bandWithin(run, lines);
      const after = Math.min(lowerBound(band.time, state.cursor), band.time.length - 1);
      const before = Math.max(after - 1, 0);
      const step = state.cursor - band.time[before] < band.time[after] - state.cursor ? before : after;
      const values = band.lines.map((line) => line[step]);
      const [low, median, high] = values.map((value) => valueText(value, Math.abs(value) < 100 ? 1 : 0));
      const text = this.looks.several ? median : `${median} (${low} – ${high})`;
      const data = { run, low: values[0], median: values[1], high: values[2] };
      this.#show([swatch({ colour: this.looks.crowd(run) }, { ...BROAD, length: 12 }), ` ${text}`], data);
    }
  }

  #show(parts, data = {}) {
    const item = document.createElement("span");
    item.append(...parts);
    Object.assign(item.dataset, data);
    this.values.append(item);
  }
}

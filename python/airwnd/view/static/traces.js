/** Data that a panel draws of its lines: points, minima and maxima per pixel column, bands. */

import { BAND } from "airwnd/band.js";

// Width in pixels of the averaging window of rates. A flow is served intermittently, so that single samples are either
// zero or a peak.
const SMOOTH = 4;

export class Traces {
  /** @type {import("airwnd/canvas.js").Frame} */
  frame;

  /**
   * @param {RunFacts["panels"][0]} spec
   * @param {import("airwnd/state.js").State} state
   */
  constructor(spec, state) {
    this.spec = spec;
    this.state = state;
  }

  series(line) {
    return this.state.series[line.run];
  }

  /** Returns the value of a line at the sample nearest to a time. */
  at(line, time, column = this.spec.column) {
    const series = this.series(line);
    return series.value(column, line.flow, series.nearest(time));
  }

  /** Returns a function from a line of a run to its value at the sample nearest to a time. */
  sampled(series, time) {
    const values = series.columns.get(this.spec.column);
    const sample = series.nearest(time);
    return (line) => (values ? values[line.flow * series.length + sample] : NaN);
  }

  isVisible(line) {
    const { shown, runsShown } = this.state;
    return shown.has(line) && runsShown.has(line.run) && this.series(line).has(this.spec.column);
  }

  /** Returns the number of samples per point of a line: those of one pixel, or of more for smoothed quantities. */
  step(run) {
    return this.frame.step(run, this.spec.smooth ? SMOOTH : 1);
  }

  /** Returns the points of a line and, if points are means of several samples, minima and maxima per pixel column. */
  trace(line, column = this.spec.column) {
    const points = this.#points(line, column);
    if (!this.#isWide(line.run)) return { line, ...points, low: points.values, high: points.values, wide: false };
    const low = new Float32Array(this.frame.columns);
    const high = new Float32Array(this.frame.columns);
    this.#reach(line, column, low, high);
    return { line, ...points, low, high, wide: true };
  }

  /** Returns the visible lines of each shown run that has the quantity. */
  crowds() {
    const visible = this.state.visible().filter((line) => this.series(line).has(this.spec.column));
    const crowds = [...this.state.runsShown].map((run) => ({ run, lines: visible.filter((line) => line.run === run) }));
    return crowds.filter(({ lines }) => lines.length);
  }

  /** Returns the band of a run's lines: times, and the lines of the percentiles. */
  band({ run, lines }) {
    const series = this.state.series[run];
    const band = series.band(this.spec.column, lines.map((line) => line.flow));
    const step = this.frame.step(run, this.spec.smooth ? SMOOTH : BAND);
    return band.within(step, ...this.frame.samples(run, series.length));
  }

  /** Returns minima and maxima of each line of a run, per pixel column. */
  all({ run, lines }) {
    const { columns } = this.frame;
    const low = new Float32Array(lines.length * columns);
    const high = new Float32Array(lines.length * columns);
    const rows = lines.map((line, row) => {
      const ends = [low, high].map((values) => values.subarray(row * columns, (row + 1) * columns));
      if (this.#isWide(run)) this.#reach(line, this.spec.column, ...ends);
      else this.#between(this.#points(line, this.spec.column), ...ends);
      return ends;
    });
    return { low, high, rows };
  }

  #isWide(run) {
    return this.step(run) > 1 && !this.spec.smooth;
  }

  #points(line, column) {
    const series = this.series(line);
    return series.means(column, line.flow, this.step(line.run), ...this.frame.samples(line.run, series.length));
  }

  #reach(line, column, low, high) {
    this.series(line).pyramid(column).columns(line.flow, this.frame.edges[line.run], low, high);
  }

  /** Computes minima and maxima of the straight lines between points, per pixel column. */
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
}

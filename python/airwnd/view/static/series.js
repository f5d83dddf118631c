/** The time series of one run: a grid of times and flows for each quantity. */

import { Band } from "airwnd/band.js";
import { Pyramid } from "airwnd/pyramid.js";
import { lowerBound, nearest } from "airwnd/scale.js";

export class Series {
  #pyramids = new Map();
  #bands = new Map();

  constructor(run, index, arrays) {
    this.time = arrays.get(`${index}/time`);
    this.length = this.time.length;
    this.interval = this.length > 1 ? (this.time.at(-1) - this.time[0]) / (this.length - 1) : 0;
    this.flows = run.flows.length;
    this.columns = new Map(run.columns.map((name) => [name, arrays.get(`${index}/${name}`)]));
  }

  has(column) {
    return this.columns.has(column);
  }

  /** Returns the value of a flow at a sample; NaN if it is missing. */
  value(column, flow, sample) {
    return this.has(column) ? this.columns.get(column)[flow * this.length + sample] : NaN;
  }

  /** Returns the sample nearest to a time. */
  nearest(time) {
    return nearest(this.time, time);
  }

  /** Returns the first sample of each of `count` equal parts of a time range, and the end of the last part. */
  edges(from, to, count) {
    const edges = new Int32Array(count + 1);
    let sample = lowerBound(this.time, from);
    for (let column = 0; column <= count; column++) {
      const edge = from + ((to - from) * column) / count;
      while (sample < this.length && this.time[sample] < edge) sample++;
      edges[column] = sample;
    }
    // The last part includes both of its ends.
    if (sample < this.length && this.time[sample] === to) edges[count]++;
    return edges;
  }

  /** Returns means over the steps of `size` samples that cover the samples from `first` to `end`, at the steps' middles. */
  means(column, flow, size, first, end) {
    const all = this.columns.get(column).subarray(flow * this.length, (flow + 1) * this.length);
    if (size === 1) return { time: this.time.subarray(first, end), values: all.subarray(first, end) };
    const from = Math.floor(first / size);
    const count = Math.ceil(end / size) - from;
    const time = new Float64Array(count);
    const values = new Float32Array(count);
    for (let step = 0; step < count; step++) {
      const start = (from + step) * size;
      const stop = Math.min(this.length, start + size);
      let sum = 0;
      let known = 0;
      for (let i = start; i < stop; i++) {
        if (all[i] !== all[i]) continue;
        sum += all[i];
        known++;
      }
      time[step] = (this.time[start] + this.time[stop - 1]) / 2;
      values[step] = sum / known;
    }
    return { time, values };
  }

  pyramid(column) {
    if (!this.#pyramids.has(column)) {
      this.#pyramids.set(column, new Pyramid(this.columns.get(column), this.flows, this.length));
    }
    return this.#pyramids.get(column);
  }

  /** Returns the band over the given flows; cached until other flows are requested. */
  band(column, flows) {
    const key = flows.join(" ");
    const kept = this.#bands.get(column);
    if (kept?.key === key) return kept.band;
    const band = new Band(this.columns.get(column), flows, this.time);
    this.#bands.set(column, { key, band });
    return band;
  }
}

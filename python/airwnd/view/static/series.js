/** The time series of one run: a grid of times and flows for each quantity. */

import { Band } from "airwnd/band.js";
import { Pyramid } from "airwnd/pyramid.js";
import { lowerBound, nearest } from "airwnd/scale.js";

export class Series {
  /** @type {Map<string, Pyramid>} */
  #pyramids = new Map();
  /** @type {Map<string, { key: string, band: Band }>} */
  #bands = new Map();

  /**
   * @param {RunFacts["runs"][0]} run
   * @param {number} index
   * @param {Map<string, any>} arrays
   */
  constructor(run, index, arrays) {
    /** @type {Float64Array} */
    this.time = arrays.get(`${index}/time`);
    this.length = this.time.length;
    this.interval = this.length > 1 ? (this.time[this.length - 1] - this.time[0]) / (this.length - 1) : 0;
    this.flows = run.flows.length;
    /** @type {Map<string, Float32Array>} */
    this.columns = new Map(run.columns.map((name) => [name, arrays.get(`${index}/${name}`)]));
  }

  has(/** @type {string} */ column) {
    return this.columns.has(column);
  }

  /**
   * Returns the value of a flow at a sample; NaN if it is missing.
   *
   * @param {string} column
   * @param {number} flow
   * @param {number} sample
   */
  value(column, flow, sample) {
    return this.columns.get(column)?.[flow * this.length + sample] ?? NaN;
  }

  /** Returns the sample nearest to a time. */
  nearest(/** @type {number} */ time) {
    return nearest(this.time, time);
  }

  /**
   * Returns the first sample of each of `count` equal parts of a time range, and the end of the last part.
   *
   * @param {number} from
   * @param {number} to
   * @param {number} count
   */
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

  /** The samples of a column that the series has. */
  #samples(/** @type {string} */ column) {
    const found = this.columns.get(column);
    if (!found) throw new Error(`no column ${column}`);
    return found;
  }

  /**
   * Returns means over the steps of `size` samples that cover the samples from `first` to `end`, at the steps' middles.
   *
   * @param {string} column
   * @param {number} flow
   * @param {number} size
   * @param {number} first
   * @param {number} end
   */
  means(column, flow, size, first, end) {
    const all = this.#samples(column).subarray(flow * this.length, (flow + 1) * this.length);
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

  pyramid(/** @type {string} */ column) {
    let found = this.#pyramids.get(column);
    if (!found) {
      found = new Pyramid(this.#samples(column), this.flows, this.length);
      this.#pyramids.set(column, found);
    }
    return found;
  }

  /**
   * Returns the band over the given flows; cached until other flows are requested.
   *
   * @param {string} column
   * @param {number[]} flows
   */
  band(column, flows) {
    const key = flows.join(" ");
    const kept = this.#bands.get(column);
    if (kept?.key === key) return kept.band;
    const band = new Band(this.#samples(column), flows, this.time);
    this.#bands.set(column, { key, band });
    return band;
  }
}

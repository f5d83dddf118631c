/**
 * The spread of many flows over time: 5th percentile, median and 95th percentile over the flows.
 *
 * Each flow counts with its mean over a step of 1, 2, 4, ... samples, about as long as two pixels are wide: at an instant
 * most flows of a cell receive nothing, and what tells them apart is what they get over a while. Only what is seen is
 * worked out, and it is kept.
 */

const PARTS = [0.05, 0.5, 0.95];
const BLOCK = 64;

/** The width of a step in pixels. */
export const BAND = 2;

export class Band {
  #levels = new Map();

  /** @param rows which rows of `values` count. */
  constructor(values, rows, time) {
    Object.assign(this, { values, rows, time });
    this.lists = new Float32Array(BLOCK * rows.length);
  }

  /** The steps of `size` samples that the samples from `first` to `end` lie in: their times and the three lines. */
  within(size, first, end) {
    const level = this.#level(size);
    const [from, to] = [Math.floor(first / size), Math.ceil(end / size)];
    for (let block = Math.floor(from / BLOCK); block * BLOCK < to; block++) {
      if (!level.known[block]) this.#fill(level, size, block);
    }
    return { time: level.time.subarray(from, to), lines: level.lines.map((line) => line.subarray(from, to)) };
  }

  #level(size) {
    if (!this.#levels.has(size)) {
      const count = Math.ceil(this.time.length / size);
      const time = Float64Array.from({ length: count }, (_, step) => {
        const last = Math.min(this.time.length, (step + 1) * size) - 1;
        return (this.time[step * size] + this.time[last]) / 2;
      });
      const lines = PARTS.map(() => new Float32Array(count));
      this.#levels.set(size, { time, lines, known: new Uint8Array(Math.ceil(count / BLOCK)) });
    }
    return this.#levels.get(size);
  }

  #fill(level, size, block) {
    const { lists, rows, time, values } = this;
    const first = block * BLOCK;
    const count = Math.min(BLOCK, level.time.length - first);
    const filled = new Uint32Array(count);
    // The samples of a flow lie together: flow by flow, they are read in the order of the memory.
    for (const row of rows) {
      for (let step = 0; step < count; step++) {
        const from = (first + step) * size;
        const to = Math.min(time.length, from + size);
        let sum = 0;
        let known = 0;
        for (let i = row * time.length + from; i < row * time.length + to; i++) {
          if (values[i] !== values[i]) continue;
          sum += values[i];
          known++;
        }
        if (known) lists[step * rows.length + filled[step]++] = sum / known;
      }
    }
    for (let step = 0; step < count; step++) {
      const sorted = lists.subarray(step * rows.length, step * rows.length + filled[step]).sort();
      PARTS.forEach((part, line) => (level.lines[line][first + step] = quantile(sorted, part)));
    }
    level.known[block] = 1;
  }
}

function quantile(sorted, part) {
  const place = (sorted.length - 1) * part;
  const below = Math.floor(place);
  const above = Math.ceil(place);
  return sorted.length ? sorted[below] + (sorted[above] - sorted[below]) * (place - below) : NaN;
}

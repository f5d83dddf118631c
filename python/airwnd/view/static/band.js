/**
 * The band of many flows over time: 5th percentile, median and 95th percentile over the flows.
 *
 * Each flow contributes its mean over a step of 1, 2, 4, ... samples, about two pixels wide: at any one time most flows
 * of a cell receive nothing, and they differ only in averages over time. Only the visible part is computed; results are
 * cached.
 */

const PARTS = [0.05, 0.5, 0.95];
const BLOCK = 64;

/** Width of a step in pixels. */
export const BAND = 2;

/** @typedef {{ time: Float64Array, lines: Float32Array[], known: Uint8Array }} Level means over steps of one width */

export class Band {
  /** @type {Map<number, Level>} */
  #levels = new Map();

  /**
   * @param {Float32Array} values
   * @param {number[]} rows rows of `values` to include
   * @param {Float64Array} time
   */
  constructor(values, rows, time) {
    this.values = values;
    this.rows = rows;
    this.time = time;
    this.lists = new Float32Array(BLOCK * rows.length);
  }

  /**
   * Returns times and the three lines for the steps of `size` samples that cover the samples from `first` to `end`.
   *
   * @param {number} size
   * @param {number} first
   * @param {number} end
   */
  within(size, first, end) {
    const level = this.#level(size);
    const [from, to] = [Math.floor(first / size), Math.ceil(end / size)];
    for (let block = Math.floor(from / BLOCK); block * BLOCK < to; block++) {
      if (!level.known[block]) this.#fill(level, size, block);
    }
    return { time: level.time.subarray(from, to), lines: level.lines.map((line) => line.subarray(from, to)) };
  }

  #level(/** @type {number} */ size) {
    let level = this.#levels.get(size);
    if (!level) {
      const count = Math.ceil(this.time.length / size);
      const time = Float64Array.from({ length: count }, (_, step) => {
        const last = Math.min(this.time.length, (step + 1) * size) - 1;
        return (this.time[step * size] + this.time[last]) / 2;
      });
      const lines = PARTS.map(() => new Float32Array(count));
      level = { time, lines, known: new Uint8Array(Math.ceil(count / BLOCK)) };
      this.#levels.set(size, level);
    }
    return level;
  }

  /**
   * @param {Level} level
   * @param {number} size
   * @param {number} block
   */
  #fill(level, size, block) {
    const { lists, rows, time, values } = this;
    const first = block * BLOCK;
    const count = Math.min(BLOCK, level.time.length - first);
    const filled = new Uint32Array(count);
    // The samples of a flow are contiguous, so this order reads memory sequentially.
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

/**
 * @param {Float32Array} sorted
 * @param {number} part
 */
function quantile(sorted, part) {
  const place = (sorted.length - 1) * part;
  const below = Math.floor(place);
  const above = Math.ceil(place);
  return sorted.length ? sorted[below] + (sorted[above] - sorted[below]) * (place - below) : NaN;
}

/** Minima and maxima over 4, 16, 64, ... samples: the range of a pixel column takes only a few steps. */

const STEP = 4;

/** @typedef {{ factor: number, length: number, low: Float32Array, high: Float32Array }} Level */

export class Pyramid {
  /**
   * @param {Float32Array} values rows of samples, one row per flow; NaN for a missing value
   * @param {number} rows
   * @param {number} length
   */
  constructor(values, rows, length) {
    this.rows = rows;
    /** @type {Level} */
    let newest = { factor: 1, length, low: values, high: values };
    this.levels = [newest];
    while (newest.length > STEP) {
      newest = coarser(newest, rows);
      this.levels.push(newest);
    }
  }

  /**
   * Computes the minimum and maximum of a row in each pixel column; NaN if there are no values.
   *
   * @param {number} row
   * @param {Int32Array} edges first sample of each column, and the end of the last column
   * @param {Float32Array} low
   * @param {Float32Array} high
   */
  columns(row, edges, low, high) {
    const count = edges.length - 1;
    const each = (edges[count] - edges[0]) / count;
    let level = this.levels[0];
    for (const coarse of this.levels) if (coarse.factor * 2 <= each) level = coarse;
    const { factor } = level;
    const offset = row * level.length;
    for (let column = 0; column < count; column++) {
      const first = Math.floor(edges[column] / factor);
      const end = Math.ceil(edges[column + 1] / factor);
      let min = Infinity;
      let largest = -Infinity;
      for (let i = offset + first; i < offset + end; i++) {
        if (level.low[i] < min) min = level.low[i];
        if (level.high[i] > largest) largest = level.high[i];
      }
      low[column] = min === Infinity ? NaN : min;
      high[column] = largest === -Infinity ? NaN : largest;
    }
  }
}

/**
 * @param {Level} below
 * @param {number} rows
 * @returns {Level}
 */
function coarser(below, rows) {
  const length = Math.ceil(below.length / STEP);
  const low = new Float32Array(rows * length);
  const high = new Float32Array(rows * length);
  for (let row = 0; row < rows; row++) {
    const from = row * below.length;
    for (let bin = 0; bin < length; bin++) {
      let min = Infinity;
      let largest = -Infinity;
      const end = from + Math.min(below.length, (bin + 1) * STEP);
      for (let i = from + bin * STEP; i < end; i++) {
        if (below.low[i] < min) min = below.low[i];
        if (below.high[i] > largest) largest = below.high[i];
      }
      low[row * length + bin] = min === Infinity ? NaN : min;
      high[row * length + bin] = largest === -Infinity ? NaN : largest;
    }
  }
  return { factor: below.factor * STEP, length, low, high };
}

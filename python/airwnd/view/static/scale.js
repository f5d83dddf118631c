/** Axes and numbers. */

/**
 * Returns round values for ticks on an axis, at most about `max` of them.
 *
 * @param {number} low
 * @param {number} high
 * @param {number} max
 */
export function ticks(low, high, max) {
  const rough = (high - low) / Math.max(1, max);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? 10 * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return { step, values: found };
}

/**
 * Formats a tick label with the digits required by the step.
 *
 * @param {number} value
 * @param {number} step
 */
export function tickText(value, step) {
  /** @type {[number, string]} */
  const [factor, letter] = Math.abs(step) >= 1e6 || Math.abs(value) >= 1e6 ? [1e6, "M"] : Math.abs(value) >= 1e4 ? [1e3, "k"] : [1, ""];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / factor) - 1e-9));
  return value === 0 ? "0" : (value / factor).toFixed(digits) + letter;
}

// Formats by number of decimals: toLocaleString makes a new one in each call, which takes 20 us.
/** @type {Map<string, Intl.NumberFormat>} */
const formats = new Map();

/**
 * Formats a value: up to three decimals, with thousands separators.
 *
 * @param {unknown} value
 * @param {number} [digits]
 */
export function valueText(value, digits) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  const max = digits ?? (Number.isInteger(value) ? 0 : 3);
  const key = `${digits ?? 0} ${max}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat("en", { minimumFractionDigits: digits ?? 0, maximumFractionDigits: max });
    formats.set(key, format);
  }
  return format.format(value);
}

/**
 * Returns the index of the first entry that is not below `wanted`.
 *
 * @param {ArrayLike<number>} sorted
 * @param {number} wanted
 */
export function lowerBound(sorted, wanted) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the index of the entry nearest to `wanted`.
 *
 * @param {ArrayLike<number>} sorted
 * @param {number} wanted
 */
export function nearest(sorted, wanted) {
  const after = Math.min(lowerBound(sorted, wanted), sorted.length - 1);
  const before = Math.max(after - 1, 0);
  return wanted - sorted[before] < sorted[after] - wanted ? before : after;
}

/** Canvases at the resolution of the screen, and the margins shared by all panels. */

/** Margins left and right of the plots in pixels; `setMargins` changes them. */
export let LEFT = 72;
export let RIGHT = 18;

/** Width of the page in pixels below which its layout has one column; the same as in view.css. */
export const NARROW = 900;

/** Colours of the page from its style sheet; `readTheme` updates them. */
export const theme = { dark: false, paper: "", ink: "", soft: "", rule: "", grid: "", zero: "", wash: "", dim: "", link: "" };

export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of /** @type {const} */ (["paper", "ink", "soft", "rule", "grid", "zero", "wash", "dim", "link"])) theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.dark = style.colorScheme === "dark";
}

/**
 * @param {number} labels width of the widest label left of the plots
 * @param {boolean} right whether there is an axis on the right
 */
export function setMargins(labels, right) {
  const narrow = window.innerWidth < NARROW;
  LEFT = narrow ? 46 : Math.max(72, labels + 12);
  RIGHT = right ? 46 : narrow ? 10 : 18;
  document.documentElement.style.setProperty("--left", `${LEFT}px`);
  document.documentElement.style.setProperty("--right", `${RIGHT}px`);
}

export const FONT = '11px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';

/** The context of a canvas. */
export function contextOf(/** @type {HTMLCanvasElement} */ canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("no canvas in this browser");
  return context;
}

/** Clears a canvas and returns its context, in units of CSS pixels, and its size. */
export function fresh(/** @type {HTMLCanvasElement} */ canvas) {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const ratio = window.devicePixelRatio || 1;
  const context = contextOf(canvas);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  return { context, width, height, ratio };
}

/** Data shared by all panels in one redraw: the shown time range, and its samples for each pixel column. */
export class Frame {
  /**
   * @param {import("airwnd/state.js").State} state
   * @param {number} width
   * @param {number} ratio
   */
  constructor(state, width, ratio) {
    this.from = state.range.from;
    this.to = state.range.to;
    this.width = width - LEFT - RIGHT;
    this.ratio = ratio;
    this.columns = Math.max(1, Math.round(this.width * ratio));
    this.edges = state.series.map((series) => series.edges(this.from, this.to, this.columns));
  }

  x(/** @type {number} */ time) {
    return LEFT + ((time - this.from) / (this.to - this.from)) * this.width;
  }

  time(/** @type {number} */ x) {
    return this.from + ((x - LEFT) / this.width) * (this.to - this.from);
  }

  /**
   * Returns the number of samples, a power of two, that is about `pixels` wide.
   *
   * @param {number} run
   * @param {number} pixels
   */
  step(run, pixels) {
    const edges = this.edges[run];
    const each = ((edges[this.columns] - edges[0]) / this.width) * pixels;
    return 2 ** Math.max(0, Math.floor(Math.log2(each)));
  }

  /**
   * Returns the range of visible samples of a run, with one more at each end.
   *
   * @param {number} run
   * @param {number} length
   * @returns {[first: number, end: number]}
   */
  samples(run, length) {
    const edges = this.edges[run];
    return [Math.max(0, edges[0] - 1), Math.min(length, edges[this.columns] + 1)];
  }
}

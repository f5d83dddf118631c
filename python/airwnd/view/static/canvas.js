/** Canvases as sharp as the screen, and the margins that all panels share. */

/** Pixels beside the plots; `setMargins` changes them. */
export let LEFT = 72;
export let RIGHT = 18;

/** Width of the page in pixels below which its parts stand in one column, as view.css has it. */
export const NARROW = 900;

/** Colours of the page's parts, from its style sheet; `readTheme` renews them. */
export const theme = { dark: false };

export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "ink", "soft", "rule", "grid", "zero", "wash", "dim"]) theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.dark = style.colorScheme === "dark";
}

/** @param labels width of the widest label left of the plots; @param right whether there is an axis on the right. */
export function setMargins(labels, right) {
  const narrow = window.innerWidth < NARROW;
  LEFT = narrow ? 46 : Math.max(72, labels + 12);
  RIGHT = right ? 46 : narrow ? 10 : 18;
  document.documentElement.style.setProperty("--left", `${LEFT}px`);
  document.documentElement.style.setProperty("--right", `${RIGHT}px`);
}

export const FONT = '11px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';

/** Clear a canvas and give its context, in units of CSS pixels, with its size. */
export function fresh(canvas) {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  return { context, width, height, ratio };
}

/** What all panels have in common in one redraw: the part of the time, and its samples for each pixel column. */
export class Frame {
  constructor(state, width, ratio) {
    this.from = state.range.from;
    this.to = state.range.to;
    this.width = width - LEFT - RIGHT;
    this.ratio = ratio;
    this.columns = Math.max(1, Math.round(this.width * ratio));
    this.edges = state.series.map((series) => series.edges(this.from, this.to, this.columns));
  }

  x(time) {
    return LEFT + ((time - this.from) / (this.to - this.from)) * this.width;
  }

  time(x) {
    return this.from + ((x - LEFT) / this.width) * (this.to - this.from);
  }

  /** How many samples, a power of two, are about as wide as some pixels. */
  step(run, pixels) {
    const edges = this.edges[run];
    const each = ((edges[this.columns] - edges[0]) / this.width) * pixels;
    return 2 ** Math.max(0, Math.floor(Math.log2(each)));
  }

  /** Samples of a run that are seen, and one more at each end. */
  samples(run, length) {
    const edges = this.edges[run];
    return [Math.max(0, edges[0] - 1), Math.min(length, edges[this.columns] + 1)];
  }
}

/** Colours, dashes and markers, as in airwnd.plots.style. */

import { theme } from "airwnd/canvas.js";

/**
 * @typedef {TwoColours & { dashes: number[], marker?: string }} Look look of a line in the facts of a page
 * @typedef {{ css: string, colour: string, dashes?: number[] }} Style look of a line in the present theme
 */

export class Looks {
  /**
   * @param {Look[]} looks
   * @param {number} runs
   */
  constructor(looks, runs) {
    /** `css` follows the theme, `colour` is the current colour. */
    this.looks = looks.map((look, index) => ({
      ...look,
      css: `var(--look-${index})`,
      get colour() {
        return theme.dark ? look.dark : look.colour;
      },
    }));
    this.several = runs > 1;
    const dashes = looks.map((look) => JSON.stringify(look.dashes)).sort((a, b) => a.length - b.length);
    /** @type {number[][]} */
    this.dashes = [...new Set(dashes)].map((text) => JSON.parse(text));
  }

  /**
   * Style of a line: by flow for a single run; by run, with dashes by flow, for several. A flow that is not drawn as a
   * separate line is highlighted dark, or in the colour of its run.
   *
   * @param {import("airwnd/state.js").State} state
   * @param {import("airwnd/state.js").Line} line
   */
  line(state, line) {
    const own = state.single().includes(line);
    if (!this.several) return own ? this.looks[state.slot(line) % this.looks.length] : { colour: theme.ink, css: "var(--ink)", dashes: [] };
    // If there are bands, solid lines are reserved for their medians.
    const slot = state.slot(line) + (state.crowded() ? 1 : 0);
    return { ...this.run(line.run), dashes: own ? this.dashes[slot % this.dashes.length] : [] };
  }

  run(/** @type {number} */ run) {
    const { colour, css } = this.looks[run % this.looks.length];
    return { colour, css };
  }

  /** Style of a band or density: the colour of the run, or grey if colours identify single flows. */
  crowd(/** @type {number} */ run) {
    return this.several ? this.run(run) : { colour: theme.soft, css: "var(--soft)" };
  }

  /** Passes the colours of the theme to the style sheet. */
  paint() {
    for (const { css, colour } of this.looks) document.documentElement.style.setProperty(css.slice(4, -1), colour);
  }
}

const SVG = "http://www.w3.org/2000/svg";

/** Swatch options of a band, as opposed to a line. */
export const BROAD = { thick: 7, opacity: 0.35 };

/**
 * A short sample of a line, for legends.
 *
 * @param {{ css: string, dashes?: number[] }} look
 */
export function swatch({ css, dashes = [] }, { thick = 1.8, opacity = 1, length = 24 } = {}) {
  const svg = document.createElementNS(SVG, "svg");
  const line = document.createElementNS(SVG, "line");
  for (const [name, value] of Object.entries({ width: length, height: 10, "aria-hidden": "true" })) svg.setAttribute(name, String(value));
  /** @type {Record<string, string | number>} */
  const attributes = { x1: 0, x2: length, y1: 5, y2: 5, "stroke-width": thick, "stroke-opacity": opacity };
  if (dashes.length) attributes["stroke-dasharray"] = dashes.map((dash) => dash * 1.4).join(" ");
  for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, String(value));
  line.style.stroke = css;
  svg.append(line);
  return svg;
}

/** @type {Record<string, [number, number][]>} */
const UNIT = {
  "^": [[0, -1], [0.9, 0.7], [-0.9, 0.7]],
  v: [[0, 1], [0.9, -0.7], [-0.9, -0.7]],
  D: [[0, -1.1], [1.1, 0], [0, 1.1], [-1.1, 0]],
  s: [[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]],
  P: [[-0.35, -1], [0.35, -1], [0.35, -0.35], [1, -0.35], [1, 0.35], [0.35, 0.35], [0.35, 1], [-0.35, 1], [-0.35, 0.35], [-1, 0.35], [-1, -0.35], [-0.35, -0.35]],
  X: [[-1, -0.5], [-0.5, -1], [0, -0.5], [0.5, -1], [1, -0.5], [0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5], [-0.5, 1], [-1, 0.5], [-0.5, 0]],
};

/**
 * Traces the outline of a marker around a point.
 *
 * @param {Pen} context
 * @param {string} shape
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
export function marker(context, shape, x, y, size) {
  context.beginPath();
  if (shape in UNIT) {
    for (const [dx, dy] of UNIT[shape]) context.lineTo(x + dx * size, y + dy * size);
    context.closePath();
  } else {
    context.arc(x, y, size, 0, 2 * Math.PI);
  }
}

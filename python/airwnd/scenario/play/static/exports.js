/** Files of a state: scenario, figures, picture. */

import { contextOf, FONT, theme } from "airwnd/canvas.js";
import { COLUMNS } from "airwnd/history.js";
import { SvgContext } from "airwnd/svg.js";

/**
 * @import { Chart } from "airwnd/charts.js"
 * @import { Side } from "airwnd/side.js"
 *
 * @typedef {{ text: string, colour: string }[]} Legend
 */

/** Height of a line of text in a picture. */
const LINE = 24;

/**
 * Offers a file for download.
 *
 * @param {string} name
 * @param {Blob | string} content
 * @param {string} kind
 */
export function offer(name, content, kind) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Time series of the shown flows, by configuration; an empty field is a missing value. */
export function csv(/** @type {Side[]} */ sides) {
  const lines = [["configuration", "flow", ...COLUMNS].join(",")];
  for (const { name, histories } of sides) {
    for (const [flow, history] of histories) {
      const columns = COLUMNS.map((column) => history.columns.get(column) ?? []);
      history.times.forEach((_, row) => {
        const values = columns.map((values) => (values[row] === values[row] ? values[row] : ""));
        lines.push([name, quoted(flow), ...values].join(","));
      });
    }
  }
  return `${lines.join("\n")}\n`;
}

/** A field of a CSV file; a text that a spreadsheet would execute begins with an apostrophe. */
function quoted(/** @type {string} */ text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Draws all charts below one another, with their titles and the legend, which has a line for each configuration.
 * `open(width, height)` returns the context; `draw(chart, top)` draws a chart there.
 *
 * @param {Chart[]} charts
 * @param {Legend} legend
 * @param {(width: number, height: number) => Pen} open
 * @param {(chart: Chart, top: number) => void} draw
 */
function compose(charts, legend, open, draw) {
  const width = Math.max(...charts.map(({ canvas }) => canvas.clientWidth));
  const height = charts.reduce((sum, { canvas }) => sum + canvas.clientHeight + LINE, LINE * legend.length);
  const context = open(width, height);
  context.font = FONT;
  let top = 0;
  const write = (/** @type {string} */ text, /** @type {string} */ colour) => {
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = colour;
    context.fillText(text, 8, top + LINE / 2);
    top += LINE;
  };
  for (const { text, colour } of legend) write(text, colour);
  for (const chart of charts) {
    write(`${chart.spec.title} (${chart.spec.unit})`, theme.ink);
    draw(chart, top);
    top += chart.canvas.clientHeight;
  }
}

/**
 * One picture of all charts, with their titles, as PNG.
 *
 * @param {Chart[]} charts
 * @param {Legend} legend
 * @returns {Promise<Blob>}
 */
export function picture(charts, legend) {
  const canvas = document.createElement("canvas");
  const context = contextOf(canvas);
  const open = (/** @type {number} */ width, /** @type {number} */ height) => {
    const ratio = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [width * ratio, height * ratio];
    context.scale(ratio, ratio);
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, width, height);
    return context;
  };
  compose(charts, legend, open, ({ canvas: each }, top) => context.drawImage(each, 0, top, each.clientWidth, each.clientHeight));
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png"));
}

/**
 * The same picture as SVG.
 *
 * @param {Chart[]} charts
 * @param {Legend} legend
 * @param {Side[]} sides
 * @param {number} now
 */
export function vector(charts, legend, sides, now) {
  let context = new SvgContext(0, 0, FONT);
  const open = (/** @type {number} */ width, /** @type {number} */ height) => (context = new SvgContext(width, height, FONT));
  compose(charts, legend, open, (chart, top) => {
    const { clientWidth: width, clientHeight: height } = chart.canvas;
    context.moveOrigin(0, top);
    chart.draw(sides, now, { context, width, height });
    context.moveOrigin(0, 0);
  });
  return context.text(theme.paper);
}

/**
 * A picture with a canvas of its own as SVG.
 *
 * @param {import("airwnd/timeline.js").Timeline} picture
 * @param {Side} side
 */
export function drawn(picture, side) {
  const { clientWidth: width, clientHeight: height } = picture.canvas;
  const context = new SvgContext(width, height, FONT);
  picture.draw(side, { context, width, height });
  return context.text(theme.paper);
}

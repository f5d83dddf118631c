/** Charts over the last seconds: a line for each quantity and configuration. */

import { fresh, theme } from "airwnd/canvas.js";
import { follow, rule } from "airwnd/pen.js";
import { tickText, ticks, valueText } from "airwnd/scale.js";
import { SPAN } from "airwnd/history.js";

/**
 * @import { Kind, Side } from "airwnd/side.js"
 *
 * @typedef {{ column: string, label: string, smooth?: number, joined?: boolean, dashes?: number[], outside?: boolean }} ChartLine
 * @typedef {{ name: string, title: string, unit: string, scale: number, of: Kind, lines: ChartLine[] }} ChartSpec
 * @typedef {ChartLine & { side: Side, time: number[], values: number[] }} SideLine
 */

const LEFT = 46;
const RIGHT = 8;
const TOP = 6;
const FOOT = 18;

/**
 * Charts of the page. `of` selects the kind of flow; `smooth` averages that many samples; `joined` draws a line over
 * samples without a value: intervals in which no packet arrived.
 *
 * @type {ChartSpec[]}
 */
export const CHARTS = [
  { name: "throughput", title: "Download: throughput", unit: "Mbit/s", scale: 1e-3, of: "download", lines: [{ column: "throughput_kbps", label: "throughput", smooth: 4 }] },
  { name: "delay", title: "Game: one-way delay", unit: "ms", scale: 1, of: "game", lines: [{ column: "delay_ms", label: "delay", joined: true }] },
  { name: "waiting", title: "Phone: delay in the RLC queue", unit: "ms", scale: 1, of: "phone", lines: [{ column: "wait_ms", label: "delay", joined: true }] },
  { name: "queue", title: "Phone: queue", unit: "kB", scale: 1e-3, of: "download", lines: [{ column: "queue_bytes", label: "queue" }] },
  { name: "window", title: "Windows, rwnd dashed", unit: "kB", scale: 1e-3, of: "download", lines: [{ column: "cwnd_bytes", label: "cwnd" }, { column: "rwnd_bytes", label: "rwnd", dashes: [5, 3], outside: true }] },
  { name: "rtt", title: "Download: RTT", unit: "ms", scale: 1, of: "download", lines: [{ column: "rtt_ms", label: "RTT", joined: true }] },
];

export class Chart {
  /**
   * @param {ChartSpec} spec
   * @param {{ element: HTMLElement, canvas: HTMLCanvasElement, values: HTMLElement }} parts
   */
  constructor(spec, { element, canvas, values }) {
    this.spec = spec;
    this.element = element;
    this.canvas = canvas;
    this.values = values;
    this.top = 0;
  }

  /**
   * @param {Side[]} sides
   * @param {number} now
   * @param {Surface} [surface] instead of the canvas
   */
  draw(sides, now, surface) {
    const { spec } = this;
    const { context, width, height } = surface ?? fresh(this.canvas);
    const to = Math.max(now, SPAN);
    const from = to - SPAN;
    const x = (/** @type {number} */ time) => LEFT + ((time - from) / SPAN) * (width - LEFT - RIGHT);
    const lines = sides.flatMap((side) => spec.lines.map((line) => ({ ...line, side, ...known(side.points(spec.of, line.column, from, line.smooth), line.joined) })));
    const top = this.#limit(lines);
    const y = (/** @type {number} */ value) => TOP + (1 - (value * spec.scale) / top) * (height - TOP - FOOT);
    this.#axes(context, { width, height, top, from, to, x });
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP - 2, width - LEFT - RIGHT, height - TOP - FOOT + 4);
    context.clip();
    for (const { side, time, values, dashes } of lines) follow(context, { time, values }, x, y, { colour: side.colour(), width: dashes ? 1.2 : 1.8, dashes });
    context.restore();
  }

  /**
   * Largest value of the axis: at least that of the lines, and lower than before only if half is enough, so that the
   * axis is calm. A window far above the others, such as a receive window that never limits, leaves the picture.
   */
  #limit(/** @type {SideLine[]} */ lines) {
    const highest = (/** @type {SideLine[]} */ some) => some.flatMap(({ values }) => values).reduce((max, value) => (value > max ? value : max), 0) * this.spec.scale;
    const inside = highest(lines.filter(({ outside }) => !outside));
    const all = highest(lines);
    const wanted = Math.max(inside > 0 ? Math.min(all, 2.5 * inside) : all, 1);
    const { step } = ticks(0, wanted, 4);
    const rounded = Math.ceil(wanted / step) * step;
    if (rounded > this.top || rounded <= this.top / 2) this.top = rounded;
    return this.top;
  }

  /**
   * @param {Pen} context
   * @param {{ width: number, height: number, top: number, from: number, to: number, x: (time: number) => number }} frame
   */
  #axes(context, { width, height, top, from, to, x }) {
    const bottom = height - FOOT;
    const { step, values } = ticks(0, top, Math.max(2, (height - TOP - FOOT) / 34));
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const value of values) {
      const at = Math.round(TOP + (1 - value / top) * (bottom - TOP)) + 0.5;
      rule(context, [LEFT, at], [width - RIGHT, at], value === 0 ? theme.zero : theme.grid);
      context.fillStyle = theme.soft;
      context.fillText(tickText(value, step), LEFT - 6, at);
    }
    const time = ticks(from, to, width / 70);
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const value of time.values) {
      const at = x(value);
      if (at < LEFT + 4 || at > width - 26) continue;
      context.fillText(tickText(value, time.step), at, bottom + 4);
    }
    context.textAlign = "right";
    context.fillText("s", width - RIGHT, bottom + 4);
  }

  /** Writes the current values beside the title, and describes the picture to screen readers. */
  tell(/** @type {Side[]} */ sides) {
    const { spec } = this;
    const texts = sides.map((side) => {
      const values = spec.lines.map(({ column, label }) => {
        const value = side.recent(spec.of, column) * spec.scale;
        const number = valueText(value, value < 10 ? 1 : 0);
        return spec.lines.length > 1 ? `${label} ${number}` : number;
      });
      return { side, text: values.join(", "), spoken: `${values.join(", ")} ${spec.unit}` };
    });
    const several = sides.length > 1;
    this.values.replaceChildren(
      ...texts.map(({ side, text }) => {
        const span = document.createElement("span");
        span.className = `side-${side.name}`;
        span.textContent = several ? `${side.name.toUpperCase()} ${text}` : text;
        return span;
      }),
    );
    this.canvas.setAttribute("aria-label", `${spec.title}: ${texts.map(({ side, spoken }) => (several ? `${side.name.toUpperCase()}, ${spoken}` : spoken)).join("; ")}`);
  }
}

/**
 * Points without those that have no value.
 *
 * @param {{ time: number[], values: number[] }} points
 * @param {boolean} [joined]
 */
function known({ time, values }, joined) {
  if (!joined) return { time, values };
  const isKnown = (/** @type {number} */ _, /** @type {number} */ i) => values[i] === values[i];
  return { time: time.filter(isKnown), values: values.filter(isKnown) };
}

/** The values under the cursor, next to a panel's title. */

import { BROAD, swatch } from "airwnd/looks.js";
import { nearest, valueText } from "airwnd/scale.js";

export class Readout {
  /**
   * @param {import("airwnd/traces.js").Traces} traces
   * @param {import("airwnd/looks.js").Looks} looks
   */
  constructor(traces, looks) {
    this.traces = traces;
    this.looks = looks;
    this.state = traces.state;
    this.element = document.createElement("div");
    this.element.className = "values";
  }

  clear() {
    this.element.replaceChildren();
  }

  /** Shows the values of drawn lines, of hovered lines, and of the bands. */
  show(drawn, looked) {
    drawn.forEach((line) => this.#line(line));
    if (looked.length) this.#add([looked[0].id]);
    looked.forEach((line) => this.#line(line));
    if (this.state.crowded() && this.state.many === "band") this.#bands();
  }

  #line(line) {
    const { cursor, hovered } = this.state;
    const { beside } = this.traces.spec;
    const value = this.traces.at(line, cursor);
    const threshold = beside && line === hovered ? this.traces.at(line, cursor, beside) : NaN;
    const text = valueText(value) + (Number.isNaN(threshold) ? "" : ` (ssthresh ${valueText(threshold)})`);
    const picture = swatch(this.looks.line(this.state, line), { length: 16 });
    this.#add([picture, ` ${text}`], { run: line.run, flow: line.id, value });
  }

  /** Shows the values of the bands; for several runs, only the medians. */
  #bands() {
    this.traces.crowds().forEach((crowd, place) => {
      const { time, lines } = this.traces.band(crowd);
      const values = lines.map((line) => line[nearest(time, this.state.cursor)]);
      const [low, median, high] = values.map((value) => valueText(value, Math.abs(value) < 100 ? 1 : 0));
      const text = this.looks.several ? median : `${median} (${low} – ${high})`;
      const picture = swatch(this.looks.crowd(crowd.run), { ...BROAD, length: 12 });
      const parts = place === 0 ? ["median ", picture] : [picture];
      this.#add([...parts, ` ${text}`], { run: crowd.run, low: values[0], median: values[1], high: values[2] });
    });
  }

  #add(parts, data = {}) {
    const item = document.createElement("span");
    item.append(...parts);
    Object.assign(item.dataset, data);
    this.element.append(item);
  }
}

/** The panels with their common time axis: zoom, cursor, legend. */

import { BAND } from "airwnd/band.js";
import { fresh, Frame, LEFT, setMargins, theme } from "airwnd/canvas.js";
import { Lanes } from "airwnd/lanes.js";
import { BROAD, swatch } from "airwnd/looks.js";
import { Panel } from "airwnd/panel.js";
import { tickText, ticks, valueText } from "airwnd/scale.js";

const CLICK = 4;
const MOST_NAMED = 24;

export class Plots {
  #drag = null;
  #requested = { base: false, over: false };

  /**
   * @param {import("airwnd/state.js").State} state
   * @param {import("airwnd/looks.js").Looks} looks
   * @param {import("airwnd/events.js").Events} events
   */
  constructor(state, looks, events) {
    this.state = state;
    this.looks = looks;
    this.element = document.getElementById("plots");
    this.list = document.getElementById("panels");
    this.legend = document.getElementById("legend");
    this.clock = document.getElementById("clock");
    this.axis = /** @type {HTMLCanvasElement} */ (document.querySelector("#axis canvas"));
    this.panels = state.facts.panels.map((spec) => new Panel(spec, state, looks));
    this.list.append(...this.panels.map((panel) => panel.element));
    this.lanes = new Lanes(state, looks, events);
    state.on(["lines", "range", "panels", "theme"], () => this.#request("base"));
    state.on(["cursor", "hover"], () => this.#request("over"));
    new ResizeObserver(() => this.#request("base")).observe(this.list);
    this.#listen();
    this.draw();
  }

  /** Requests a redraw; several requests before the next frame cause a single redraw. */
  #request(what) {
    const pending = this.#requested.base || this.#requested.over;
    this.#requested[what] = true;
    if (pending) return;
    requestAnimationFrame(() => {
      if (this.#requested.base) this.draw();
      else this.drawOver();
    });
  }

  draw() {
    this.#requested = { base: false, over: false };
    const start = performance.now();
    for (const panel of this.panels) panel.element.hidden = !panel.shown;
    this.lanes.arrange();
    setMargins(this.lanes.labels, this.state.scales === "own");
    this.shown = this.panels.filter((panel) => panel.shown);
    this.frame = new Frame(this.state, this.axis.clientWidth - this.list.offsetWidth + this.list.clientWidth, window.devicePixelRatio || 1);
    const marks = this.lanes.marks(this.frame);
    for (const panel of this.shown) panel.draw(this.frame, marks, (kind) => this.lanes.look(kind));
    this.lanes.draw(this.frame);
    this.#drawAxis();
    this.#showLegend();
    this.drawOver();
    performance.measure("airwnd redraw", { start });
  }

  drawOver() {
    this.#requested.over = false;
    const drag = this.#drag?.zooming ? [this.#drag.x, this.#drag.now].sort((a, b) => a - b) : null;
    for (const panel of this.shown) panel.drawOver(drag);
    this.lanes.drawOver();
    const { cursor } = this.state;
    this.clock.hidden = cursor === null;
    if (cursor === null) return;
    this.clock.textContent = `${cursor.toFixed(3)} s`;
    this.clock.style.left = `${this.frame.x(cursor)}px`;
  }

  #drawAxis() {
    const { context, width } = fresh(this.axis);
    const { step, values } = ticks(this.frame.from, this.frame.to, width / 90);
    context.fillStyle = theme.ink;
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const value of values) context.fillText(tickText(value, step), this.frame.x(value), 3);
    context.fillStyle = theme.soft;
    context.textAlign = "left";
    context.fillText("t (s)", 2, 3);
  }

  #showLegend() {
    const { state } = this;
    const several = state.facts.runs.length > 1;
    const entries = state.crowded() ? this.#crowdEntries() : [];
    for (const line of state.single()) {
      const name = several ? `${line.id} · ${state.facts.runs[line.run].label}` : line.id;
      entries.push(this.#entry(swatch(this.looks.line(state, line)), name));
    }
    const changes = new Set(this.lanes.marks(this.frame).changes.map(({ kind }) => kind));
    const named = [...changes].map((kind) => this.#entry(swatch({ css: "var(--ink)", dashes: [2, 1.5] }), state.facts.kinds[kind]));
    this.legend.replaceChildren(...entries.slice(0, MOST_NAMED), ...named);
  }

  /** Legend entries of bands or densities; text that is equal for all runs appears once. */
  #crowdEntries() {
    const { state } = this;
    const several = state.facts.runs.length > 1;
    const visible = state.visible();
    const texts = [...state.runsShown].sort().map((run) => {
      const count = visible.filter((line) => line.run === run).length;
      const span = valueText(Math.round(this.frame.step(run, BAND) * state.series[run].interval * 1e3));
      const band = `median, 5th to 95th percentile of ${count} flows (means of ${span} ms)`;
      return { run, text: state.many === "band" ? band : `${count} flows, darker where lines overlap` };
    });
    const one = new Set(texts.map(({ text }) => text)).size === 1;
    const picture = (run) => swatch(this.looks.crowd(run), BROAD);
    if (!several) return texts.map(({ run, text }) => this.#entry(picture(run), text));
    const labels = texts.map(({ run, text }) => this.#entry(picture(run), state.facts.runs[run].label + (one ? "" : `: ${text}`)));
    return one ? [...labels, this.#entry(texts[0].text)] : labels;
  }

  #entry(...parts) {
    const entry = document.createElement("span");
    entry.className = "key";
    entry.append(...parts);
    return entry;
  }

  #listen() {
    const { element, state } = this;
    const place = (event) => event.clientX - this.axis.getBoundingClientRect().left;
    const inside = (event) => event.target.closest?.(".plot, #lanes, #axis");
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !inside(event)) return;
      const x = place(event);
      this.#lookAt(event, x);
      this.#drag = { x, now: x, panning: event.shiftKey, range: { ...state.range }, panel: /** @type {Element} */ (event.target).closest(".panel") };
      element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
      if (this.#drag) this.#dragTo(place(event));
      else if (inside(event)) this.#lookAt(event, place(event));
      else this.#lookAway();
    });
    element.addEventListener("pointerup", () => this.#drop());
    element.addEventListener("pointercancel", () => this.#endDrag());
    // A finger leaving the screen keeps the cursor at the touched position.
    element.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.#lookAway());
    element.addEventListener("dblclick", () => state.zoom(state.whole.from, state.whole.to));
    element.addEventListener("wheel", (event) => this.#wheel(event, inside(event), place(event)), { passive: false });
    element.addEventListener("keydown", (event) => this.#key(event));
  }

  #dragTo(x) {
    const drag = this.#drag;
    drag.now = Math.max(LEFT, Math.min(x, LEFT + this.frame.width));
    if (drag.panning) {
      const shift = ((drag.x - x) / this.frame.width) * (drag.range.to - drag.range.from);
      this.state.zoom(drag.range.from + shift, drag.range.to + shift);
    } else if (Math.abs(x - drag.x) > CLICK || drag.zooming) {
      drag.zooming = true;
      this.#request("over");
    }
  }

  #drop() {
    const drag = this.#endDrag();
    if (!drag) return;
    if (drag.zooming) {
      const [from, to] = [drag.x, drag.now].sort((a, b) => a - b).map((x) => this.frame.time(Math.max(LEFT, x)));
      // The zoom changes the time under the pointer.
      this.#lookAway();
      this.state.zoom(from, to);
    } else if (!drag.panning && drag.panel && this.state.hovered) {
      this.state.toggle(this.state.hovered);
    }
  }

  #endDrag() {
    const drag = this.#drag;
    this.#drag = null;
    this.#request("over");
    return drag;
  }

  #lookAt(event, x) {
    const { state } = this;
    const within = x >= LEFT && x <= LEFT + this.frame.width;
    state.look(within ? this.frame.time(x) : null);
    const panel = within && this.shown.find((each) => each.element === event.target.closest(".panel"));
    state.hover(panel ? panel.nearest(event.clientY - panel.plot.getBoundingClientRect().top) : null);
    if (event.target.closest("#lanes")) this.lanes.explain(event);
    else this.lanes.tip.hidden = true;
  }

  #lookAway() {
    this.lanes.tip.hidden = true;
    this.state.look(null);
    this.state.hover(null);
  }

  #wheel(event, inside, x) {
    if (!inside || event.ctrlKey) return;
    event.preventDefault();
    const { from, to } = this.state.range;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) {
      const shift = (sideways / this.frame.width) * (to - from);
      this.state.zoom(from + shift, to + shift);
      return;
    }
    const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.0025)));
    const still = Math.max(from, Math.min(to, this.frame.time(x)));
    this.state.zoom(still - (still - from) * factor, still + (to - still) * factor);
  }

  #key(event) {
    const { state } = this;
    const { from, to } = state.range;
    const length = to - from;
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    const factors = { "+": 0.5, "=": 0.5, "-": 2 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps && event.shiftKey) {
      const at = state.cursor ?? (from + to) / 2;
      const series = state.series[0];
      const sample = Math.max(0, Math.min(series.length - 1, series.nearest(at) + steps[event.key]));
      state.look(Math.max(from, Math.min(to, series.time[sample])));
    } else if (event.key in steps) {
      state.zoom(from + (steps[event.key] * length) / 5, to + (steps[event.key] * length) / 5);
    } else if (event.key in factors) {
      const middle = state.cursor ?? (from + to) / 2;
      state.zoom(middle - (length * factors[event.key]) / 2, middle + (length * factors[event.key]) / 2);
    } else if (event.key === "0" || event.key === "Home") {
      state.zoom(state.whole.from, state.whole.to);
    } else if (event.key === "Escape") {
      state.selected.clear();
      state.changedLines();
    } else {
      return;
    }
    event.preventDefault();
  }
}

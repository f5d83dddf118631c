/**
 * The map, in metres: sites, sectors in the colour of their load, UEs and their paths in the colours of their flows in
 * the panels.
 */

import { fresh, theme } from "airwnd/canvas.js";
import { marker } from "airwnd/looks.js";

const MARGIN = 16;
// Height of the scale bar below the map.
const FOOT = 22;
const NEAR = 12;
// With more UEs than this, only the paths of selected UEs are drawn.
const FEW = 40;
// With more UEs than this, those that are not emphasised are small dots of one colour.
const MANY = 300;
const MOST_POINTS = 500;
// Least length of a sector in pixels that has room for the number of its cell.
const NUMBERED = 26;
// Opacity of the colour of a cell whose PRBs are all in use.
const LOADED = 0.75;

export class Plan {
  #paths = new Map();
  #known = new Map();
  #requested = false;

  /**
   * @param {import("airwnd/state.js").State} state
   * @param {import("airwnd/looks.js").Looks} looks
   */
  constructor(state, looks) {
    this.state = state;
    this.looks = looks;
    this.run = state.facts.runs.findIndex((run) => run.sites.length > 0);
    const section = document.getElementById("map");
    this.canvas = section.querySelector("canvas");
    this.tip = document.getElementById("tip");
    if (this.run < 0) {
      section.classList.add("none");
      section.querySelector(".plan").textContent = "No map: the scenario has no cells.";
      return;
    }
    this.#chooser(section.querySelector("select"));
    state.on(["lines", "hover", "theme"], () => this.#request());
    state.on(["cursor"], () => this.#facts().xs && this.#request());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.canvas.addEventListener("pointerleave", () => this.#away());
    this.canvas.addEventListener("click", (event) => this.#click(event));
  }

  /** Requests a redraw; several requests before the next frame cause a single redraw. */
  #request() {
    if (this.#requested) return;
    this.#requested = true;
    requestAnimationFrame(() => this.draw());
  }

  #chooser(select) {
    const runs = this.state.facts.runs.map((run, index) => ({ run, index })).filter(({ run }) => run.sites.length);
    select.hidden = runs.length < 2;
    select.append(...runs.map(({ run, index }) => new Option(run.label, String(index))));
    select.addEventListener("change", () => {
      this.run = Number(select.value);
      this.draw();
    });
  }

  draw() {
    this.#requested = false;
    const { context, width, height } = fresh(this.canvas);
    const { sites, ues } = this.state.facts.runs[this.run];
    const { left, right, low, high } = this.#facts();
    const outer = sites.some(({ x, y }) => x === left || x === right || y === low || y === high);
    const whole = Math.min(width, height);
    const share = sites.length > 1 ? 0.28 / Math.sqrt(sites.length) : 0.17;
    const margin = 2 * (outer ? whole * share + MARGIN : MARGIN);
    const scale = Math.min((width - margin) / Math.max(right - left, 1), (height - FOOT - margin) / Math.max(high - low, 1));
    // A single UE at its site has no extent, so the scale is limited: a metre is at most about a centimetre.
    this.scale = Math.min(scale, 40);
    this.x = (x) => width / 2 + (x - (left + right) / 2) * this.scale;
    this.y = (y) => (height - FOOT) / 2 - (y - (low + high) / 2) * this.scale;
    // Among many UEs sectors fill their share of the area, so that the load of each cell is visible.
    this.reach = ues.length > MANY && sites.length > 1 ? 0.5 * this.#facts().apart * this.scale : whole * share;
    for (const site of sites) this.#site(context, site);
    this.#ues(context, ues);
    this.#bar(context, width, height);
    this.#loads(context, width, height);
  }

  /** Facts about the run that do not change: flows of each UE, positions by sample, loads of cells, extent. */
  #facts() {
    if (!this.#known.has(this.run)) this.#known.set(this.run, this.#read());
    return this.#known.get(this.run);
  }

  #read() {
    const { sites, ues, cells, carrier } = this.state.facts.runs[this.run];
    const series = this.state.series[this.run];
    const [xs, ys] = ["x_m", "y_m"].map((name) => series.columns.get(name));
    const lines = new Map();
    for (const line of this.state.lines) {
      if (line.run !== this.run) continue;
      if (lines.has(line.ue)) lines.get(line.ue).push(line);
      else lines.set(line.ue, [line]);
    }
    const [left, right] = ends([...sites.map(({ x }) => x), ...ues.map((ue) => ue.x_m)], xs);
    const [low, high] = ends([...sites.map(({ y }) => y), ...ues.map((ue) => ue.y_m)], ys);
    const apart = Math.min(...sites.slice(1).map(({ x, y }) => Math.hypot(x - sites[0].x, y - sites[0].y)));
    return { lines, carrier, xs, ys, series, apart, left, right, low, high, loads: new Map(cells.map((cell) => [cell.cell, cell])) };
  }

  #site(context, { x, y, cells }) {
    const [centreX, centreY] = [this.x(x), this.y(y)];
    const { reach } = this;
    const { loads } = this.#facts();
    for (const { cell, degrees } of cells) {
      const middle = (-degrees * Math.PI) / 180;
      const half = cells.length > 1 ? (Math.PI / cells.length) * 0.94 : Math.PI;
      context.beginPath();
      if (cells.length > 1) context.moveTo(centreX, centreY);
      context.arc(centreX, centreY, reach, middle - half, middle + half);
      context.fillStyle = theme.wash;
      context.fill();
      context.globalAlpha = LOADED * (loads.get(cell)?.downlink_prb_use ?? 0);
      context.fillStyle = theme.link;
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = theme.rule;
      context.lineWidth = 1;
      context.stroke();
      if (reach < NUMBERED) continue;
      const tip = [centreX + Math.cos(middle) * reach, centreY + Math.sin(middle) * reach];
      if (cells.length > 1) {
        context.strokeStyle = theme.soft;
        context.lineWidth = 1.2;
        context.beginPath();
        context.moveTo(centreX, centreY);
        context.lineTo(...tip);
        context.stroke();
      }
      context.fillStyle = theme.soft;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(String(cell), centreX + Math.cos(middle) * (reach + 8), centreY + Math.sin(middle) * (reach + 8));
    }
    marker(context, "s", centreX, centreY, Math.min(4, reach / 5));
    context.fillStyle = theme.ink;
    context.fill();
  }

  /** Path of a moving UE through some samples of its first flow, in metres; empty if its positions are unknown. */
  #path(ue) {
    const key = `${this.run}/${ue}`;
    if (!this.#paths.has(key)) {
      const { lines, xs, ys, series } = this.#facts();
      const line = lines.get(ue)?.[0];
      const points = [];
      if (line && xs && ys) {
        const first = line.flow * series.length;
        for (let i = first; i < first + series.length; i++) if (xs[i] === xs[i]) points.push([xs[i], ys[i]]);
      }
      const step = Math.ceil(series.length / MOST_POINTS);
      this.#paths.set(key, points.filter((_, place) => place % step === 0 || place === points.length - 1));
    }
    return this.#paths.get(key);
  }

  /** Returns a function from a UE to its position at the time of the cursor, or at the end. */
  #places() {
    const { cursor } = this.state;
    const { lines, xs, ys, series } = this.#facts();
    if (cursor === null || !xs || !ys) return (ue) => [ue.x_m, ue.y_m];
    const sample = series.nearest(cursor);
    return (ue) => {
      const line = lines.get(ue.ue)?.[0];
      const at = line ? line.flow * series.length + sample : -1;
      return at >= 0 && xs[at] === xs[at] ? [xs[at], ys[at]] : [ue.x_m, ue.y_m];
    };
  }

  #ues(context, ues) {
    const { state } = this;
    const { lines } = this.#facts();
    const any = (ue, set) => lines.get(ue.ue)?.some((line) => set.has(line)) ?? false;
    const single = new Set(state.single());
    const hovered = state.hovered && state.kin(state.hovered).find((line) => line.run === this.run)?.ue;
    const place = this.#places();
    const emphasised = ues.length > MANY ? ues.filter((ue) => ue.ue === hovered || any(ue, single)) : ues;
    if (ues.length > MANY) this.#dots(context, ues, place, any);
    const ordered = [...emphasised].sort((a, b) => any(a, state.selected) - any(b, state.selected));
    // The style of the first flow that is drawn as a separate line; grey if there is none.
    const colours = new Map(
      ordered.map((ue) => {
        const line = lines.get(ue.ue)?.find((each) => single.has(each));
        return [ue, line ? this.looks.line(state, line).colour : theme.soft];
      }),
    );
    let paths = 0;
    for (const ue of ordered) {
      if (ues.length > FEW && !any(ue, state.selected) && ue.ue !== hovered) continue;
      const path = this.#path(ue.ue);
      if (!path.length) continue;
      paths++;
      context.strokeStyle = colours.get(ue);
      context.lineWidth = 1.4;
      context.globalAlpha = any(ue, state.shown) ? 0.75 : 0.25;
      context.beginPath();
      for (const [x, y] of path) context.lineTo(this.x(x), this.y(y));
      context.stroke();
      // A ring marks the start of the path.
      context.beginPath();
      context.arc(this.x(path[0][0]), this.y(path[0][1]), 3, 0, 2 * Math.PI);
      context.stroke();
      context.globalAlpha = 1;
    }
    const places = [];
    for (const ue of ordered) {
      const chosen = any(ue, state.selected);
      const [x, y] = place(ue);
      const [left, top] = [this.x(x), this.y(y)];
      places.push([ue.ue, Math.round(left), Math.round(top)]);
      context.globalAlpha = any(ue, state.shown) ? 1 : 0.25;
      marker(context, "o", left, top, chosen ? 5 : 3.6);
      context.fillStyle = colours.get(ue);
      context.fill();
      if (chosen || ue.ue === hovered) {
        context.strokeStyle = theme.ink;
        context.lineWidth = chosen ? 2 : 1.2;
        context.beginPath();
        context.arc(left, top, 8, 0, 2 * Math.PI);
        context.stroke();
      }
      if (chosen && state.selected.size <= 12) this.#name(context, `UE ${ue.ue}`, left, top);
      context.globalAlpha = 1;
    }
    this.canvas.dataset.paths = String(paths);
    this.canvas.dataset.places = JSON.stringify(places.sort((a, b) => a[0] - b[0]));
  }

  /** Draws many UEs: rectangles of one colour take a hundredth of the time of separate circles. */
  #dots(context, ues, place, any) {
    const [size, opacity] = ues.length > 10 * MANY ? [1, 0.3] : [2, 0.6];
    context.fillStyle = theme.ink;
    for (const shown of [false, true]) {
      context.globalAlpha = shown ? opacity : opacity / 4;
      for (const ue of ues) {
        if (any(ue, this.state.shown) !== shown) continue;
        const [x, y] = place(ue);
        context.fillRect(this.x(x) - size / 2, this.y(y) - size / 2, size, size);
      }
    }
    context.globalAlpha = 1;
  }

  /** Writes a name next to a position, on the side that has room. */
  #name(context, text, x, y) {
    const left = x + 11 + context.measureText(text).width > this.canvas.clientWidth;
    context.fillStyle = theme.ink;
    context.textAlign = left ? "right" : "left";
    context.textBaseline = "middle";
    context.fillText(text, left ? x - 11 : x + 11, y);
  }

  #bar(context, width, height) {
    const max = (width * 0.3) / this.scale;
    const power = 10 ** Math.floor(Math.log10(max));
    const length = [5, 2, 1].find((factor) => factor * power <= max) * power;
    const [x, y] = [10, height - 10];
    context.strokeStyle = theme.ink;
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(x, y - 4);
    context.lineTo(x, y);
    context.lineTo(x + length * this.scale, y);
    context.lineTo(x + length * this.scale, y - 4);
    context.stroke();
    context.fillStyle = theme.soft;
    context.textAlign = "left";
    context.textBaseline = "bottom";
    context.fillText(length >= 1000 ? `${length / 1000} km` : `${length} m`, x + 4, y - 2);
  }

  /** Writes the meaning of the sectors' colours at the bottom right. */
  #loads(context, width, height) {
    if (!this.#facts().loads.size) return;
    const [right, bottom] = [width - 8, height - 5];
    const text = "PRBs in use: 0 to 100 %";
    const bar = 36;
    context.fillStyle = theme.soft;
    context.textAlign = "right";
    context.textBaseline = "bottom";
    context.fillText(text, right - bar - 6, bottom);
    context.fillStyle = theme.link;
    for (let step = 0; step < bar; step++) {
      context.globalAlpha = (LOADED * (step + 1)) / bar;
      context.fillRect(right - bar + step, bottom - 9, 1, 8);
    }
    context.globalAlpha = 1;
  }

  /** The UE nearest to the pointer, if there is one. */
  #nearest([left, top]) {
    const place = this.#places();
    let best = null;
    let min = NEAR;
    for (const ue of this.state.facts.runs[this.run].ues) {
      const [x, y] = place(ue);
      const away = Math.hypot(this.x(x) - left, this.y(y) - top);
      if (away < min) [best, min] = [ue, away];
    }
    return best;
  }

  /** The cell whose sector is under the pointer, if there is one. */
  #cellAt([left, top]) {
    for (const { x, y, cells } of this.state.facts.runs[this.run].sites) {
      const [east, north] = [left - this.x(x), this.y(y) - top];
      if (Math.hypot(east, north) > this.reach) continue;
      const bearing = (Math.atan2(north, east) * 180) / Math.PI;
      const away = ({ degrees }) => Math.abs(((bearing - degrees + 540) % 360) - 180);
      return this.#facts().loads.get(cells.reduce((best, each) => (away(each) < away(best) ? each : best)).cell);
    }
    return undefined;
  }

  #lines(ue) {
    return this.#facts().lines.get(ue.ue) ?? [];
  }

  #point(event) {
    const box = this.canvas.getBoundingClientRect();
    /** @type {[number, number]} */
    const at = [event.clientX - box.left, event.clientY - box.top];
    const ue = this.#nearest(at);
    const cell = ue ? undefined : this.#cellAt(at);
    this.state.hover(ue ? (this.#lines(ue)[0] ?? null) : null);
    this.canvas.style.cursor = ue ? "pointer" : "default";
    this.tip.hidden = !ue && !cell;
    if (this.tip.hidden) return;
    this.tip.textContent = ue ? this.#ueText(ue) : cellText(cell, this.#facts().carrier);
    this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, window.innerWidth - this.tip.offsetWidth - 8))}px`;
    this.tip.style.top = `${event.clientY + 14}px`;
  }

  #ueText(ue) {
    const sinr = ue.sinr_db === undefined || ue.sinr_db === null ? "" : `, SINR ${ue.sinr_db.toFixed(1)} dB`;
    const flows = this.#lines(ue).map((line) => line.id).join(", ") || "no flow";
    const load = this.#facts().loads.get(ue.cell);
    const use = load ? ` (${percent(load.downlink_prb_use)} of its PRBs in use)` : "";
    return `UE ${ue.ue}: ${flows}\ncell ${ue.cell ?? "–"}${use}, at (${ue.x_m.toFixed(0)}, ${ue.y_m.toFixed(0)}) m${sinr}`;
  }

  #away() {
    this.tip.hidden = true;
    this.state.hover(null);
  }

  /** A click selects only the flows of a UE; with Shift or Ctrl it adds them to the selection. */
  #click(event) {
    const box = this.canvas.getBoundingClientRect();
    const ue = this.#nearest([event.clientX - box.left, event.clientY - box.top]);
    const lines = ue ? this.#lines(ue) : [];
    const { selected } = this.state;
    const on = lines.some((line) => selected.has(line));
    const more = event.shiftKey || event.ctrlKey || event.metaKey;
    const alone = lines.length > 0 && [...selected].every((line) => lines.includes(line) || lines.some((each) => each.id === line.id));
    if (!more) selected.clear();
    this.state.select(lines, !(on && (more || alone)));
  }
}

function percent(part) {
  return `${(100 * part).toFixed(0)} %`;
}

function cellText({ cell, users, downlink_prb_use: down, uplink_prb_use: up, spectral_efficiency: bits }, carrier) {
  const efficiency = bits === null ? "" : `\n${bits.toFixed(2)} bit/s/Hz in the downlink`;
  return `cell ${cell}: ${users} UEs\n${carrier}\nPRBs in use: ${percent(down)} down, ${percent(up)} up${efficiency}`;
}

/** Least and largest of some values, and of an array with missing values. */
function ends(values, more = /** @type {Iterable<number>} */ ([])) {
  let [min, largest] = [Infinity, -Infinity];
  for (const list of [values, more]) {
    for (const value of list) {
      if (value < min) min = value;
      if (value > largest) largest = value;
    }
  }
  return [min, largest];
}

/**
 * The map, in metres: sites with their sectors in grey, UEs and their paths in the colours of their flows in the panels.
 */

import { fresh, theme } from "airwnd/canvas.js";
import { marker } from "airwnd/looks.js";

const MARGIN = 16;
// Height of the scale bar below the map.
const FOOT = 22;
const NEAR = 12;
// With more UEs than this, only the paths of selected UEs are drawn.
const FEW = 40;
const MOST_POINTS = 500;

export class Plan {
  #moving = new Map();

  constructor(state, looks) {
    Object.assign(this, { state, looks, run: state.facts.runs.findIndex((run) => run.sites.length > 0) });
    const section = document.getElementById("map");
    this.canvas = section.querySelector("canvas");
    this.tip = document.getElementById("tip");
    if (this.run < 0) {
      section.classList.add("none");
      section.querySelector(".plan").textContent = "No map: the scenario has no cells.";
      return;
    }
    this.#chooser(section.querySelector("select"));
    state.on(["lines", "hover", "theme"], () => this.draw());
    state.on(["cursor"], () => this.#paths().size && this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.canvas.addEventListener("pointerleave", () => this.#away());
    this.canvas.addEventListener("click", (event) => this.#click(event));
  }

  #chooser(select) {
    const runs = this.state.facts.runs.map((run, index) => [run, index]).filter(([run]) => run.sites.length);
    select.hidden = runs.length < 2;
    select.append(...runs.map(([run, index]) => new Option(run.label, index)));
    select.addEventListener("change", () => {
      this.run = Number(select.value);
      this.draw();
    });
  }

  draw() {
    const { context, width, height } = fresh(this.canvas);
    const { sites, ues } = this.state.facts.runs[this.run];
    const paths = this.#paths();
    const points = [...sites.map(({ x, y }) => [x, y]), ...ues.map((ue) => [ue.x_m, ue.y_m]), ...[...paths.values()].flatMap((path) => path.points)];
    const [left, right] = ends(points.map(([x]) => x));
    const [low, high] = ends(points.map(([, y]) => y));
    const reach = Math.min(width, height) * (sites.length > 1 ? 0.28 / Math.sqrt(sites.length) : 0.17);
    const outer = sites.some(({ x, y }) => x === left || x === right || y === low || y === high);
    const margin = 2 * (outer ? reach + MARGIN : MARGIN);
    const scale = Math.min((width - margin) / Math.max(right - left, 1), (height - FOOT - margin) / Math.max(high - low, 1));
    // A single UE at its site has no extent, so the scale is limited: a metre is at most about a centimetre.
    this.scale = Math.min(scale, 40);
    this.x = (x) => width / 2 + (x - (left + right) / 2) * this.scale;
    this.y = (y) => (height - FOOT) / 2 - (y - (low + high) / 2) * this.scale;
    for (const site of sites) this.#site(context, site, reach);
    this.#ues(context, ues, paths);
    this.#bar(context, width, height);
    this.canvas.dataset.paths = paths.size;
    this.canvas.dataset.places = JSON.stringify(
      ues.map((ue) => {
        const [x, y] = this.#place(ue, paths.get(ue.ue));
        return [ue.ue, Math.round(this.x(x)), Math.round(this.y(y))];
      }),
    );
  }

  #site(context, { x, y, cells }, reach) {
    const [centreX, centreY] = [this.x(x), this.y(y)];
    for (const { cell, degrees } of cells) {
      const middle = (-degrees * Math.PI) / 180;
      const half = cells.length > 1 ? (Math.PI / cells.length) * 0.94 : Math.PI;
      context.beginPath();
      if (cells.length > 1) context.moveTo(centreX, centreY);
      context.arc(centreX, centreY, reach, middle - half, middle + half);
      context.fillStyle = theme.wash;
      context.fill();
      context.strokeStyle = theme.rule;
      context.lineWidth = 1;
      context.stroke();
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
    marker(context, "s", centreX, centreY, 4);
    context.fillStyle = theme.ink;
    context.fill();
  }

  /** Moving UEs by number: positions from the samples of one of their flows, and a path through some of them. */
  #paths() {
    if (!this.#moving.has(this.run)) this.#moving.set(this.run, this.#read());
    return this.#moving.get(this.run);
  }

  #read() {
    const paths = new Map();
    const series = this.state.series[this.run];
    const [xs, ys] = ["x_m", "y_m"].map((name) => series.columns.get(name));
    if (!xs || !ys) return paths;
    const step = Math.ceil(series.length / MOST_POINTS);
    for (const line of this.state.lines) {
      if (line.run !== this.run || paths.has(line.ue)) continue;
      const [x, y] = [xs, ys].map((values) => values.subarray(line.flow * series.length, (line.flow + 1) * series.length));
      const known = [...x.keys()].filter((i) => x[i] === x[i]);
      const points = known.filter((_, place) => place % step === 0 || place === known.length - 1).map((i) => [x[i], y[i]]);
      if (points.length) paths.set(line.ue, { x, y, points });
    }
    return paths;
  }

  /** Position of a UE at the time of the cursor, or at the end. */
  #place(ue, path) {
    const { cursor } = this.state;
    const sample = path && cursor !== null ? this.state.series[this.run].nearest(cursor) : -1;
    return sample >= 0 && path.x[sample] === path.x[sample] ? [path.x[sample], path.y[sample]] : [ue.x_m, ue.y_m];
  }

  /** Style of the UE's first flow that is drawn as a separate line; grey if there is none. */
  #look(ue) {
    const single = this.state.single();
    const line = this.state.lines.find((each) => each.run === this.run && each.ue === ue && single.includes(each));
    return line ? this.looks.line(this.state, line) : { colour: theme.soft };
  }

  #ues(context, ues, paths) {
    const { state } = this;
    const mine = state.lines.filter((line) => line.run === this.run);
    const selected = new Set(mine.filter((line) => state.selected.has(line)).map((line) => line.ue));
    const shown = new Set(mine.filter((line) => state.shown.has(line)).map((line) => line.ue));
    const hovered = state.hovered && state.kin(state.hovered).find((line) => line.run === this.run)?.ue;
    const ordered = [...ues].sort((a, b) => selected.has(a.ue) - selected.has(b.ue));
    for (const ue of ordered) {
      const path = paths.get(ue.ue);
      if (!path || (ues.length > FEW && !selected.has(ue.ue) && ue.ue !== hovered)) continue;
      context.strokeStyle = this.#look(ue.ue).colour;
      context.lineWidth = 1.4;
      context.globalAlpha = shown.has(ue.ue) ? 0.75 : 0.25;
      context.beginPath();
      for (const [x, y] of path.points) context.lineTo(this.x(x), this.y(y));
      context.stroke();
      // A ring marks the start of the path.
      context.beginPath();
      context.arc(this.x(path.points[0][0]), this.y(path.points[0][1]), 3, 0, 2 * Math.PI);
      context.stroke();
      context.globalAlpha = 1;
    }
    for (const ue of ordered) {
      const { colour } = this.#look(ue.ue);
      const place = this.#place(ue, paths.get(ue.ue));
      const [x, y] = [this.x(place[0]), this.y(place[1])];
      context.globalAlpha = shown.has(ue.ue) ? 1 : 0.25;
      marker(context, "o", x, y, selected.has(ue.ue) ? 5 : 3.6);
      context.fillStyle = colour;
      context.fill();
      if (selected.has(ue.ue) || ue.ue === hovered) {
        context.strokeStyle = theme.ink;
        context.lineWidth = selected.has(ue.ue) ? 2 : 1.2;
        context.beginPath();
        context.arc(x, y, 8, 0, 2 * Math.PI);
        context.stroke();
      }
      if (selected.has(ue.ue) && selected.size <= 12) this.#name(context, `UE ${ue.ue}`, x, y);
      context.globalAlpha = 1;
    }
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
    const most = (width * 0.3) / this.scale;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].find((factor) => factor * power <= most) * power;
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

  #nearest(event) {
    const box = this.canvas.getBoundingClientRect();
    const paths = this.#paths();
    const away = (ue) => {
      const [x, y] = this.#place(ue, paths.get(ue.ue));
      return Math.hypot(this.x(x) - event.clientX + box.left, this.y(y) - event.clientY + box.top);
    };
    const { ues } = this.state.facts.runs[this.run];
    const best = ues.reduce((found, ue) => (found && away(found) <= away(ue) ? found : ue), null);
    return best && away(best) <= NEAR ? best : null;
  }

  #lines(ue) {
    return this.state.lines.filter((line) => line.run === this.run && line.ue === ue.ue);
  }

  #point(event) {
    const ue = this.#nearest(event);
    this.state.hover(ue ? (this.#lines(ue)[0] ?? null) : null);
    this.canvas.style.cursor = ue ? "pointer" : "default";
    this.tip.hidden = !ue;
    if (!ue) return;
    const sinr = ue.sinr_db === undefined || ue.sinr_db === null ? "" : `, SINR ${ue.sinr_db.toFixed(1)} dB`;
    const flows = this.#lines(ue).map((line) => line.id).join(", ") || "no flow";
    this.tip.textContent = `UE ${ue.ue}: ${flows}\ncell ${ue.cell ?? "–"}, at (${ue.x_m.toFixed(0)}, ${ue.y_m.toFixed(0)}) m${sinr}`;
    this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, window.innerWidth - this.tip.offsetWidth - 8))}px`;
    this.tip.style.top = `${event.clientY + 14}px`;
  }

  #away() {
    this.tip.hidden = true;
    this.state.hover(null);
  }

  /** A click selects only the flows of a UE; with Shift or Ctrl it adds them to the selection. */
  #click(event) {
    const ue = this.#nearest(event);
    const lines = ue ? this.#lines(ue) : [];
    const { selected } = this.state;
    const on = lines.some((line) => selected.has(line));
    const more = event.shiftKey || event.ctrlKey || event.metaKey;
    const alone = lines.length > 0 && [...selected].every((line) => lines.includes(line) || lines.some((each) => each.id === line.id));
    if (!more) selected.clear();
    this.state.select(lines, !(on && (more || alone)));
  }
}

function ends(values) {
  return [Math.min(...values), Math.max(...values)];
}

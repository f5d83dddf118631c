/** The map: masts with their sectors, terminals by serving cell, in metres. */

import { fresh, INK, SOFT } from "airwnd/canvas.js";
import { marker } from "airwnd/looks.js";

const MARGIN = 16;
// The scale stands below.
const FOOT = 22;
const NEAR = 12;

export class Plan {
  constructor(state, looks) {
    Object.assign(this, { state, looks, run: state.facts.runs.findIndex((run) => run.sites.length > 0) });
    const section = document.getElementById("map");
    this.canvas = section.querySelector("canvas");
    this.tip = document.getElementById("tip");
    if (this.run < 0) {
      section.classList.add("none");
      section.querySelector(".plan").textContent = "No cells: there is no map.";
      return;
    }
    this.#chooser(section.querySelector("select"));
    state.on(["lines", "hover"], () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.#look(event));
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
    const points = [...sites.map(({ x, y }) => [x, y]), ...ues.map((ue) => [ue.x_m, ue.y_m])];
    const [left, right] = ends(points.map(([x]) => x));
    const [low, high] = ends(points.map(([, y]) => y));
    const reach = Math.min(width, height) * (sites.length > 1 ? 0.28 / Math.sqrt(sites.length) : 0.17);
    const outer = sites.some(({ x, y }) => x === left || x === right || y === low || y === high);
    const margin = 2 * (outer ? reach + MARGIN : MARGIN);
    const scale = Math.min((width - margin) / Math.max(right - left, 1), (height - FOOT - margin) / Math.max(high - low, 1));
    // A single terminal at its mast has no extent: a metre is never larger than a centimetre or so.
    this.scale = Math.min(scale, 40);
    this.x = (x) => width / 2 + (x - (left + right) / 2) * this.scale;
    this.y = (y) => (height - FOOT) / 2 - (y - (low + high) / 2) * this.scale;
    for (const site of sites) this.#site(context, site, reach);
    this.#terminals(context, ues);
    this.#bar(context, width, height);
    this.canvas.dataset.places = JSON.stringify(ues.map((ue) => [ue.ue, Math.round(this.x(ue.x_m)), Math.round(this.y(ue.y_m))]));
  }

  #site(context, { x, y, cells }, reach) {
    const [centreX, centreY] = [this.x(x), this.y(y)];
    for (const { cell, degrees } of cells) {
      const { colour } = this.looks.cell(cell);
      const middle = (-degrees * Math.PI) / 180;
      const half = cells.length > 1 ? (Math.PI / cells.length) * 0.94 : Math.PI;
      context.beginPath();
      if (cells.length > 1) context.moveTo(centreX, centreY);
      context.arc(centreX, centreY, reach, middle - half, middle + half);
      context.fillStyle = `${colour}2e`;
      context.fill();
      const tip = [centreX + Math.cos(middle) * reach, centreY + Math.sin(middle) * reach];
      if (cells.length > 1) {
        context.strokeStyle = colour;
        context.lineWidth = 1.2;
        context.beginPath();
        context.moveTo(centreX, centreY);
        context.lineTo(...tip);
        context.stroke();
      }
      context.fillStyle = INK;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(String(cell), centreX + Math.cos(middle) * (reach + 8), centreY + Math.sin(middle) * (reach + 8));
    }
    marker(context, "s", centreX, centreY, 4);
    context.fillStyle = INK;
    context.fill();
  }

  #terminals(context, ues) {
    const { state } = this;
    const mine = state.lines.filter((line) => line.run === this.run);
    const selected = new Set(mine.filter((line) => state.selected.has(line)).map((line) => line.ue));
    const shown = new Set(mine.filter((line) => state.shown.has(line)).map((line) => line.ue));
    const hovered = state.hovered && state.kin(state.hovered).find((line) => line.run === this.run)?.ue;
    for (const ue of [...ues].sort((a, b) => selected.has(a.ue) - selected.has(b.ue))) {
      const look = this.looks.cell(ue.cell ?? 0);
      const [x, y] = [this.x(ue.x_m), this.y(ue.y_m)];
      context.globalAlpha = shown.has(ue.ue) ? 1 : 0.25;
      marker(context, look.marker, x, y, selected.has(ue.ue) ? 5 : 3.6);
      context.fillStyle = look.colour;
      context.fill();
      if (selected.has(ue.ue) || ue.ue === hovered) {
        context.strokeStyle = INK;
        context.lineWidth = selected.has(ue.ue) ? 2 : 1.2;
        context.beginPath();
        context.arc(x, y, 8, 0, 2 * Math.PI);
        context.stroke();
      }
      if (selected.has(ue.ue) && selected.size <= 12) {
        context.fillStyle = INK;
        context.textAlign = "left";
        context.textBaseline = "middle";
        context.fillText(`UE ${ue.ue}`, x + 11, y);
      }
      context.globalAlpha = 1;
    }
  }

  #bar(context, width, height) {
    const most = (width * 0.3) / this.scale;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = [5, 2, 1].find((factor) => factor * power <= most) * power;
    const [x, y] = [10, height - 10];
    context.strokeStyle = INK;
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(x, y - 4);
    context.lineTo(x, y);
    context.lineTo(x + length * this.scale, y);
    context.lineTo(x + length * this.scale, y - 4);
    context.stroke();
    context.fillStyle = SOFT;
    context.textAlign = "left";
    context.textBaseline = "bottom";
    context.fillText(`${length} m`, x + 4, y - 2);
  }

  #nearest(event) {
    const box = this.canvas.getBoundingClientRect();
    const away = (ue) => Math.hypot(this.x(ue.x_m) - event.clientX + box.left, this.y(ue.y_m) - event.clientY + box.top);
    const { ues } = this.state.facts.runs[this.run];
    const best = ues.reduce((found, ue) => (found && away(found) <= away(ue) ? found : ue), null);
    return best && away(best) <= NEAR ? best : null;
  }

  #lines(ue) {
    return this.state.lines.filter((line) => line.run === this.run && line.ue === ue.ue);
  }

  #look(event) {
    const ue = this.#nearest(event);
    this.state.hover(ue ? (this.#lines(ue)[0] ?? null) : null);
    this.canvas.style.cursor = ue ? "pointer" : "default";
    this.tip.hidden = !ue;
    if (!ue) return;
    const sinr = ue.sinr_db === undefined || ue.sinr_db === null ? "" : `, SINR ${ue.sinr_db.toFixed(1)} dB`;
    const flows = this.#lines(ue).map((line) => line.id).join(", ") || "no flow";
    this.tip.textContent = `UE ${ue.ue}: ${flows}\ncell ${ue.cell ?? "–"}, at (${ue.x_m.toFixed(0)}, ${ue.y_m.toFixed(0)}) m${sinr}`;
    this.tip.style.left = `${Math.min(event.clientX + 12, window.innerWidth - this.tip.offsetWidth - 8)}px`;
    this.tip.style.top = `${event.clientY + 14}px`;
  }

  #away() {
    this.tip.hidden = true;
    this.state.hover(null);
  }

  /** A click selects a terminal's flows alone; with Shift or Ctrl in addition. */
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

/** The tables: flows with their results, runs with their totals. */

import { swatch } from "airwnd/looks.js";
import { tickText, ticks, valueText } from "airwnd/scale.js";

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Heading of a column, with its unit below. */
function headTexts({ head, unit }) {
  return unit ? [head, element("small", { className: "soft", textContent: unit })] : [head];
}

/** A header cell; its tooltip explains the column. */
function headCell({ meaning = "" }, properties, ...children) {
  return element("th", { scope: "col", title: meaning, ...properties }, ...children);
}

/** A cell: words are left-aligned, numbers right-aligned. */
function cell(name, value, digits) {
  const text = valueText(value, digits ?? undefined);
  return element(name, { className: typeof value === "string" ? "word" : "", textContent: text });
}

// Rows in the table at most: a browser takes seconds to lay out tens of thousands.
const MOST_ROWS = 200;

export class FlowTable {
  #rows = new Map();
  #words = new Map();

  /**
   * @param {import("airwnd/state.js").State} state
   * @param {import("airwnd/looks.js").Looks} looks
   */
  constructor(state, looks) {
    this.state = state;
    this.looks = looks;
    this.sort = { key: null, sign: 1 };
    /** @type {string[]} */
    this.wanted = [];
    this.section = document.getElementById("flows");
    this.several = state.facts.runs.length > 1;
    const [name, ...figures] = state.facts.flowFigures;
    this.columns = this.several ? [name, { key: "run", head: "run" }, ...figures] : [name, ...figures];
    this.ordered = [...state.lines];
    this.body = element("tbody");
    this.more = element("p", { className: "soft" });
    this.section.querySelector("table").append(this.#head(), this.body);
    this.section.querySelector(".scroll").append(this.more);
    this.#tools();
    state.on(["lines"], () => this.update());
    state.on(["hover"], () => this.#hover());
    this.#list();
  }

  /** Fills the table with the first of the lines that pass the filter. */
  #list() {
    this.listed = this.ordered.filter((line) => this.wanted.every((word) => this.#text(line).includes(word)));
    this.rows = this.listed.slice(0, MOST_ROWS).map((line) => this.#row(line));
    this.body.replaceChildren(...this.rows.map((row) => row.element));
    const left = this.listed.length - this.rows.length;
    this.more.hidden = left === 0;
    this.more.textContent = `and ${left.toLocaleString("en")} more flows: sort or filter to see them`;
    this.update();
  }

  /** The words of a row, for the filter. */
  #text(line) {
    if (!this.#words.has(line)) {
      this.#words.set(line, this.columns.map(({ key }) => valueText(this.#value(line, key))).join(" ").toLowerCase());
    }
    return this.#words.get(line);
  }

  #value(line, key) {
    return key === "run" ? this.state.facts.runs[line.run].label : line.figures[key];
  }

  #head() {
    const heads = this.columns.map((column) => {
      const { key } = column;
      const button = element("button", { type: "button" }, ...headTexts(column));
      const made = headCell(column, {}, button);
      made.dataset.key = key;
      made.className = this.state.lines.some((line) => typeof this.#value(line, key) === "string") ? "word" : "";
      button.addEventListener("click", () => this.#sortBy(key));
      return made;
    });
    this.all = element("input", { type: "checkbox", title: "show all or none" });
    this.all.setAttribute("aria-label", "show all flows");
    this.all.addEventListener("change", () => this.state.show(this.listed, this.all.checked));
    this.heads = heads;
    return element("thead", {}, element("tr", {}, element("th", {}, this.all), element("th"), ...heads));
  }

  #row(line) {
    if (!this.#rows.has(line)) this.#rows.set(line, this.#made(line));
    return this.#rows.get(line);
  }

  #made(line) {
    const box = element("input", { type: "checkbox" });
    box.setAttribute("aria-label", `show ${line.id}`);
    box.addEventListener("change", () => this.state.show([line], box.checked));
    const picture = element("td");
    const cells = this.columns.map(({ key, digits }) => {
      if (key !== "id") return cell("td", this.#value(line, key), digits);
      const button = element("button", { type: "button", textContent: line.id });
      return element("td", { className: "word" }, button);
    });
    const made = element("tr", {}, element("td", {}, box), picture, ...cells);
    made.dataset.flow = line.id;
    made.dataset.run = line.run;
    made.addEventListener("click", (event) => {
      if (event.target !== box) this.state.toggle(line);
    });
    made.addEventListener("pointerenter", () => this.state.hover(line));
    made.addEventListener("pointerleave", () => this.state.hover(null));
    return { line, element: made, box, picture, button: made.querySelector("button") };
  }

  #sortBy(key) {
    const sign = this.sort.key === key ? -this.sort.sign : 1;
    this.sort = { key, sign };
    const { compare } = new Intl.Collator("en", { numeric: true });
    const rank = (a, b) => (typeof a === "number" ? a - b : compare(String(a), String(b)));
    const there = (each) => each.value !== null && each.value !== undefined;
    const keyed = this.ordered.map((line) => ({ line, value: this.#value(line, key) }));
    // Rows without a value come last in either order.
    keyed.sort((a, b) => Number(there(b)) - Number(there(a)) || (there(a) && there(b) ? sign * rank(a.value, b.value) : 0));
    this.ordered = keyed.map(({ line }) => line);
    this.#list();
    for (const head of this.heads) {
      if (head.dataset.key === key) head.ariaSort = sign > 0 ? "ascending" : "descending";
      else head.removeAttribute("aria-sort");
    }
  }

  #tools() {
    const { state } = this;
    const filter = /** @type {HTMLInputElement} */ (this.section.querySelector('input[type="search"]'));
    filter.addEventListener("input", () => {
      this.wanted = filter.value.toLowerCase().split(/\s+/);
      this.#list();
    });
    const actions = {
      "show-all": () => state.show(this.listed, true),
      "show-selected": () => {
        if (state.selected.size) state.shown = new Set(state.selected);
        state.changedLines();
      },
      clear: () => {
        state.selected.clear();
        state.changedLines();
      },
    };
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (this.section.querySelectorAll("[data-do]"))) button.addEventListener("click", actions[button.dataset.do]);
    const link = document.getElementById("link");
    link.hidden = !this.several;
    link.querySelector("input").addEventListener("change", (event) => (state.linked = /** @type {HTMLInputElement} */ (event.target).checked));
  }

  update() {
    const { state } = this;
    const drawn = new Set(state.single());
    for (const row of this.rows) {
      const { line } = row;
      const shown = state.shown.has(line);
      row.box.checked = shown;
      row.element.classList.toggle("selected", state.selected.has(line));
      row.element.classList.toggle("unshown", !shown);
      row.button.setAttribute("aria-pressed", state.selected.has(line));
      row.picture.replaceChildren(...(drawn.has(line) ? [swatch(this.looks.line(state, line))] : []));
    }
    const { listed } = this;
    const count = listed.filter((line) => state.shown.has(line)).length;
    this.all.checked = count === listed.length && count > 0;
    this.all.indeterminate = count > 0 && count < listed.length;
  }

  #hover() {
    const { hovered } = this.state;
    const kin = new Set(hovered ? this.state.kin(hovered) : []);
    for (const row of this.rows) row.element.classList.toggle("hovered", kin.has(row.line));
  }
}

/** Fills the table of runs and the table of differences between their scenarios. */
export function showRuns(state, looks) {
  const { runs, totalFigures, differences } = state.facts;
  const section = document.getElementById("runs");
  const several = runs.length > 1;
  const columns = [{ head: "" }, { head: "run" }, { head: "seed" }, ...totalFigures];
  const heads = columns.map((column) => headCell(column, { className: column.head === "run" ? "word" : "" }, ...headTexts(column)));
  const rows = runs.map((run, index) => {
    const box = element("input", { type: "checkbox", checked: true });
    box.setAttribute("aria-label", `show ${run.label}`);
    box.addEventListener("change", () => {
      if (box.checked) state.runsShown.add(index);
      else state.runsShown.delete(index);
      state.changedLines();
    });
    const picture = several ? [box, " ", swatch(looks.run(index), { thick: 4, length: 18 })] : [];
    const figures = totalFigures.map(({ key, digits }) => cell("td", run.totals[key], digits));
    const made = element("tr", {}, element("td", {}, ...picture), cell("td", run.label), cell("td", run.seed), ...figures);
    made.dataset.run = index;
    return made;
  });
  section.querySelector("table").append(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  const reach = /** @type {HTMLElement} */ (section.querySelector(".reach"));
  const lines = runs.flatMap((run) => run.outOfReach.map((line) => (several ? `${run.label}, ${line}` : line)));
  reach.append(...lines.map((textContent) => element("li", { textContent })));
  reach.hidden = lines.length === 0;
  if (!several || !differences.length) return;
  const details = section.querySelector("details");
  details.hidden = false;
  details.open = differences.length <= 4;
  const names = ["setting", ...runs.map((run) => run.label)];
  details.querySelector("table").append(
    element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { textContent: name, className: "word" })))),
    element("tbody", {}, ...differences.map(([key, values]) => element("tr", {}, cell("td", key), ...values.map((value) => cell("td", value))))),
  );
}

/** Fills the table of completion times by group of flows, and draws their distributions. */
export function showGroups(state, { looks }) {
  const { runs, groupFigures } = state.facts;
  const groups = runs.flatMap((run) => run.groups.map((group) => ({ run: run.label, ...group })));
  const section = document.getElementById("groups");
  section.hidden = groups.length === 0;
  if (section.hidden) return;
  const columns = runs.length > 1 ? [{ key: "run", head: "run" }, ...groupFigures] : groupFigures;
  const heads = columns.map((column) => {
    const className = typeof groups[0][column.key] === "string" ? "word" : "";
    return headCell(column, { className }, ...headTexts(column));
  });
  const rows = groups.map((group, index) => {
    const picture = element("td", {}, swatch(looks[index % looks.length]));
    return element("tr", {}, picture, ...columns.map(({ key, digits }) => cell("td", group[key], digits)));
  });
  const head = element("thead", {}, element("tr", {}, element("th"), ...heads));
  section.querySelector("table").append(head, element("tbody", {}, ...rows));
  drawCurves(section.querySelector("svg"), groups, looks);
}

/** Draws the CDFs of completion times; a curve ends below 1 if some transfers or pages were not completed. */
function drawCurves(svg, groups, looks) {
  const [left, right, top, bottom] = [34, 290, 8, 112];
  const longest = Math.max(...groups.flatMap(({ curve }) => curve.map(([time]) => time)), 1e-9);
  const x = (time) => left + ((right - left) * time) / longest;
  const y = (part) => bottom - (bottom - top) * part;
  const add = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    svg.append(made);
  };
  svg.setAttribute("viewBox", "0 0 300 138");
  for (const part of [0, 0.5, 1]) {
    add("line", { x1: left, x2: right, y1: y(part), y2: y(part), class: "grid" });
    add("text", { x: left - 4, y: y(part) + 3, "text-anchor": "end" }, `${part}`);
  }
  const { step, values } = ticks(0, longest, 5);
  for (const time of values) {
    add("line", { x1: x(time), x2: x(time), y1: top, y2: bottom, class: "grid" });
    add("text", { x: x(time), y: bottom + 11, "text-anchor": "middle" }, tickText(time, step));
  }
  add("text", { x: (left + right) / 2, y: bottom + 23, "text-anchor": "middle" }, "completion time (s)");
  groups.forEach(({ curve }, index) => {
    const { css, dashes } = looks[index % looks.length];
    const steps = curve.map(([time, part], place) => {
      const begin = place === 0 ? `M${x(time).toFixed(1)} ${y(0).toFixed(1)}` : `H${x(time).toFixed(1)}`;
      return `${begin}V${y(part).toFixed(1)}`;
    });
    add("path", { d: steps.join(""), style: `stroke: ${css}`, "stroke-dasharray": dashes.map((length) => length * 1.5).join(" ") });
  });
}

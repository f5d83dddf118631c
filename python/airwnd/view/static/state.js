/** State of the page: what is shown, selected and hovered. Views register listeners for changes. */

/**
 * @import { Series } from "airwnd/series.js"
 *
 * @typedef {object} Line a flow of a run
 * @property {number} index
 * @property {number} run
 * @property {number} flow
 * @property {string} id
 * @property {string} ue
 * @property {any} figures
 */

export const FEW = 8;

export class State {
  /** @type {Map<string, (() => void)[]>} */
  #listeners = new Map();
  /** @type {Map<string, number>} */
  #slots = new Map();
  /** @type {Line[] | null} */
  #visible = null;
  /** @type {Line[] | null} */
  #single = null;

  /**
   * @param {RunFacts} facts
   * @param {Series[]} series
   */
  constructor(facts, series) {
    this.facts = facts;
    this.series = series;
    /** One line for each flow of each run.
     * @type {Line[]} */
    this.lines = facts.runs
      .flatMap((run, index) => run.flows.map((flow, row) => ({ run: index, flow: row, id: flow.id, ue: flow.ue, figures: flow })))
      .map((line, index) => ({ ...line, index }));
    this.firstLine = facts.runs.map((_, run) => this.lines.findIndex((line) => line.run === run));
    this.shown = new Set(this.lines);
    /** @type {Set<Line>} */
    this.selected = new Set();
    /** @type {Line | null} */
    this.hovered = null;
    this.runsShown = new Set(facts.runs.keys());
    this.kindsShown = new Set(Object.keys(facts.kinds));
    this.panelsShown = new Set(facts.panels.filter((panel) => panel.shown).map((panel) => panel.column));
    /** How lines are drawn if there are many of them.
     * @type {string} */
    this.many = "band";
    /** "shared": one vertical axis for all runs; "own": one for each of two.
     * @type {string} */
    this.scales = "shared";
    this.linked = facts.runs.length > 1;
    this.whole = { from: 0, to: Math.max(...facts.runs.map((run) => run.duration), ...series.map((each) => each.time.at(-1) ?? 0)) };
    this.range = { ...this.whole };
    /** @type {number | null} */
    this.cursor = null;
  }

  /**
   * Registers a listener for changes of topics: "lines", "hover", "range", "cursor", "panels" or "theme".
   *
   * @param {string[]} topics
   * @param {() => void} listener
   */
  on(topics, listener) {
    for (const topic of topics) this.#listeners.set(topic, [...(this.#listeners.get(topic) ?? []), listener]);
  }

  notify(/** @type {string} */ topic) {
    for (const listener of this.#listeners.get(topic) ?? []) listener();
  }

  /** Returns the visible lines: shown lines of shown runs. */
  visible() {
    this.#visible ??= this.lines.filter((line) => this.shown.has(line) && this.runsShown.has(line.run));
    return this.#visible;
  }

  /** Returns the lines to draw separately. */
  single() {
    const visible = this.visible();
    this.#single ??= visible.length <= FEW ? visible : visible.filter((line) => this.selected.has(line));
    return this.#single;
  }

  /** Returns whether there are too many lines to draw all of them separately. */
  crowded() {
    return this.visible().length > FEW;
  }

  /** Returns the index of a flow's style; a flow keeps it while it is drawn. */
  slot(/** @type {Line} */ line) {
    return this.#slots.get(line.id) ?? 0;
  }

  assignSlots() {
    const drawn = new Set(this.single().map((line) => line.id));
    for (const id of this.#slots.keys()) if (!drawn.has(id)) this.#slots.delete(id);
    for (const id of drawn) {
      if (this.#slots.has(id)) continue;
      const taken = new Set(this.#slots.values());
      let slot = 0;
      while (taken.has(slot)) slot++;
      this.#slots.set(id, slot);
    }
  }

  /** Returns the line and, if runs are linked, the lines of the same flow in other runs. */
  kin(/** @type {Line} */ line) {
    return this.linked ? this.lines.filter((other) => other.id === line.id) : [line];
  }

  /**
   * Adds lines to the selection, which also shows them, or removes them from it.
   *
   * @param {Line[]} lines
   * @param {boolean} wanted
   */
  select(lines, wanted) {
    for (const line of lines.flatMap((each) => this.kin(each))) {
      if (wanted) {
        this.selected.add(line);
        this.shown.add(line);
      } else {
        this.selected.delete(line);
      }
    }
    this.changedLines();
  }

  toggle(/** @type {Line} */ line) {
    this.select([line], !this.selected.has(line));
  }

  /**
   * @param {Line[]} lines
   * @param {boolean} wanted
   */
  show(lines, wanted) {
    for (const line of lines.flatMap((each) => this.kin(each))) {
      if (wanted) this.shown.add(line);
      else this.shown.delete(line);
    }
    this.changedLines();
  }

  /** Takes over changes of the shown and selected lines. */
  changedLines() {
    this.#visible = null;
    this.#single = null;
    this.assignSlots();
    this.notify("lines");
  }

  hover(/** @type {Line | null} */ line) {
    if (line === this.hovered) return;
    this.hovered = line;
    this.notify("hover");
  }

  /**
   * Sets the shown time range, within the run and no shorter than a few samples.
   *
   * @param {number} from
   * @param {number} to
   */
  zoom(from, to) {
    const min = Math.min(...this.series.map((each) => each.interval)) * 4 || 1e-3;
    const length = Math.min(Math.max(to - from, min), this.whole.to - this.whole.from);
    const middle = (from + to) / 2;
    const start = Math.min(Math.max(middle - length / 2, this.whole.from), this.whole.to - length);
    this.range = { from: start, to: start + length };
    this.notify("range");
  }

  look(/** @type {number | null} */ time) {
    this.cursor = time;
    this.notify("cursor");
  }
}

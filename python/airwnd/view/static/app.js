/** The page: reads the data, creates its parts and connects the controls. */

import { readTheme } from "airwnd/canvas.js";
import { readArrays } from "airwnd/data.js";
import { Events } from "airwnd/events.js";
import { Looks } from "airwnd/looks.js";
import { Plan } from "airwnd/map.js";
import { Plots } from "airwnd/plots.js";
import { valueText } from "airwnd/scale.js";
import { Series } from "airwnd/series.js";
import { State } from "airwnd/state.js";
import { FlowTable, showGroups, showRuns } from "airwnd/tables.js";

const facts = JSON.parse(document.getElementById("facts").textContent);
const arrays = await readArrays();
const state = new State(facts, facts.runs.map((run, index) => new Series(run, index, arrays)));
const looks = new Looks(facts.looks, facts.runs.length);
const events = new Events(facts, arrays);
state.assignSlots();
themes();
const plots = new Plots(state, looks, events);
const plan = new Plan(state, looks);
new FlowTable(state, looks);
showRuns(state, looks);
showGroups(state, looks);
if (plan.run >= 0) plan.draw();
about();
const panelNames = facts.panels.map(({ name }) => name);
// A queue has a panel in bytes and one in packets.
const isShared = (name) => panelNames.indexOf(name) !== panelNames.lastIndexOf(name);
const panelSwitches = facts.panels.map(({ column, name, title }) => [column, isShared(name) ? title : name]);
switches("panel-switches", panelSwitches, state.panelsShown, "panels");
switches("event-switches", events.kinds.map((kind) => [kind, facts.kinds[kind], plots.lanes.picture(kind)]), state.kindsShown, "panels");
document.getElementById("event-switches").hidden = events.kinds.length === 0;
many();
scales();
time();
divider();
performance.measure("airwnd load", { start: 0 });
document.documentElement.dataset.ready = "";

function about() {
  const [run] = facts.runs;
  const seconds = `${valueText(run.duration)} s`;
  const flows = `${run.flows.length} ${run.flows.length === 1 ? "flow" : "flows"}`;
  const without = run.leftOut ? ` (without ${run.leftOut} with the fewest samples)` : "";
  const one = `${run.scenario}, seed ${run.seed}, ${flows}${without}, ${seconds}`;
  document.getElementById("about").textContent = facts.runs.length > 1 ? `${facts.runs.length} runs side by side` : one;
}

function switches(id, items, chosen, topic) {
  const labels = items.map(([value, text, picture]) => {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: chosen.has(value), value });
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(value);
      else chosen.delete(value);
      state.notify(topic);
    });
    const label = document.createElement("label");
    label.append(box, " ", ...(picture ? [picture, " "] : []), text);
    return label;
  });
  document.getElementById(id).append(...labels);
}

function many() {
  const part = /** @type {HTMLFieldSetElement} */ (document.getElementById("many"));
  const update = () => (part.disabled = !state.crowded());
  part.addEventListener("change", (event) => {
    state.many = /** @type {HTMLInputElement} */ (event.target).value;
    state.changedLines();
  });
  state.on(["lines"], update);
  update();
}

function scales() {
  const part = document.getElementById("scales");
  part.hidden = facts.runs.length !== 2;
  part.addEventListener("change", (event) => {
    state.scales = /** @type {HTMLInputElement} */ (event.target).value;
    state.notify("panels");
  });
}

/** Follows the light or dark theme of the system until the button overrides it. */
function themes() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const apply = () => {
    readTheme();
    looks.paint();
    const dark = (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
    button.setAttribute("aria-pressed", String(dark));
    button.textContent = dark ? "light" : "dark";
    button.title = `Show the page in ${button.textContent} colours`;
    state.notify("theme");
  };
  button.addEventListener("click", () => {
    root.dataset.theme = button.textContent;
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

function time() {
  const [from, to] = ["from", "to"].map((id) => /** @type {HTMLInputElement} */ (document.getElementById(id)));
  const update = () => {
    from.value = String(Number(state.range.from.toFixed(4)));
    to.value = String(Number(state.range.to.toFixed(4)));
  };
  const apply = () => {
    const [start, end] = [from.valueAsNumber, to.valueAsNumber];
    if (start < end) state.zoom(start, end);
    else update();
  };
  from.addEventListener("change", apply);
  to.addEventListener("change", apply);
  document.getElementById("whole").addEventListener("click", () => state.zoom(state.whole.from, state.whole.to));
  document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
  state.on(["range"], update);
  update();
}

function divider() {
  const bar = document.getElementById("divider");
  const side = document.querySelector("aside");
  const widen = (width) => {
    const max = window.innerWidth - 400;
    document.documentElement.style.setProperty("--side", `${Math.max(240, Math.min(max, width))}px`);
  };
  bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId));
  bar.addEventListener("pointermove", (event) => bar.hasPointerCapture(event.pointerId) && widen(window.innerWidth - event.clientX));
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 40, ArrowRight: -40 }[event.key];
    if (step) widen(side.offsetWidth + step);
  });
}

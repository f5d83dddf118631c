"use strict";

const CONFIG = {
  responsive: true,
  displaylogo: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"],
};
const NARROW = 560;
const system = matchMedia("(prefers-color-scheme: dark)");

/** Draws each chart when it comes near the viewport, and loads the library for the first; print uses still images. */
class Charts {
  /** @type {Set<Element>} */
  drawn = new Set();
  /** @type {Promise<unknown> | null} */
  library = null;

  constructor(/** @type {Element} */ drawing) {
    /** @type {{ plotly: string, dark: Record<string, string> }} */
    const { plotly, dark } = JSON.parse(drawing.textContent);
    this.source = plotly;
    this.dark = dark;
    const near = new IntersectionObserver((seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        this.draw(target);
      }
    }, { rootMargin: "400px" });
    for (const figure of document.querySelectorAll("figure")) near.observe(figure);
    system.addEventListener("change", () => this.drawn.forEach((figure) => this.plot(figure)));
  }

  async draw(/** @type {Element} */ figure) {
    try {
      this.library ??= load(this.source);
      await this.library;
    } catch {
      // Without the library, the still image replaces the chart.
      figure.classList.add("undrawn");
      return;
    }
    this.drawn.add(figure);
    this.plot(figure);
  }

  plot(/** @type {Element} */ figure) {
    const { data, layout } = JSON.parse(part(figure, "script.plot").textContent, (_, value) =>
      system.matches ? (this.dark[value] ?? value) : value);
    const chart = part(figure, ".chart");
    if (chart.clientWidth < NARROW && layout.legend.orientation !== "h") {
      Object.assign(layout.legend, { orientation: "h", x: 0, y: -0.24 });
      chart.style.height = `calc(22rem + ${0.7 * data.length}rem)`;
    }
    Plotly.react(chart, data, layout, CONFIG);
  }
}

/** A part of an element that every page has. */
function part(/** @type {ParentNode} */ element, /** @type {string} */ selector) {
  return /** @type {HTMLElement} */ (element.querySelector(selector));
}

function load(/** @type {string} */ source) {
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: source, onload: resolve, onerror: reject });
    document.head.append(script);
  });
}

/** Buttons that select a verdict. */
function verdicts() {
  return /** @type {HTMLElement[]} */ ([...document.querySelectorAll("button[data-verdict]")]);
}

/** Shows the claims that have a selected verdict and contain all search words; expands folded matches. */
function filterClaims() {
  const buttons = verdicts();
  const pressed = new Set(
    buttons.filter((button) => button.getAttribute("aria-pressed") === "true").map((button) => button.dataset.verdict),
  );
  const words = /** @type {HTMLInputElement} */ (part(document, "#search")).value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".claims li")]);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !(pressed.has(row.dataset.verdict) && words.every((word) => text.includes(word)));
  }
  const shown = rows.filter((row) => !row.hidden).length;
  for (const rest of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.rest"))) {
    rest.open = words.length > 0 && rest.querySelector("li:not([hidden])") !== null;
  }
  part(document, "#shown").textContent = shown < rows.length ? `${shown} of ${rows.length} claims` : "";
}

// Must come first: a chart that is not displayed has no size.
document.documentElement.classList.remove("no-script");
const drawing = document.querySelector("#drawing");
if (drawing) new Charts(drawing);
if (document.querySelector("#search")) {
  part(document, "#search").addEventListener("input", filterClaims);
  for (const button of verdicts()) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filterClaims();
    });
  }
}

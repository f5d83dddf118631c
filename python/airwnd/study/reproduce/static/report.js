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
  constructor() {
    const { plotly, dark } = JSON.parse(document.querySelector("#drawing").textContent);
    this.source = plotly;
    this.dark = dark;
    this.drawn = new Set();
    this.library = null;
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

  async draw(figure) {
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

  plot(figure) {
    const { data, layout } = JSON.parse(figure.querySelector("script.plot").textContent, (_, value) =>
      system.matches ? (this.dark[value] ?? value) : value);
    const chart = figure.querySelector(".chart");
    if (chart.clientWidth < NARROW && layout.legend.orientation !== "h") {
      Object.assign(layout.legend, { orientation: "h", x: 0, y: -0.24 });
      chart.style.height = `calc(22rem + ${0.7 * data.length}rem)`;
    }
    Plotly.react(chart, data, layout, CONFIG);
  }
}

function load(source) {
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: source, onload: resolve, onerror: reject });
    document.head.append(script);
  });
}

/** Shows the claims that have a selected verdict and contain all search words; expands folded matches. */
function filterClaims() {
  const buttons = [...document.querySelectorAll("button[data-verdict]")];
  const pressed = new Set(
    buttons.filter((button) => button.getAttribute("aria-pressed") === "true").map((button) => button.dataset.verdict),
  );
  const words = document.querySelector("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...document.querySelectorAll(".claims li")];
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !(pressed.has(row.dataset.verdict) && words.every((word) => text.includes(word)));
  }
  const shown = rows.filter((row) => !row.hidden).length;
  for (const rest of document.querySelectorAll("details.rest")) {
    rest.open = words.length > 0 && rest.querySelector("li:not([hidden])") !== null;
  }
  document.querySelector("#shown").textContent = shown < rows.length ? `${shown} of ${rows.length} claims` : "";
}

// Must come first: a chart that is not displayed has no size.
document.documentElement.classList.remove("no-script");
if (document.querySelector("#drawing")) new Charts();
if (document.querySelector("#search")) {
  document.querySelector("#search").addEventListener("input", filterClaims);
  for (const button of document.querySelectorAll("button[data-verdict]")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filterClaims();
    });
  }
}

"use strict";

/** Draws the charts; a page that is printed, or read without scripts, has the still pictures. */
function drawCharts() {
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"],
  };
  for (const figure of document.querySelectorAll("figure")) {
    const { data, layout } = JSON.parse(figure.querySelector("script.plot").textContent);
    Plotly.newPlot(figure.querySelector(".chart"), data, layout, config);
  }
}

/** Shows the claims with a pressed verdict whose row has all the words searched for. */
function filterClaims() {
  const pressed = new Set();
  for (const button of document.querySelectorAll("button[data-verdict]")) {
    if (button.getAttribute("aria-pressed") === "true") pressed.add(button.dataset.verdict);
  }
  const words = document.querySelector("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...document.querySelectorAll("#all-claims tbody tr")];
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !(pressed.has(row.dataset.verdict) && words.every((word) => text.includes(word)));
  }
  const shown = rows.filter((row) => !row.hidden).length;
  document.querySelector("#shown").textContent = shown < rows.length ? `${shown} of ${rows.length} claims` : "";
}

// First: a chart that is not displayed has no size to be drawn in.
document.documentElement.classList.remove("no-script");
if (document.querySelector(".chart")) drawCharts();
if (document.querySelector("#search")) {
  document.querySelector("#search").addEventListener("input", filterClaims);
  for (const button of document.querySelectorAll("button[data-verdict]")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filterClaims();
    });
  }
}

"use strict";

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

document.documentElement.classList.remove("no-script");
if (document.querySelector("#search")) {
  document.querySelector("#search").addEventListener("input", filterClaims);
  for (const button of document.querySelectorAll("button[data-verdict]")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filterClaims();
    });
  }
}

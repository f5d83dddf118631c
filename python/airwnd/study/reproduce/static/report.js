"use strict";

/** A part of an element that every page has. */
function part(/** @type {ParentNode} */ element, /** @type {string} */ selector) {
  return /** @type {HTMLElement} */ (element.querySelector(selector));
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
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".claims tbody")]);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !(pressed.has(row.dataset.verdict) && words.every((word) => text.includes(word)));
  }
  const shown = rows.filter((row) => !row.hidden).length;
  for (const rest of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.rest"))) {
    rest.open = words.length > 0 && rest.querySelector("tbody:not([hidden])") !== null;
  }
  part(document, "#shown").textContent = shown < rows.length ? `${shown} of ${rows.length} claims` : "";
}

document.documentElement.classList.remove("no-script");
if (document.querySelector("#search")) {
  part(document, "#search").addEventListener("input", filterClaims);
  for (const button of verdicts()) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filterClaims();
    });
  }
}

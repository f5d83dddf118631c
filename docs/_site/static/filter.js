// A search box that filters the entries of a page: only entries that contain all typed words remain.
"use strict";

const article = /** @type {HTMLElement} */ (document.querySelector("article"));
const rows = /** @type {HTMLElement[]} */ ([...article.querySelectorAll("table tbody tr")]);
const entries = [...sections("section section section"), ...rows];
const parts = sections("section > section").filter((part) => entries.some((entry) => entry !== part && part.contains(entry)));
const inSidebar = new Map(
  /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll(".toc-tree a")]).map((link) => [link.hash.slice(1), link.closest("li")]),
);

const box = document.createElement("div");
box.className = "filter";
box.innerHTML = '<input type="search" placeholder="Filter entries: words such as uplink HARQ"'
  + ' aria-label="Filter entries"><output></output>';
article.querySelector("h1")?.after(box);
const [input, output] = /** @type {[HTMLInputElement, HTMLOutputElement]} */ (/** @type {unknown} */ (box.children));

// A link may set the filter: limits.html?filter=uplink.
input.value = new URLSearchParams(location.search).get("filter") ?? "";
input.addEventListener("input", filter);
window.addEventListener("hashchange", reveal);
filter();

/** Sections of the page. */
function sections(/** @type {string} */ selector) {
  return /** @type {HTMLElement[]} */ ([...article.querySelectorAll(selector)]);
}

function filter() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (/** @type {HTMLElement} */ element) => {
    const text = element.textContent.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  for (const entry of entries) show(entry, matches(entry));
  for (const part of parts) show(part, entries.some((entry) => part.contains(entry) && !entry.hidden));
  output.textContent = `${entries.filter((entry) => !entry.hidden).length} of ${entries.length} entries`;
}

function show(/** @type {HTMLElement} */ element, /** @type {boolean} */ visible) {
  element.hidden = !visible;
  const item = element.id && inSidebar.get(element.id);
  if (item) item.hidden = !visible;
}

// A link to a hidden entry clears the filter.
function reveal() {
  if (document.getElementById(location.hash.slice(1))?.closest("[hidden]")) {
    input.value = "";
    filter();
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
}

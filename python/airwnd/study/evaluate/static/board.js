// Sorts the rows of a table by the column whose heading is chosen; a second time in the other direction.
for (const table of /** @type {NodeListOf<HTMLTableElement>} */ (document.querySelectorAll("table.board"))) {
  for (const [index, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = head.querySelector("button");
    if (!button) continue;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[index].dataset.key;
      const order = (a, b) => key(a).localeCompare(key(b), "en", { numeric: true }) * (down ? -1 : 1);
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
    });
  }
}

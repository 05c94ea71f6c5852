// Heads of tables within .sortable order the rows by their column: once up, twice down.
document.querySelectorAll(".sortable table").forEach((table) => {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const value = (row) => {
      const text = row.cells[column].textContent.trim();
      const number = parseFloat(text);
      return Number.isNaN(number) ? text : number;
    };
    const order = () => {
      const down = head.ariaSort === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = down ? "descending" : "ascending";
      const compare = (one, other) =>
        typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
      const rows = [...body.rows].sort((one, other) => (down ? -1 : 1) * compare(value(one), value(other)));
      body.append(...rows);
    };
    head.tabIndex = 0;
    head.title = "sort by this column";
    head.addEventListener("click", order);
    head.addEventListener("keydown", (event) => event.key === "Enter" && order());
  });
});

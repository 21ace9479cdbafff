"use strict";
// Everything here is an addition: without script the page shows the same numbers.
(() => {
  const make = (tag, props) => Object.assign(document.createElement(tag), props);

  // Values at the pointer, or by arrow keys on a focused chart.
  const tip = make("div", { id: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  let current = null;
  const words = (mark) => {
    const title = mark.querySelector("title");
    if (title) { mark.dataset.tip = title.textContent; title.remove(); } // else the browser shows it twice
    return mark.dataset.tip || "";
  };
  const hide = () => {
    if (current) current.classList.remove("on");
    current = null;
    tip.hidden = true;
  };
  const show = (mark) => {
    if (current === mark) return;
    hide();
    current = mark;
    mark.classList.add("on");
    tip.textContent = words(mark);
    tip.hidden = false;
    const at = mark.getBoundingClientRect(), size = tip.getBoundingClientRect();
    const left = Math.min(Math.max(4, at.left + at.width / 2 - size.width / 2), innerWidth - size.width - 4);
    const above = at.top - size.height - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : at.bottom + 8}px`;
  };
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest ? event.target.closest(".chart .m") : null;
    if (mark) show(mark); else hide();
  });
  addEventListener("scroll", hide, { passive: true, capture: true });
  for (const chart of document.querySelectorAll("svg.chart")) {
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      const marks = [...chart.querySelectorAll(".m:not(.off)")];
      if (!marks.length) return;
      event.preventDefault();
      const next = marks.indexOf(current) + step;
      show(marks[(next + marks.length) % marks.length]);
    });
  }

  // Names in a legend switch their marks on and off.
  for (const item of document.querySelectorAll(".legend li")) {
    const button = make("button", { type: "button", className: "plain" });
    button.append(...item.childNodes);
    button.setAttribute("aria-pressed", "true");
    item.append(button);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      const marks = item.closest(".charts").querySelectorAll(`.s${item.dataset.s}`);
      for (const mark of marks) mark.classList.toggle("off", !on);
    });
  }

  // Any column sorts; cells without a value stay at the end.
  const value = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent.trim();
    if (text === "" || text === "n/a") return null;
    const number = Number.parseFloat(text);
    return cell.classList.contains("n") && !Number.isNaN(number) ? number : text.toLowerCase();
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en"));
  const sort = (table, head, column) => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
    rows.sort(([a], [b]) => (a === null ? (b === null ? 0 : 1) : b === null ? -1 : up ? compare(a, b) : compare(b, a)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  const equip = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button", className: "plain" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, head, column));
    });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const box = table.closest("details:not([open])");
    if (box) box.addEventListener("toggle", () => equip(table), { once: true });
    else equip(table);
  }

  // A filter over the rows of a table.
  for (const region of document.querySelectorAll("[data-filter]")) {
    const rows = [...region.querySelectorAll("tbody tr")];
    const bar = make("div", { className: "filter" });
    const label = make("label", { textContent: `${region.dataset.filter}: ` });
    const input = make("input", { type: "search" });
    const count = make("span", { className: "muted" });
    count.setAttribute("role", "status");
    label.append(input);
    bar.append(label, count);
    region.before(bar);
    input.addEventListener("input", () => {
      const parts = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !parts.every((part) => text.includes(part));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = parts.length ? `${shown} of ${rows.length} rows` : "";
    });
  }

  // Paper cannot be unfolded: everything is open while it is printed.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of closed) part.open = false;
  });
})();

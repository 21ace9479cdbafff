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
    const mark = event.target.closest ? event.target.closest(".chart .m, .spread .m") : null;
    if (mark) show(mark); else hide();
  });
  addEventListener("scroll", hide, { passive: true, capture: true });
  const walk = (chart) => {
    let last = null;
    chart.addEventListener("blur", () => { last = null; hide(); });
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") { last = null; hide(); }
      if (!step) return;
      const marks = [...chart.querySelectorAll(".m:not(.off)")].filter((mark) => !mark.closest("[hidden]"));
      if (!marks.length) return;
      event.preventDefault();
      // The place is the chart's own: a page that scrolls hides the words, not where the reader was.
      const next = marks.indexOf(last) + step;
      last = marks[(next + marks.length) % marks.length];
      show(last);
    });
  };

  // Names in a legend switch their marks on and off.
  const switches = (item) => {
    const button = make("button", { type: "button", className: "plain" });
    button.append(...item.childNodes);
    button.setAttribute("aria-pressed", "true");
    item.append(button);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      const marks = item.closest(".charts").querySelectorAll(`.s${item.dataset.m}`);
      for (const mark of marks) mark.classList.toggle("off", !on);
    });
  };

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
    // Of a model the tasks where it is nearest to the best come first, of everything else the smallest.
    const first = head.dataset.first || (table.classList.contains("heat") && column ? "descending" : "ascending");
    const up = (head.getAttribute("aria-sort") === first) === (first === "descending");
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    for (const body of table.tBodies) {
      const rows = [...body.rows].map((row) => [value(row, column), row]);
      rows.sort(([a], [b]) => (a === null ? (b === null ? 0 : 1) : b === null ? -1 : up ? compare(a, b) : compare(b, a)));
      body.append(...rows.map(([, row]) => row));
    }
  };
  const equip = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button", className: "plain" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, head, column));
    });
  };
  const equipLater = (table) => {
    const box = table.closest("details:not([open])");
    if (box) box.addEventListener("toggle", () => equip(table), { once: true });
    else equip(table);
  };

  // One filter for tables and charts alike: what is about a task has data-t, what is about a model has data-m.
  const choose = (label, key, rows) => {
    const found = [...new Set(rows.map((row) => row.dataset[key]).filter(Boolean))].sort();
    if (found.length < 2) return null;
    const select = make("select", {});
    select.append(make("option", { value: "", textContent: "all" }));
    for (const value of found) select.append(make("option", { value, textContent: value }));
    const box = make("label", { textContent: label });
    box.append(select);
    return { box, select, key };
  };
  const field = (label) => {
    const box = make("label", { textContent: label });
    const input = make("input", { type: "search" });
    box.append(input);
    return { box, input };
  };
  const parts = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let values = () => [];
  const filter = (place, kept) => {
    const table = document.querySelector("table.heat");
    if (!place || !table) return;
    const rows = [...table.tBodies[0].rows], heads = [...table.tHead.querySelectorAll("th[data-m]")];
    const words = new Map(rows.map((row) => [row.dataset.t, `${row.cells[0].textContent} ${row.dataset.type} ${row.dataset.category}`.toLowerCase()]));
    const names = new Map(heads.map((head) => [head.dataset.m, head.textContent.toLowerCase()]));
    // Rows of other tables that name a task or a model.
    const index = (items, key) => new Map(items.map((item) => [item.dataset.name, item.dataset[key]]));
    const known = { Task: index(rows, "t"), Model: index(heads, "m") }, named = [];
    for (const other of document.querySelectorAll("table:not(.heat):not(.board):not(.matrix)")) {
      if (!other.tHead || other.closest(".rows")) continue;
      const columns = [...other.tHead.rows[0].cells].map((head) => head.textContent.trim());
      const at = columns.indexOf("Task"), who = columns.indexOf("Model");
      if (at < 0 && who < 0) continue;
      for (const row of other.tBodies[0].rows) {
        named.push([row, known.Task.get(row.cells[at]?.textContent.trim()), known.Model.get(row.cells[who]?.textContent.trim())]);
      }
    }
    const tasks = field("Filter tasks"), models = field("Filter models");
    const selects = [choose("Type", "type", rows), choose("Category", "category", rows)].filter(Boolean);
    const count = make("span", { className: "muted" });
    count.setAttribute("role", "status");
    const bar = make("div", { className: "filter" });
    bar.setAttribute("role", "search");
    bar.append(tasks.box, ...selects.map((s) => s.box), models.box, count);
    place.replaceWith(bar);
    const controls = [tasks.input, models.input, ...selects.map((s) => s.select)];
    const apply = () => {
      const wanted = parts(tasks.input), who = parts(models.input);
      const t = new Set(rows.filter((row) => wanted.every((part) => words.get(row.dataset.t).includes(part)) && selects.every((s) => !s.select.value || row.dataset[s.key] === s.select.value)).map((row) => row.dataset.t));
      // Any of the words: two names give two models.
      const m = new Set([...names.keys()].filter((i) => !who.length || who.some((part) => names.get(i).includes(part))));
      for (const item of document.querySelectorAll("[data-t]")) item.hidden = !t.has(item.dataset.t);
      for (const item of document.querySelectorAll("[data-m]")) item.hidden = !m.has(item.dataset.m);
      for (const i of names.keys()) for (const mark of document.querySelectorAll(`svg.chart .s${i}`)) mark.classList.toggle("off", !m.has(i));
      // Of one model every comparison that names it, of several those among them.
      for (const row of document.querySelectorAll("[data-two]")) {
        const there = row.dataset.two.split(" ").filter((i) => m.has(i)).length;
        row.hidden = there < Math.min(2, m.size);
      }
      // A board of the chosen type, or of the category: its numbers are computed, not filtered.
      const wish = selects.filter((s) => s.select.value).map((s) => `${s.key}:${s.select.value}`)[0] || ":";
      for (const body of document.querySelectorAll("[data-board]")) body.hidden = body.dataset.board !== wish;
      for (const [row, task, model] of named) row.hidden = (task !== undefined && !t.has(task)) || (model !== undefined && !m.has(model));
      const said = [];
      if (t.size < rows.length) said.push(`${t.size} of ${rows.length} tasks`);
      if (m.size < names.size) said.push(`${m.size} of ${names.size} models`);
      count.textContent = said.length ? `${said.join(", ")}; places rest on all` : "";
    };
    for (const control of controls) control.addEventListener("input", apply);
    controls.forEach((control, i) => { if (kept && kept[i]) control.value = kept[i]; });
    if (kept && kept.some(Boolean)) apply();
    values = () => controls.map((control) => control.value);
  };

  // A link to a folded place unfolds it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
  };
  addEventListener("hashchange", reveal);

  // Paper has nothing to unfold: models that the first screen has no room for are printed too.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.more:not([open])")];
    for (const box of opened) box.open = true;
  });
  addEventListener("afterprint", () => { for (const box of opened) box.open = false; });

  const start = (kept) => {
    document.querySelectorAll(".chart").forEach(walk);
    document.querySelectorAll(".legend li").forEach(switches);
    document.querySelectorAll("table.sortable").forEach(equipLater);
    filter(document.getElementById("filter"), kept);
    reveal();
  };
  // A live page exchanges its parts and wants to find them as the reader left them.
  addEventListener("graphnetz:values", (event) => event.detail.push(...values()));
  addEventListener("graphnetz:again", (event) => start(event.detail));
  start();
})();

// What a report page can do beyond being read. Every part stands alone.
"use strict";
(function () {
  function make(tag, properties) {
    return Object.assign(document.createElement(tag), properties);
  }

  // Light and dark. Storage may be forbidden, as it is for some local files.
  function stored(value) {
    try {
      if (value) localStorage.setItem("feedrate-theme", value);
      return localStorage.getItem("feedrate-theme");
    } catch (error) {
      return null;
    }
  }
  const root = document.documentElement;
  const themes = { light: "dark", dark: "light" };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = make("button", { id: "theme", type: "button" });
  function show(theme) {
    if (theme in themes) root.dataset.theme = theme;
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    button.textContent = now === "dark" ? "☀ Light" : "☾ Dark";
    return now;
  }
  button.onclick = function () {
    stored(show(themes[show()]));
  };
  show(new URLSearchParams(location.search).get("theme") || stored());
  document.querySelector("header > div").append(button);

  // Sorting: numbers by data-v, the rest by text, empty cells last.
  const collator = new Intl.Collator("en", { numeric: true });
  function compare(a, b, direction) {
    if (a.dataset.v !== undefined || b.dataset.v !== undefined) {
      if (a.dataset.v === undefined) return 1;
      if (b.dataset.v === undefined) return -1;
      return direction * (a.dataset.v - b.dataset.v);
    }
    return direction * collator.compare(a.textContent, b.textContent);
  }
  function sortBy(table, column, heading) {
    const down = heading.getAttribute("aria-sort") === "descending";
    for (const other of heading.parentNode.children) {
      other.removeAttribute("aria-sort");
    }
    heading.setAttribute("aria-sort", down ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    rows.sort(function (a, b) {
      return compare(a.cells[column], b.cells[column], down ? 1 : -1);
    });
    body.append(...rows);
  }
  for (const table of document.querySelectorAll("table")) {
    Array.from(table.tHead.rows[0].cells).forEach(function (heading, column) {
      const sorter = make("button", {
        type: "button",
        textContent: heading.textContent,
      });
      sorter.onclick = function () {
        sortBy(table, column, heading);
      };
      heading.replaceChildren(sorter);
    });
  }

  // Filtering: rows that hold every word.
  for (const holder of document.querySelectorAll(".table[data-filter]")) {
    const field = make("input", {
      className: "filter",
      type: "search",
      placeholder: "Filter rows",
    });
    field.setAttribute("aria-label", "Filter rows");
    field.oninput = function () {
      const words = field.value.toLowerCase().split(/\s+/);
      for (const row of holder.querySelectorAll("tbody tr")) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) {
          return text.includes(word);
        });
      }
    };
    holder.querySelector(".scroll").before(field);
  }

  // Hover: shows titles of marks and cells at once and in our own colors.
  const tip = make("div", { id: "tip", hidden: true });
  document.body.append(tip);
  for (const title of document.querySelectorAll("svg g > title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.parentNode.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  for (const cell of document.querySelectorAll("td[title], th[title]")) {
    cell.dataset.tip = cell.title;
    cell.removeAttribute("title");
  }
  document.addEventListener("pointermove", function (event) {
    const mark = event.target.closest && event.target.closest("[data-tip]");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const right = innerWidth - tip.offsetWidth - 8;
    const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
    const top = event.clientY + (below ? 16 : -tip.offsetHeight - 10);
    const left = Math.max(8, Math.min(event.clientX + 12, right));
    tip.style.transform = "translate(" + left + "px," + top + "px)";
  });
})();

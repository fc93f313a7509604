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
      // A button needs a name.
      if (!heading.textContent.trim()) return;
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

  // Lines in cells: the line of the chosen row, large. A click on a point leads
  // to its commit; dragging zooms.
  function timeText(seconds) {
    for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
      if (Math.abs(seconds) >= size) {
        return Number((seconds / size).toPrecision(4)) + " " + unit;
      }
    }
    return Number((seconds * 1e9).toPrecision(4)) + " ns";
  }
  function numbers(text) {
    return text ? text.split(" ").map(Number) : [];
  }
  function median(values) {
    const sorted = Array.from(values).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)];
  }
  function niceStep(range) {
    const power = Math.pow(10, Math.floor(Math.log10(range)));
    return [1, 2, 5, 10].map((f) => f * power).find((s) => range <= s * 1.001);
  }

  function explore(holder) {
    const points = Array.from(holder.querySelectorAll(".points li"));
    const link = holder.querySelector(".points").dataset.link;
    const box = make("div", { className: "explorer" });
    const head = make("div");
    const title = make("strong");
    const says = make("p");
    const zero = make("input", { type: "checkbox" });
    const label = make("label");
    label.append(zero, " from 0");
    const whole = make("button", { type: "button", textContent: "Show all" });
    const small = holder.querySelector(".spark svg");
    const svg = document.createElementNS(small.namespaceURI, "svg");
    svg.setAttribute("class", "chart");
    svg.setAttribute("role", "img");
    head.append(title, label, whole);
    box.append(head, svg, says);
    const state = { line: null, from: 0, to: 1, near: null, drag: null };
    const height = 250;
    const left = 64;
    const right = 12;

    function add(tag, attributes, text) {
      const shape = document.createElementNS(svg.namespaceURI, tag);
      for (const name in attributes) shape.setAttribute(name, attributes[name]);
      if (text !== undefined) shape.textContent = text;
      svg.append(shape);
      return shape;
    }
    function revision(i) {
      const text = points[i].textContent;
      return /^[0-9a-f]{40}$/.test(text) ? text.slice(0, 10) : text;
    }
    function draw() {
      const line = state.line;
      const width = svg.clientWidth || 320;
      svg.setAttribute("viewBox", "0 0 " + width + " " + height);
      svg.style.height = height + "px";
      svg.replaceChildren();
      const shown = line.x.map((_, i) => i).filter(function (i) {
        return line.x[i] >= state.from && line.x[i] <= state.to;
      });
      const values = shown.map((i) => line.y[i]);
      let low = zero.checked ? 0 : Math.min(...values);
      let high = Math.max(...values);
      const pad = (high - low || high || 1) * 0.06;
      high += pad;
      if (!zero.checked) low = Math.max(0, low - pad);
      const span = Math.max(1, state.to - state.from);
      state.at = (x) =>
        left + ((x - state.from) / span) * (width - left - right);
      const up = (y) => 14 + (1 - (y - low) / (high - low)) * (height - 46);
      const step = niceStep((high - low) / 5);
      for (let t = Math.ceil(low / step) * step; t <= high; t += step) {
        add("path", { class: "grid", d: `M${left} ${up(t)}H${width - right}` });
        const at = { class: "t", x: left - 6, y: up(t) + 4 };
        add("text", { ...at, "text-anchor": "end" }, timeText(t));
      }
      const ends = [0, state.from, state.to + 1, Infinity].concat(line.marks);
      ends.sort((a, b) => a - b);
      for (const mark of line.marks) {
        if (mark <= state.from || mark > state.to) continue;
        const x = state.at(mark - 0.5);
        add("path", { class: "ref", d: `M${x} 14V${height - 32}` });
      }
      add("path", {
        class: "line k0",
        d: "M" + shown.map((i) => [state.at(line.x[i]), up(line.y[i])]).join("L"),
      });
      // The level between two changes.
      for (let k = 0; k + 1 < ends.length; ++k) {
        const inside = shown.filter(
          (i) => line.x[i] >= ends[k] && line.x[i] < ends[k + 1],
        );
        if (inside.length < 2) continue;
        const y = up(median(inside.map((i) => line.y[i])));
        const first = state.at(line.x[inside[0]]);
        const last = state.at(line.x[inside[inside.length - 1]]);
        add("path", { class: "whisker", d: `M${first} ${y}H${last}` });
      }
      for (const i of shown) {
        const at = { cx: state.at(line.x[i]), cy: up(line.y[i]) };
        const near = i === state.near;
        add("circle", { ...at, r: near ? 6 : 3, class: "dot f" + (near ? 1 : 0) });
      }
      for (const [i, anchor] of [
        [shown[0], "start"],
        [shown[shown.length - 1], "end"],
      ]) {
        const at = { class: "t", x: state.at(line.x[i]), y: height - 12 };
        add("text", { ...at, "text-anchor": anchor }, revision(line.x[i]));
      }
      svg.setAttribute("aria-label", "History of " + title.textContent);
    }
    function tell() {
      const line = state.line;
      const i = state.near;
      says.replaceChildren();
      if (i === null) {
        says.textContent = "Point at the plot for revisions; drag to zoom.";
        return;
      }
      const point = points[line.x[i]];
      const parts = [timeText(line.y[i])];
      if (i > 0) {
        const change = 100 * (line.y[i] / line.y[i - 1] - 1);
        const sign = change < 0 ? "−" : "+";
        parts.push(
          sign + Math.abs(change).toFixed(1) + "% against the one before",
        );
      }
      if (point.dataset.detail) parts.push(point.dataset.detail);
      const name = make(link ? "a" : "span", {
        textContent: revision(line.x[i]),
      });
      if (link) name.href = address(point);
      says.append(name, ": " + parts.join(", "));
    }
    function address(point) {
      return link.replaceAll("{commit}", encodeURIComponent(point.textContent));
    }
    function showAll() {
      state.from = state.line.x[0];
      state.to = state.line.x[state.line.x.length - 1];
      state.near = null;
      draw();
      tell();
    }
    function choose(row) {
      const cell = row.querySelector(".spark");
      for (const other of holder.querySelectorAll(".chosen")) {
        other.classList.remove("chosen");
      }
      row.classList.add("chosen");
      title.textContent = row.cells[0].textContent;
      state.line = {
        x: numbers(cell.dataset.x),
        y: numbers(cell.dataset.y),
        marks: numbers(cell.dataset.marks),
      };
      showAll();
    }
    function nearest(event) {
      const x = event.clientX - svg.getBoundingClientRect().left;
      const line = state.line;
      let best = null;
      for (let i = 0; i < line.x.length; ++i) {
        if (line.x[i] < state.from || line.x[i] > state.to) continue;
        const off = Math.abs(state.at(line.x[i]) - x);
        if (best === null || off < best.off) best = { i, off };
      }
      return best.i;
    }
    svg.onpointermove = function (event) {
      state.near = nearest(event);
      draw();
      tell();
    };
    svg.onpointerdown = function (event) {
      state.drag = nearest(event);
    };
    svg.onpointerup = function (event) {
      const start = state.drag;
      const end = nearest(event);
      state.drag = null;
      if (start === null) return;
      if (Math.abs(end - start) >= 2) {
        state.from = state.line.x[Math.min(start, end)];
        state.to = state.line.x[Math.max(start, end)];
        draw();
      } else if (start === end && link && event.pointerType === "mouse") {
        open(address(points[state.line.x[end]]), "_blank", "noopener");
      }
    };
    zero.onchange = draw;
    whole.onclick = showAll;
    addEventListener("resize", draw);
    holder.querySelector(".scroll").before(box);
    for (const row of holder.querySelectorAll("tbody tr")) {
      row.tabIndex = 0;
      row.onclick = function (event) {
        if (!event.target.closest("a")) choose(row);
      };
      row.onkeydown = function (event) {
        if (event.key === "Enter" && event.target === row) choose(row);
      };
    }
    choose(holder.querySelector("tbody tr"));
  }
  for (const holder of document.querySelectorAll(".table")) {
    if (holder.querySelector(".points")) explore(holder);
  }

  // Hover: shows titles of marks and cells at once and in our own colors.
  const tip = make("div", { id: "tip", hidden: true });
  document.body.append(tip);
  for (const title of document.querySelectorAll("svg g > title")) {
    // For the pointer only: to screen readers a chart is one image with a name,
    // and the tables have its numbers.
    title.parentNode.dataset.tip = title.textContent;
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

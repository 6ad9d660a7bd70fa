/* The matrix and the tables: sorted, filtered, a page at a time. */
"use strict";
(() => {
  const {page, el, rowHead, mark, say, fire, counted, quantity, outcomes} = globalThis.steelyard;
  const texts = page.texts;

  /** What a table shows now: `rows` in order, filtered; `render` fills the body with those of this page. */
  class Paged {
    constructor(name, one, many, rows, matches, render) {
      Object.assign(this, {name, one, many, rows, matches, render, at: 0, sorted: null, shown: rows});
      this.table = document.getElementById(name + "-table");
      this.controls = document.getElementById(name + "-controls");
      this.search = el("input", {type: "search", id: name + "-search", autocomplete: "off"});
      this.search.addEventListener("input", () => this.filter());
      this.controls.append(el("label", {}, `Search ${many} `, this.search));
      this.place = el("span", {class: "place"});
      this.back = el("button", {type: "button", class: "turn"}, "‹ Back");
      this.on = el("button", {type: "button", class: "turn"}, "Next ›");
      this.back.addEventListener("click", () => this.turn(-1));
      this.on.addEventListener("click", () => this.turn(1));
      this.pager = el("span", {class: "pager"}, this.back, this.place, this.on);
      this.filters = [];
    }

    /** A choice that filters; `test(row, value)`. */
    choice(label, values, test) {
      const select = el("select", {}, ...values.map(([value, words]) => el("option", {value}, words)));
      select.addEventListener("change", () => this.filter());
      this.filters.push((row) => select.value === "" || test(row, select.value));
      this.controls.append(el("label", {}, label + " ", select));
      return select;
    }

    /** Makes a head sort by `key(row)`. */
    sortable(head, key) {
      const button = el("button", {type: "button", class: "sort"});
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of this.table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        this.sorted = {key, up};
        this.filter();
        say(`sorted by ${button.textContent}, ${up ? "ascending" : "descending"}`);
      });
    }

    start() {
      this.controls.append(this.pager);
      this.filter(true);
    }

    filter(first) {
      const words = this.search.value.trim().toLowerCase();
      this.shown = this.rows.filter((row) => (!words || this.matches(row, words)) && this.filters.every((test) => test(row)));
      if (this.sorted) {
        const {key, up} = this.sorted, way = up ? 1 : -1;
        const keyed = this.shown.map((row, place) => [key(row), place, row]);
        keyed.sort((a, b) => compared(a[0], b[0], way) || a[1] - b[1]);
        this.shown = keyed.map((entry) => entry[2]);
      }
      this.at = 0;
      this.draw();
      if (!first) say(`${this.total()} shown`);
    }

    /** The rows shown in words; those that stand in for trials are no trials. */
    total() {
      const standIns = this.shown.filter((row) => row.stand_in).length, rows = counted(this.shown.length - standIns, this.one, this.many);
      return standIns ? `${rows} and ${counted(standIns, "stand-in")}` : rows;
    }

    turn(by) {
      this.at = Math.min(Math.max(0, this.at + by), this.last());
      this.draw();
      say(this.place.textContent);
    }

    last() {
      return Math.max(0, Math.ceil(this.shown.length / page.page) - 1);
    }

    draw() {
      const start = this.at * page.page, rows = this.shown.slice(start, start + page.page);
      this.table.tBodies[0].replaceChildren(...rows.map((row) => this.render(row)));
      const all = this.shown.length, end = start + rows.length;
      this.place.textContent = all ? ` ${(start + 1).toLocaleString("en")}–${end.toLocaleString("en")} of ${this.total()} `
        : ` no ${this.one} fits `;
      this.back.disabled = this.at === 0;
      this.on.disabled = this.at >= this.last();
      this.pager.classList.toggle("single", this.last() === 0);
      fire("rendered", {table: this.name});
    }
  }

  /** Empty values last, whichever way. */
  function compared(a, b, way) {
    const none = (value) => value === null || value === undefined || value === "";
    if (none(a) || none(b)) return Number(none(a)) - Number(none(b));
    if (typeof a === "number" && typeof b === "number") return way * (a - b);
    return way * String(a).localeCompare(String(b), "en", {numeric: true});
  }

  // --- the matrix ---

  const columns = page.columns;
  const starts = columns.map((column, n) => n === 0 || columns[n - 1][0] !== column[0]);
  const taskOf = (row) => page.tasks[row.task][0];
  const matrixRows = page.matrix.map((row, number) => Object.assign(row, {number}));
  const changed = new Map();
  const cellKey = (task, trial, criterion) => JSON.stringify([task, trial, criterion]);

  /** One cell as `{column, criterion, outcome, score, rule, gate}`, as it stands now. */
  function cellOf(row, cell) {
    const criterion = texts[cell[1]];
    const change = changed.get(cellKey(taskOf(row), row.trial, criterion));
    const recorded = texts[cell[2]];
    return {column: cell[0], criterion, recorded, outcome: change ? change.status : recorded,
      score: change ? change.score : cell[3], rule: texts[cell[4]], gate: Boolean(cell[5]), changed: Boolean(change)};
  }

  function cellButton(row, raw) {
    const cell = cellOf(row, raw), outcome = outcomes.get(cell.outcome) || {mark: "?", words: cell.outcome};
    const partial = cell.score !== null && cell.score !== undefined && cell.score > 0 && cell.score < 1;
    const score = cell.score === null || cell.score === undefined ? "" : `, score ${quantity(cell.score)}`;
    const words = `${row.label}, ${cell.criterion}: ${outcome.words}${score}${cell.gate ? ", gate" : ""}`
      + (cell.changed ? `, what-if; recorded ${cell.recorded}` : "");
    const button = el("button", {
      type: "button", class: `cell is-${outcomes.has(cell.outcome) ? cell.outcome : "unknown"}${cell.gate ? " gate" : ""}${cell.changed ? " changed" : ""}`,
      "data-task": taskOf(row), "data-trial": row.trial, "data-criterion": cell.criterion, "data-status": cell.outcome,
      "data-row": row.number, "data-column": cell.column, "aria-label": globalThis.steelyard.visible(words), tabindex: "-1",
    }, el("span", {"aria-hidden": "true"}, outcome.mark));
    if (partial) button.append(el("small", {"aria-hidden": "true"}, quantity(cell.score)));
    return button;
  }

  function matrixRow(row) {
    const line = el("tr", {"data-task": taskOf(row), "data-trial": row.trial}, rowHead(row.label),
      el("td", {class: "state"}, mark(page.states[row.state]), " ", el("span", {class: "word"}, row.state)));
    const byColumn = new Map(row.cells.map((cell) => [cell[0], cell]));
    columns.forEach((column, n) => {
      const cell = byColumn.get(n);
      line.append(el("td", {class: starts[n] ? "first" : null}, cell ? cellButton(row, cell) : null));
    });
    return line;
  }

  function matches(row, words) {
    return row.label.toLowerCase().includes(words)
      || row.cells.some((cell) => texts[cell[1]].toLowerCase() === words || texts[cell[4]].toLowerCase().includes(words));
  }

  const matrix = new Paged("matrix", "trial", "trials", matrixRows, matches, matrixRow);
  matrix.choice("State", [["", "all"], ...Object.keys(page.states).map((word) => [word, word])], (row, value) => row.state === value);
  matrix.choice("Some verdict is", [["", "any"], ...page.outcomes.map(({name, mark: sign, words}) => [name, `${sign} ${words}`])],
    (row, value) => row.cells.some((cell) => cellOf(row, cell).outcome === value));
  const heads = matrix.table.tHead.rows;
  matrix.sortable(heads[0].cells[0], (row) => row.label);
  matrix.sortable(heads[0].cells[1], (row) => Object.keys(page.states).indexOf(row.state));
  [...(heads[1] ? heads[1].cells : [])].forEach((head, n) => matrix.sortable(head, (row) => {
    const cell = row.cells.find((entry) => entry[0] === n);
    return cell ? page.outcomes.findIndex(({name}) => name === cellOf(row, cell).outcome) : null;
  }));

  // Arrow keys walk over the verdicts; one of them is in the tab order.
  function roving(target) {
    for (const other of matrix.table.querySelectorAll(".cell[tabindex='0']")) other.setAttribute("tabindex", "-1");
    target.setAttribute("tabindex", "0");
  }

  function neighbour(cell, key) {
    const line = cell.closest("tr"), column = Number(cell.dataset.column);
    const inLine = [...line.querySelectorAll(".cell")], place = inLine.indexOf(cell);
    if (key === "ArrowLeft") return inLine[place - 1];
    if (key === "ArrowRight") return inLine[place + 1];
    if (key === "Home") return inLine[0];
    if (key === "End") return inLine[inLine.length - 1];
    const next = key === "ArrowUp" ? "previousElementSibling" : "nextElementSibling";
    for (let other = line[next]; other; other = other[next]) {
      const found = nearest(other, column);
      if (found) return found;
    }
    if (key === "ArrowUp" ? matrix.at === 0 : matrix.at >= matrix.last()) return null;
    matrix.turn(key === "ArrowUp" ? -1 : 1);
    return near(key === "ArrowUp" ? page.page : 0, column);
  }

  /** The verdict of a row that is nearest to a column; null where the row has none. */
  function nearest(line, column) {
    const found = [...line.querySelectorAll(".cell")], away = (cell) => Math.abs(Number(cell.dataset.column) - column);
    return found.length ? found.reduce((best, each) => away(each) < away(best) ? each : best) : null;
  }

  /** The verdict nearest to a place among the rows of this page, and to a column. */
  function near(place, column) {
    const lines = [...matrix.table.tBodies[0].rows].map((line, n) => [Math.abs(n - place), line]);
    lines.sort((a, b) => a[0] - b[0]);
    for (const [, line] of lines) {
      const found = nearest(line, column);
      if (found) return found;
    }
    return null;
  }

  matrix.table.addEventListener("keydown", (event) => {
    const cell = event.target.closest(".cell");
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "PageDown" || event.key === "PageUp") {
      event.preventDefault();
      const by = event.key === "PageDown" ? 1 : -1, place = cell.closest("tr").sectionRowIndex;
      if (matrix.at + by < 0 || matrix.at + by > matrix.last()) return;
      matrix.turn(by);
      const found = near(place, Number(cell.dataset.column));
      if (found) { roving(found); found.focus(); }
      return;
    }
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const target = neighbour(cell, event.key);
    if (target) { roving(target); target.focus(); }
  });
  matrix.table.addEventListener("focusin", (event) => {
    const cell = event.target.closest(".cell");
    if (cell) roving(cell);
  });
  document.addEventListener("steelyard:rendered", (event) => {
    if (event.detail.table !== "matrix") return;
    const first = matrix.table.querySelector(".cell");
    if (first) roving(first);
  });

  // --- tasks and criteria ---

  function taskRow(row) {
    const [id, complete, completion, dimensions, share] = row;
    const numbers = [complete[0], completion[0], ...dimensions.map((pair) => pair[0])];
    return el("tr", {"data-task": id}, rowHead(id),
      ...numbers.map((text) => el("td", {class: "number"}, text)),
      el("td", {class: "number", "data-slot": "weight"}, share));
  }

  const tasks = new Paged("tasks", "task", "tasks", page.tasks, (row, words) => row[0].toLowerCase().includes(words), taskRow);
  const taskKeys = [(row) => row[0], (row) => row[1][1], (row) => row[2][1],
    ...(page.tasks[0] ? page.tasks[0][3] : []).map((_, n) => (row) => row[3][n][1]), (row) => row[5]];
  [...tasks.table.tHead.rows[0].cells].forEach((head, n) => tasks.sortable(head, taskKeys[n] || (() => null)));

  function criterionRow(row) {
    const [id, dimension, counts, inTasks, tag, rule, gate] = row;
    const name = rowHead(id);
    if (gate) name.append(" ", el("span", {class: "badge"}, "gate"));
    return el("tr", {}, name, el("td", {}, dimension),
      ...counts.map((count) => el("td", {class: "number"}, count.toLocaleString("en"))),
      el("td", {class: "number"}, inTasks.toLocaleString("en")), el("td", {}, tag), el("td", {class: "rule"}, rule));
  }

  const criteria = new Paged("criteria", "criterion", "criteria", page.criteria,
    (row, words) => [row[0], row[1], row[4], row[5]].some((text) => text.toLowerCase().includes(words)), criterionRow);
  const dimensions = [...new Set(page.criteria.map((row) => row[1]))];
  if (dimensions.length > 1) {
    criteria.choice("Dimension", [["", "all"], ...dimensions.map((name) => ["=" + name, name])], (row, value) => "=" + row[1] === value);
  }
  const shown = page.outcomes.length;
  [...criteria.table.tHead.rows[0].cells].forEach((head, n) => criteria.sortable(head, (row) => {
    if (n < 2) return row[n];
    if (n < 2 + shown) return row[2][n - 2];
    return row[n - shown + 1];
  }));

  /** Verdicts that a what-if changed: `{task, trial, criterion, status, score}` each; all others stand as recorded. */
  function onCellsChanged(cells) {
    const focused = document.activeElement && document.activeElement.closest ? document.activeElement.closest(".cell") : null;
    changed.clear();
    for (const cell of cells) changed.set(cellKey(cell.task, cell.trial, cell.criterion), cell);
    const at = matrix.at;
    matrix.filter(true);
    matrix.at = Math.min(at, matrix.last());
    if (matrix.at) matrix.draw();
    if (focused) focusCell(Number(focused.dataset.row), focused.dataset.criterion);
  }

  function focusCell(number, criterion) {
    const cell = [...matrix.table.querySelectorAll(".cell")].find((each) =>
      Number(each.dataset.row) === number && each.dataset.criterion === criterion);
    if (cell) { roving(cell); cell.focus(); }
    return cell;
  }

  /** Turns to the page on which a trial stands, filters lifted where they hide it. */
  function reveal(number) {
    let place = matrix.shown.findIndex((row) => row.number === number);
    if (place < 0) {
      matrix.search.value = "";
      for (const select of matrix.controls.querySelectorAll("select")) select.value = "";
      matrix.filter(true);
      place = matrix.shown.findIndex((row) => row.number === number);
    }
    const at = Math.floor(place / page.page);
    if (at !== matrix.at) { matrix.at = at; matrix.draw(); }
  }

  Object.assign(globalThis.steelyard, {onCellsChanged, cellOf, taskOf, focusCell, reveal, matrix, tasks, criteria});
  for (const table of [matrix, tasks, criteria]) table.start();
})();

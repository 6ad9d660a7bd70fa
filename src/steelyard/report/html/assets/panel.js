/* The verdict panel: one verdict whole, the others of its trial, and the trace opened where it is cited. */
"use strict";
(() => {
  const steelyard = globalThis.steelyard;
  const {page, el, say, fire, visible, counted} = steelyard;
  const panel = document.getElementById("panel"), body = document.getElementById("panel-body");
  const title = document.getElementById("panel-title"), slot = document.getElementById("panel-whatif");
  let open = null;

  function templateOf(number) {
    return document.querySelector(`template[data-row="${Number(number)}"]`);
  }

  /** A path below this page as a link: no part of it can be read as anything but a name. */
  function linkTo(file) {
    return "./" + file.split("/").map(encodeURIComponent).join("/");
  }

  function ruleOf(cell) {
    return cell.rule ? el("div", {}, el("dt", {}, "rule"), el("dd", {}, cell.rule)) : null;
  }

  function cellsOf(row) {
    return row.cells.map((raw) => steelyard.cellOf(row, raw));
  }

  function show(number, criterion) {
    const row = page.matrix[number];
    const cells = cellsOf(row), cell = cells.find((each) => each.criterion === criterion);
    if (!cell) return false;
    open = {number, criterion};
    body.after(slot);  // out of what is replaced
    title.replaceChildren(visible(`${row.label} · ${criterion}`));
    const template = templateOf(number);
    if (template) {
      body.replaceChildren(template.content.cloneNode(true));
      arrange(criterion);
    } else {
      body.replaceChildren(elsewhere(row, cell));
    }
    const current = body.querySelector(".verdict.current");
    if (current) current.after(slot);
    panel.hidden = false;
    document.body.classList.add("with-panel");
    panel.scrollTop = 0;
    title.focus({preventScroll: true});
    for (const other of document.querySelectorAll(".cell.open")) other.classList.remove("open");
    const button = [...document.querySelectorAll(`.cell[data-row="${Number(number)}"]`)].find((each) => each.dataset.criterion === criterion);
    if (button) {
      button.classList.add("open");
      button.scrollIntoView({block: "nearest", inline: "nearest"});
    }
    fire("verdict", {task: steelyard.taskOf(row), trial: row.trial, criterion, cell, row: number, slot});
    return true;
  }

  function elsewhere(row, cell) {
    const words = (steelyard.outcomes.get(cell.outcome) || {words: cell.outcome}).words;
    const parts = [el("p", {}, steelyard.mark(cell.outcome), `${words}`), el("dl", {}, ruleOf(cell))];
    parts.push(row.file
      ? el("p", {}, el("a", {href: linkTo(row.file)}, "Reason, evidence and trace of this trial"), " stand in a file of their own, so that this page stays small.")
      : el("p", {}, "Reason, evidence and trace of this trial are not in this report."));
    return el("div", {}, ...parts);
  }

  /** The verdict that was asked for first, the others folded below it. */
  function arrange(criterion) {
    const list = body.querySelector(".verdicts"), others = [];
    for (const section of [...list.children]) {
      if (section.dataset.criterion === criterion) section.classList.add("current");
      else others.push(section);
    }
    if (others.length) {
      list.append(el("details", {class: "others"}, el("summary", {}, `the other ${counted(others.length, "verdict")} of this trial`), ...others));
    }
    const links = [...body.querySelectorAll(".verdict.current a[data-step]")];
    for (const link of links) {
      const step = stepOf(link.dataset.step);
      if (step) step.classList.add("cited-now");
    }
  }

  function stepOf(id) {
    return [...body.querySelectorAll(".step")].find((step) => step.id === "step-" + id);
  }

  function goTo(id) {
    const step = stepOf(id);
    if (!step) {
      say(`step ${id} is not shown here`);
      return;
    }
    for (const other of body.querySelectorAll(".step.target")) other.classList.remove("target");
    step.classList.add("target");
    for (const fold of step.querySelectorAll("details")) if (fold.querySelector("mark")) fold.open = true;
    const place = step.querySelector("mark") || step;
    place.scrollIntoView({block: "center"});
    step.focus({preventScroll: true});
    say(`step ${id}`);
  }

  function close() {
    if (panel.hidden) return;
    panel.hidden = true;
    document.body.classList.remove("with-panel");
    for (const other of document.querySelectorAll(".cell.open")) other.classList.remove("open");
    fire("closed", {});
    history.replaceState(null, "", location.pathname + location.search);
    if (open) {
      steelyard.reveal(open.number);
      steelyard.focusCell(open.number, open.criterion);
    }
    open = null;
  }

  const named = (parts) => "#verdict=" + parts.map((part) => encodeURIComponent(String(part))).join("/");

  /** Opens what the address names. What it names and the report has not is said as text. */
  function follow() {
    if (!location.hash.startsWith("#verdict=")) return;
    let parts;
    try {
      parts = location.hash.slice("#verdict=".length).split("/").map(decodeURIComponent);
    } catch {
      parts = [];
    }
    const [task, trial, criterion, step] = parts;
    const row = page.matrix.find((each) => steelyard.taskOf(each) === task && String(each.trial) === trial);
    if (!row || !row.cells.some((raw) => steelyard.cellOf(row, raw).criterion === criterion)) {
      say(`this report has no verdict ${parts.join("/") || location.hash}`);
      return;
    }
    steelyard.reveal(row.number);
    show(row.number, criterion);
    if (step) goTo(step);
  }

  document.addEventListener("click", (event) => {
    const cell = event.target.closest ? event.target.closest(".cell") : null;
    if (cell && cell.closest("#matrix-table")) {
      const row = page.matrix[Number(cell.dataset.row)];
      if (show(Number(cell.dataset.row), cell.dataset.criterion)) {
        history.replaceState(null, "", named([steelyard.taskOf(row), row.trial, cell.dataset.criterion]));
      }
    }
  });
  body.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-step]");
    if (!link) return;
    event.preventDefault();
    const row = open && page.matrix[open.number];
    if (row) history.replaceState(null, "", named([steelyard.taskOf(row), row.trial, open.criterion, link.dataset.step]));
    goTo(link.dataset.step);
  });
  document.getElementById("panel-close").addEventListener("click", close);
  globalThis.addEventListener("hashchange", follow);
  document.addEventListener("DOMContentLoaded", follow);
  Object.assign(steelyard, {show, close, isOpen: () => !panel.hidden});
})();

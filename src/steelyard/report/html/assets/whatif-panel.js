/* What-if on the page: choose a status, a weight or a gate, and see each headline old, new and by how much. */
"use strict";
(() => {
  const steelyard = globalThis.steelyard;
  const source = document.getElementById("whatif-model"), section = document.getElementById("whatif");
  if (!source || !section || !steelyard.page) return;
  const model = JSON.parse(source.textContent);
  const {el, say, page} = steelyard, {answer, votes, command, span, points} = steelyard.whatif;
  const recorded = answer(model, {}).headlines;
  const NOW = "\u2192";

  // --- what is asked ---

  const asked = {sets: new Map(), weights: new Map(), gates: new Map()};
  const keyOf = (...parts) => JSON.stringify(parts);
  const listed = () => ({sets: [...asked.sets.values()], weights: [...asked.weights.values()], gates: [...asked.gates.values()]});
  const count = () => asked.sets.size + asked.weights.size + asked.gates.size;
  let now = {headlines: recorded, cells: [], trials: []}, shown = null;

  /** Takes a change in, or takes it back where it cannot be meant. */
  function change(kind, key, entry) {
    const before = asked[kind].get(key);
    if (entry) asked[kind].set(key, entry); else asked[kind].delete(key);
    try {
      now = answer(model, listed());
    } catch (error) {
      if (before) asked[kind].set(key, before); else asked[kind].delete(key);
      complain(error.message);
      draw();
      return false;
    }
    complain("");
    draw();
    say(`what-if: ${changedWords()}`);
    return true;
  }

  const setVerdict = (task, trial, criterion, value) => change("sets", keyOf(task, trial, criterion),
    value === null || isRecorded(task, trial, criterion, value) ? null : {task, trial, criterion, value});

  function isRecorded(task, trial, criterion, value) {
    const code = model.cells[steelyard.whatif.cellOf(model, task, trial, criterion)];
    return value === (code >= 3 ? String(model.scores[code - 3]) : ["error", "unknown"][code]);
  }

  function setWeight(task, criterion, text) {
    const value = text.trim(), same = value !== "" && Number(value) === Number(recordedWeight(task, criterion));
    return change("weights", keyOf(task, criterion), same ? null : {task, criterion, value});
  }

  function recordedWeight(task, criterion) {
    const place = model.tasks.id.indexOf(task);
    if (criterion === null) return model.tasks.weight[place] ?? "1";
    return model.layouts[model.tasks.layout[place]].criteria.find((each) => each[0] === criterion)[2];
  }

  function reset() {
    for (const each of Object.values(asked)) each.clear();
    now = {headlines: recorded, cells: [], trials: []};
    complain("");
    draw();
    say("as recorded");
  }

  // --- headlines ---

  const isPrimary = (name) => name === model.primary || name === `${model.primary}.task_average`;

  function pick(headlines, name) {
    if (name === "decision") return headlines.decision;
    if (name === "completion.trials") return headlines.completion.trials;
    if (name === "completion" || name === "pass_rate") return headlines[name];
    const dot = name.lastIndexOf("."), dimension = headlines.dimensions[name.slice("dimension:".length, dot)];
    return dimension && dimension[name.slice(dot + 1)];
  }

  /** {old, new, difference} as texts; difference is empty where nothing changed. */
  function compared(name, then = recorded, after = now.headlines) {
    const [old, young] = [pick(then, name), pick(after, name)];
    if (name === "decision") return {old, new: young, difference: old === young ? "" : "changed"};
    if (name === "completion.trials") {
      const words = (each) => `${each.complete.toLocaleString("en")} of ${each.of.toLocaleString("en")}`;
      const more = young.complete - old.complete;
      return {old: words(old), new: words(young), difference: more ? `${more > 0 ? "+" : "−"}${Math.abs(more)}` : ""};
    }
    const bar = isPrimary(name) ? model.bar : null;
    return {old: span(old.low, old.high, bar), new: span(young.low, young.high, bar), difference: differs(old, young)};
  }

  function differs(old, young) {
    if (old.low === young.low && old.high === young.high) return "";  // null beside null too
    const low = points(old.low, young.low), high = points(old.high, young.high);
    if (low === "no change" && high === "no change") return "";
    return low !== "no change" ? low : `at most ${high}`;
  }

  const names = ["decision", "completion", "completion.trials", "pass_rate",
    ...model.dimensions.flatMap((name) => [`dimension:${name}.task_average`, `dimension:${name}.pooled`])];

  const counted = [...document.querySelectorAll("[data-votes]")], asWritten = counted.map((place) => place.textContent);

  /** What votes in a task average: as the standard has it, or weighted by a change. */
  const voters = () => [...asked.weights.values()].some((each) => each.criterion === null) ? "weighted tasks"
    : asWritten[0] || "each task votes";

  function words(name) {
    if (name === "completion.trials") return "complete trials";
    if (name === "pass_rate") return "pass rate, each trial votes";
    return name.replace(/^dimension:/, "").replace(/\.task_average$/, `, ${voters()}`).replace(/\.pooled$/, ", each check votes");
  }

  function changedWords() {
    const moved = names.map((name) => [name, compared(name)]).filter(([, each]) => each.difference);
    if (!moved.length) return "no headline changes";
    return moved.slice(0, 4).map(([name, each]) => `${words(name)} ${each.new}`).join("; ");
  }

  /** Counts beside a headline leave with the first change; what votes follows the weights. */
  function drawHeadlines() {
    document.body.classList.toggle("whatif-on", count() > 0);
    counted.forEach((place, n) => {
      const text = voters() === "weighted tasks" ? "weighted tasks" : asWritten[n];
      if (place.textContent !== text) place.textContent = text;
    });
    for (const place of document.querySelectorAll("[data-headline]")) {
      const name = place.dataset.headline, found = place.parentElement.querySelector(`:scope > .whatif-now`);
      if (found) found.remove();
      if (!names.includes(name)) continue;
      const each = compared(name), by = name === "decision" || !each.difference ? "" : ` (${each.difference})`;
      if (each.difference) place.after(el("span", {class: "whatif-now"}, ` ${NOW} ${each.new}${by}`));
    }
  }

  // --- the section, and the bar below ---

  const trouble = el("p", {class: "whatif-trouble", role: "alert"});
  const body = el("div", {class: "whatif-body"});
  section.setAttribute("aria-labelledby", "whatif-title");
  section.append(el("h2", {id: "whatif-title"}, "What if"),
    el("p", {class: "quiet"}, "Open a verdict to change it, its weight or its gate (or press p, f or u on it in the table below); "
      + (model.shares ? `tasks vote by the shares of ${model.by}. ` : "weights of tasks stand in the table of tasks. ")
      + "Every headline is computed again as you go. Nothing is saved."), body);

  const bar = el("aside", {class: "whatif-bar", "aria-label": "what-if", hidden: true});
  document.body.append(bar);

  function complain(text) {
    trouble.textContent = text ? `not changed: ${text}` : "";
  }

  function draw() {
    drawHeadlines();
    drawSection();
    drawBar();
    steelyard.onCellsChanged(now.cells.map((cell) => ({...cell, status: cell.outcome})));
    decorateTasks();
    if (shown) drawPanel();
  }

  function drawSection() {
    const head = el("tr", {}, ...["headline", "recorded", "what-if", "difference"].map((name) => el("th", {scope: "col"}, name)));
    const rows = names.map((name) => {
      const each = compared(name);
      return el("tr", {class: each.difference ? "moved" : null}, el("th", {scope: "row"}, words(name)),
        el("td", {class: "number"}, each.old), el("td", {class: "number"}, each.difference ? each.new : ""),
        el("td", {class: "number"}, each.difference));
    });
    body.replaceChildren(...(count() ? [el("div", {class: "wide"}, el("table", {class: "whatif-table"},
      el("thead", {}, head), el("tbody", {}, ...rows)))] : []));
  }

  function drawBar() {
    bar.hidden = count() === 0 && !trouble.textContent;
    document.body.classList.toggle("with-whatif", !bar.hidden);
    if (bar.hidden) { bar.replaceChildren(); return; }
    const typed = command(model, listed());
    const back = el("button", {type: "button"}, "Reset"), copy = el("button", {type: "button"}, "Copy");
    back.addEventListener("click", reset);
    const code = el("code", {tabindex: "0", "aria-label": "the same on the command line"}, typed);
    copy.addEventListener("click", () => copied(typed, code));
    const line = el("p", {class: "whatif-command"}, code, copy);
    bar.replaceChildren(el("p", {class: "whatif-said"}, el("strong", {}, "what-if: nothing is saved"),
      ` · ${count()} ${count() === 1 ? "change" : "changes"}`, back), ...(count() ? [line] : []), trouble);
  }

  /** Copies, or selects the text where a page of a file may not copy. */
  function copied(text, place) {
    const select = () => {
      const range = document.createRange();
      range.selectNodeContents(place);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      say(document.execCommand("copy") ? "copied" : "selected; copy it");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => say("copied"), select);
    else select();
  }

  // --- weights of tasks, and trials that come out otherwise ---

  function decorateTasks() {
    for (const slot of document.querySelectorAll('#tasks-table td[data-slot="weight"]')) {
      const task = slot.closest("tr").dataset.task, own = asked.weights.get(keyOf(task, null));
      slot.querySelectorAll(".whatif-weight").forEach((old) => { if (old !== document.activeElement) old.remove(); });
      if (model.shares || !model.tasks.id.includes(task) || slot.querySelector(".whatif-weight")) continue;
      slot.append(weightInput(`weight of ${task}`, task, null, own));
    }
  }

  function weightInput(label, task, criterion, own) {
    const input = el("input", {class: `whatif-weight${own ? " changed" : ""}`, inputmode: "decimal", size: "5", "aria-label": label,
      autocomplete: "off", value: own ? own.value : recordedWeight(task, criterion)});
    input.addEventListener("change", () => {
      if (!setWeight(task, criterion, input.value)) input.value = recordedWeight(task, criterion);
    });
    return input;
  }

  function decorateTrials() {
    const by = new Map(now.trials.map((each) => [keyOf(each.task, each.trial), each]));
    for (const row of document.querySelectorAll("#matrix-table tbody tr")) {
      const found = by.get(keyOf(row.dataset.task, Number(row.dataset.trial))), state = row.querySelector("td.state");
      if (found) state.append(el("span", {class: "whatif-now"}, ` ${NOW} ${found.complete ? "complete" : "not complete"}`));
    }
  }

  document.addEventListener("steelyard:rendered", (event) => {
    if (event.detail.table === "tasks") decorateTasks();
    if (event.detail.table === "matrix") decorateTrials();
  });

  // --- the verdict that is open ---

  const CHOICES = [["1", "pass", "✓ pass"], ["0", "fail", "✗ fail"], ["unknown", "unknown", "? unknown"], ["error", "error", "! error"]];

  document.addEventListener("steelyard:verdict", (event) => {
    shown = event.detail;
    drawPanel();
  });
  document.addEventListener("steelyard:closed", () => { shown = null; });

  function drawPanel() {
    const {task, trial, criterion, slot} = shown, found = votes(model, listed(), task, trial, criterion);
    const focused = slot.contains(document.activeElement) ? document.activeElement.dataset.control : null;
    slot.replaceChildren();
    if (!found || found.stand_in) return;
    slot.append(el("section", {class: "whatif-verdict", "aria-label": "what if"}, el("h3", {}, "What if"),
      choices(task, trial, criterion), settings(task, criterion, found), worth(task, trial, criterion, found)));
    const again = focused && slot.querySelector(`[data-control="${focused}"]`);
    if (again) again.focus();
  }

  function choices(task, trial, criterion) {
    const own = asked.sets.get(keyOf(task, trial, criterion));
    const buttons = CHOICES.map(([value, name, label]) => {
      const button = el("button", {type: "button", "data-control": name, "aria-pressed": String(Boolean(own) && own.value === value)}, label);
      button.addEventListener("click", () => setVerdict(task, trial, criterion, value));
      return button;
    });
    const back = el("button", {type: "button", "data-control": "recorded", "aria-pressed": String(!own)}, "as recorded");
    back.addEventListener("click", () => setVerdict(task, trial, criterion, null));
    return el("p", {class: "whatif-choices", role: "group", "aria-label": "the verdict were"}, ...buttons, back);
  }

  function settings(task, criterion, found) {
    const weight = weightInput(`weight of ${criterion} in ${task}`, task, criterion, asked.weights.get(keyOf(task, criterion)));
    weight.dataset.control = "weight";
    const key = keyOf(task, criterion), made = asked.gates.has(key);
    const gate = el("input", {type: "checkbox", "data-control": "gate", disabled: (found.gate && !made) || found.report_only});
    gate.checked = found.gate;
    gate.addEventListener("change", () => change("gates", key, gate.checked ? {task, criterion} : null));
    const why = found.gate && !made ? " (by the standard)" : found.report_only ? " (report only: never one)" : "";
    return el("p", {class: "whatif-settings"}, el("label", {}, "weight ", weight), el("label", {}, gate, ` gate${why}`));
  }

  let worthOpen = matchMedia("(width > 60rem)").matches;

  /** What this one verdict is worth: its vote in each average, and what each headline were with it as pass and fail. */
  function worth(task, trial, criterion, found) {
    if (!found.counted) return el("p", {class: "quiet"}, "This trial ended by a fault: its verdicts are in no score.");
    const as = (value) => {
      const others = listed().sets.filter((each) => keyOf(each.task, each.trial, each.criterion) !== keyOf(task, trial, criterion));
      return answer(model, {...listed(), sets: [...others, {task, trial, criterion, value}]}).headlines;
    };
    const [pass, fail] = [as("1"), as("0")];
    const rows = [["completion", null], ["pass_rate", null], [`dimension:${found.dimension}.task_average`, found.task_average],
      [`dimension:${found.dimension}.pooled`, found.pooled], ["decision", null]].map(([name, vote]) => {
      const share = vote === null ? "" : vote === 0 ? "none" : `${span(vote, vote)}`;
      return el("tr", {}, el("th", {scope: "row"}, words(name)), el("td", {class: "number"}, share),
        ...[pass, fail].map((headlines) => outcome(name, headlines)));
    });
    const head = ["headline", "its vote", "were it a pass", "were it a fail"].map((name) => el("th", {scope: "col"}, name));
    const rule = found.in_rule ? "It is in the acceptance rule of its task." : "It is not in the acceptance rule of its task.";
    const fold = el("details", {class: "whatif-worth", open: worthOpen}, el("summary", {"data-control": "worth"}, "what this verdict is worth"),
      el("div", {class: "wide"}, el("table", {class: "whatif-table"}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows))),
      el("p", {class: "quiet"}, rule));
    fold.addEventListener("toggle", () => { worthOpen = fold.open; });
    return fold;
  }

  function outcome(name, headlines) {
    const each = compared(name, now.headlines, headlines);
    if (!each.difference) return el("td", {class: "number quiet"}, "as now");
    return el("td", {class: "number"}, name === "decision" ? each.new : `${each.new} (${each.difference})`);
  }

  // --- keys: p, f, u on a verdict of the matrix, r for as recorded ---

  const KEYS = {p: "1", f: "0", u: "unknown", r: null};
  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest ? event.target.closest("#matrix-table .cell") : null;
    if (!cell || !(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setVerdict(cell.dataset.task, Number(cell.dataset.trial), cell.dataset.criterion, KEYS[event.key]);
  });
  const keys = document.querySelector("#keys dl");
  if (keys) {
    for (const [key, text] of [["p f u", "what if this verdict were a pass, a fail, unknown"], ["r", "this verdict as recorded"]])
      keys.append(el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)));
  }
  const parts = document.querySelector("nav.parts ul"), before = parts && parts.querySelector('a[href="#matrix"]');
  if (before) before.parentElement.before(el("li", {}, el("a", {href: "#whatif"}, "What if")));

  decorateTasks();
  Object.assign(steelyard.whatif, {reset, setVerdict, setWeight, current: () => now.headlines});
})();

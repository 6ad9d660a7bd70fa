"use strict";
/*
 * What-if in the page: the scoring algebra a second time, over the columns that `whatif_model` wrote.
 * Pure: a model and changes in, headlines out; nothing is read from or written to the page.
 * tests/unit/report/html/test_whatif.py holds it to the numbers of `Run.what_if`.
 */
(function () {
  const GRADED = 0, UNKNOWN = 1, ERROR = 2, SKIPPED = 3;
  const COUNTED = 1, ENDED_WELL = 2, OPEN_END = 4, STAND_IN = 8;          // flags of a trial
  const NAMED = 1, GATE = 2, YES_OR_NO = 4;                               // flags of a criterion
  const NEAR = 1e-9;
  const OBLIGATION = "correctness";

  // --- exact fractions, for a primary metric that lies on its bar -------------------------------------------

  const fraction = (top, bottom) => {
    let a = top < 0n ? -top : top, b = bottom;
    while (b) [a, b] = [b, a % b];
    return a > 1n ? [top / a, bottom / a] : [top, bottom];
  };
  const plus = (a, b) => fraction(a[0] * b[1] + b[0] * a[1], a[1] * b[1]);
  const times = (a, b) => fraction(a[0] * b[0], a[1] * b[1]);
  const over = (a, b) => fraction(a[0] * b[1], a[1] * b[0]);
  const whole = (n) => [BigInt(n), 1n];

  /** The fraction that a decimal text is: "2.5", "1E+2". */
  function decimal(text) {
    const [digits, exponent] = text.toLowerCase().split("e");
    const [before, after = ""] = digits.split(".");
    const power = Number(exponent || 0) - after.length;
    const top = BigInt(before + after);
    return power >= 0 ? [top * 10n ** BigInt(power), 1n] : fraction(top, 10n ** BigInt(-power));
  }

  /** The fraction that a score was written from: 2/3 for the float nearest to 2/3, 7/10 for 0.7. */
  function rational(score) {
    if (score === 0 || score === 1) return whole(score);
    const simple = nearest(binary(score), 1000000n);
    return Number(simple[0]) / Number(simple[1]) === score ? simple : decimal(String(score));
  }

  function binary(score) {
    let bottom = 1n;
    while (!Number.isInteger(score)) { score *= 2; bottom *= 2n; }        // exact: a float has a finite binary form
    return [BigInt(score), bottom];
  }

  /** The closest fraction with at most this denominator (continued fractions). */
  function nearest(exact, most) {
    if (exact[1] <= most) return exact;
    let [p0, q0, p1, q1] = [0n, 1n, 1n, 0n];
    let [n, d] = exact;
    for (;;) {
      const a = n / d, q2 = q0 + a * q1;
      if (q2 > most) break;
      [p0, q0, p1, q1] = [p1, q1, p0 + a * p1, q2];
      [n, d] = [d, n - a * d];
    }
    const k = (most - q0) / q1;
    const one = [p0 + k * p1, q0 + k * q1], other = [p1, q1];
    const away = (f) => { const t = f[0] * exact[1] - exact[0] * f[1]; return [t < 0n ? -t : t, f[1]]; };
    const [a, b] = [away(other), away(one)];
    return a[0] * b[1] <= b[0] * a[1] ? other : one;
  }

  // --- the model as columns ---------------------------------------------------------------------------------

  const prepared = new WeakMap();

  function prepare(model) {
    let made = prepared.get(model);
    if (!made) prepared.set(model, made = lay(model));
    return made;
  }

  function lay(model) {
    const layouts = model.layouts.map((layout) => ({
      gates: layout.gates, order: layout.order, n: layout.criteria.length,
      criteria: layout.criteria.map(([id, dimension, weight, mark, flags, needs]) => (
        { id, dimension, exact: weight, weight: Number(weight), mark: Number(mark), flags, needs })),
    }));
    layouts.forEach(settle);
    const trials = model.trials, n = trials.task.length;
    const offset = new Int32Array(n + 1);
    for (let t = 0; t < n; t++) offset[t + 1] = offset[t] + layouts[model.tasks.layout[trials.task[t]]].n;
    const status = new Uint8Array(offset[n]), score = new Float64Array(offset[n]);
    for (let c = 0; c < offset[n]; c++) {
      const code = model.cells[c];                                        // 0..2: no score, else a place in `scores`
      status[c] = code < 3 ? [ERROR, UNKNOWN, SKIPPED][code] : GRADED;
      score[c] = code < 3 ? 0 : model.scores[code - 3];
    }
    const trialsOf = model.tasks.id.map(() => []);
    for (let t = 0; t < n; t++) trialsOf[trials.task[t]].push(t);
    return { model, layouts, offset, status, score, trialsOf, recorded: null,
             taskOf: Int32Array.from(trials.task), flags: Uint8Array.from(trials.flags),
             index: new Map(model.tasks.id.map((id, place) => [id, place])) };
  }

  function settle(layout) {
    for (const each of layout.criteria) {
      each.gate = (each.flags & GATE) > 0;
      each.inRule = each.mark > 0 && ((each.flags & NAMED) > 0 || (each.gate && layout.gates));
    }
  }

  /** The cell of a verdict, or -1: (place of the task, number of the trial, id of the criterion). */
  function cellOf(model, task, number, criterion) {
    const made = prepare(model), place = made.index.get(task);
    if (place === undefined) return -1;
    const t = made.trialsOf[place].find((each) => model.trials.number[each] === number);
    const position = made.layouts[model.tasks.layout[place]].criteria.findIndex((each) => each.id === criterion);
    return t === undefined || position < 0 ? -1 : made.offset[t] + position;
  }

  // --- changes ----------------------------------------------------------------------------------------------

  const NONE = { sets: [], weights: [], gates: [] };

  /** Copies of what the changes touch. Throws an Error with words for people where a change cannot be meant. */
  function changed(made, changes) {
    const { model } = made;
    const state = { ...made, status: made.status.slice(), score: made.score.slice(), used: model.used,
                    layoutOf: model.tasks.layout.map((place) => made.layouts[place]),
                    weightOf: model.tasks.weight.slice() };
    const own = new Set();
    for (const each of changes.weights || []) reweigh(state, own, each);
    for (const each of changes.gates || []) {
      const criterion = criterionOf(ownLayout(state, own, each), each);
      if (criterion.mark === 0) throw new Error(`${each.criterion} is report only (pass mark 0); it cannot be a gate`);
      criterion.flags |= GATE;
      settle(state.layoutOf[place(state, each.task)]);
    }
    if (!state.weightOf.some((weight) => weight === null || Number(weight) > 0))
      throw new Error("with these weights no task has a vote; leave at least one above 0");
    for (const each of changes.sets || []) set(state, each);
    return state;
  }

  function place(state, task) {
    const found = state.index.get(task);
    if (found === undefined) throw new Error(`no task ${task}`);
    return found;
  }

  function ownLayout(state, own, change) {
    const at = place(state, change.task);
    if (!own.has(at)) {
      own.add(at);
      const layout = state.layoutOf[at];
      state.layoutOf[at] = { ...layout, criteria: layout.criteria.map((each) => ({ ...each })) };
    }
    return state.layoutOf[at];
  }

  function criterionOf(layout, change) {
    const found = layout.criteria.find((each) => each.id === change.criterion);
    if (!found) throw new Error(`task ${change.task} has no criterion ${change.criterion}`);
    return found;
  }

  function reweigh(state, own, change) {
    const text = String(change.value), value = Number(text);
    if (!/^[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$/i.test(text) || !(value >= 0 && value <= 1e9))
      throw new Error(`${text || "nothing"} is no weight; give a number from 0 to 1e9`);
    if (change.criterion == null) {
      if (state.model.shares) throw new Error(`votes follow the shares of ${state.model.by}; a task has no weight`);
      state.weightOf[place(state, change.task)] = text;
      return;
    }
    const layout = ownLayout(state, own, change), criterion = criterionOf(layout, change);
    criterion.weight = value;
    criterion.exact = text;
    if (!layout.criteria.some((each) => each.dimension === criterion.dimension && each.weight > 0))
      throw new Error(`then no criterion of ${state.model.dimensions[criterion.dimension]} in ${change.task} has a vote`);
  }

  function set(state, change) {
    const at = place(state, change.task), layout = state.layoutOf[at];
    const position = layout.criteria.indexOf(criterionOf(layout, change));
    const value = change.value;
    let status = GRADED, score = Number(value);
    if (value === "unknown" || value === "error") [status, score] = [value === "error" ? ERROR : UNKNOWN, 0];
    else if (!(score >= 0 && score <= 1)) throw new Error(`${value} is no score; give 0..1, unknown or error`);
    else if (layout.criteria[position].flags & YES_OR_NO && score !== 0 && score !== 1) [status, score] = [ERROR, 0];
    let found = false;
    for (const t of state.trialsOf[at]) {
      if (state.flags[t] & STAND_IN) continue;                            // it is no execution, so it has no verdict
      if (change.trial != null && state.model.trials.number[t] !== change.trial) continue;
      state.status[state.offset[t] + position] = status;
      state.score[state.offset[t] + position] = score;
      state.used = found = true;
    }
    if (!found && change.trial != null) throw new Error(`task ${change.task} has no trial ${change.trial}`);
  }

  // --- skips ------------------------------------------------------------------------------------------------

  /** A criterion whose need did not pass is skipped; the cause is a fail when nothing undecided is among them. */
  function applyNeeds(state) {
    const { status, score, offset, taskOf, layoutOf } = state;
    const passed = state.passed = new Uint8Array(status.length);
    const skipFail = state.skipFail = new Uint8Array(status.length);
    for (let t = 0; t < taskOf.length; t++) {
      const layout = layoutOf[taskOf[t]], start = offset[t];
      for (const position of layout.order) {                              // as in the file: needs come earlier
        const cell = start + position, criterion = layout.criteria[position];
        let short = false, open = false;
        for (const need of criterion.needs) {
          if (passed[start + need]) continue;
          short = true;
          if (status[start + need] !== GRADED && !skipFail[start + need]) open = true;
        }
        if (short) {
          status[cell] = SKIPPED;
          score[cell] = 0;
          skipFail[cell] = open ? 0 : 1;
        } else if (status[cell] === GRADED && score[cell] >= criterion.mark) passed[cell] = 1;
      }
    }
  }

  // --- averages ---------------------------------------------------------------------------------------------

  /** The relative vote of each task among those that `voting` marks: one, declared, or its group's share by head. */
  function taskWeights(state, voting) {
    const { shares, tasks } = state.model, n = tasks.id.length;
    const weights = new Float64Array(n);
    if (!shares) {
      for (let k = 0; k < n; k++) if (voting(k)) weights[k] = state.weightOf[k] === null ? 1 : Number(state.weightOf[k]);
      return weights;
    }
    const sizes = new Array(shares.length).fill(0);
    for (let k = 0; k < n; k++) if (voting(k)) sizes[tasks.group[k]]++;
    for (let k = 0; k < n; k++) if (voting(k)) weights[k] = Number(shares[tasks.group[k]]) / sizes[tasks.group[k]];
    return weights;
  }

  /** One pass over all cells: sums by dimension and trial, means by dimension and task. */
  function averages(state) {
    const { status, score, skipFail, offset, taskOf, flags, layoutOf, model } = state;
    const D = model.dimensions.length, T = model.tasks.id.length;
    const obligation = model.dimensions.indexOf(OBLIGATION);
    const low = new Float64Array(D * T), high = new Float64Array(D * T), voters = new Int32Array(D * T);
    const pooled = { low: new Float64Array(D), high: new Float64Array(D), of: new Float64Array(D) };
    const graded = new Int32Array(D), assigned = new Int32Array(D);
    const hasVote = taskWeights(state, () => true);
    const w = new Float64Array(D), l = new Float64Array(D), h = new Float64Array(D);
    const total = state.trialWeight = new Float64Array(D * taskOf.length);
    for (let t = 0; t < taskOf.length; t++) {
      if (!(flags[t] & COUNTED)) continue;
      const task = taskOf[t], layout = layoutOf[task];
      w.fill(0); l.fill(0); h.fill(0);
      for (let position = 0, cell = offset[t]; position < layout.n; position++, cell++) {
        const criterion = layout.criteria[position], d = criterion.dimension;
        const isGraded = status[cell] === GRADED;
        assigned[d]++;
        if (isGraded) graded[d]++;
        if (skipFail[cell] && d !== obligation) continue;                 // skipped by a fail: not measured at all
        const floor = isGraded ? score[cell] : 0, ceiling = isGraded ? score[cell] : skipFail[cell] ? 0 : 1;
        w[d] += criterion.weight;
        l[d] += criterion.weight * floor;
        h[d] += criterion.weight * ceiling;
        if (criterion.weight > 0 && hasVote[task] > 0) {
          pooled.low[d] += floor;
          pooled.high[d] += ceiling;
          pooled.of[d]++;
        }
      }
      for (let d = 0; d < D; d++) {
        total[t * D + d] = w[d];
        if (!(w[d] > 0)) continue;
        low[d * T + task] += l[d] / w[d];
        high[d * T + task] += h[d] / w[d];
        voters[d * T + task]++;
      }
    }
    state.voters = voters;
    state.pooledOf = pooled.of;
    state.dimensionWeights = [];
    const found = {};
    model.dimensions.forEach((name, d) => {
      const weights = taskWeights(state, (k) => voters[d * T + k] > 0);
      state.dimensionWeights.push(weights);
      const mean = (sums) => weighted(weights, (k) => sums[d * T + k] / voters[d * T + k]);
      const share = (sums) => pooled.of[d] > 0 ? sums[d] / pooled.of[d] : null;
      found[name] = { task_average: bounds(mean(low), mean(high), graded[d], assigned[d]),
                      pooled: bounds(share(pooled.low), share(pooled.high), graded[d], assigned[d]) };
    });
    return found;
  }

  function weighted(weights, value) {
    let top = 0, bottom = 0;
    for (let k = 0; k < weights.length; k++) if (weights[k] > 0) { top += weights[k] * value(k); bottom += weights[k]; }
    return bottom > 0 ? Math.min(1, Math.max(0, top / bottom)) : null;
  }

  /** Assigned and nothing votes: 0 to 1, since nothing is known. Nothing graded: no value. */
  function bounds(low, high, graded, assigned) {
    return { value: graded ? low : null,
             low: low === null && assigned ? 0 : low, high: high === null && assigned ? 1 : high };
  }

  // --- acceptance -------------------------------------------------------------------------------------------

  function acceptance(state) {
    const { status, passed, skipFail, offset, taskOf, flags, layoutOf, model } = state;
    const T = model.tasks.id.length;
    const low = new Int32Array(T), high = new Int32Array(T), of = new Int32Array(T);
    const seen = { complete: 0, possible: 0, of: 0, faults: 0 };
    const gates = { violated: 0, open: 0 };
    state.complete = new Uint8Array(taskOf.length);
    for (let t = 0; t < taskOf.length; t++) {
      const task = taskOf[t], layout = layoutOf[task];
      if (!(flags[t] & COUNTED)) { seen.faults++; continue; }
      let ruled = false, short = false, broken = false;
      for (let position = 0, cell = offset[t]; position < layout.n; position++, cell++) {
        const criterion = layout.criteria[position];
        if (criterion.inRule) ruled = true;
        if (passed[cell]) continue;
        if (criterion.gate) status[cell] === GRADED ? gates.violated++ : gates.open++;
        if (!criterion.inRule) continue;
        short = true;
        if (status[cell] === GRADED || skipFail[cell]) broken = true;
      }
      const sure = ruled && !short && (flags[t] & ENDED_WELL) > 0;
      const possible = ruled && !broken && (flags[t] & (ENDED_WELL | OPEN_END)) > 0;
      state.complete[t] = sure ? 1 : 0;
      of[task]++;
      low[task] += sure;
      high[task] += possible;
      if (flags[t] & STAND_IN) continue;
      seen.of++;
      seen.complete += sure;
      seen.possible += possible;
    }
    return { low, high, of, seen, gates };
  }

  function completion(state, accepted) {
    const { low, high, of, seen } = accepted;
    const weights = taskWeights(state, () => true);
    const value = weighted(weights, (k) => low[k] / of[k]);
    return { value, low: value, high: weighted(weights, (k) => high[k] / of[k]),
             trials: { complete: low.reduce((a, b) => a + b, 0), of: seen.of },
             tasks: { always_complete: low.reduce((n, done, k) => n + (done === of[k]), 0), of: of.length } };
  }

  function passRate({ seen }) {
    const value = seen.of ? seen.complete / seen.of : null, all = seen.of + seen.faults;
    return { value, low: value, high: seen.of ? seen.possible / seen.of : null, complete: seen.complete, of: seen.of,
             strict: all ? seen.complete / all : null };
  }

  // --- decision ---------------------------------------------------------------------------------------------

  function decide(state, accepted, found) {
    const { model } = state, name = model.primary.startsWith("dimension:") ? model.primary.slice(10) : null;
    const average = name === null ? found.completion : (found.dimensions[name] || { task_average: {} }).task_average;
    const d = model.dimensions.indexOf(name);
    const exact = name === null ? (ceiling) => exactCompletion(state, accepted, ceiling)
      : d < 0 ? (ceiling) => whole(ceiling) : (ceiling) => exactAverage(state, d, ceiling);
    const bar = decimal(model.bar), { violated, open } = accepted.gates;
    const reaches = (value, ceiling) => {
      if (Math.abs(value - Number(model.bar)) > NEAR) return value > Number(model.bar);
      const [top, bottom] = exact(ceiling);
      return top * bar[1] >= bar[0] * bottom;
    };
    let code = 3;
    if (!state.used) code = 4;
    else if (violated || !reaches(average.high ?? 1, 1)) code = 1;
    else if (!open && reaches(average.low ?? 0, 0)) code = model.capped ? 3 : 0;
    return { exit_code: code, decision: { 0: "PASS", 1: "FAIL" }[code] || "INCOMPLETE" };
  }

  /** The mean of exact task values by task votes; tasks that came out alike are added at once. */
  function exactMean(state, values, nobody) {
    const { shares, tasks } = state.model;
    const alike = new Map(), sizes = new Map();
    for (const [task, [key, value]] of values) {
      const by = shares ? tasks.group[task] : state.weightOf[task] ?? "1";
      sizes.set(by, (sizes.get(by) || 0) + 1);
      const name = `${by} ${key}`, held = alike.get(name) || { by, value, n: 0 };
      held.n++;
      alike.set(name, held);
    }
    let top = whole(0), bottom = whole(0);
    for (const { by, value, n } of alike.values()) {
      const one = shares ? over(decimal(shares[by]), whole(sizes.get(by))) : decimal(by);
      const vote = times(one, whole(n));
      bottom = plus(bottom, vote);
      top = plus(top, times(vote, value()));
    }
    return bottom[0] ? over(top, bottom) : nobody;
  }

  function exactCompletion(state, { low, high, of }, ceiling) {
    const done = ceiling ? high : low, values = new Map();
    of.forEach((n, k) => {
      if (n) values.set(k, [`${done[k]}/${n}`, () => fraction(BigInt(done[k]), BigInt(n))]);
    });
    return exactMean(state, values, whole(ceiling));
  }

  function exactAverage(state, d, ceiling) {
    const { status, score, skipFail, offset, taskOf, flags, layoutOf, model } = state;
    const auxiliary = model.dimensions[d] !== OBLIGATION, T = model.tasks.id.length;
    const votes = (criterion, cell) => criterion.dimension === d && criterion.weight > 0 && !(skipFail[cell] && auxiliary);
    const valueOf = (cell) => status[cell] === GRADED ? score[cell] : ceiling && !skipFail[cell] ? 1 : 0;
    const of = new Int32Array(T), ones = new Int32Array(T), mixed = new Map();
    for (let t = 0; t < taskOf.length; t++) {
      if (!(flags[t] & COUNTED)) continue;
      const { criteria } = layoutOf[taskOf[t]];
      let least = 1, most = 0, n = 0;
      for (let position = 0, cell = offset[t]; position < criteria.length; position++, cell++) {
        if (!votes(criteria[position], cell)) continue;
        const value = valueOf(cell);
        if (value < least) least = value;
        if (value > most) most = value;
        n++;
      }
      if (!n) continue;
      of[taskOf[t]]++;
      if (least === 1) ones[taskOf[t]]++;
      else if (most > 0) {                                                // neither all 1 nor all 0: weights matter
        const held = criteria.map((each, k) => votes(each, offset[t] + k) ? `${each.exact}:${valueOf(offset[t] + k)}` : "");
        const key = held.filter(Boolean).join("|");
        if (!mixed.has(taskOf[t])) mixed.set(taskOf[t], []);
        mixed.get(taskOf[t]).push(key);
      }
    }
    const values = new Map(), known = new Map();
    for (let k = 0; k < T; k++) {
      const keys = (mixed.get(k) || []).sort();
      if (of[k]) values.set(k, [`${ones[k]}/${of[k]} ${keys.join(";")}`, () => exactTask(ones[k], of[k], keys, known)]);
    }
    return exactMean(state, values, whole(ceiling));
  }

  function exactTask(ones, of, keys, known) {
    let top = whole(ones);
    for (const key of keys) {
      if (!known.has(key)) known.set(key, exactTrial(key));
      top = plus(top, known.get(key));
    }
    return over(top, whole(of));
  }

  function exactTrial(held) {
    let top = whole(0), bottom = whole(0);
    for (const part of held.split("|")) {
      const [weight, value] = part.split(":"), vote = decimal(weight);
      bottom = plus(bottom, vote);
      top = plus(top, times(vote, rational(Number(value))));
    }
    return over(top, bottom);
  }

  // --- the door ---------------------------------------------------------------------------------------------

  function rescore(model, changes) {
    const state = changed(prepare(model), changes || NONE);
    applyNeeds(state);
    const accepted = acceptance(state);
    const headlines = { completion: completion(state, accepted), pass_rate: passRate(accepted),
                        dimensions: averages(state), gates: accepted.gates };
    return { state, headlines: { ...headlines, ...decide(state, accepted, headlines) } };
  }

  /**
   * Every headline under changes {sets: [{task, trial|null, criterion, value}], weights: [{task, criterion|null,
   * value}], gates: [{task, criterion}]}; `value` of a set is a score in 0..1, "unknown" or "error".
   */
  const compute = (model, changes) => rescore(model, changes).headlines;

  /** Headlines; cells [{task, trial, criterion, status, score, outcome}] and trials [{task, trial, complete}] that
      come out otherwise than recorded. */
  function answer(model, changes) {
    const made = prepare(model);
    made.recorded = made.recorded || rescore(model, NONE).state;
    const { state: now, headlines } = rescore(model, changes), then = made.recorded, cells = [], trials = [];
    for (let t = 0; t < made.taskOf.length; t++) {
      if (then.complete[t] !== now.complete[t])
        trials.push({ task: model.tasks.id[made.taskOf[t]], trial: model.trials.number[t], complete: now.complete[t] > 0 });
      for (let cell = made.offset[t]; cell < made.offset[t + 1]; cell++) {
        if (then.status[cell] === now.status[cell] && then.score[cell] === now.score[cell]
            && then.skipFail[cell] === now.skipFail[cell]) continue;
        cells.push(describe(now, t, cell));
      }
    }
    return { headlines, cells, trials };
  }

  function describe(state, t, cell) {
    const { model } = state, criterion = state.layoutOf[state.taskOf[t]].criteria[cell - state.offset[t]];
    const status = ["graded", "unknown", "error", "skipped"][state.status[cell]];
    const graded = criterion.mark === 0 ? "report" : state.passed[cell] ? "pass" : "fail";
    return { task: model.tasks.id[state.taskOf[t]], trial: model.trials.number[t], criterion: criterion.id, status,
             score: status === "graded" ? state.score[cell] : null, outcome: status === "graded" ? graded : status };
  }

  /** What one verdict is worth: {dimension, task_average, pooled} votes, and what the criterion is in this reading. */
  function votes(model, changes, task, number, criterion) {
    const { state } = rescore(model, changes), cell = cellOf(model, task, number, criterion);
    if (cell < 0) return null;
    const at = state.index.get(task), t = state.trialsOf[at].find((each) => model.trials.number[each] === number);
    const own = state.layoutOf[at].criteria[cell - state.offset[t]], d = own.dimension;
    const D = model.dimensions.length, T = model.tasks.id.length;
    const weights = state.dimensionWeights[d], total = weights.reduce((a, b) => a + b, 0);
    const leaves = !(state.flags[t] & COUNTED) || (state.skipFail[cell] && model.dimensions[d] !== OBLIGATION);
    const inTrial = own.weight / state.trialWeight[t * D + d];
    const average = leaves || !(own.weight > 0) || !(weights[at] > 0) ? 0
      : weights[at] / total / state.voters[d * T + at] * inTrial;
    const pooled = leaves || !(own.weight > 0) || !(taskWeights(state, () => true)[at] > 0) ? 0 : 1 / state.pooledOf[d];
    return { ...describe(state, t, cell), dimension: model.dimensions[d], task_average: average, pooled,
             weight: own.exact, gate: own.gate, in_rule: own.inRule, report_only: own.mark === 0,
             counted: (state.flags[t] & COUNTED) > 0, stand_in: (state.flags[t] & STAND_IN) > 0 };
  }

  // --- the same on the command line -------------------------------------------------------------------------

  const escaped = (id) => id.replace(/~/g, "~0").replace(/\//g, "~1");
  const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\ufe0f]|(?! )\p{Zs}/gu;                // cannot be seen, or moves what can be

  /** A character as bash writes it inside $'...'. */
  function spelled(char) {
    const code = char.codePointAt(0), hex = code.toString(16);
    if (code < 0x80) return `\\x${hex.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  }

  function quoted(text) {
    if (/^[A-Za-z0-9_./:@%+,][A-Za-z0-9_./:@%+,=-]*$/.test(text)) return text;
    if (text.search(UNSEEN) < 0) return `'${text.replace(/'/g, "'\\''")}'`;
    return `$'${text.replace(/[\\']/g, "\\$&").replace(UNSEEN, spelled)}'`;
  }
  const option = (name, text) => `${name}${text.startsWith("-") ? "=" : " "}${quoted(text)}`;

  /** `steelyard whatif RUN --set ...`, or `SUITE ROWS` where the run has no name: each change as a person would type it. */
  function command(model, changes) {
    const made = prepare(model), words = ["steelyard whatif", model.run ? quoted(model.run) : "SUITE ROWS"];
    for (const each of model.before || [])                                // the page shows a what-if already
      words.push(option(each.slice(0, each.indexOf(" ")), each.slice(each.indexOf(" ") + 1)));
    for (const each of changes.sets || []) {
      const own = made.trialsOf[made.index.get(each.task)].filter((t) => !(made.flags[t] & STAND_IN));
      const trial = each.trial == null || own.length === 1 ? "" : `#${each.trial}`;
      words.push(option("--set", `${escaped(each.task)}${trial}/${escaped(each.criterion)}=${each.value}`));
    }
    for (const each of changes.weights || []) {
      const part = each.criterion == null ? "" : `/${escaped(each.criterion)}`;
      words.push(option("--weight", `${escaped(each.task)}${part}=${each.value}`));
    }
    for (const each of changes.gates || [])
      words.push(option("--gate", `${escaped(each.task)}/${escaped(each.criterion)}`));
    return words.join(" ");
  }

  // --- numbers as people read them: as in `report/numbers.py` ---------------------------------------------------

  const MOST_DIGITS = 4;
  const isBelow = (a, b) => a[0] * b[1] < b[0] * a[1];
  const edges = () => [[0n, 1n], [100n, 1n]];

  /** Half up, away from zero, as text with this many decimals. */
  function rounded(exact, places) {
    const scale = 10n ** BigInt(places), size = exact[0] < 0n ? -exact[0] : exact[0];
    const units = (2n * size * scale + exact[1]) / (2n * exact[1]);
    const digits = String(units).padStart(places + 1, "0");
    return { value: [exact[0] < 0n ? -units : units, scale], text: `${digits.slice(0, -places)}.${digits.slice(-places)}` };
  }

  function crosses(exact, shown, edge) {
    if (edge[0] === 0n) return (exact[0] > 0n) !== (shown[0] > 0n);
    return isBelow(exact, edge) !== isBelow(shown, edge);
  }

  function barePercent(value, bar, digits) {
    const exact = times(decimal(String(value)), whole(100)), all = edges();
    if (bar != null) all.push(times(decimal(bar), whole(100)));
    let shown;
    for (let places = digits; places <= MOST_DIGITS; places++) {
      shown = rounded(exact, places);
      if (!all.some((edge) => crosses(exact, shown.value, edge))) return shown.text;
    }
    const edge = all.find((each) => crosses(exact, shown.value, each));
    return `${isBelow(exact, edge) ? "<" : ">"}${Number(edge[0]) / Number(edge[1])}`;
  }

  /** A share as `72.2 %`, or `80.0–90.0 %`; never rounded across 0, 1 or the bar (a decimal text, or null). */
  function span(low, high, bar = null) {
    if (low == null || high == null) return "–";
    let digits = 1, texts;
    do texts = [low, high].map((value) => barePercent(value, bar, digits));
    while (low !== high && texts[0] === texts[1] && ++digits <= MOST_DIGITS);
    return texts[0] === texts[1] ? `${texts[0]} %` : `${texts[0]}–${texts[1]} %`;
  }

  /** The difference of two shares in percentage points (`+11.1`), or `no change`. */
  function points(old, now) {
    if (old == null || now == null) return "–";
    const change = times(plus(decimal(String(now)), times(decimal(String(old)), whole(-1))), whole(100));
    if (Math.abs(Number(change[0]) / Number(change[1])) < NEAR) return "no change";
    const sign = change[0] > 0n ? "+" : "−";
    for (let places = 1; places <= MOST_DIGITS; places++) {
      const shown = rounded(change, places);
      if (shown.value[0] !== 0n) return sign + shown.text;
    }
    return change[0] > 0n ? "<+0.0001" : ">−0.0001";
  }

  const door = globalThis.steelyard = globalThis.steelyard || {};
  door.whatif = { compute, answer, votes, command, cellOf, span, points };
})();

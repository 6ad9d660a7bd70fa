/* The page's data, and the few ways in which anything is put on the page: as text, never as markup. */
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("page-data").textContent);
  const steelyard = Object.assign(globalThis.steelyard = globalThis.steelyard || {}, {page, whatif: null});

  const HIDDEN = /(?<=[\p{So}\p{Sk}]\ufe0f?)[\u200d\ufe0f]|[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\ufe0f]|(?! )\p{Zs}/gu;
  const NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"};

  function escaped(char, offset, whole) {
    if (/^[\u200d\ufe0f]$/u.test(char) && /[\p{So}\p{Sk}]\ufe0f?$/u.test(whole.slice(0, offset))) return char;
    if (char in NAMED) return NAMED[char];
    const code = char.codePointAt(0), hex = code.toString(16);
    if (code < 0x100) return "\\x" + hex.padStart(2, "0");
    return code < 0x10000 ? "\\u" + hex.padStart(4, "0") : "\\U" + hex.padStart(8, "0");
  }

  /** Text with everything written out that hides or reorders text. */
  function visible(text) {
    return String(text).replace(HIDDEN, escaped);
  }

  /** An element; strings among the children are text. Attributes are set by name: no handler, no style. */
  function el(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      made.setAttribute(key, value === true ? "" : String(value));
    }
    for (const child of children) {
      if (child === null || child === undefined) continue;
      made.append(child instanceof Node ? child : visible(child));
    }
    return made;
  }

  /** The head of a row. */
  function rowHead(text, ...more) {
    return el("th", {scope: "row"}, el("span", {class: "name"}, text), ...more);
  }

  const outcomes = new Map(page.outcomes.map((outcome) => [outcome.name, outcome]));

  /** The sign of an outcome, with its word for those who hear the page. */
  function mark(name) {
    const outcome = outcomes.get(name) || {mark: "?", words: name};
    return el("span", {class: "mark is-" + (outcomes.has(name) ? name : "unknown")},
      el("span", {"aria-hidden": "true"}, outcome.mark), el("span", {class: "heard"}, outcome.words + " "));
  }

  /** A sentence for those who hear the page. */
  function say(text) {
    document.getElementById("live").textContent = visible(text);
  }

  function fire(name, detail) {
    document.dispatchEvent(new CustomEvent("steelyard:" + name, {detail}));
  }

  function counted(count, one, many) {
    return count.toLocaleString("en") + " " + (count === 1 ? one : many || one + "s");
  }

  function quantity(number) {
    return String(Number(number.toPrecision(3)));
  }

  Object.assign(steelyard, {visible, el, rowHead, mark, say, fire, counted, quantity, outcomes});
})();

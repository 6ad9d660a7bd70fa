/* Keys: search, help, close. */
"use strict";
(() => {
  const {el, close, isOpen} = globalThis.steelyard;
  const dialog = document.getElementById("keys");
  const keys = [
    ["/", "search the trials"],
    ["← ↑ → ↓", "walk over the verdicts, from any of them"],
    ["Home End", "first and last verdict of the row"],
    ["Page Up, Page Down", "the same column on the page of trials before and after"],
    ["Enter", "open a verdict with its evidence and trace"],
    ["Esc", "close what is open"],
    ["?", "show these keys"],
  ];
  const shut = el("button", {type: "button"}, "Close");
  shut.addEventListener("click", () => dialog.close());
  dialog.append(el("h2", {id: "keys-title"}, "Keys"),
    el("dl", {}, ...keys.map(([key, words]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, words)))), shut);

  const help = el("button", {type: "button", class: "help", "aria-label": "show keys"}, "? keys");
  help.addEventListener("click", () => dialog.showModal());
  document.querySelector("nav.parts").append(help);

  function typing(target) {
    return target instanceof HTMLElement && (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || target.isContentEditable);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && !dialog.open && isOpen()) {
      event.preventDefault();
      close();
    } else if (typing(event.target) || dialog.open) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      const search = document.getElementById("matrix-search");
      search.scrollIntoView({block: "center"});
      search.focus();
      search.select();
    } else if (event.key === "?") {
      event.preventDefault();
      dialog.showModal();
    }
  });
})();

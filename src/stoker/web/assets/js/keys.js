// The keyboard: `/` search, j and k through lists, n and p through pages, Esc up, ? help.

const find = document.getElementById("find");
const help = document.getElementById("keys");

// Everything that `j` and `k` stop at: links and folds that are to be seen.
function rows() {
  return [...document.querySelectorAll("main [data-row]")].filter((each) => each.checkVisibility());
}

function step(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(document.activeElement);
  const start = by > 0 ? 0 : all.length - 1;
  const next = all[at < 0 ? start : Math.min(all.length - 1, Math.max(0, at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function page(rel) {
  document.querySelector(`main a[rel="${rel}"]`)?.click();
}

function isTyping(target) {
  return target.matches("input, select, textarea");
}

// What was searched for stays: browsers would clear the box.
function escape(event, up) {
  event.preventDefault();
  if (isTyping(event.target)) event.target.blur();
  else up();
}

// In the search box, the arrow leads into the results.
function typed(event) {
  if (event.key === "ArrowDown") {
    event.preventDefault();
    step(1);
  }
}

export function keyboard({ up }) {
  const keys = {
    "/": () => { find.focus(); find.select(); },
    "j": () => step(1), "ArrowDown": () => step(1),
    "k": () => step(-1), "ArrowUp": () => step(-1),
    "n": () => page("next"), "p": () => page("prev"),
    "g": () => { location.hash = "#/"; },
    "t": () => document.getElementById("theme").click(),
    "?": () => help.showModal(),
  };
  document.getElementById("help").addEventListener("click", keys["?"]);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.key === "Escape") return escape(event, up);
    if (isTyping(event.target)) return event.target === find ? typed(event) : undefined;
    // Arrows scroll, as everywhere, until something of a list is chosen.
    if (event.key.startsWith("Arrow") && !event.target.matches("[data-row]")) return undefined;
    const act = keys[event.key];
    if (!act) return undefined;
    event.preventDefault();
    return act();
  });
}

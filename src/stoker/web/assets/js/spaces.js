// The map of namespaces: a tile for each, the worst first, and the same as a table.

import { count, counted, h, look, state, svg } from "./dom.js";
import { more, number, columns, search, section } from "./parts.js";

const SHOWN = 120;
const ROWS = 500;
const STATES = [
  ["rejected", "rejected"], ["down", "down"], ["noTargets", "no targets"], ["held", "held"],
  ["unclear", "unclear"], ["notSelected", "not selected"], ["used", "used"],
];

export function spaces(all) {
  if (all.length < 2) return null;
  const worse = all.filter((each) => look(each.state) !== "good").length;
  const sum = `${counted(all.length, "namespace")}, ${worse ? `${count(worse)} to look at` : "all well"}`;
  return section("spaces", "Namespaces",
    h("p", { class: "sum aside" }, sum),
    h("ul", { class: "tiles" }, all.slice(0, SHOWN).map(tile)),
    more(all.length, SHOWN, "; the table has them"),
    table(all));
}

function tile(each) {
  const { namespace, state: word, resources } = each;
  return h("li", { class: `tile ${look(word)}`, "data-key": namespace },
    h("a", { href: search({ namespace }), "data-row": true },
      h("span", { class: "tile-name" }, namespace),
      state(word, words(word)),
      bar(resources),
      h("span", { class: "aside" }, told(each))));
}

// Words that read oddly behind a number.
const NUMBERED = { "no targets": "without targets" };

function words(word) {
  return { problem: "workload to look at", unusable: "cannot be used" }[word] ?? word;
}

// What there is besides the worst, in numbers.
function told({ resources, workloads, troubled, unusable }) {
  const parts = [counted(resources.total, "resource")];
  if (unusable) parts.push(`${count(unusable)} unusable`);
  for (const [member, word] of STATES) {
    if (member !== "used" && resources[member]) parts.push(`${count(resources[member])} ${NUMBERED[word] ?? word}`);
  }
  if (workloads) parts.push(`${counted(workloads, "workload")}${troubled ? `, ${troubled} to look at` : ""}`);
  // Lines end between them: a number stays with its word.
  return parts.flatMap((part, index) => [
    h("span", { class: "tile-part" }, index < parts.length - 1 ? `${part} ·` : part), " ",
  ]);
}

// A bar with the states in their order; the words beside it say the same.
function bar(resources) {
  const total = resources.total || 1;
  let at = 0;
  const pieces = STATES.filter(([member]) => resources[member]).map(([member, word]) => {
    const width = 100 * resources[member] / total;
    const piece = svg("rect", { class: `bar-${look(word)}`, x: at, width, y: 0, height: 6 });
    at += width;
    return piece;
  });
  return svg("svg",
    { class: "bar-of-states", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    pieces);
}

function table(all) {
  const row = (each) => h("tr", { "data-key": each.namespace },
    h("th", { scope: "row" }, h("a", { href: search({ namespace: each.namespace }) }, each.namespace)),
    number(each.workloads), number(each.resources.total), number(each.unusable),
    STATES.map(([member]) => number(each.resources[member])));
  return h("details", { class: "more", "data-key": "spaces-table" },
    h("summary", { "data-row": true }, "The same as a table"),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Namespaces as a table" },
      h("table", {},
        columns("Namespace", "#Workloads", "#Resources", "#Unusable", ...STATES.map(([, word]) => `#${word}`)),
        h("tbody", {}, all.slice(0, ROWS).map(row)))),
    more(all.length, ROWS));
}

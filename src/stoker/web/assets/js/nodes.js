// #/workload/…?tab=nodes: the nodes of an agent that runs on nodes, with their targets, and what
// nobody covers.

import { count, counted, h, prose, state } from "./dom.js";
import { columns, more, number, section } from "./parts.js";

const SHOWN = 300;
const ROWS = 1000;

export function render({ agent, nodes, adrift, unknown }) {
  if (!agent) return section("nodes", "Nodes", h("p", { class: "empty" }, "It does not run on nodes."));
  const bare = nodes.filter((each) => each.whyNot);
  const lost = bare.reduce((sum, each) => sum + (each.targets ?? 0), 0);
  return section("nodes", "Nodes",
    h("p", { class: "sum" }, h("strong", {}, covered(nodes, bare)), `; ${scraped(nodes, lost, adrift)}`),
    unknown && h("p", { class: "banner" }, "Not everything is known: ", prose(unknown)),
    h("ul", { class: "tiles" }, nodes.slice(0, SHOWN).map(tile)),
    more(nodes.length, SHOWN, "; the table has them"),
    nodes.length ? table(nodes) : null);
}

function covered(nodes, bare) {
  return `It covers ${count(nodes.length - bare.length)} of ${counted(nodes.length, "node")}`;
}

function scraped(nodes, lost, adrift) {
  if (!lost && !adrift) {
    return nodes.every(({ targets }) => targets === 0)
      ? "no target is on any of them" : "every target that is on a node has an agent beside it";
  }
  const parts = [];
  if (lost) parts.push(`${counted(lost, "target")} on nodes without an agent`);
  if (adrift) parts.push(`${counted(adrift, "target")} on no node at all`);
  return `nobody scrapes ${parts.join(" and ")}`;
}

// A node without an agent is bad where something is there, and only told where nothing is.
function word({ whyNot, targets }) {
  if (!whyNot) return "covered";
  return targets ? "not covered" : "without pod";
}

const LOOK = { "covered": "good", "not covered": "bad", "without pod": "none" };

function tile(each) {
  const { node, whyNot, targets } = each;
  return h("li", { class: `tile ${LOOK[word(each)]}`, "data-key": node },
    h("span", { class: "tile-name" }, node),
    state(word(each), word(each) === "without pod" ? "no agent, nothing to scrape" : word(each)),
    h("span", { class: "aside" }, targets === null ? "targets unknown" : counted(targets, "target")),
    whyNot && h("span", { class: "why" }, prose(whyNot)));
}

function table(nodes) {
  const row = (each) => h("tr", { "data-key": each.node },
    h("th", { scope: "row" }, each.node), h("td", {}, word(each)),
    number(each.targets ?? 0), h("td", { class: "says" }, prose(each.whyNot)));
  return h("details", { class: "more", "data-key": "nodes-table" },
    h("summary", { "data-row": true }, "The same as a table"),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Nodes as a table" },
      h("table", {}, columns("Node", "Agent", "#Targets", "Why not"),
        h("tbody", {}, nodes.slice(0, ROWS).map(row)))),
    more(nodes.length, ROWS));
}

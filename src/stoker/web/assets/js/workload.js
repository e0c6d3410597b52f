// #/workload/KIND/NAMESPACE/NAME: what a workload makes of its resources, and (?tab=configuration)
// the text that it gets, part by part.

import { ask, url } from "./api.js";
import * as configuration from "./configuration.js";
import { h, prose } from "./dom.js";
import { address, object, of } from "./links.js";
import { list, listed } from "./list.js";
import { columns, facts, head, number, section, told, trail } from "./parts.js";

export async function load(route, signal) {
  const [, ...place] = route.segments;
  const tab = isConfiguration(route)
    ? configuration.load(route, signal)
    : listed(route.parameters, place.join("/"), signal);
  const [found, shown] = await Promise.all([ask(url(["workloads", ...place]), signal), tab]);
  return { ...found, shown };
}

export function title({ segments: [, kind, namespace, name] }) {
  return `${kind} ${namespace}/${name}`;
}

export function up() {
  return "#/";
}

export function render({ explanation, workload, shown }, route) {
  return [
    trail({ Overview: "#/" }),
    head(explanation, workload.state, facts(workload)),
    tabs(route),
    isConfiguration(route)
      ? configuration.render(shown, route)
      : resources(explanation, shown, route),
  ].flat();
}

function isConfiguration(route) {
  return route.parameters.tab === "configuration";
}

function tabs(route) {
  const tab = (text, wanted) => {
    const current = (route.parameters.tab ?? "") === wanted ? "page" : null;
    const href = address(route.segments, { tab: wanted });
    return h("a", { href, "aria-current": current }, text);
  };
  return h("nav", { class: "tabs", "aria-label": "Parts" },
    tab("Resources", ""), tab("Configuration", "configuration"));
}

function resources({ rejected, ignored, conditions, notes, counts }, shown, route) {
  const href = address(route.segments, { state: "rejected" });
  return [
    told("Rejected", rejected, refusal, ": ", h("a", { href }, "all rejected resources")),
    told("Ignored by its version", ignored, prose),
    told("Conditions", conditions, prose),
    told("Notes", notes, prose),
    selected(counts, route),
    list(shown, route, { own: true }),
  ];
}

// "ServiceMonitor shop/cart: reason", with a link to the resource.
function refusal(text) {
  const [title, reason] = text.split(/: (.*)/s);
  const found = object(title);
  if (!found) return prose(text);
  return [h("a", { href: of(found), "data-row": true }, title), ": ", prose(reason)];
}

function selected(counts, route) {
  if (!counts.length) return null;
  const row = ({ kind, selected, rejected, note }) => h("tr", { "data-key": kind },
    h("th", { scope: "row" },
      selected ? h("a", { href: address(route.segments, { kind }) }, kind) : kind),
    number(selected), number(rejected),
    h("td", { class: "says" }, prose(note)));
  return section("counts", "Selected",
    h("table", { class: "plain-table tally" },
      columns("Kind", "#Selected", "#Rejected", "Note"),
      h("tbody", {}, counts.map(row))));
}

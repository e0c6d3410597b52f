// #/workload/KIND/NAMESPACE/NAME: what a workload makes of its resources, and (?tab=configuration)
// the text that it gets, part by part.

import { ask, url } from "./api.js";
import * as configuration from "./configuration.js";
import { h, prose } from "./dom.js";
import { address, object, of } from "./links.js";
import { list, listed } from "./list.js";
import * as nodes from "./nodes.js";
import { columns, facts, head, number, places, section, told, trail } from "./parts.js";
import { history, manifest, stored } from "./stored.js";

export async function load(route, signal) {
  const [, ...place] = route.segments;
  const tab = TABS[route.parameters.tab]?.load(route, signal)
    ?? listed(route.parameters, place.join("/"), signal);
  const [found, shown] = await Promise.all([ask(url(["workloads", ...place]), signal), tab]);
  return { ...found, shown };
}

export function title({ segments: [, kind, namespace, name] }) {
  return `${kind} ${namespace}/${name}`;
}

export function up() {
  return "#/";
}

// What is shown in place of the resources, by its name in the address.
const TABS = {
  configuration,
  nodes: {
    load: ({ segments: [, ...place] }, signal) => ask(url(["workloads", ...place, "nodes"]), signal),
    render: nodes.render,
  },
  object: {
    load: ({ segments: [, ...place] }, signal) => stored(place, signal),
    render: (found) => [history(found), manifest(found)].flat(),
  },
};

export function render(found, route) {
  const { explanation, workload, shown } = found;
  const tab = TABS[route.parameters.tab];
  return [
    trail({ Overview: "#/" }),
    head(explanation, workload.state, facts(workload)),
    places(found),
    tabs(route, found),
    tab ? tab.render(shown, route) : resources(explanation, shown, route),
  ].flat();
}

function tabs(route, { onNodes }) {
  const tab = (text, wanted) => {
    const current = (route.parameters.tab ?? "") === wanted ? "page" : null;
    const href = address(route.segments, { tab: wanted });
    return h("a", { href, "aria-current": current }, text);
  };
  return h("nav", { class: "tabs", "aria-label": "Parts" },
    tab("Resources", ""), tab("Configuration", "configuration"),
    onNodes && tab("Nodes", "nodes"), tab("Manifest and events", "object"));
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

// The list of resources with its filters: in the search, and of one workload.
//
// All of its state is in the address, so that a list can be linked to and survives a reload. One
// page of it is on the screen, whatever there is in all.

import { ask, url } from "./api.js";
import { count, counted, h, prose, state } from "./dom.js";
import { address } from "./links.js";
import { aside, columns, named, pager, problem } from "./parts.js";

const PAGE = 100;
const TYPING = 120;
const STATES = ["unusable", "used", "down", "no targets", "rejected", "held", "unclear", "not selected"];
const KINDS = [
  "ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig", "PrometheusRule", "AlertmanagerConfig",
];

export function listed({ q, kind, namespace, state, from = 0 }, workload, signal) {
  const query = { q, kind, namespace, state, workload, offset: from, limit: PAGE };
  return ask(url(["resources"], query), signal);
}

// `own`: the list of one workload, below other things.
export function list(found, { segments, parameters }, { own }) {
  const here = (changes) => address(segments, { ...parameters, from: "", ...changes });
  return h("section", { class: "list", "aria-labelledby": "list-title" },
    h("div", { class: "list-head" },
      h(own ? "h2" : "h1", { id: "list-title", tabindex: own ? null : "-1" }, "Resources"),
      h("p", { class: "total", role: "status" }, summary(found.total, parameters)),
      filters(found, parameters, own, (changes) => location.replace(here(changes)))),
    unusable(found.unusable),
    found.items.length ? table(found.items, own) : nothing(found, parameters),
    pager(found, found.items.length, PAGE, (from) => here({ from })));
}

function summary(total, { q, namespace }) {
  return counted(total, "resource") + (q ? ` for “${q}”` : "") + (namespace ? ` in ${namespace}` : "");
}

function nothing({ unusable: all }, { q, kind, namespace, state }) {
  if (all.length) return null;
  const narrow = q || kind || namespace || state;
  return h("p", { class: "empty" }, narrow
    ? "Nothing matches. Fewer words or another filter may help." : "There are none.");
}

// Objects that match, too, and are in no list, as they cannot be used.
function unusable(all) {
  if (!all.length) return null;
  return h("section", { class: "problems", "aria-labelledby": "unusable", "data-key": "unusable" },
    h("h2", { id: "unusable" }, "Cannot be used as written"),
    h("ul", {}, all.map(problem)));
}

// --- Filters -------------------------------------------------------------------------------------

function filters({ kinds, states, namespaces }, parameters, own, go) {
  return h("form", { class: "filters", onsubmit: (event) => event.preventDefault() },
    own && words(parameters.q, go),
    choice("namespace", "Namespace", spaces(namespaces, parameters), namespaces, parameters.namespace, go),
    choice("kind", "Kind", KINDS, kinds, parameters.kind, go),
    choice("state", "State", STATES, states, parameters.state, go));
}

// Those that there are, and the one that was chosen, which may have nothing any longer.
function spaces(namespaces, { namespace }) {
  return [...new Set([...Object.keys(namespaces), ...(namespace ? [namespace] : [])])].sort();
}

function words(value = "", go) {
  let waiting;
  const oninput = ({ target }) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => go({ q: target.value }), TYPING);
  };
  return h("input", {
    type: "search", value, oninput, "data-key": "words", placeholder: "Filter by words",
    "aria-label": "Words in kind, namespace, name or labels",
    maxlength: 300, autocomplete: "off", spellcheck: "false",
  });
}

// `numbers` says how many there are of each; what there is none of is not offered.
function choice(name, label, values, numbers, chosen = "", go) {
  const some = values.filter((value) => numbers[value] || value === chosen);
  const option = (value, text) => h("option", { value, selected: value === chosen }, text);
  const onchange = ({ target }) => go({ [name]: target.value });
  return h("select", { "data-key": name, "aria-label": label, onchange },
    option("", `any ${name}`),
    some.map((value) => option(value, `${value} (${count(numbers[value] ?? 0)})`)));
}

// --- Rows ----------------------------------------------------------------------------------------

function table(items, own) {
  return h("table", { class: "resources" },
    columns("Kind", "Resource", "State", own ? "Why" : "By whom, or why not"),
    h("tbody", {}, items.map((item) => row(item, own))));
}

function row(item, own) {
  const { kind, namespace, name, headline, ignored } = item;
  const facts = [takers(item, own), ignored ? `${counted(ignored, "field")} ignored` : ""];
  return h("tr", { "data-key": `${kind}/${namespace}/${name}` },
    h("td", { class: "kind" }, kind),
    h("th", { scope: "row" }, named(item)),
    h("td", {}, state(item.state)),
    h("td", { class: "says" },
      prose(headline), " ", aside(facts.filter(Boolean).join(" · ")),
      item.targets && [" ", scraped(item.targets)]));
}

// How many targets can be scraped, where the operator counts them; none at all is hardly meant.
function scraped({ discovered, healthy }) {
  const well = discovered > 0 && healthy >= discovered;
  const text = `${count(healthy)}/${counted(discovered, "target")}`;
  return state(well ? "good" : "problem", text);
}

// A reason names its workload already; in the list of one workload nobody needs to be told.
function takers({ headline, workloads }, own) {
  if (own || headline) return "";
  const others = workloads.length > 2 ? ` and ${workloads.length - 2} more` : "";
  return workloads.slice(0, 2).join(", ") + others;
}

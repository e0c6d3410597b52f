// #/: all workloads and how they are, what there is in all, and what could not be read.

import { ask, url } from "./api.js";
import { count, h, prose, since, state } from "./dom.js";
import { aside, facts, more, named, problem, search, section } from "./parts.js";
import { spaces } from "./spaces.js";

const SHOWN = 200;
const WORSE_FIRST = ["problem", "unknown", "good"];
const KINDS = ["Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler"];

export function load(_route, signal) {
  return ask(url(["overview"]), signal);
}

export function title() {
  return "Overview";
}

export function render(found) {
  const { source, headline, workloads, resources, problems, misspelt, namespaces, changes, viewer } = found;
  const place = source.kind === "directory" ? "Directory" : "Cluster";
  return [
    h("header", { class: "head" },
      h("p", { class: "eyebrow" }, place, h("code", {}, source.name), who(viewer)),
      h("h1", { tabindex: "-1" }, headline)),
    source.note && h("p", { class: "banner", role: "status" }, prose(source.note)),
    totals(resources),
    spaces(namespaces),
    unusable(problems),
    dropped(misspelt),
    cards(workloads, viewer),
    changed(changes),
  ];
}

// Whose rights decide what is shown.
function who(viewer) {
  if (!viewer) return null;
  const rest = viewer.whole ? "" : "; what you cannot see is neither shown nor counted";
  return h("span", {}, "as ", h("code", {}, viewer.user), aside(rest));
}

// --- What changed last ---------------------------------------------------------------------------

function changed(all) {
  if (!all.length) return null;
  return section("changes", "Changed last",
    h("ul", { class: "standings" }, all.map((each) => {
      const { kind, namespace, name, what, at } = each;
      return h("li", { "data-key": `${kind}/${namespace}/${name}` },
        h("p", { class: "standing-top" },
          h("span", { class: "kind" }, kind),
          what === "removed" ? `${namespace}/${name}` : named(each),
          h("span", {}, what), aside(since(at))));
    })));
}

// --- Resources by state --------------------------------------------------------------------------

function totals({ total, used, down, noTargets, rejected, held, unclear, notSelected }) {
  return h("nav", { "aria-label": "Resources by state" }, h("ul", { class: "totals" },
    figure(total, "resources", ""),
    figure(used, "used", "used"),
    down ? figure(down, "down", "down") : null,
    noTargets ? figure(noTargets, "no targets", "no targets") : null,
    figure(rejected, "rejected", "rejected"),
    held ? figure(held, "held", "held") : null,
    unclear ? figure(unclear, "unclear", "unclear") : null,
    figure(notSelected, "not selected", "not selected")));
}

function figure(value, label, wanted) {
  const word = wanted ? state(wanted) : h("span", { class: "state" }, label);
  const link = h("a", { href: search({ state: wanted }) }, h("strong", {}, count(value)), word);
  return h("li", { "data-key": label }, link);
}

// --- Workloads -----------------------------------------------------------------------------------

function cards(workloads, viewer) {
  if (!workloads.length) {
    const seen = viewer && !viewer.whole ? " that you may see" : "";
    return h("p", { class: "empty" }, `${KINDS.join(", ")}: there is none${seen}.`);
  }
  const sorted = [...workloads].sort((a, b) =>
    WORSE_FIRST.indexOf(a.state) - WORSE_FIRST.indexOf(b.state)
    || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)
    || `${a.namespace}/${a.name}`.localeCompare(`${b.namespace}/${b.name}`));
  return section("workloads", "Workloads",
    h("ul", { class: "cards" }, sorted.slice(0, SHOWN).map(card)),
    more(sorted.length, SHOWN, ", all of them no worse"));
}

function card(each) {
  return h("li", { class: "card", "data-key": `${each.kind}/${each.namespace}/${each.name}` },
    h("p", { class: "card-top" }, h("span", { class: "kind" }, each.kind), state(each.state)),
    h("h3", {}, named(each)),
    h("p", {}, prose(each.headline)),
    counts(each.counts),
    facts(each) && aside(facts(each)));
}

function counts(all) {
  const some = all.filter((each) => each.selected);
  return some.length ? h("ul", { class: "counts" }, some.map(tally)) : null;
}

function tally({ kind, selected, rejected }) {
  return h("li", { "data-key": kind },
    h("strong", {}, count(selected)), ` ${kind}`,
    rejected ? h("span", { class: "bad" }, `, ${count(rejected)} rejected`) : null);
}

// --- Problems ------------------------------------------------------------------------------------

function unusable(all) {
  if (!all.length) return null;
  return h("section", { class: "problems", "aria-labelledby": "problems" },
    h("h2", { id: "problems" }, "Cannot be used as written"),
    h("ul", {}, all.slice(0, SHOWN).map(problem)),
    more(all.length, SHOWN));
}

// Fields that do not exist; without them an object can be used.
function dropped(all) {
  if (!all.length) return null;
  return h("section", { class: "problems", "aria-labelledby": "misspelt", "data-key": "misspelt" },
    h("h2", { id: "misspelt" }, "Fields that do not exist"),
    h("ul", {}, all.slice(0, SHOWN).map((each) =>
      h("li", { "data-key": `${each.kind}/${each.namespace}/${each.name}` },
        h("p", { class: "where" }, h("span", { class: "kind" }, each.kind), named(each),
          each.place && h("code", {}, each.place)),
        each.fields.map((path) => h("p", {}, prose(`\`${path}\` is dropped`)))))),
    more(all.length, SHOWN));
}

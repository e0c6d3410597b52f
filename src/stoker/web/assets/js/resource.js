// #/resource/KIND/NAMESPACE/NAME: why it is used or not, what it finds, and the job that it makes.

import { ask, url } from "./api.js";
import { count, counted, h, prose, since, state, version } from "./dom.js";
import { object, of } from "./links.js";
import { aside, columns, fold, head, more, places, search, section, told, trail } from "./parts.js";
import { history, manifest, stored } from "./stored.js";
import { coloured, copying } from "./yaml.js";

const NEAREST = 3;
const SHOWN = 200;
const NAMED = 5;
const LONG = 40;

export async function load(route, signal) {
  const place = route.segments.slice(1);
  const [found, itself] = await Promise.all([
    ask(url(["resources", ...place]), signal), stored(place, signal),
  ]);
  return { ...found, itself };
}

export function title({ segments: [, kind, namespace, name] }) {
  return `${kind} ${namespace}/${name}`;
}

export function up() {
  return "#/search";
}

export function render(found) {
  const { explanation, labels, failing, links, itself } = found;
  const { kind, namespace, name } = explanation;
  return [
    trail({ Overview: "#/", Resources: "#/search" }),
    head(explanation, word(explanation)),
    places({ place: found.place, links }),
    standings(explanation.standings, `${kind}/${namespace}/${name}`),
    failures(failing),
    explanation.searches.map(targets),
    access(explanation.access),
    told("Notes", explanation.notes, prose),
    history(itself),
    job(explanation.job),
    manifest(itself),
    labelled(labels),
  ].flat();
}

// One word for the whole: the best that a workload makes of it, unless something is wrong there.
function word({ good, standings, searches }) {
  const states = new Set(standings.map((each) => each.state));
  if (good) return ["used", "unclear"].find((each) => states.has(each)) ?? "good";
  if (states.has("used") && !states.has("rejected")) {
    const down = ({ targets }) => targets?.discovered > 0 && targets.healthy === 0;
    if (standings.some((each) => each.state === "used" && down(each))) return "down";
    const idle = searches.some((each) => each.targets === 0)
      || standings.some((each) => each.state === "used" && each.targets?.discovered === 0);
    return idle ? "no targets" : "problem";
  }
  const worst = ["rejected", "held", "unclear", "not selected"];
  return worst.find((each) => states.has(each)) ?? "problem";
}

// --- Workloads -----------------------------------------------------------------------------------

// Those that select it; if there is none, the nearest; the rest is folded away.
function standings(all, resource) {
  if (!all.length) return null;
  const taken = all.filter((each) => each.state !== "not selected");
  const others = all.filter((each) => each.state === "not selected");
  const first = taken.length ? taken : others.slice(0, NEAREST);
  const rest = taken.length ? others : others.slice(NEAREST);
  return section("standings", "Workloads",
    h("ul", { class: "standings" }, first.map((each) => standing(each, resource))),
    rest.length ? passing(rest, resource) : null);
}

function passing(rest, resource) {
  const verb = rest.length === 1 ? "does" : "do";
  return h("details", { class: "more", "data-key": "others" },
    h("summary", { "data-row": true }, `${counted(rest.length, "workload")} ${verb} not select it`),
    h("ul", { class: "standings" }, rest.slice(0, SHOWN).map((each) => standing(each, resource))),
    more(rest.length, SHOWN));
}

function standing(each, resource) {
  const { state: word, reason, findings, ignored, notes, reported } = each;
  const workload = object(each.workload);
  const part = word === "used" && of(workload, { tab: "configuration", of: resource });
  return h("li", { "data-key": each.workload },
    h("p", { class: "standing-top" },
      state(word),
      h("a", { href: of(workload), "data-row": true }, each.workload),
      aside(version(each.version)),
      part && h("a", { class: "to-part", href: part }, "its part of the configuration")),
    (findings.length ? findings : [reason]).map((text) => text && h("p", {}, prose(text))),
    ignored.map((text) => h("p", {}, "Ignored by this version: ", prose(text))),
    notes.map((text) => h("p", {}, prose(text))),
    reported && h("p", {}, "The operator says: ", prose(reported)),
    each.targets && scraped(each.targets));
}

// What the operator has counted at the running Prometheus.
function scraped({ discovered, healthy, errors, observedAt }) {
  const sum = `Of ${counted(discovered, "target")}, ${count(healthy)} can be scraped`;
  return [
    h("p", {}, sum, observedAt && aside(", as of ", since(observedAt))),
    errors.map((each) => h("p", {}, `${counted(each.count, "target")}: `, prose(each.message))),
  ];
}

// Targets that could not be scraped: where they are, and what Prometheus says.
function failures(all) {
  if (!all.length) return null;
  const row = ({ address, error }, index) => h("tr", { "data-key": `${index} ${address}` },
    h("th", { scope: "row" }, h("code", {}, address)), h("td", { class: "says" }, prose(error)));
  return section("failing", "Failing targets",
    h("table", { class: "plain-table" }, columns("Address", "Error"), h("tbody", {}, all.map(row))),
    h("p", { class: "aside" }, "Some of them, as they were when Prometheus was last asked."));
}

// --- Targets -------------------------------------------------------------------------------------

function targets(search) {
  const { workloads, looksIn, targets: sum, problems, matches, notes, unreached, unsure } = search;
  const { endpoints, byNode } = search;
  const whose = ` of ${workloads.join(", ") || "nobody yet"}${looksIn && `, in ${looksIn}`}`;
  const why = (text) =>
    h("p", { class: "miss" }, state("problem", "why"), h("span", {}, prose(text)));
  return h("section", { class: "search", "data-key": workloads.join() },
    h("h2", {}, "Targets"),
    h("p", { class: "sum" },
      h("strong", {}, sum === null ? "not known how many" : counted(sum, "target")), aside(whose)),
    problems.map(why),
    unreached.slice(0, SHOWN).map((each) => why(missed(each))),
    more(unreached.length, SHOWN),
    unsure && h("p", { class: "aside" },
      "Whether an agent is where they are is not known: ", prose(unsure)),
    matches.length ? found(matches, problems) : null,
    byNode.length ? agents(byNode) : null,
    endpoints.map(relabeled),
    notes.map((text) => h("p", { class: "aside" }, prose(text))));
}

// Targets where an agent on nodes has no pod.
function missed({ targets: sum, names, why }) {
  return `${counted(sum, "target")} not scraped (${few(names)}): ${why}`;
}

function few(names) {
  const rest = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return `${names.slice(0, NAMED).join(", ")}${rest}`;
}

// One row for each agent on a node, with what it was given of what no agent is beside.
function agents(all) {
  return [
    h("table", { class: "plain-table agents" },
      columns("Agent on", "Given to it", "#Targets"),
      h("tbody", {}, all.slice(0, SHOWN).map(({ node, targets: sum, given, names }) => h("tr", {},
        h("th", { scope: "row" }, node || "a node that is not known"),
        h("td", {}, given ? `${count(given)} (${few(names)})` : ""),
        h("td", { class: "number" }, count(sum)))))),
    more(all.length, SHOWN),
  ];
}

// One row for each port of each Service or pod.
function found(matches, problems) {
  const rows = matches.flatMap(({ object, ports }) =>
    ports.length ? ports.map((port) => [object, port]) : [[object, null]]);
  return [
    h("table", { class: "plain-table matches" },
      columns("Matches", "Endpoint", "Port", "#Targets"),
      h("tbody", {}, rows.slice(0, SHOWN).map(([object, port]) => h("tr", {},
        h("th", { scope: "row" }, object),
        port ? cells(port, problems) : h("td", { colspan: 3 }))))),
    more(rows.length, SHOWN),
  ];
}

function cells({ path, port, targets, problem }, problems) {
  const known = problems.some((each) => each.includes(problem));
  const why = [": ", prose(problem)];
  return [
    h("td", {}, h("code", {}, path)),
    h("td", {}, prose(port), problem && h("span", { class: "bad" }, known ? " (see above)" : why)),
    h("td", { class: "number" }, targets === null ? "?" : count(targets)),
  ];
}

// What relabeling makes of the targets of an endpoint: how many, who drops others, their labels.
function relabeled({ path, targets: sum, equal, examples, dropped, refused }) {
  const same = equal ? ` (${count(equal)} with the labels of another, scraped once)` : "";
  const all = sum === null ? "not known how many" : counted(sum, "target");
  return h("details", { class: "part", open: dropped.length > 0, "data-key": path },
    h("summary", { "data-row": true },
      h("span", { class: "part-title" }, `${path} after relabeling: ${all}${same}`)),
    dropped.map((each) => h("p", {}, prose(lost(each)))),
    refused.map((each) => h("p", { class: "bad" }, `Cannot be scraped: ${each}`)),
    h("ul", { class: "standings" }, examples.map((each) => h("li", {}, h("code", {}, labels(each))))));
}

function lost({ path, step, targets: sum, value }) {
  const many = sum === null ? "Some" : counted(sum, "target");
  return `${many} dropped by ${path}: ${step}, and it is ${value ? `\`${value}\`` : "empty"}`;
}

function labels({ labels: all, count: many }) {
  const told = all.map(({ name, value }) => `${name}="${value}"`).join(", ");
  const rest = many === 1 ? "" : ` × ${many === null ? "?" : count(many)}`;
  return `{${told}}${rest}`;
}

// --- The rest ------------------------------------------------------------------------------------

function access(all) {
  if (!all.length) return null;
  return section("access", "Permissions", h("ul", { class: "standings" }, all.map(account)));
}

function account({ workload, account, lacks, unknown }) {
  const doubt = `Nothing here says whether it can ${unknown.join("; ")}.`;
  return h("li", { "data-key": workload },
    h("p", { class: "standing-top" },
      permitted(lacks, unknown),
      h("span", {}, "service account ", h("code", {}, account), ` of ${workload}`)),
    lacks.map((lack) => h("p", {}, `It cannot ${lack}.`)),
    unknown.length ? h("p", { class: "aside" }, doubt) : null);
}

function permitted(lacks, unknown) {
  if (lacks.length) return state("problem", "lacking");
  return unknown.length ? state("unknown", "not known") : state("good", "granted");
}

function job(text) {
  if (!text) return null;
  const lines = text.trimEnd().split("\n").length;
  const attributes = { "data-key": "Job", open: lines <= LONG };
  return section("job", "Job",
    fold("What Prometheus gets", lines, coloured(text), attributes, copying(text)));
}

function labelled(labels) {
  const names = Object.keys(labels).sort();
  if (!names.length) return null;
  return section("labels", "Labels", h("ul", { class: "labels" }, names.map((name) =>
    h("li", { "data-key": name },
      h("a", { href: search({ q: labels[name] }) }, h("code", {}, `${name}=${labels[name]}`))))));
}

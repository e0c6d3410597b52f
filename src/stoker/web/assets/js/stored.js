// An object itself: conditions with their ages, Events, who wrote it last, and its manifest.

import { Stranger, ask, url } from "./api.js";
import { count, counted, h, prose, since } from "./dom.js";
import { object as named, of } from "./links.js";
import { aside, columns, section } from "./parts.js";
import { coloured, copying } from "./yaml.js";

// Null where it cannot be told now: the rest of the page is worth more than an error.
export async function stored(segments, signal) {
  try {
    return await ask(url(["objects", ...segments]), signal);
  } catch (error) {
    if (signal.aborted || error instanceof Stranger) throw error;
    return null;
  }
}

export function history(found) {
  if (!found) return null;
  return [conditions(found.conditions), events(found), written(found)];
}

function conditions(all) {
  if (!all.length) return null;
  const row = (each) => h("tr", { "data-key": `${each.workload} ${each.type}` },
    h("th", { scope: "row" }, h("code", {}, `${each.type}=${each.status}`)),
    h("td", {}, whose(each.workload), each.reason),
    h("td", {}, since(each.since)),
    h("td", { class: "says" }, prose(each.message)));
  return section("stored-conditions", "Conditions",
    h("table", { class: "plain-table lines" },
      columns("Condition", "Reason", "Since", "Message"), h("tbody", {}, all.map(row))));
}

function whose(workload) {
  const found = named(workload);
  return found && [h("a", { href: of(found) }, workload), " "];
}

function events({ events: all, unknown, place }) {
  if (place) return null;  // a file has none
  if (!all.length && !unknown) {
    return section("events", "Events", h("p", { class: "aside" }, "There are none now; a cluster keeps them for an hour."));
  }
  const row = (each, index) => h("tr", { "data-key": `${index}` },
    h("th", { scope: "row" }, `${each.type} ${each.reason}`),
    h("td", {}, each.by),
    h("td", {}, since(each.at), each.count > 1 && aside(` ×${count(each.count)}`)),
    h("td", { class: "says" }, prose(each.message)));
  return section("events", "Events",
    unknown && h("p", { class: "aside" }, `Not known: ${unknown}.`),
    all.length ? h("table", { class: "plain-table lines" },
      columns("Event", "By", "Last", "Message"), h("tbody", {}, all.map(row))) : null);
}

function written({ written: all, created, generation }) {
  if (!all.length && !created) return null;
  const line = (each, index) => h("li", { "data-key": `${index}` },
    h("code", {}, each.by), ` wrote its ${each.what} `, since(each.at));
  return section("written", "Last written by",
    h("ul", { class: "standings" }, all.map(line),
      created && h("li", { "data-key": "created" }, "created ", since(created),
        generation ? aside(`, generation ${count(generation)}`) : null)));
}

export function manifest(found) {
  if (!found) return null;
  const { manifest: text, place } = found;
  const lines = text.trimEnd().split("\n").length;
  return section("manifest", "Manifest",
    h("details", { class: "part", "data-key": "manifest-text" },
      h("summary", { "data-row": true },
        h("span", { class: "part-title" }, place || "as the cluster has it"),
        aside(counted(lines, "line"))),
      copying(text),
      h("pre", { tabindex: "0", "aria-label": "manifest" }, coloured(text))));
}

// Pieces that several views share.

import { count, h, prose, state, version } from "./dom.js";
import { address, object, of } from "./links.js";

// In soft letters, what one need not read.
export function aside(...children) {
  return h("span", { class: "aside" }, ...children);
}

// A link to an object by its name, which `j` and `k` stop at.
export function named(found) {
  const namespace = h("span", { class: "ns" }, `${found.namespace}/`);
  return h("a", { href: of(found), "data-row": true }, namespace, found.name);
}

// The way back: trail({Overview: "#/", Resources: "#/search"})
export function trail(links) {
  const all = Object.entries(links).map(([text, href], index) =>
    [index ? " / " : "", h("a", { href }, text)]);
  return h("nav", { class: "trail", "aria-label": "Where you are" }, all);
}

// What a view is about: kind, state, name, and the whole in one sentence.
export function head({ kind, namespace, name, headline }, word, facts = "") {
  return h("header", { class: "head" },
    h("p", { class: "eyebrow" }, h("span", { class: "kind" }, kind), state(word), facts),
    h("h1", { tabindex: "-1" }, h("span", { class: "ns" }, `${namespace}/`), name),
    h("p", { class: "headline" }, prose(headline)));
}

// Version and pods of a workload. The sentence of one that is well names its version already.
export function facts({ headline, version: text, ready }) {
  const known = headline.startsWith("version ") ? "" : version(text);
  return [known, ready && `${ready} ready`].filter(Boolean).join(" · ");
}

// Where something is written, and where the running workloads themselves can be asked.
export function places({ place, links = [] }) {
  if (!place && !links.length) return null;
  const many = links.length > 1;
  return h("p", { class: "places" },
    place && h("code", {}, place),
    links.map(({ workload, url }) => h("a", { href: url, rel: "noreferrer noopener", target: "_blank" },
      `open ${many ? workload : workload.split(" ")[0]} ↗`)));
}

// That there is more than what is shown; nothing where there is not.
export function more(total, shown, ...where) {
  if (total <= shown) return null;
  return h("p", { class: "aside" }, `and ${count(total - shown)} more`, ...where);
}

// A section with an id and a heading.
export function section(id, heading, ...children) {
  return h("section", { "aria-labelledby": id, "data-key": id },
    h("h2", { id }, heading), ...children);
}

// A section of sentences; nothing where there are none. `made` makes elements of a sentence.
export function told(heading, sentences, made, ...where) {
  const shown = 10;
  if (!sentences.length) return null;
  return h("section", { class: "told", "data-key": heading },
    h("h2", {}, heading),
    h("ul", {}, sentences.slice(0, shown).map((each) => h("li", {}, made(each)))),
    more(sentences.length, shown, ...where));
}

// The head of a table; a name that begins with # is of a column of numbers.
export function columns(...names) {
  const cell = (name) => name.startsWith("#")
    ? h("th", { scope: "col", class: "number" }, name.slice(1))
    : h("th", { scope: "col" }, name);
  return h("thead", {}, h("tr", {}, names.map(cell)));
}

export function number(value) {
  return h("td", { class: value ? "number" : "number zero" }, count(value));
}

// Links to the page before and after; `to` makes the address of the page that starts at a number.
export function pager({ offset, total }, shown, size, to) {
  if (total <= size) return null;
  const link = (text, from, rel, possible) => possible
    ? h("a", { class: "button", href: to(String(from)), rel }, text)
    : h("span", { class: "button off", "aria-disabled": "true" }, text);
  return h("nav", { class: "pager", "aria-label": "Pages" },
    link("Previous", Math.max(0, offset - size), "prev", offset > 0),
    h("span", {}, `${count(offset + 1)}–${count(offset + shown)} of ${count(total)}`),
    link("Next", offset + size, "next", offset + shown < total));
}

// A text that unfolds. `attributes` are of the element that does.
export function fold(title, lines, text, attributes, ...before) {
  const told = `${count(lines)} line${lines === 1 ? "" : "s"}`;
  return h("details", { class: "part", ...attributes },
    h("summary", { "data-row": true }, h("span", { class: "part-title" }, title), aside(told)),
    ...before,
    h("pre", { tabindex: "0", "aria-label": attributes["data-key"] }, text));
}

// The address of the search for words, or by a state.
export function search(parameters) {
  return address(["search"], parameters);
}

// What cannot be used as it is written: the object, where it is, and why.
export function problem({ source, subject, reasons }) {
  const found = object(subject);
  const what = found
    ? h("a", { href: of(found), "data-row": true }, subject)
    : h("strong", {}, subject);
  return h("li", { "data-key": `${source} ${subject}` },
    h("p", { class: "where" }, what, source && h("code", {}, source)),
    reasons.map((reason) => h("p", {}, prose(reason))));
}

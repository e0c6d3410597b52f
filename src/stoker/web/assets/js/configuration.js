// The configuration of a workload as parts that unfold; ?of=KIND/NAMESPACE/NAME marks the part of
// one resource, which comes first if it is on another page of the list. Secrets are masked by the
// server. Long parts are fetched when they are unfolded.

import { NotThere, ask, url } from "./api.js";
import { counted, h, prose, since } from "./dom.js";
import { address, of } from "./links.js";
import { fold, pager } from "./parts.js";
import { coloured, copying } from "./yaml.js";

const PAGE = 200;
const TYPING = 200;

// What was unfolded is fetched again with the rest, so that it never lags behind.
let unfolded = new Set();
let unfoldedOf = "";

export async function load(route, signal) {
  const place = placeOf(route);
  const { of: wanted, from = 0, q } = route.parameters;
  const found = await ask(url(place, { offset: from, limit: PAGE, q }), signal);
  if (unfoldedOf !== place.join("/")) unfolded = new Set();
  unfoldedOf = place.join("/");
  await Promise.all(found.parts
    .filter((part) => part.text === null && (unfolded.has(part.title) || isOf(part, wanted)))
    .map(async (part) => { part.text = (await whole(place, part.title, signal)).text; }));
  const here = found.parts.some((part) => isOf(part, wanted));
  if (wanted && !here) found.other = await elsewhere(place, wanted, signal);
  return found;
}

function placeOf({ segments: [, kind, namespace, name] }) {
  return ["workloads", kind, namespace, name, "configuration"];
}

function whole(place, title, signal) {
  return ask(url([...place, "part"], { title }), signal);
}

// The part of a resource is called after it; null where the workload has none.
async function elsewhere(place, wanted, signal) {
  try {
    const part = await whole(place, wanted[0].toLowerCase() + wanted.slice(1), signal);
    return { ...part, lines: part.text.trimEnd().split("\n").length };
  } catch (error) {
    if (error instanceof NotThere) return null;
    throw error;
  }
}

function isOf({ resource }, wanted) {
  if (!wanted || !resource) return false;
  return `${resource.kind}/${resource.namespace}/${resource.name}` === wanted;
}

export function render(found, route) {
  const { of: wanted } = route.parameters;
  const to = (from) => address(route.segments, { ...route.parameters, from });
  return h("section", { class: "parts", "aria-labelledby": "parts" },
    h("div", { class: "list-head" },
      h("h2", { id: "parts" }, "Configuration"),
      h("p", { class: "total", role: "status" },
        counted(found.total, "part"), route.parameters.q && ` with “${route.parameters.q}”`,
        mark(found, wanted)),
      finding(route)),
    found.note && h("p", { class: "banner" }, prose(found.note)),
    found.other && unfolding(found.other, true, route),
    found.parts.map((part) => unfolding(part, isOf(part, wanted), route)),
    pager(found, found.parts.length, PAGE, to));
}

// Parts in which a text occurs; the address keeps it.
function finding(route) {
  let waiting;
  const oninput = ({ target }) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => location.replace(
      address(route.segments, { ...route.parameters, from: "", q: target.value })), TYPING);
  };
  return h("form", { class: "filters", onsubmit: (event) => event.preventDefault() },
    h("input", {
      type: "search", value: route.parameters.q ?? "", oninput, "data-key": "text",
      placeholder: "Find in the configuration", "aria-label": "Text in the configuration",
      maxlength: 300, autocomplete: "off", spellcheck: "false",
    }));
}

function mark(found, wanted) {
  if (!wanted) return null;
  const [kind, namespace, name] = wanted.split("/");
  const there = found.other || found.parts.some((part) => isOf(part, wanted));
  return [there ? "; marked is that of " : "; none is of ", link({ kind, namespace, name })];
}

function link(resource) {
  return h("a", { href: of(resource) }, `${resource.kind} ${resource.namespace}/${resource.name}`);
}

function unfolding(part, marked, route) {
  const { q } = route.parameters;
  const tag = marked && [" ", h("span", { class: "tag" }, "this resource")];
  const changed = part.changed && [" ", h("span", { class: "tag" }, "changed ", since(part.changed))];
  const from = part.resource && h("p", { class: "aside from" }, "from ", link(part.resource));
  const open = marked || Boolean(q && part.text !== null);
  // Colours are for what is read.
  const shown = open || unfolded.has(part.title) ? body(part, q) : part.text;
  return fold([part.title, tag, changed], part.lines, shown ?? "Loading …", {
    class: marked ? "part marked" : "part",
    // With other words it unfolds anew.
    "data-key": q ? `${part.title} ${q}` : part.title,
    open,
    ontoggle: (event) => toggled(event.currentTarget, part, route),
  }, from, part.text !== null && copying(part.text));
}

function body({ text }, q) {
  return text === null ? null : coloured(text, q ? [q] : []);
}

async function toggled(details, part, route) {
  if (!details.open) {
    unfolded.delete(part.title);
    return;
  }
  unfolded.add(part.title);
  const pre = details.querySelector("pre");
  try {
    part.text ??= (await whole(placeOf(route), part.title)).text;
    pre.replaceChildren(...body(part, route.parameters.q));
  } catch (error) {
    pre.textContent = error.message;
  }
}

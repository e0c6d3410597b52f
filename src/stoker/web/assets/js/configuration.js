// The configuration of a workload as parts that unfold; ?of=KIND/NAMESPACE/NAME marks the part of
// one resource, which comes first if it is on another page of the list. Secrets are masked by the
// server. Long parts are fetched when they are unfolded.

import { NotThere, ask, url } from "./api.js";
import { counted, h, prose } from "./dom.js";
import { address, of } from "./links.js";
import { fold, pager } from "./parts.js";

const PAGE = 200;

// What was unfolded is fetched again with the rest, so that it never lags behind.
let unfolded = new Set();
let unfoldedOf = "";

export async function load(route, signal) {
  const place = placeOf(route);
  const { of: wanted, from = 0 } = route.parameters;
  const found = await ask(url(place, { offset: from, limit: PAGE }), signal);
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
        counted(found.total, "part"), mark(found, wanted))),
    found.note && h("p", { class: "banner" }, prose(found.note)),
    found.other && unfolding(found.other, true, route),
    found.parts.map((part) => unfolding(part, isOf(part, wanted), route)),
    pager(found, found.parts.length, PAGE, to));
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
  const tag = marked && [" ", h("span", { class: "tag" }, "this resource")];
  const from = part.resource && h("p", { class: "aside from" }, "from ", link(part.resource));
  return fold([part.title, tag], part.lines, part.text ?? "Loading …", {
    class: marked ? "part marked" : "part",
    "data-key": part.title,
    open: marked,
    ontoggle: (event) => toggled(event.currentTarget, part, placeOf(route)),
  }, from);
}

async function toggled(details, part, place) {
  if (!details.open) {
    unfolded.delete(part.title);
    return;
  }
  unfolded.add(part.title);
  if (part.text !== null) return;
  const body = details.querySelector("pre");
  try {
    part.text = (await whole(place, part.title)).text;
    body.textContent = part.text;
  } catch (error) {
    body.textContent = error.message;
  }
}

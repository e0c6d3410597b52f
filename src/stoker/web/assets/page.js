// The status page: an address (#/…) names a view; a view loads JSON and makes elements of it.
//
// When something changes on the server, the view is loaded again and the elements on the page are
// brought up to date one by one (`morph`), so that focus, scroll and folds stay as they are.

import { Busy, NotThere, Stranger, listen, remember, token } from "./js/api.js";
import { grow, h, morph, prose } from "./js/dom.js";
import { keyboard } from "./js/keys.js";
import { address, of, route } from "./js/links.js";
import * as login from "./js/login.js";
import * as overview from "./js/overview.js";
import { trail } from "./js/parts.js";
import * as resource from "./js/resource.js";
import * as search from "./js/search.js";
import * as workload from "./js/workload.js";

// By the first word of the address: the view, and of how many words its addresses are.
const VIEWS = {
  overview: [overview, 0], search: [search, 1], workload: [workload, 4], resource: [resource, 4],
};
const TYPING = 120;
const AGAIN = 1500;

const main = document.getElementById("main");
const find = document.getElementById("find");
const live = document.getElementById("live");
const logout = document.getElementById("leave");
const GROWING = 20000;
let shown = null;  // the path of what is on the screen
let loading = null;
let revision = "";  // of what is on the screen

function viewOf({ segments }) {
  const [view, length] = VIEWS[segments[0] ?? "overview"] ?? [];
  return segments.length === length ? view : null;
}

// Shows what the address names. `quiet`: it is on the screen already and may have changed.
async function show({ quiet = false } = {}) {
  const here = route(location.hash);
  loading?.abort();
  loading = new AbortController();
  const { signal } = loading;
  let tree;
  try {
    const view = viewOf(here);
    if (!view) throw new NotThere({ error: "there is no such page" });
    const data = await view.load(here, signal);
    revision = String(data.revision ?? data.source?.revision);
    tree = view.render(data, here);
    document.title = `${view.title(here)} · stoker`;
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof Busy) setTimeout(() => signal.aborted || show({ quiet: true }), AGAIN);
    // What is on the screen is better than an error, while the server is away for a moment.
    const sure = error instanceof NotThere || error instanceof Stranger;
    if (quiet && shown === here.segments.join("/") && !sure) return;
    if (error instanceof Stranger) return enter(error.message);
    tree = failure(error, here);
    document.title = "stoker";
  }
  logout.hidden = !token();
  if (!signal.aborted) put(tree, here);
}

// The form for a token takes the place of everything that was shown.
function enter(refusal) {
  document.title = "Log in · stoker";
  logout.hidden = true;
  find.value = "";
  left.clear();
  main.replaceChildren(...login.render(refusal, () => show().then(again)));
  shown = null;
  (main.querySelector("input") ?? main.querySelector("h1")).focus();
}

logout.addEventListener("click", () => {
  remember("");
  history.replaceState(null, "", "#/");
  show();
});

function put(tree, here) {
  const path = here.segments.join("/");
  const moved = path !== shown;
  const first = shown === null;
  if (moved) main.replaceChildren();
  morph(main, h("main", { id: "main", tabindex: "-1", "data-at": location.hash }, tree));
  shown = path;
  if (document.activeElement !== find) {
    if (here.segments[0] === "search") find.value = here.parameters.q ?? "";
    else if (moved) find.value = "";
  }
  const before = history.state?.seen ? left.get(location.hash) : null;
  history.replaceState({ seen: true }, "");
  if (moved && !first) arrive(before);
  if (here.parameters.of !== marked) reveal(here.parameters.of);
}

// Coming back, one finds everything as it was left; a new view begins at its top, and a reader of
// the screen hears where the link has led. The search box is not left while typing.
const left = new Map();  // by address: how far it was scrolled, and the link that was followed

function leave(hash) {
  left.set(hash, { top: scrollY, link: document.activeElement?.getAttribute("href") });
}

function arrive(before) {
  if (document.activeElement === find) return;
  scrollTo(0, before?.top ?? 0);
  const link = before?.link && main.querySelector(`a[href="${CSS.escape(before.link)}"]`);
  (link || main.querySelector("h1") || main).focus({ preventScroll: true });
}

let marked;
function reveal(wanted) {
  marked = wanted;
  const part = main.querySelector(".part.marked");
  if (!part) return;
  // It may have been on the screen already, folded by the reader or never unfolded.
  part.open = true;
  part.scrollIntoView({ block: "start" });
}

function failure(error, { segments: [, kind = ""] }) {
  const titles = [[NotThere, "Not here"], [Busy, "In a moment"], [Error, "No answer"]];
  const [, title] = titles.find(([type]) => error instanceof type);
  const [namespace, name] = (error.meant ?? "").split("/");
  const open = `Open ${kind} ${error.meant}`;
  return [
    trail({ Overview: "#/" }),
    h("header", { class: "head" },
      h("h1", { tabindex: "-1" }, title),
      h("p", { class: "headline" }, prose(error.message)),
      name && h("p", {}, h("a", { href: of({ kind, namespace, name }) }, open))),
  ];
}

// --- The search box ------------------------------------------------------------------------------

let waiting;
find.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const here = route(location.hash);
    const searching = here.segments[0] === "search";
    const { kind, namespace, state } = searching ? here.parameters : {};
    const wanted = address(["search"], { q: find.value.trim(), kind, namespace, state });
    // One entry in the history for a search, not one for each letter.
    if (searching) location.replace(wanted);
    else location.hash = wanted;
  }, TYPING);
});
find.addEventListener("keydown", (event) => {
  if (event.key === "Enter") main.querySelector("[data-row]")?.click();
});

// --- Start ---------------------------------------------------------------------------------------

document.querySelector("[data-skip]").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

// From a resource, up is the list that led to it.
let from = "";

function up() {
  const above = viewOf(route(location.hash))?.up?.();
  if (!above) return;
  if (location.hash.startsWith("#/resource/") && /^#\/(search|workload)/.test(from)) history.back();
  else location.hash = above;
}

keyboard({ up });

addEventListener("hashchange", (event) => {
  from = new URL(event.oldURL).hash;
  leave(from);
  show();
});
setInterval(grow, GROWING);

let again = () => {};  // listens anew
show().then(() => {
  again = listen(
    (latest) => { if (latest === undefined || latest !== revision) show({ quiet: true }); },
    (connected) => {
      live.textContent = connected ? "live" : "not connected, trying again";
      live.classList.toggle("off", !connected);
    },
  );
});

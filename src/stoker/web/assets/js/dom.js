// Builds elements, and brings the ones on the page up to date.
//
// Data only ever becomes text: `h` makes text nodes of strings, and nothing here parses HTML. The
// whole page can therefore be fed with names and messages that strangers chose.

const SVG = "http://www.w3.org/2000/svg";

// h("a", {href: "#/", class: "name"}, "text", [more, nodes], null) -> element
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  // `condition && element` gives false or "" where there is nothing to show.
  element.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return element;
}

// A sentence in which `backticks` mark names, as in the terminal.
export function prose(text) {
  return String(text).split("`").map((part, index, all) => {
    const closed = index < all.length - 1;
    if (index % 2 === 0) return part;
    return closed ? h("code", {}, part) : "`" + part;
  });
}

// Shapes differ as well as colours, so that a state can be told without seeing colours.
const SHAPES = {
  good: "M3.5 8.5l3 3 6-7",
  bad: "M4 4l8 8M12 4l-8 8",
  warn: "M8 3v6.5M8 12.5v.1",
  none: "M4 8h8",
  wait: "M5.5 4v8M10.5 4v8",
  unknown: "M5.5 6a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.7-.9 1.4M8 12.6v.1",
};

const LOOKS = {
  "good": "good", "used": "good",
  "problem": "warn", "rejected": "bad", "down": "bad", "no targets": "warn",
  "unusable": "bad", "misspelt": "warn", "covered": "good", "not covered": "bad", "without pod": "none",
  "held": "wait", "not selected": "none", "unclear": "unknown", "unknown": "unknown",
};

// How something looks whose state is a word: good, bad, warn, none, wait or unknown.
export function look(word) {
  return LOOKS[word] ?? "unknown";
}

// The state of something: a shape, a colour and a word.
export function state(word, shown = word) {
  const shape = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: SHAPES[look(word)] }));
  return h("span", { class: `state ${look(word)}` }, shape, shown);
}

// A number as people read it: 10,000.
export function count(number) {
  return Number(number).toLocaleString("en");
}

// A version without the letter that some write before it; nothing where it is not known.
export function version(text) {
  return text ? `version ${text.replace(/^v/, "")}` : "";
}

export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// How long ago something was, which goes on by itself (`grow`); the time itself is beside it.
export function since(time) {
  if (!time) return null;
  return h("time", { datetime: time, title: time }, age(time));
}

const UNITS = [["day", 86400], ["h", 3600], ["min", 60], ["s", 1]];

function age(time) {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  if (Number.isNaN(seconds)) return time;
  const [name, size] = UNITS.find(([, each]) => seconds >= each) ?? UNITS.at(-1);
  const many = Math.floor(seconds / size);
  return `${many} ${name}${name === "day" && many !== 1 ? "s" : ""} ago`;
}

export function grow() {
  for (const each of document.querySelectorAll("time[datetime]")) {
    const text = age(each.dateTime);
    if (each.textContent !== text) each.textContent = text;
  }
}

// Shapes: svg("rect", {width: 3}) -> element
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

const HANDLERS = ["oninput", "onchange", "ontoggle", "onsubmit", "onclick"];

// Makes `old` look like `fresh`, keeping every element that can stay: with them stay focus, scroll
// positions, selections and what is folded. Children with `data-key` are found again by it.
export function morph(old, fresh) {
  syncAttributes(old, fresh);
  for (const name of HANDLERS) old[name] = fresh[name];
  if (old.tagName === "INPUT" || old.tagName === "SELECT") syncValue(old, fresh);
  if (old.tagName === "SELECT" && old === document.activeElement) return;
  const keyed = new Map();
  for (const child of old.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
  let place = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const match = counterpart(wanted, place, keyed);
    if (!match) {
      old.insertBefore(wanted, place);
      continue;
    }
    if (match === place) place = place.nextSibling;
    else old.insertBefore(match, place);
    if (match.nodeType === Node.TEXT_NODE) {
      if (match.data !== wanted.data) match.data = wanted.data;
    } else morph(match, wanted);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function counterpart(wanted, place, keyed) {
  const key = wanted.dataset?.key;
  if (key) {
    const found = keyed.get(key);
    return found?.tagName === wanted.tagName ? found : null;
  }
  const same = place && place.nodeType === wanted.nodeType && place.nodeName === wanted.nodeName;
  return same && !place.dataset?.key ? place : null;
}

function syncAttributes(old, fresh) {
  // What the reader has folded stays as it is.
  const kept = old.tagName === "DETAILS" ? "open" : "";
  for (const { name } of [...old.attributes]) {
    if (name !== kept && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (name !== kept && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

// What is being typed is not taken away.
function syncValue(old, fresh) {
  if (old !== document.activeElement && old.value !== fresh.value) old.value = fresh.value;
}

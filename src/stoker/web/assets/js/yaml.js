// YAML with colours, words that were searched for marked in it, and a button that copies it.
//
// It is read line by line, only for its looks: what is taken for something else is as readable.

import { h } from "./dom.js";

const LINE = /^(\s*(?:- )*)([\w.$/~-]+|"[^"]*"|'[^']*')(:)(?=\s|$)(.*)$/;
const MASKED = /^\s*<(?:Secret|ConfigMap) [^>]*>/;
const PLAIN = /^\s*(?:-?[\d.]+(?:[smhdwy]|ms|[KMGT]i?B?)?|true|false|null)\s*$/;

// The nodes of a text; `words` are marked wherever they are.
export function coloured(text, words = []) {
  return text.split("\n").flatMap((line, index, all) => {
    const end = index < all.length - 1 ? "\n" : "";
    return [...pieces(line, words), end];
  }).filter((piece) => piece !== "");
}

function pieces(line, words) {
  if (/^\s*#/.test(line)) return [span("comment", line, words)];
  const found = LINE.exec(line);
  if (!found) return value(line, words);
  const [, indent, key, colon, rest] = found;
  return [indent, span("key", key, words), colon, ...value(rest, words)];
}

function value(text, words) {
  if (!text.trim()) return [text];
  if (MASKED.test(text)) return [span("masked", text, words)];
  if (PLAIN.test(text)) return [span("number", text, words)];
  return marked(text, words);
}

function span(name, text, words) {
  return h("span", { class: `y-${name}` }, marked(text, words));
}

function marked(text, words) {
  const wanted = words.filter(Boolean);
  if (!wanted.length) return [text];
  const pattern = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  return text.split(new RegExp(`(${pattern})`, "gi"))
    .map((piece, index) => index % 2 ? h("mark", {}, piece) : piece);
}

const TOLD = 1500;

// Nothing where the browser lets nobody write to the clipboard.
export function copying(text) {
  if (!navigator.clipboard) return null;
  const onclick = async ({ currentTarget: button }) => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied";
    }
    setTimeout(() => { button.textContent = "Copy"; }, TOLD);
  };
  return h("button", { class: "copy", type: "button", onclick, "data-key": "copy" }, "Copy");
}

// #/search?q=…&kind=…&state=…&from=…: all resources, or those that match.

import { list, listed } from "./list.js";
import { trail } from "./parts.js";

export function load(route, signal) {
  return listed(route.parameters, "", signal);
}

export function title({ parameters }) {
  return parameters.q ? `Search: ${parameters.q}` : "Resources";
}

export function up() {
  return "#/";
}

export function render(found, route) {
  return [trail({ Overview: "#/" }), list(found, route, { own: false })];
}

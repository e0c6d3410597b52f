// Who looks: a form that takes a token of the cluster, where the server wants to know.

import { remember } from "./api.js";
import { h } from "./dom.js";

const HINT = "kubectl create token NAME --namespace NAMESPACE --duration 1h";
const OPEN = "This page came over a connection that others can read. A token is not asked for here: "
  + "open it over https, or through kubectl port-forward.";

// `refusal` is why the last token was not taken; `done` is called when there is another.
export function render(refusal, done) {
  return [
    h("header", { class: "head" },
      h("p", { class: "eyebrow" }, "stoker"),
      h("h1", { tabindex: "-1" }, "Log in"),
      h("p", { class: "headline" }, "You will see what your own rights in the cluster let you see.")),
    isSecureContext ? form(refusal, done) : h("p", { class: "banner", role: "alert" }, OPEN),
  ];
}

function form(refusal, done) {
  const input = h("input", {
    id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true,
    maxlength: 8000, "aria-describedby": "token-hint",
    "aria-invalid": refusal ? "true" : null,
  });
  const onsubmit = (event) => {
    event.preventDefault();
    const field = event.currentTarget.querySelector("input");
    remember(field.value.trim().replace(/^Bearer\s+/i, ""));
    field.value = "";
    done();
  };
  return h("form", { class: "login", onsubmit, "data-key": "login" },
    refusal && h("p", { class: "banner", role: "alert" }, `Not let in: ${refusal}.`),
    h("label", { for: "token" }, "Token"), input,
    h("p", { class: "aside", id: "token-hint" }, "A bearer token of this cluster: of a service "
      + "account, or of your own login. The tab forgets it when it is closed. ",
      h("code", {}, HINT)),
    h("button", {}, "Log in"));
}

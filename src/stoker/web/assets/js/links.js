// Addresses within the page: #/workload/KIND/NAMESPACE/NAME?parameter=value

export function address(segments, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value) query.set(name, value);
  const text = query.toString();
  return `#/${segments.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

// {segments: ["workload", "Prometheus", "monitoring", "main"], parameters: {q: "…"}}
export function route(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return {
    segments: path.split("/").filter(Boolean).map(decoded),
    parameters: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

const WORKLOADS = new Set(["Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler"]);

export function of(object, parameters) {
  const room = WORKLOADS.has(object.kind) ? "workload" : "resource";
  return address([room, object.kind, object.namespace, object.name], parameters);
}

// "ServiceMonitor shop/cart" -> {kind, namespace, name}, or null
export function object(title) {
  const found = /^(\w+) ([^/\s]*)\/(\S+)$/.exec(title);
  return found && { kind: found[1], namespace: found[2], name: found[3] };
}

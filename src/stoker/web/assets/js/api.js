// Asks the server, and listens for changes.

export class NotThere extends Error {
  constructor(answer) {
    super(answer.error || "there is no such thing");
    this.meant = answer.meant || "";
  }
}

export class Busy extends Error {}

// The answer to a question as JSON; throws NotThere for a 404, Busy where it is worth asking again
// in a moment, Error with a sentence otherwise.
export async function ask(path, signal) {
  const response = await fetch(path, { signal, headers: { Accept: "application/json" } });
  if (response.ok) return response.json();
  const told = await response.json().catch(() => ({}));
  if (response.status === 404) throw new NotThere(told);
  if (response.status === 503) throw new Busy(told.error || "the server is busy");
  throw new Error(told.error || `the server answers ${response.status}`);
}

// "/api/" + path segments + "?" + parameters; parameters without a value are left out.
export function url(segments, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "" && value !== null && value !== undefined) query.set(name, value);
  }
  const text = query.toString();
  return `/api/${segments.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

const AGAIN = 3000;

// Calls `changed(revision)` when something changed, and `connected(yes)` when the stream breaks or
// is there again. After a break it may be another server, whose numbers say nothing: `changed` is
// then called without one.
//
// A browser has six connections to a server, for all of its tabs together. Only the tab that is
// looked at keeps one of them for the stream.
export function listen(changed, connected) {
  let stream = null;
  let broken = false;

  function open() {
    stream = new EventSource("/api/events");
    stream.onopen = () => {
      connected(true);
      if (broken) changed();
      broken = false;
    };
    stream.addEventListener("revision", (event) => changed(event.data));
    stream.onerror = () => {
      broken = true;
      connected(false);
      // A browser tries again by itself, unless the server answered with an error.
      if (stream?.readyState === EventSource.CLOSED) setTimeout(look, AGAIN);
    };
  }

  function look() {
    stream?.close();
    stream = null;
    if (document.visibilityState === "visible") open();
    else broken = true;
  }

  addEventListener("pagehide", () => stream?.close());
  addEventListener("pageshow", (event) => { if (event.persisted) look(); });
  document.addEventListener("visibilitychange", look);
  look();
}

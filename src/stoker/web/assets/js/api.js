// Asks the server, and listens for changes; says who asks, where the reader has told it.
//
// The token is kept by the browser for this tab, until it is closed, and goes along with each
// request by name: no other site can have it sent, as one could a cookie.

export class NotThere extends Error {
  constructor(answer) {
    super(answer.error || "there is no such thing");
    this.meant = answer.meant || "";
  }
}

export class Busy extends Error {}

// Nobody knows who asks, or not any longer.
export class Stranger extends Error {}

const TOKEN = "stoker-token";
let kept = "";  // where the browser keeps nothing

export function token() {
  try { return sessionStorage.getItem(TOKEN) ?? ""; } catch { return kept; }
}

// "" forgets it.
export function remember(text) {
  kept = text;
  try {
    if (text) sessionStorage.setItem(TOKEN, text);
    else sessionStorage.removeItem(TOKEN);
  } catch { /* Then it lasts until the page is loaded anew. */ }
}

function signed(headers) {
  return token() ? { ...headers, Authorization: `Bearer ${token()}` } : headers;
}

// The answer to a question as JSON; throws NotThere for a 404, Busy where it is worth asking again
// in a moment, Stranger where one must log in, Error with a sentence otherwise.
export async function ask(path, signal) {
  const response = await fetch(path, { signal, headers: signed({ Accept: "application/json" }) });
  if (response.ok) return response.json();
  const told = await response.json().catch(() => ({}));
  if (response.status === 401) throw new Stranger(token() ? told.error : "");
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
// then called without one. Returns what begins anew, for somebody else perhaps.
//
// A browser has six connections to a server, for all of its tabs together. Only the tab that is
// looked at keeps one of them for the stream.
export function listen(changed, connected) {
  let stream = null;
  let broken = false;

  async function open() {
    const mine = stream = new AbortController();
    try {
      const headers = signed({ Accept: "text/event-stream" });
      const response = await fetch("/api/events", { signal: mine.signal, headers });
      // Whoever must log in is told so by what is asked next.
      if (response.status === 401) return changed();
      if (!response.ok) throw new Error(`the server answers ${response.status}`);
      connected(true);
      if (broken) changed();
      broken = false;
      await read(response.body, changed);
      throw new Error("the stream has ended");
    } catch {
      if (mine.signal.aborted) return undefined;
      broken = true;
      connected(false);
      setTimeout(() => mine === stream && look(), AGAIN);
    }
    return undefined;
  }

  function look() {
    stream?.abort();
    stream = null;
    if (document.visibilityState === "visible") open();
    else broken = true;
  }

  addEventListener("pagehide", () => stream?.abort());
  addEventListener("pageshow", (event) => { if (event.persisted) look(); });
  document.addEventListener("visibilitychange", look);
  look();
  return look;
}

// Server-sent events, of which only one has data: the revision.
async function read(body, told) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data: ")) told(line.slice(6));
  }
}

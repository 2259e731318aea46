/* api.js -- requests to the gateway.
 *
 * The token is in the sessionStorage of the tab: a reload keeps it, another tab or a closed
 * tab does not have it. It is sent in a header, which EventSource cannot do, so this file
 * parses server-sent events itself. */
import { say, sayError } from "./words.js";

const kept = "chela.token";
let token = sessionStorage.getItem(kept) ?? "";
let onRefused = () => {}; /* called when the token is refused */

export const hasToken = () => token !== "";

export function setToken(text) {
  token = text;
  if (text) sessionStorage.setItem(kept, text);
  else sessionStorage.removeItem(kept);
}

export function whenRefused(fn) {
  onRefused = fn;
}

/* status 0: the gateway could not be reached. */
export class Failure extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function send(method, path, { body, headers, signal } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method, signal, cache: "no-store", credentials: "omit",
      headers: { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }), ...headers },
      body: body && JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(0, say(navigator.onLine ? "trouble.away" : "trouble.offline"));
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => null);
  if (response.status === 401) onRefused();
  const message = said?.error?.message ?? response.statusText;
  throw new Failure(response.status, sayError(response.status, message), said?.error?.code);
}

export async function ask(method, path, body, headers) {
  return (await send(method, path, { body, headers })).json();
}

export async function askText(path) {
  return (await send("GET", path)).text();
}

export function pathOf(key, rest = "") {
  return `/api/sessions/${encodeURIComponent(key)}${rest}`;
}

const beyond = 999999999; /* above the number of every record */

/* The last records of a session below the number `before`; live: a run is in progress. An
 * answer may end early because of its size. */
export async function recordsOf(key, limit, before = beyond) {
  let { records, live, next } = await ask("GET", pathOf(key, `/records?limit=${limit}&before=${before}`));
  while (next) {
    const more = await ask("GET", pathOf(key, `/records?after=${next}&before=${before}`));
    records = [...records, ...more.records];
    next = more.next;
  }
  return { records, live };
}

export async function allRecordsOf(key) {
  const all = [];
  for (let after = 0; ;) {
    const { records, live, next } = await ask("GET", pathOf(key, `/records?after=${after}`));
    all.push(...records);
    if (!next) return { records: all, live };
    after = next;
  }
}

/* A random key under which a request may be repeated. */
export function onceKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

/* Parses server-sent events from chunks of bytes, wherever they are split. */
class EventReader {
  constructor(emit) {
    this.emit = emit;
    this.rest = "";
    this.clear();
  }
  clear() {
    this.name = "";
    this.data = [];
  }
  feed(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const line of lines) this.line(line.replace(/\r$/, ""));
  }
  line(line) {
    if (line === "") {
      if (this.data.length) this.emit({ name: this.name, id: this.id, data: this.data.join("\n") });
      this.clear();
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (field === "data") this.data.push(value);
    else if (field === "event") this.name = value;
    else if (field === "id") this.id = value;
  }
}

/* Follows a stream of events after the event `last`. Calls opened when the stream is open.
 * Returns when the connection ends; throws when it fails. */
export async function follow(path, last, signal, opened, emit) {
  const response = await send("GET", path, { headers: last ? { "Last-Event-ID": last } : {}, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventReader(emit);
  opened();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    events.feed(value);
  }
}

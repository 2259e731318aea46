/* api.js -- requests to the gateway.
 *
 * The token is held in a variable of this script and nowhere else. It is sent in a header,
 * which EventSource cannot do, so this file parses server-sent events itself. */

let token = "";
let onRefused = () => {}; /* called when the token is refused */

class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function send(method, path, { body, headers, signal } = {}) {
  const response = await fetch(path, {
    method, signal, cache: "no-store", credentials: "omit",
    headers: { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }), ...headers },
    body: body && JSON.stringify(body),
  });
  if (response.ok) return response;
  if (response.status === 401) onRefused();
  const said = await response.json().catch(() => null);
  throw new Failure(response.status, said?.error?.message ?? `${response.status} ${response.statusText}`);
}

async function ask(method, path, body) {
  return (await send(method, path, { body })).json();
}

function pathOf(key, rest = "") {
  return `/api/sessions/${encodeURIComponent(key)}${rest}`;
}

/* All records of a session, page by page. live: a run is in progress. */
async function recordsOf(key) {
  const all = [];
  for (let after = 0; ;) {
    const { records, live, next } = await ask("GET", pathOf(key, `/records?after=${after}`));
    all.push(...records);
    if (!next) return { records: all, live };
    after = next;
  }
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

/* Follows a session's events after the event `last`. Returns when the connection ends;
 * throws when it fails. */
async function follow(key, last, signal, emit) {
  const response = await send("GET", pathOf(key, "/events"), { headers: { "Last-Event-ID": last }, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventReader(emit);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    events.feed(value);
  }
}

/* session.js -- the open session: its records, its events, the message field.
 *
 * A page of records is loaded when a session is opened, earlier ones on demand. Drafts are
 * kept by session in localStorage. A message that could not be sent returns to the field;
 * sending the same text again uses the same idempotency key, so that it arrives once. */
import { ask, askText, follow, onceKey, pathOf, recordsOf } from "./api.js";
import { attached, filesBlocks, filesBody, setFiles } from "./attach.js";
import { Chat } from "./chat.js";
import { plain } from "./content.js";
import { $, confirmed, download, eachFrame, make } from "./dom.js";
import { decidedAs } from "./human.js";
import { say, sayStatus } from "./words.js";

const pageSize = 200; /* records that are loaded at once */

export const state = {
  sessions: [],
  agents: [],        /* of the gateway: [{id, model, ...}] */
  key: null,         /* of the open session; null: a page is open */
  fresh: false,      /* has no message yet: the gateway does not know it */
  gone: false,       /* was deleted elsewhere */
  status: "idle",    /* running, paused, interrupted, idle */
  view: "chat",
  first: 0,          /* number of the first record that is shown */
  records: [],       /* that are shown */
  live: false,
  following: null,   /* AbortController of the event stream */
  older: null,       /* the open session, if the list does not have it */
  posting: null,     /* promise of the message being sent */
  mine: new Set(),   /* runs that this page began */
  held: null,        /* [event, fresh]: that wait for the input of their run; null: none wait */
  last: "",          /* position of the last event */
  loaded: 0,         /* number of the last record that was loaded; later ones come as events */
  pinned: true,      /* the view shows the end */
  once: null,        /* {text, key}: of a message that may have arrived */
};

/* Set by app.js: changed() after the list of sessions may have changed, entitle(), noted(e)
 * for each event, address(path) sets the URL without navigating. */
export const hooks = {};

export const chat = new Chat($("chat"), {
  began: (e) => { setStatus("running"); if (e.seq === 0 && !chat.inputs.has(e.run)) showInput(e.run); },
  resumed: () => setStatus("running"),
  ended: (e) => {
    setStatus(e.status === "paused" ? "paused" : "idle");
    if (e.status === "paused") fillWaiting();
    completeRun(e);
  },
  asked: () => fillWaiting(),
  made: () => { clearTimeout(state.making); state.making = setTimeout(fillMedia, 400); },
  decide, answer, takeOver, delivered, edit, again,
  openRun: (run) => { location.hash = sessionPath(state.key, `/r/${encodeURIComponent(run)}`); },
});

/* --- trouble: what went wrong, by kind; the connection's own passes when it is back */

const troubles = new Map();
export function trouble(what, kind = "error") {
  if (what) troubles.set(kind, what?.message ?? String(what));
  else troubles.delete(kind);
  const text = [...troubles.values()].join("  ·  ");
  $("trouble").hidden = !text;
  if ($("trouble").textContent !== text) $("trouble").textContent = text;
}

/* The row of a session. The list has the newest sessions only. */
export const known = (key) => state.sessions.find((s) => s.key === key) ?? (state.older?.key === key ? state.older : null);

export const sessionPath = (key, rest = "") => `#/s/${encodeURIComponent(key)}${rest}`;

/* --- drafts */

const draftOf = (key) => `chela.draft.${key}`;
const draftKey = () => draftOf(state.fresh ? "new" : state.key);

/* A text that has no room is not kept: it stays in the field. */
function keepText(key, text) {
  localStorage.removeItem(key);
  try { if (text) localStorage.setItem(key, text); } catch { /* the quota */ }
}

export function keepDraft() {
  keepText(draftKey(), $("say").value);
}

export function forgetDrafts() {
  for (const key of Object.keys(localStorage)) if (key.startsWith("chela.draft.")) localStorage.removeItem(key);
}

function fillField(text) {
  $("say").value = text;
  keepDraft();
  grow();
}

/* --- the composer */

export function setStatus(status) {
  state.status = status;
  const running = status === "running", waits = status === "paused";
  $("status").textContent = state.fresh ? "" : state.gone ? say("status.gone") : sayStatus(status);
  $("status").dataset.status = state.gone ? "error" : status;
  $("cancel").hidden = !running;
  $("take").hidden = !running && !waits;
  $("resume").hidden = status !== "interrupted";
  $("more").hidden = state.fresh || !state.key;
  $("delete").disabled = $("undo").disabled = running;
  const settled = running || waits;
  $("agent").hidden = settled || state.agents.length < 2;
  $("model").hidden = $("reasoning").hidden = settled;
  $("attach").hidden = settled;
  offerModes();
}

/* What sending does now: run, steer or follow_up; for a call that waits: deny, answer or
 * result; none. */
export function sendsAs() {
  if (state.gone) return "none";
  if (state.status === "running") return $("mode").value || "steer";
  if (state.status !== "paused") return "run";
  const [card] = chat.waiting();
  return !card ? "none" : card.decide ? "deny" : card.asks ? "answer" : "result";
}

export function offerModes() {
  const running = state.status === "running", before = $("mode").value;
  $("mode").replaceChildren(...(running ? ["steer", "follow_up"] : []).map((m) => make("option", { value: m }, say(`mode.${m}`))));
  if (running && before) $("mode").value = before;
  $("mode").hidden = !running;
  const how = sendsAs(), calls = chat.waiting().filter((c) => c.decide).length;
  $("say").placeholder = say({ run: "chat.ask", steer: "chat.more", follow_up: "chat.more", deny: "chat.deny", answer: "chat.reply", result: "chat.give", none: state.gone ? "chat.gone" : "chat.wait" }[how]);
  $("send").textContent = say({ answer: "chat.answer", deny: "ask.deny", result: "chat.answer" }[how] ?? "chat.send");
  $("send").classList.toggle("primary", how !== "deny");
  $("send").classList.toggle("danger", how === "deny");
  $("send").disabled = how === "none";
  const note = how === "deny" ? (calls > 1 ? say("note.denies", calls) : say("note.deny")) : how === "result" ? say("note.result") : "";
  $("field-note").textContent = note;
  $("field-note").hidden = !note;
}

export function grow() {
  const field = $("say");
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, innerHeight / 3)}px`;
}

function reflectAgent() {
  const agent = state.agents.find((a) => a.id === $("agent").value);
  const models = new Set(state.agents.flatMap((a) => a.models ?? []));
  const kept = $("model").value;
  $("model").replaceChildren(make("option", { value: "" }, agent?.models?.[0] ? say("chat.model.own", agent.models[0].split("/").at(-1)) : say("chat.model")),
    ...[...models].map((m) => make("option", { value: m }, m)), make("option", { value: "…" }, say("chat.model.other")));
  if ([...$("model").options].some((o) => o.value === kept)) $("model").value = kept;
}

export function fillChoices() {
  $("agent").replaceChildren(...state.agents.map((a) => make("option", { value: a.id }, a.name && a.name !== a.id ? `${a.name} (${a.id})` : a.id)));
  $("reasoning").replaceChildren(...["", "off", "minimal", "low", "medium", "high", "xhigh", "max"].map((r) => make("option", { value: r }, say(r ? `reasoning.${r}` : "chat.reasoning"))));
  reflectAgent();
}

$("agent").addEventListener("change", reflectAgent);
$("model").addEventListener("change", async () => {
  if ($("model").value !== "…") return;
  const field = make("input.mono", { "aria-label": say("chat.model"), placeholder: "provider/model", spellcheck: "false", autocapitalize: "off" });
  const yes = await confirmed({ title: say("chat.model"), more: field, yes: say("chat.use"), danger: false });
  const name = field.value.trim();
  if (yes && name) {
    $("model").lastChild.before(make("option", { value: name }, name));
    $("model").value = name;
  } else $("model").value = "";
});

/* --- scrolling */

export function atEnd() {
  const s = $("scroll");
  return s.scrollHeight - s.scrollTop - s.clientHeight < 80;
}

/* The scroll event of a change comes a frame later. A position that the page itself set is
 * noted at once, so that only a person's scrolling counts as leaving the end. */
let top = 0;
function showEnd() {
  $("scroll").scrollTop = $("scroll").scrollHeight;
  top = $("scroll").scrollTop;
}
const toEndSoon = eachFrame(showEnd);
export function toEnd() {
  state.pinned = true;
  toEndSoon();
}

/* The height of messages outside the view is an estimate, so the end moves when they are
 * drawn. */
new ResizeObserver(() => { if (state.pinned) showEnd(); }).observe($("chat"));

/* Only scrolling up leaves the end. */
export function onScroll() {
  const now = $("scroll").scrollTop, end = atEnd();
  if (end) state.pinned = true;
  else if (now < top - 1) state.pinned = false;
  top = now;
  $("latest").hidden = end || state.pinned;
  if (now < 200 && state.first > 1 && !state.pinned) loadEarlier();
}

/* --- opening */

export function leaveSession() {
  state.following?.abort();
  state.following = null;
  state.last = "";
  state.loaded = 0;
  state.records = [];
  state.first = 0;
  state.gone = false;
  state.pinned = true;
  state.once = state.held = null;
  chat.clear();
  top = 0;
  setFiles([]);
  hooks.cleared?.();
  troubles.clear();
  trouble(null);
  $("earlier").hidden = true;
}

function newKey() {
  return `web:${[...crypto.getRandomValues(new Uint8Array(6))].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
}

/* Opens a new session; its first message creates it in the gateway. */
export function beginSession(text) {
  leaveSession();
  state.key = newKey();
  state.fresh = true;
  state.status = "idle";
  chat.put(make("p.hello", {}, say("chat.empty")));
  $("say").value = text ?? localStorage.getItem(draftKey()) ?? "";
  setStatus("idle");
  hooks.entitle();
  grow();
  watchNotices();
  $("say").focus();
}

export async function openSession(key) {
  leaveSession();
  state.key = key;
  state.fresh = false;
  state.status = "idle";
  hooks.entitle();
  $("say").value = localStorage.getItem(draftKey()) ?? "";
  grow();
  chooseAgent(key);
  chat.put(make("p.hello.loading", {}, say("chat.loading")));
  setStatus("idle");
  try {
    if (!known(key)) state.older = await ask("GET", pathOf(key, "?limit=1")).catch(() => null);
    const { records, live } = await recordsOf(key, pageSize);
    if (state.key !== key) return;
    chooseAgent(key);
    hooks.entitle();
    chat.clear();
    take(records, live);
    setStatus(chat.load(records, live));
    if (state.status === "idle") pendings().forEach(undelivered);
    if (state.status === "paused") await fillWaiting();
  } catch (error) {
    if (state.key !== key) return;
    chat.clear();
    if (error.status === 404) lost();
    else trouble(error);
    watchNotices();
    return;
  }
  toEnd();
  hooks.opened?.();
  watch(key);
}

/* The agent of the session answers, unless the person chooses another one. */
function chooseAgent(key) {
  const session = known(key);
  if (session && state.agents.some((a) => a.id === session.agent)) { $("agent").value = session.agent; reflectAgent(); }
}

function take(records, live) {
  state.records = records;
  state.live = live;
  state.first = records[0]?.seq ?? 0;
  state.loaded = records.at(-1)?.seq ?? 0;
  $("earlier").hidden = state.first <= 1;
}

/* In pages, because an answer has at most 1,000 records. */
async function earlierRecords(key, limit, before) {
  let all = [];
  for (let left = limit; left > 0 && before > 1; left -= 1000) {
    const { records } = await recordsOf(key, Math.min(left, 1000), before);
    all = [...records, ...all];
    before = records[0]?.seq ?? 0;
  }
  return { records: all };
}

/* Loads earlier records; back to the record `to` at least. */
export async function loadEarlier(to) {
  if (state.first <= 1 || state.loading) return;
  const key = state.key, s = $("scroll"), before = s.scrollHeight - s.scrollTop;
  const limit = to ? Math.max(pageSize, state.first - to + 20) : pageSize;
  state.loading = true;
  try {
    const { records } = await earlierRecords(key, limit, state.first);
    if (state.key !== key) return;
    chat.loadEarlier(records);
    state.records = [...records, ...state.records];
    state.first = records[0]?.seq ?? 0;
    $("earlier").hidden = state.first <= 1;
    s.scrollTop = s.scrollHeight - before;
  } catch (error) {
    trouble(error);
  } finally {
    state.loading = false;
  }
}

/* The session does not exist any more. */
export function lost() {
  state.gone = true;
  trouble(say("trouble.gone"));
  setStatus("idle");
}

/* --- events */

/* The pieces of a reply in progress come again on a new connection. */
function forgetPieces() {
  chat.replacePieces();
  state.held?.splice(0, Infinity, ...state.held.filter(([event]) => !event.ephemeral));
}

/* Follows a stream and reconnects when the connection breaks. */
async function listen(pathOfStream, onEvent) {
  const control = state.following = new AbortController();
  let wait = 500;
  while (!control.signal.aborted) {
    try {
      await follow(pathOfStream(), state.last, control.signal, () => { wait = 500; state.connected = true; forgetPieces(); trouble(null, "line"); hooks.changed(); },
        (e) => { if (!control.signal.aborted) onEvent(e); });
    } catch (error) {
      if (control.signal.aborted) return;
      if (error.status === 404) { lost(); watchNotices(); return; }
      if (error.status === 401) return;
    }
    if (control.signal.aborted) return;
    state.connected = false;
    trouble(say(navigator.onLine ? "trouble.cut" : "trouble.offline"), "line");
    await new Promise((resolve) => { state.retry = resolve; setTimeout(resolve, wait); });
    wait = Math.min(wait * 2, 15000);
  }
}

/* The events of the loaded records come, too, for the view of events. */
function watch(key) {
  state.following?.abort();
  state.last ||= String(Math.max(state.first - 1, 0));
  listen(() => pathOf(key, "/events?notices=1"), (e) => onEvent(e, key));
}

export function watchNotices() {
  state.following?.abort();
  state.last = "";
  listen(() => "/api/events", (e) => { if (e.name === "sessions") hooks.changed(); });
}

addEventListener("online", () => { if (state.connected) trouble(null, "line"); state.retry?.(); });
addEventListener("offline", () => trouble(say("trouble.offline"), "line"));

function onEvent({ name, id, data }, key) {
  if (name === "sessions") { hooks.changed(); return; }
  if (name === "gap") { openSession(key); return; } /* another conversation has the key */
  state.last = id;
  const event = JSON.parse(data), fresh = event.ephemeral || parseInt(id, 10) > state.loaded;
  if (state.held) state.held.push([event, fresh]);
  else showEvent(event, fresh);
}

function showEvent(event, fresh) {
  if (fresh) chat.event(event);
  hooks.noted(event, fresh);
  if (state.pinned && !event.type.endsWith("_delta")) toEnd(); /* text that grows: the observer */
}

/* Shows the input of a run that another client began, from the records. The events of the run
 * wait for the input. */
async function showInput(run) {
  const key = state.key, held = state.held = [];
  await state.posting?.catch(() => {});
  const ours = state.mine.has(run) || state.held !== held;
  const { records } = ours ? { records: [] } : await recordsOf(key, pageSize).catch(() => ({ records: [] }));
  if (state.held !== held) return; /* another session is open */
  const input = records.find((r) => r.type === "inbound" && r.data.run === run && r.data.mode === "start");
  if (input) {
    pendingOf(plain(input.data.message.content))?.remove();
    chat.seq = input.seq;
    chat.run = run;
    chat.user(input.data.message.content, null, true);
    chat.inputs.set(run, { seq: input.seq, content: input.data.message.content });
    chat.seq = null;
  }
  state.held = null;
  while (held.length && !state.held) showEvent(...held.shift());
  state.held?.push(...held); /* a later run waits for its own input */
}

/* After a run: media of its records, and what became of messages that waited for it. */
async function completeRun(e) {
  const key = state.key;
  hooks.changed();
  if (e.status === "paused") return;
  try {
    const { records } = await recordsOf(key, pageSize);
    if (state.key !== key) return;
    state.records = [...state.records.filter((r) => r.seq < (records[0]?.seq ?? 0)), ...records];
    const stuck = atEnd();
    chat.complete(records);
    for (const r of records) $("chat").querySelector(`.user.pending[data-seq="${r.data.of}"]`)?.remove();
    const began = records.filter((r) => r.type === "inbound" && r.data.run !== e.run).map((r) => textIn(r.data.message?.content));
    if (state.status !== "running") for (const bubble of pendings()) if (!began.includes(bubble.dataset.text)) undelivered(bubble);
    if (stuck || state.pinned) toEnd();
  } catch (error) {
    if (error.status !== 404) trouble(error);
  }
}

/* Loads what the model has made during the run. */
async function fillMedia() {
  const key = state.key;
  const { records } = await recordsOf(key, 50).catch(() => ({ records: [] }));
  if (state.key !== key) return;
  chat.complete(records);
  if (state.pinned) toEnd();
}

const pendings = () => [...$("chat").querySelectorAll(".user.pending")];
const pendingOf = (text) => [...$("chat").querySelectorAll(".user:is(.pending, .sending, .undelivered)")].find((b) => b.dataset.text === text);

/* The run ended before it took the message. */
function undelivered(bubble) {
  bubble.classList.replace("pending", "undelivered");
  bubble.querySelector(".badge").textContent = say("chat.undelivered");
  bubble.append(make("span.tools-of.shown", {}, make("button.small", { type: "button", onclick: () => { const text = bubble.dataset.text; bubble.remove(); sendText(text, []); } }, say("chat.sendnow"))));
}

/* The run has received a message that was sent during it. */
function delivered(e, mode) {
  pendingOf(e.text)?.remove();
  chat.user(e.text, say(mode === "steer" ? "chat.steered" : "chat.followed"));
}

/* --- sending */

function post(body) {
  const text = JSON.stringify(body);
  if (state.once?.text !== text) state.once = { text, key: onceKey() };
  return ask("POST", pathOf(state.key, "/messages"), body, { "Idempotency-Key": state.once.key });
}

export async function speakUp(event) {
  event?.preventDefault();
  const text = $("say").value.trim(), files = attached(), how = sendsAs();
  if ((!text && !files.length) || state.posting || how === "none") return;
  if (["deny", "answer", "result"].includes(how)) { await instead(how, text); return; }
  fillField("");
  setFiles([]);
  await sendText(text, files);
}

/* Sends a message; if that fails, the text returns to the field. */
async function sendText(text, files) {
  const key = state.key, running = state.status === "running", agent = $("agent").value;
  const body = { text, ...filesBody(files), ...(running ? { mode: $("mode").value } : {
    agent, ...($("model").value && { model: $("model").value }), ...($("reasoning").value && { reasoning: $("reasoning").value }) }) };
  if (state.fresh) chat.clear();
  chat.seq = chat.run = null;
  const content = [{ type: "text", text }, ...filesBlocks(files)];
  const bubble = running ? chat.queued(content, say("chat.waits")) : chat.user(content, null, true);
  if (!running) bubble.classList.add("sending");
  bubble.dataset.text = text;
  toEnd();
  try {
    const answer = await (state.posting = post(body));
    state.once = null;
    trouble(null);
    if (answer.delivery === "run") {
      state.mine.add(answer.run);
      bubble.classList.remove("pending", "sending");
      bubble.dataset.run = answer.run;
    }
    if (state.fresh && state.key === key) {
      state.fresh = false;
      localStorage.removeItem(draftOf("new"));
      hooks.address(sessionPath(key));
      setStatus("running");
      watch(key);
      hooks.changed();
    }
  } catch (error) {
    bubble.remove();
    if (state.key === key) {
      fillField([text, $("say").value.trim()].filter(Boolean).join("\n"));
      setFiles([...files, ...attached()]);
    } else keepText(draftOf(key), text);
    trouble(say("trouble.unsent", error.message));
  } finally {
    state.posting = null;
  }
}

/* Text for a call that waits: the reason of a denial, the answer to a question, a result. */
async function instead(how, text) {
  const waiting = chat.waiting(), cards = how === "deny" ? waiting.filter((c) => c.decide) : waiting.slice(0, 1);
  fillField("");
  state.posting = (async () => {
    for (const card of cards) {
      const sent = how === "deny" ? await decide(card, "deny", text) : await answer(card, text);
      if (!sent) { fillField(text); return; }
    }
  })();
  await state.posting;
  state.posting = null;
}

/* Ends the run with a text of the user's own, after a question. */
export async function askTakeOver() {
  if (!["running", "paused"].includes(state.status)) return;
  const field = make("textarea", { rows: 4, "aria-label": say("take.text") });
  field.value = $("say").value;
  const yes = await confirmed({ title: say("take.title"), note: say("take.note"), more: field, yes: say("ask.take.do") });
  const text = field.value.trim();
  if (!yes || !text) return;
  try {
    await post({ text, mode: "take_over" });
    state.once = null;
    for (const card of chat.waiting()) card.decided("ask.taken");
    fillField("");
  } catch (error) {
    fillField(text);
    trouble(say("trouble.unsent", error.message));
  }
}

export async function cancel() {
  if (state.status !== "running") return;
  try {
    await ask("POST", pathOf(state.key, "/cancel"), {});
  } catch (error) {
    if (error.status !== 409) trouble(error);
  }
}

/* Resumes an interrupted run. */
export async function resume() {
  if (state.status !== "interrupted") return;
  setStatus("running"); /* its events may come before the answer does */
  try {
    await ask("POST", pathOf(state.key, "/messages"), { resume: true });
  } catch (error) {
    setStatus("interrupted");
    trouble(error);
  }
}

/* --- pending decisions */

/* Loads the exact arguments of the waiting calls from the gateway; the events hold a
 * summary only. */
async function fillWaiting() {
  const key = state.key;
  let list;
  try {
    list = await ask("GET", "/api/approvals");
  } catch (error) {
    trouble(error);
    return;
  }
  if (state.key !== key) return;
  const stuck = atEnd();
  for (const w of list.approvals) chat.consents.get(w.approval_id)?.show(w.arguments);
  for (const w of list.unanswered) if (w.session === key) chat.unanswered(w.id, w.name, w.arguments);
  for (const w of [...list.approvals, ...list.unanswered]) if (w.session === key) chat.tools.get(w.id)?.arguments(w.arguments);
  if (state.status === "paused") offerModes();
  if (stuck || state.pinned) toEnd();
}

/* Sends a decision; resolves with whether it was taken. An error is shown on the card; a call
 * that another person has decided about is closed. */
export async function settle(card, word, given, send) {
  let taken = true;
  card.ready(false);
  try {
    await send();
    card.decided(word, given);
    trouble(null);
    if (card.node.contains(document.activeElement) || document.activeElement === document.body) $("say").focus();
  } catch (error) {
    taken = false;
    if (error.status === 404 || error.status === 409) card.decided("ask.gone");
    else card.refused(error.message);
    if (![400, 404].includes(error.status)) trouble(say("trouble.unsent", error.message));
  }
  if (state.status === "paused") offerModes();
  return taken;
}

/* The member of the request that holds the text of a decision. */
const wordsFor = { edit: "arguments", answer: "content", "take-over": "text", deny: "reason" };

export function decide(card, decision, words) {
  const body = { decision, ...(words && { [wordsFor[decision]]: words }) };
  return settle(card, decidedAs[decision], words, () => ask("POST", `/api/approvals/${encodeURIComponent(card.id)}`, body));
}

function answer(card, text) {
  return settle(card, "ask.replied", text, () => ask("POST", pathOf(card.session ?? state.key, "/messages"), { results: [{ id: card.id, content: text }] }));
}

function takeOver(card, text) {
  return settle(card, "ask.taken", null, () => ask("POST", pathOf(card.session ?? state.key, "/messages"), { text, mode: "take_over" }));
}

export const answerCard = answer;
export const takeOverCard = takeOver;

/* --- copies: fork, edit, regenerate, undo. A copy is a new session; the original stays. */

async function forkTo(body) {
  const { session } = await ask("POST", pathOf(state.key, "/fork"), body);
  return session;
}

export async function fork() {
  try {
    location.hash = sessionPath(await forkTo({}));
    hooks.changed();
  } catch (error) {
    trouble(error);
  }
}

/* Opens a copy that ends before the message with this record; a new session if nothing comes
 * before it. */
async function openBefore(seq) {
  const agent = known(state.key)?.agent ?? $("agent").value;
  const session = await forkTo({ before: Number(seq) });
  if (session) {
    hooks.address(sessionPath(session));
    await openSession(session);
  } else {
    hooks.address("#/new");
    beginSession("");
    if (state.agents.some((a) => a.id === agent)) { $("agent").value = agent; reflectAgent(); }
  }
}

const fileOf = (b, i) => ({ name: b.name || `${b.type}-${i + 1}`, type: b.media_type, size: (b.data.length * 3) / 4, url: `data:${b.media_type};base64,${b.data}` });
const filesIn = (content) => (Array.isArray(content) ? content : []).filter((b) => b.media_type && b.data).map(fileOf);
const textIn = (content) => (typeof content === "string" ? content : (content ?? []).filter((b) => b.type === "text").map((b) => b.text).join("\n"));

async function inputOf(run) {
  const known = chat.inputs.get(run);
  if (known?.seq) return known;
  const { records } = await recordsOf(state.key, pageSize);
  chat.complete(records);
  return chat.inputs.get(run);
}

async function again(run) {
  if (state.status === "running") return;
  try {
    const input = await inputOf(run);
    if (!input) return;
    await openBefore(input.seq);
    await sendText(textIn(input.content), filesIn(input.content));
  } catch (error) {
    trouble(error);
  }
}

export async function undo() {
  const run = state.records.findLast((r) => r.type === "inbound" && r.data.mode === "start")?.data.run ?? [...chat.inputs.keys()].at(-1);
  if (!run || state.status === "running") return;
  try {
    const input = await inputOf(run);
    await openBefore(input.seq);
    fillField(textIn(input.content));
    setFiles(filesIn(input.content));
    $("say").focus();
  } catch (error) {
    trouble(error);
  }
}

/* Turns a message into a field; sending it opens a copy of the session. */
function edit(bubble) {
  if (state.status === "running" || bubble.querySelector("textarea")) return;
  const shown = [...bubble.childNodes], field = make("textarea", { rows: 3, "aria-label": say("chat.edit") });
  field.value = textIn(bubble.content);
  const back = () => bubble.replaceChildren(...shown);
  const send = async () => {
    const text = field.value.trim();
    if (!text) return;
    try {
      const seq = bubble.dataset.seq ?? (await inputOf(bubble.dataset.run))?.seq;
      if (!seq) return;
      await openBefore(seq);
      await sendText(text, filesIn(bubble.content));
    } catch (error) {
      trouble(error);
    }
  };
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { event.stopPropagation(); back(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
  });
  bubble.replaceChildren(make("div.stack.editing", {}, field, make("p.quiet", {}, say("chat.edit.note")),
    make("div.buttons", {}, make("button.small.primary", { type: "button", onclick: send }, say("chat.edit.send")), make("button.small", { type: "button", onclick: back }, say("ask.back")))));
  field.focus();
}

/* --- rename, export, delete */

export async function rename() {
  const session = known(state.key);
  const field = make("input", { "aria-label": say("bar.rename"), maxlength: 200 });
  field.value = session?.title || "";
  if (!await confirmed({ title: say("bar.rename"), more: field, yes: say("rename.yes"), danger: false }) || !field.value.trim()) return;
  try {
    await ask("POST", pathOf(state.key), { title: field.value.trim() });
    hooks.changed();
  } catch (error) {
    trouble(error);
  }
}

function markdownOf(title, records) {
  const out = [`# ${title}`];
  for (const { type, ts, data } of records) {
    const m = data.message;
    if (type === "inbound") out.push(`## ${say("chat.you")} · ${new Date(ts).toISOString()}`, textIn(m?.content));
    if (type === "message" && m?.role === "assistant") {
      for (const b of m.content ?? []) {
        if (b.type === "text") out.push(`## ${say("chat.it")} · ${new Date(ts).toISOString()}`, b.text);
        if (b.type === "tool_call") out.push(`### ${b.name}`, `\`\`\`\`json\n${JSON.stringify(b.arguments ?? b.arguments_raw, null, 2)}\n\`\`\`\``);
      }
    }
    if (type === "done") out.push(`\`\`\`\`text\n${plain(m?.content?.[0]?.content)}\n\`\`\`\``);
  }
  return `${out.join("\n\n")}\n`;
}

export async function exportAs(kind) {
  const name = ($("title").textContent || state.key).replace(/[^\p{L}\p{N}._ -]+/gu, "-").slice(0, 60);
  try {
    const text = await askText(pathOf(state.key, "/export"));
    const records = text.trim().split("\n").slice(1).map((line) => JSON.parse(line));
    if (kind === "md") download(`${name}.md`, markdownOf($("title").textContent, records), "text/markdown");
    else download(`${name}.jsonl`, text, "application/jsonl");
  } catch (error) {
    trouble(error);
  }
}

export async function remove() {
  const key = state.key;
  if (state.fresh || !key || state.status === "running") return;
  if (!await confirmed({ title: say("sure.title"), what: $("title").textContent, note: say("sure.note"), yes: say("sure.yes") })) return;
  state.following?.abort();
  try {
    await ask("DELETE", pathOf(key));
    localStorage.removeItem(draftOf(key));
    location.hash = "#/new";
  } catch (error) {
    trouble(error);
    watch(key);
  }
  hooks.changed();
}

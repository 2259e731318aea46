/* app.js -- the page: token, list of sessions, the open session, sending, keyboard. */

const every = 4000; /* ms between two refreshes of the list of sessions */

const app = {
  sessions: [],
  hits: { text: "", list: [] }, /* of a search in messages */
  searching: 0,
  agents: [],
  key: null,      /* of the open session */
  fresh: false,   /* has no message yet: the gateway does not know it */
  status: "idle", /* running, paused, idle */
  mode: null,     /* delivery mode chosen by the user; reset when the status changes */
  view: "chat",
  following: null,   /* AbortController of the event stream */
  posting: null,     /* promise of the message being sent */
  mine: new Set(),   /* runs that this page began */
  last: "",          /* id of the last event */
};

const log = new Log($("view-log"));
const chat = new Chat($("chat"), {
  began: (e) => { setStatus("running"); if (e.seq === 0) showInput(e.run); },
  resumed: () => setStatus("running"),
  ended: (e) => {
    setStatus(e.status === "paused" ? "paused" : "idle");
    if (e.status === "paused") fillWaiting();
    if (chat.missed) openSession(app.key);
    listSessions();
  },
  asked: () => fillWaiting(),
  decide,
  answer,
  takeOver,
  delivered,
});

/* --- the token */

function locked(why) {
  token = "";
  app.following?.abort();
  app.key = null;
  chat.clear();
  $("app").hidden = true;
  $("gate").hidden = false;
  $("gate-error").textContent = why ?? "";
  $("token").value = "";
  $("token").focus();
}

onRefused = () => locked(say("gate.wrong"));

async function enter(event) {
  event.preventDefault();
  token = $("token").value.trim();
  $("gate-error").textContent = "";
  try {
    app.agents = (await ask("GET", "/v1/models")).data.map((m) => m.id);
  } catch (error) {
    if (error.status !== 401) $("gate-error").textContent = error.status ? error.message : say("gate.away");
    return;
  }
  $("token").value = "";
  $("gate").hidden = true;
  $("app").hidden = false;
  $("agent").replaceChildren(...app.agents.map((id) => make("option", { value: id }, id)));
  await listSessions();
  begin();
}

/* --- the list of sessions */

async function listSessions() {
  if (!token) return;
  try {
    app.sessions = (await ask("GET", "/api/sessions?limit=200")).sessions;
  } catch (error) {
    trouble(error);
    return;
  }
  showSessions();
}

function matches(session, text) {
  return `${session.title} ${session.key} ${session.agent}`.toLowerCase().includes(text);
}

function showSessions() {
  const text = $("search").value.trim().toLowerCase();
  const found = app.sessions.filter((s) => matches(s, text));
  const had = document.activeElement?.dataset?.key;
  $("sessions").replaceChildren(...found.map((s) => make("button.session", {
    "data-key": s.key, "aria-current": s.key === app.key ? "page" : null, title: s.key, onclick: () => openSession(s.key),
  }, make("span.dot", { "data-status": s.key === app.key && app.status !== "idle" ? app.status : s.status }),
  make("span.session-title", {}, s.title || s.key), make("span.session-when", {}, when(s.updated)))));
  const listed = new Set(found.map((s) => s.key));
  const hits = text === app.hits.text ? app.hits.list.filter((h) => !listed.has(h.key)) : [];
  if (hits.length) $("sessions").append(make("h2.side-head", {}, say("side.found")));
  for (const h of hits) {
    $("sessions").append(make("button.session.hit", { "data-key": h.key, "aria-current": h.key === app.key ? "page" : null, title: h.key, onclick: () => openSession(h.key) },
      make("span.session-title", {}, h.title || h.key), make("span.session-excerpt", {}, h.excerpt)));
  }
  if (!found.length && !hits.length) $("sessions").append(make("p.quiet", {}, say(text ? "side.nothing" : "side.none")));
  if (had) $("sessions").querySelector(`[data-key="${CSS.escape(had)}"]`)?.focus();
}

/* Searches messages when the user stops typing; lists a session once. */
function search() {
  const text = $("search").value.trim().toLowerCase();
  showSessions();
  clearTimeout(app.searching);
  if (text.length < 2) return;
  app.searching = setTimeout(async () => {
    try {
      const { hits } = await ask("GET", `/api/sessions?limit=50&q=${encodeURIComponent(text)}`);
      const once = new Map(hits.map((h) => [h.key, h]));
      app.hits = { text, list: [...once.values()] };
      showSessions();
    } catch (error) {
      trouble(error);
    }
  }, 250);
}

function step(by) {
  const all = [...$("sessions").querySelectorAll(".session")];
  const at = all.findIndex((s) => s.dataset.key === app.key);
  all[Math.min(Math.max(at + by, 0), all.length - 1)]?.click();
}

/* --- the open session */

function setStatus(status) {
  if (status !== app.status) app.mode = null;
  app.status = status;
  const running = status === "running";
  $("status").textContent = app.fresh ? "" : sayStatus(status);
  $("status").dataset.status = status;
  $("cancel").hidden = !running;
  $("resume").hidden = status !== "interrupted";
  $("delete").hidden = app.fresh || running;
  $("agent").hidden = running || status === "paused" || app.agents.length < 2;
  offerModes();
}

/* The delivery modes that are possible now. */
function modesNow() {
  if (app.status === "running") return ["steer", "follow_up", "take_over"];
  if (app.status !== "paused") return [];
  return chat.waiting().some((c) => c.asks) ? ["answer", "take_over"] : ["take_over"];
}

function offerModes() {
  const modes = modesNow();
  $("mode").replaceChildren(...modes.map((m) => make("option", { value: m }, say(`mode.${m}`))));
  if (modes.includes(app.mode)) $("mode").value = app.mode;
  $("mode").hidden = !modes.length;
  $("say").placeholder = say(app.status === "running" ? "chat.more" : app.status === "paused" ? "chat.paused" : "chat.ask");
  nameSend();
}

function nameSend() {
  const mode = modesNow().length ? $("mode").value : "";
  $("send").textContent = say({ answer: "chat.answer", take_over: "chat.take" }[mode] ?? "chat.send");
  $("send").classList.toggle("primary", mode !== "take_over");
  $("send").classList.toggle("danger", mode === "take_over");
}

function entitle() {
  const session = app.sessions.find((s) => s.key === app.key);
  const title = app.fresh ? say("chat.new") : session?.title || app.key || "";
  $("title").textContent = title;
  document.title = title ? `${title} · chela` : "chela";
}

function leave() {
  app.following?.abort();
  app.following = null;
  app.last = "";
  chat.clear();
  log.clear();
  trouble(null);
  drawer(false);
}

/* Opens a new session; its first message creates it in the gateway. */
function begin() {
  leave();
  const random = [...crypto.getRandomValues(new Uint8Array(6))].map((b) => b.toString(16).padStart(2, "0")).join("");
  app.key = `web:${random}`;
  app.fresh = true;
  chat.put(make("p.hello", {}, say("chat.empty")));
  setStatus("idle");
  entitle();
  showSessions();
  show("chat");
  $("say").focus();
}

async function openSession(key) {
  leave();
  app.key = key;
  app.fresh = false;
  entitle();
  const session = app.sessions.find((s) => s.key === key);
  if (session && app.agents.includes(session.agent)) $("agent").value = session.agent;
  showSessions();
  try {
    const { records, live } = await recordsOf(key);
    if (app.key !== key) return;
    setStatus(chat.load(records, live));
    if (app.status === "paused") fillWaiting();
  } catch (error) {
    trouble(error);
    return;
  }
  toEnd(true);
  if (app.view !== "chat") show(app.view);
  watch(key);
}

/* Follows the session's events and reconnects when the connection breaks. With an unknown
 * id the gateway sends all events that it remembers. */
async function watch(key) {
  const control = app.following = new AbortController();
  let wait = 500;
  app.last ||= "start:0";
  while (!control.signal.aborted) {
    try {
      await follow(key, app.last, control.signal, (e) => {
        if (control.signal.aborted) return;
        wait = 500;
        trouble(null);
        onEvent(e, key);
      });
    } catch (error) {
      if (control.signal.aborted || error.status) { if (error.status) trouble(error); return; }
      trouble(say("trouble.cut"));
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, 15000);
  }
}

function onEvent({ name, id, data }, key) {
  if (name === "gap") {
    if (app.last !== "start:0") openSession(key);
    return;
  }
  app.last = id;
  const event = JSON.parse(data);
  log.add(event);
  if (app.view === "time" && ["turn_end", "run_end", "tool_result"].includes(event.type)) refreshTime();
  const stuck = atEnd();
  chat.event(event);
  if (stuck) toEnd();
}

/* Shows the input of a run that another client began, from the records. */
async function showInput(run) {
  const place = chat.put(make("span"));
  const key = app.key;
  await app.posting?.catch(() => {});
  if (!app.mine.has(run) && app.key === key) {
    const { records } = await recordsOf(key);
    const input = records.find((r) => r.type === "inbound" && r.data.run === run && r.data.mode === "start");
    if (input && place.isConnected) place.before(chat.user(input.data.message.content));
  }
  place.remove();
}

/* --- sending */

async function post(text) {
  const mode = modesNow().length ? { mode: $("mode").value } : { agent: $("agent").value };
  const body = { text, ...mode };
  const answer = await ask("POST", pathOf(app.key, "/messages"), body);
  if (answer.delivery === "run") app.mine.add(answer.run);
  return answer;
}

async function speakUp(event) {
  event?.preventDefault();
  const text = $("say").value.trim();
  if (!text || app.posting) return;
  const mode = modesNow().length ? $("mode").value : "run";
  if (mode === "answer" || mode === "take_over") {
    await instead(mode, text);
    return;
  }
  const key = app.key, running = app.status === "running";
  if (app.fresh) chat.clear();
  const bubble = chat.user(text, running ? say("chat.waits") : null);
  bubble.classList.add("pending");
  bubble.dataset.text = text;
  $("say").value = "";
  grow();
  toEnd(true);
  try {
    const answer = await (app.posting = post(text));
    if (answer.delivery === "run") bubble.classList.remove("pending");
    if (app.fresh && app.key === key) {
      app.fresh = false;
      setStatus("running");
      watch(key);
      listSessions().then(entitle);
    }
  } catch (error) {
    bubble.remove();
    $("say").value = text;
    grow();
    trouble(error);
  } finally {
    app.posting = null;
  }
}

/* Sends text that is not a message: the answer to a question, or a take-over. */
async function instead(mode, text) {
  const question = chat.waiting().find((c) => c.asks);
  $("say").value = "";
  grow();
  if (mode === "answer" && question) {
    answer(question, text);
    return;
  }
  try {
    await (app.posting = post(text));
    for (const card of chat.waiting()) card.decided("ask.taken");
  } catch (error) {
    $("say").value = text;
    grow();
    trouble(error);
  } finally {
    app.posting = null;
  }
}

/* The run has received a message that was sent during it. */
function delivered(e, mode) {
  const pending = [...$("chat").querySelectorAll(".user.pending")].find((b) => b.dataset.text === e.text);
  pending?.remove();
  chat.user(e.text, say(mode === "steer" ? "chat.steered" : "chat.followed"));
}

async function cancel() {
  if (app.status !== "running") return;
  try {
    await ask("POST", pathOf(app.key, "/cancel"), {});
  } catch (error) {
    if (error.status !== 409) trouble(error);
  }
}

/* Resumes an interrupted run. */
async function resume() {
  if (app.status !== "interrupted") return;
  setStatus("running"); // its events may come before the answer does
  try {
    await ask("POST", pathOf(app.key, "/messages"), { resume: true });
  } catch (error) {
    setStatus("interrupted");
    trouble(error);
  }
}

async function remove() {
  const key = app.key;
  if (app.fresh || app.status === "running") return;
  $("sure-what").textContent = $("title").textContent;
  $("sure").showModal();
  await new Promise((resolve) => $("sure").addEventListener("close", resolve, { once: true }));
  if ($("sure").returnValue !== "yes") return;
  app.following?.abort();
  try {
    await ask("DELETE", pathOf(key, ""));
    begin();
  } catch (error) {
    trouble(error);
  }
  listSessions();
}

/* --- pending decisions */

/* Loads the exact arguments of the waiting calls from the gateway; the events hold a
 * summary only. */
async function fillWaiting() {
  const key = app.key;
  let list;
  try {
    list = await ask("GET", "/api/approvals");
  } catch (error) {
    trouble(error);
    return;
  }
  if (app.key !== key) return;
  const stuck = atEnd();
  for (const w of list.approvals) chat.consents.get(w.approval_id)?.show(w.arguments);
  for (const w of list.unanswered) if (w.session === key) chat.unanswered(w.id, w.name, w.arguments);
  for (const w of [...list.approvals, ...list.unanswered]) if (w.session === key) chat.tools.get(w.id)?.arguments(w.arguments);
  if (app.status === "paused") offerModes();
  if (stuck) toEnd();
}

/* Sends a decision. An error is shown on the card; a call that another person has decided
 * about is closed. */
async function settle(card, word, given, send) {
  card.ready(false);
  try {
    await send();
    card.decided(word, given);
    $("say").focus();
  } catch (error) {
    const over = error.status === 404 || error.status === 409;
    if (over) card.decided("ask.gone");
    else card.refused(error.message);
    trouble(error.status === 404 || error.status === 400 ? null : error);
  }
  if (app.status === "paused") offerModes();
}

/* The member of the request that holds the text of a decision. */
const wordsFor = { edit: "arguments", answer: "content", "take-over": "text", deny: "reason" };

function decide(card, decision, words) {
  const body = { decision, ...(words && { [wordsFor[decision]]: words }) };
  settle(card, decidedAs[decision], words, () => ask("POST", `/api/approvals/${encodeURIComponent(card.id)}`, body));
}

function answer(card, text) {
  settle(card, "ask.replied", text, () => ask("POST", pathOf(app.key, "/messages"), { results: [{ id: card.id, content: text }] }));
}

function takeOver(card, text) {
  settle(card, "ask.taken", null, () => ask("POST", pathOf(app.key, "/messages"), { text, mode: "take_over" }));
}

/* --- layout */

function trouble(what) {
  $("trouble").hidden = !what;
  $("trouble").textContent = what?.message ?? what ?? "";
}

function atEnd() {
  const s = $("scroll");
  return s.scrollHeight - s.scrollTop - s.clientHeight < 80;
}

const toEndSoon = eachFrame(() => requestAnimationFrame(() => { $("scroll").scrollTop = $("scroll").scrollHeight; }));
function toEnd() {
  toEndSoon();
}

function grow() {
  const field = $("say");
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, innerHeight / 3)}px`;
}

function drawer(open) {
  $("side").classList.toggle("open", open);
  $("shade").hidden = !open;
  $("menu").setAttribute("aria-expanded", String(open));
}

function show(view) {
  app.view = view;
  for (const tab of document.querySelectorAll("#views [role=tab]")) {
    const on = tab.dataset.view === view;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    $(`view-${tab.dataset.view}`).hidden = !on;
  }
  if (view === "time") refreshTime();
  if (view === "log") log.fill();
  if (view === "usage") refreshUsage();
}

async function refreshTime() {
  const key = app.key, node = $("view-time");
  if (app.fresh) { showTimeline(node, []); return; }
  try {
    const { records } = await recordsOf(key);
    if (app.key === key) showTimeline(node, records);
  } catch (error) {
    trouble(error);
  }
}

async function refreshUsage() {
  try {
    showUsage($("view-usage"), await ask("GET", `/api/usage?days=${days}`));
  } catch (error) {
    trouble(error);
  }
}

const themes = ["auto", "light", "dark"];
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = say(`theme.${theme}`);
}

function setTongue(to) {
  tongue = to;
  speak();
  $("tongue").textContent = say("tongue");
  setTheme(document.documentElement.dataset.theme ?? "auto");
  showKeys();
  log.frame();
  if (!token) return;
  setStatus(app.status);
  if (app.fresh) begin();
  else openSession(app.key);
}

/* --- keyboard */

const keys = [
  ["Enter", "help.send"], ["Shift Enter", "help.line"], ["Ctrl .", "help.cancel"], ["c", "help.say"], ["n", "help.new"],
  ["/", "help.search"], ["j k", "help.move"], ["1 2 3 4", "help.views"], ["a", "help.consent"], ["y d", "help.decide"], ["e g t", "help.words"], ["r", "help.resume"], ["Delete", "help.delete"],
  ["Esc", "help.escape"], ["?", "help.help"],
];

function showKeys() {
  $("help-keys").replaceChildren(...keys.flatMap(([key, word]) => [
    make("dt", {}, ...key.split(" ").map((k) => make("kbd", {}, k))), make("dd", {}, say(word))]));
}

const actions = {
  n: begin,
  c: () => { show("chat"); $("say").focus(); },
  "/": () => { drawer(true); $("search").focus(); },
  j: () => step(1),
  k: () => step(-1),
  a: () => { show("chat"); chat.waiting()[0]?.node.focus(); },
  r: resume,
  Delete: remove,
  "?": () => $("help").showModal(),
  1: () => show("chat"), 2: () => show("time"), 3: () => show("log"), 4: () => show("usage"),
};

function onKey(event) {
  if (!token || event.isComposing) return;
  if (event.key === "." && (event.ctrlKey || event.metaKey)) { event.preventDefault(); cancel(); return; }
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "Escape") { if (typing) event.target.blur(); drawer(false); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const action = actions[event.key];
  if (action) { event.preventDefault(); action(); }
}

/* Enter sends, except when it confirms a word of an input method. */
function onSayKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  speakUp();
}

function onTabKey(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const tabs = [...document.querySelectorAll("#views [role=tab]")];
  const to = tabs[(tabs.indexOf(event.target) + by + tabs.length) % tabs.length];
  show(to.dataset.view);
  to.focus();
}

$("gate-form").addEventListener("submit", enter);
$("composer").addEventListener("submit", speakUp);
$("say").addEventListener("keydown", onSayKey);
$("say").addEventListener("input", grow);
$("mode").addEventListener("change", () => { app.mode = $("mode").value; nameSend(); });
$("cancel").addEventListener("click", cancel);
$("resume").addEventListener("click", resume);
$("delete").addEventListener("click", remove);
$("new").addEventListener("click", begin);
$("search").addEventListener("input", search);
$("menu").addEventListener("click", () => drawer(!$("side").classList.contains("open")));
$("shade").addEventListener("click", () => drawer(false));
$("lock").addEventListener("click", () => locked());
$("help-open").addEventListener("click", () => $("help").showModal());
$("theme").addEventListener("click", () => setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length]));
$("tongue").addEventListener("click", () => setTongue(tongue === "en" ? "zh" : "en"));
$("views").addEventListener("click", (e) => { if (e.target.dataset.view) show(e.target.dataset.view); });
$("views").addEventListener("keydown", onTabKey);
$("scroll").addEventListener("scroll", () => { $("latest").hidden = atEnd(); });
$("latest").addEventListener("click", () => toEnd());
document.addEventListener("keydown", onKey);
addEventListener("resize", () => { if (app.view === "usage") refreshUsage(); });
setInterval(() => { if (token && !document.hidden) listSessions(); }, every);

setTongue(tongue);
locked();

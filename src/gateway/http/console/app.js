/* app.js -- the page: token, addresses, list of sessions, pages, keyboard.
 *
 * The part of the URL after # names what is shown: #/new, #/s/KEY, #/s/KEY/time,
 * #/s/KEY/r/RUN (a run on the timeline), #/s/KEY/q/N (a request to the model),
 * #/s/KEY/e/POSITION (an event), #/s/KEY/m/RECORD (a message), #/NAME (a page). Timeline, events and pages load their scripts when they are
 * first shown. */
import { ask, hasToken, pathOf, setToken, whenRefused } from "./api.js";
import { watchFiles } from "./attach.js";
import { $, inOrder, make, notOften } from "./dom.js";
import * as open from "./session.js";
import { hooks, sessionPath, state, trouble } from "./session.js";
import { setTongue, say, tongue, when } from "./words.js";

const { chat } = open;

/* --- the token */

let wanted = ""; /* the address to show once the token is known */

function lock(why) {
  setToken("");
  open.leaveSession();
  state.key = null;
  leavePage(); /* a page that follows a stream would ask again, with no token */
  for (const view of ["view-page", "view-time"]) $(view).replaceChildren();
  $("app").hidden = true;
  $("gate").hidden = false;
  $("gate-error").textContent = why ?? "";
  $("token").value = "";
  document.title = "chela";
  $("token").focus();
}

whenRefused(() => { wanted = location.hash; lock(say($("app").hidden ? "gate.wrong" : "gate.over")); });

async function enter() {
  try {
    await loadAgents();
  } catch (error) {
    if (error.status === 401) return;
    $("gate").hidden = false;
    $("gate-error").textContent = error.status ? error.message : say("gate.away");
    return;
  }
  open.fillChoices();
  await listSessions();
  if (!hasToken()) return;
  $("token").value = "";
  $("gate-error").textContent = "";
  $("gate").hidden = true;
  $("app").hidden = false; /* now: a message that is sent before a session is open would be lost */
  if (wanted && location.hash !== wanted) location.hash = wanted;
  else route();
  wanted = "";
}

async function loadAgents() {
  state.agents = (await ask("GET", "/api/agents")).agents;
}

/* --- addresses */

let shown = ""; /* the address that is shown */

function parse(hash) {
  const [kind, ...rest] = hash.replace(/^#\/?/, "").split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  return { kind: kind || "new", rest };
}

/* The person goes to the address. The start of the page must not close the drawer: the person may
 * have opened it meanwhile. */
function go() {
  drawer(false);
  route();
}

async function route() {
  if (!hasToken()) return;
  const { kind, rest } = parse(location.hash);
  shown = location.hash;
  if (kind === "s" && rest[0]) { await routeSession(rest); return; }
  if (kind !== "new" && kind in pages) { await showPage(kind, rest); return; }
  open.beginSession();
  showView("chat");
  showSessions();
}

const viewOf = { time: "time", r: "time", q: "time", log: "log", e: "log" };

async function routeSession([key, part, at]) {
  const again = state.key === key && !state.fresh;
  showView(viewOf[part] ?? "chat");
  if (!again) await open.openSession(key);
  showSessions();
  if (state.key !== key) return;
  if (again && !part) open.toEnd();
  if (part === "m" && at) await goToRecord(Number(at));
  if (viewOf[part]) await fillView(part, at);
}

/* Sets the address without showing it anew. */
hooks.address = (hash) => {
  shown = hash;
  history.replaceState(null, "", hash);
};

/* --- views of a session */

let log = null, timeline = null;

function showView(view) {
  state.view = view;
  $("view-page").hidden = true;
  $("view-page").replaceChildren();
  leavePage();
  $("views").hidden = false;
  for (const tab of document.querySelectorAll("#views [role=tab]")) {
    const on = tab.dataset.view === view;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    $(`view-${tab.dataset.view}`).hidden = !on;
  }
  if (view === "chat" && state.pinned) open.toEnd();
}

async function fillView(part, at) {
  const key = state.key;
  if (part === "q") {
    const request = await import("./request.js");
    if (state.key === key && state.view === "time") await request.showRequest($("view-time"), at);
  } else if (viewOf[part] === "time") {
    timeline ??= await import("./timeline.js");
    if (state.key === key && state.view === "time") timeline.showTimeline($("view-time"), at);
  } else {
    await needLog();
    log.fill(at);
  }
}

const recent = []; /* events before the events view was first shown */
async function needLog() {
  if (log) return;
  const { Log } = await import("./log.js");
  log = new Log($("view-log"));
  for (const e of recent) log.add(e);
}

function toView(view) {
  const rest = { chat: "", time: "/time", log: "/log" }[view];
  if (state.fresh) {
    showView(view);
    if (rest) fillView(view);
  } else if (state.key) location.hash = sessionPath(state.key, rest);
}

/* Each drawing reads the records of the session. */
const redrawTimeline = notOften(500, () => { if (state.view === "time" && parse(location.hash).rest[1] !== "q") timeline?.showTimeline($("view-time")); });

hooks.noted = (event, fresh) => {
  recent.push(event);
  if (recent.length > 2000) recent.splice(0, 500);
  log?.add(event);
  if (fresh && state.view === "time" && ["turn_end", "run_end", "tool_result"].includes(event.type)) redrawTimeline();
};
hooks.cleared = () => { recent.length = 0; log?.clear(); };

/* Scrolls to the message of a record. */
async function goToRecord(seq, words) {
  if (seq < state.first) await open.loadEarlier(seq);
  const all = [...$("chat").querySelectorAll("[data-seq]")];
  const node = all.find((n) => Number(n.dataset.seq) >= seq) ?? all.at(-1);
  if (!node) return;
  state.pinned = false;
  for (const d of node.querySelectorAll("details")) d.open = true;
  node.scrollIntoView({ block: "center" });
  node.classList.add("flash");
  setTimeout(() => node.classList.remove("flash"), 2500);
  mark(node, words);
}

/* Marks words with the highlight API, if the browser has it. */
function mark(node, words) {
  if (!CSS.highlights) return;
  CSS.highlights.clear();
  if (!words) return;
  const ranges = [], walk = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  for (let t = walk.nextNode(); t; t = walk.nextNode()) {
    const text = t.data.toLowerCase();
    for (const part of parts) {
      for (let at = text.indexOf(part); at >= 0 && ranges.length < 500; at = text.indexOf(part, at + part.length)) {
        const range = new Range();
        range.setStart(t, at);
        range.setEnd(t, at + part.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

/* --- search in the session */

const find = { hits: [], at: -1, timer: 0 };

function openFind() {
  if (!state.key || state.fresh) return;
  if (state.view !== "chat") toView("chat");
  $("find").hidden = false;
  $("find-text").focus();
  $("find-text").select();
}

function closeFind() {
  $("find").hidden = true;
  CSS.highlights?.clear();
  $("say").focus();
}

function searchSession() {
  clearTimeout(find.timer);
  find.timer = setTimeout(async () => {
    const text = $("find-text").value.trim(), key = state.key;
    find.hits = [];
    find.at = -1;
    $("find-count").textContent = "";
    if (text.length < 2) return;
    try {
      const { hits } = await ask("GET", `/api/sessions?limit=200&session=${encodeURIComponent(key)}&q=${encodeURIComponent(text)}`);
      if (state.key !== key || $("find-text").value.trim() !== text) return;
      find.hits = [...new Set(hits.map((h) => h.seq))].sort((a, b) => b - a);
      stepFind(1);
    } catch (error) {
      trouble(error);
    }
  }, 250);
}

function stepFind(by) {
  if (!find.hits.length) { $("find-count").textContent = $("find-text").value.trim().length > 1 ? say("side.nothing") : ""; return; }
  find.at = (find.at + by + find.hits.length) % find.hits.length;
  $("find-count").textContent = `${find.at + 1} / ${find.hits.length}`;
  goToRecord(find.hits[find.at], $("find-text").value.trim());
}

/* --- pages */

/* name: the name of the module that shows it. In the order of the list. */
const pages = {
  approvals: "operate", usage: "usage", agents: "operate", skills: "operate", memory: "manage", schedules: "manage", mcp: "manage", channels: "operate", config: "manage", logs: "manage", nodes: "manage",
};

let leave = null; /* ends what the open page watches */
function leavePage() {
  leave?.();
  leave = null;
}

async function showPage(name, rest) {
  const hash = location.hash;
  open.leaveSession();
  state.key = null;
  state.fresh = false;
  open.setStatus("idle");
  $("status").textContent = "";
  for (const view of ["chat", "time", "log"]) $(`view-${view}`).hidden = true;
  leavePage();
  $("views").hidden = true;
  $("view-page").hidden = false;
  $("view-page").dataset.page = name;
  /* A page that was left may still write to its own part. */
  const place = make("div.page-of", {}, make("p.nothing", {}, say("chat.loading")));
  $("view-page").replaceChildren(place);
  $("view-page").scrollTop = 0;
  state.view = "page";
  entitle();
  showSessions();
  open.watchNotices();
  try {
    const module = await import(`./${pages[name]}.js`);
    const ended = location.hash === hash ? await module.showPage(place, name, rest) : null;
    if (place.isConnected) leave = ended ?? null;
    else ended?.();
  } catch (error) {
    trouble(error);
    place.replaceChildren(make("p.nothing", {}, error.message));
  }
}

const waitingCount = () => state.sessions.filter((s) => s.status === "paused" && !s.key.includes("~")).length;

function showPages() {
  const { kind } = parse(location.hash), waiting = waitingCount();
  $("pages").replaceChildren(...Object.keys(pages).map((name) => make("a.page-link", { href: `#/${name}`, "aria-current": kind === name ? "page" : null },
    say(`page.${name}`), name === "approvals" && waiting ? make("span.count", {}, String(waiting)) : null)));
}

/* --- the list of sessions */

let hits = { text: "", list: [] }, searching = 0, listing = null;

/* Requests that come while one is under way are joined to one more. */
async function listSessions() {
  if (!hasToken()) return;
  if (listing) { listing.again = true; return; }
  listing = { again: false };
  try {
    ({ sessions: state.sessions, truncated: state.moreSessions } = await ask("GET", "/api/sessions?limit=200"));
    noteLost();
  } catch (error) {
    if (error.status) trouble(error);
  }
  const { again } = listing;
  listing = null;
  showSessions();
  entitle();
  if (again) listSessions();
}

/* Another tab may have deleted the open session. */
function noteLost() {
  if (!state.key || state.fresh || state.gone || state.posting || state.sessions.length >= 200 || state.sessions.some((s) => s.key === state.key)) return;
  const { key } = state;
  ask("GET", pathOf(key, "/records?limit=1")).catch((error) => { if (error.status === 404 && state.key === key) open.lost(); });
}

hooks.changed = () => { listSessions(); pageChanged?.(); };
let pageChanged = null; /* of the page that is open: called when sessions have changed */
export function onChange(fn) {
  pageChanged = fn;
  return () => { pageChanged = null; };
}

function matches(session, text) {
  return `${session.title} ${session.key} ${session.agent}`.toLowerCase().includes(text);
}

function showSessions() {
  const text = $("search").value.trim().toLowerCase();
  const found = state.sessions.filter((s) => matches(s, text));
  const had = document.activeElement?.dataset?.key;
  const row = (s, style, ...parts) => make(`a.session${style}`, { href: sessionPath(s.key), "data-key": s.key, "aria-current": s.key === state.key ? "page" : null, title: s.key,
    onclick: () => { if (location.hash === sessionPath(s.key)) go(); } }, ...parts);
  const dot = (s) => { const status = s.key === state.key && state.status !== "idle" ? state.status : s.status; return make("span.dot", { "data-status": status, title: say(`status.${status}`) }); };
  $("sessions").replaceChildren(...found.map((s) => row(s, "", dot(s), make("span.session-title", {}, inOrder(s.title || s.key)), make("span.session-when", {}, when(s.updated)))));
  const listed = new Set(found.map((s) => s.key));
  const others = text === hits.text ? hits.list.filter((h) => !listed.has(h.key)) : [];
  if (state.moreSessions) $("sessions").append(make("p.quiet.side-more", {}, say("side.more", state.sessions.length)));
  if (others.length) $("sessions").append(make("h2.side-head", {}, say("side.found")));
  for (const h of others) $("sessions").append(row(h, ".hit", make("span.session-title", {}, inOrder(h.title || h.key)), make("span.session-excerpt", {}, inOrder(h.excerpt))));
  if (!found.length && !others.length) $("sessions").append(make("p.quiet", {}, say(text ? "side.nothing" : "side.none")));
  if (had) $("sessions").querySelector(`[data-key="${CSS.escape(had)}"]`)?.focus();
  showPages();
}

/* Searches messages when the user stops typing; lists a session once. */
function search() {
  const text = $("search").value.trim().toLowerCase();
  showSessions();
  clearTimeout(searching);
  if (text.length < 2) return;
  searching = setTimeout(async () => {
    try {
      const answer = await ask("GET", `/api/sessions?limit=50&q=${encodeURIComponent(text)}`);
      hits = { text, list: [...new Map(answer.hits.map((h) => [h.key, h])).values()] };
      showSessions();
    } catch (error) {
      trouble(error);
    }
  }, 250);
}

function step(by) {
  const all = [...$("sessions").querySelectorAll(".session")];
  const at = all.findIndex((s) => s.dataset.key === state.key);
  all[Math.min(Math.max(at + by, 0), all.length - 1)]?.click();
}

function entitle() {
  const session = open.known(state.key);
  const { kind } = parse(location.hash);
  const title = state.fresh ? say("chat.new") : state.key ? inOrder(session?.title || state.key) : kind in pages ? say(`page.${kind}`) : "";
  const waiting = waitingCount();
  $("title").textContent = title;
  document.title = `${waiting ? `(${waiting}) ` : ""}${title ? `${title} · ` : ""}chela`;
}
hooks.entitle = entitle;

/* --- layout */

function drawer(opened) {
  $("side").classList.toggle("open", opened);
  $("shade").hidden = !opened;
  $("menu").setAttribute("aria-expanded", String(opened));
  if (opened) $("new").focus();
}

const themes = ["auto", "light", "dark"];
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("chela.theme", theme);
  $("theme").textContent = say(`theme.${theme}`);
  $("theme").title = say("side.theme");
}

async function toTongue(to) {
  await setTongue(to);
  localStorage.setItem("chela.tongue", to);
  $("tongue").textContent = $("gate-tongue").textContent = say("tongue");
  setTheme(document.documentElement.dataset.theme ?? "auto");
  showKeys();
  log?.frame();
  if (!hasToken() || $("app").hidden) return;
  open.fillChoices();
  if (state.key && !state.fresh) await open.openSession(state.key);
  route();
}

/* --- keyboard */

const keys = [
  ["Enter", "help.send"], ["Shift Enter", "help.line"], ["Ctrl .", "help.cancel"], ["Ctrl U", "help.attach"], ["c", "help.say"], ["n", "help.new"],
  ["/", "help.search"], ["f", "help.find"], ["j k", "help.move"], ["1 2 3", "help.views"], ["w", "help.waiting"], ["m", "help.more"], ["a", "help.consent"], ["y d", "help.decide"], ["e g t", "help.words"],
  ["r", "help.resume"], ["Delete", "help.delete"], ["Esc", "help.escape"], ["?", "help.help"],
];

function showKeys() {
  $("help-keys").replaceChildren(...keys.flatMap(([key, word]) => [
    make("dt", {}, ...key.split(" ").map((k) => make("kbd", {}, k))), make("dd", {}, say(word))]));
}

/* At once, so that the next key is typed into the field. */
function toNew() {
  location.hash = "#/new";
  go();
}

const actions = {
  n: () => toNew(),
  c: () => { if (!state.key) toNew(); else if (state.view !== "chat") toView("chat"); $("say").focus(); },
  "/": () => { drawer(true); $("search").focus(); },
  f: openFind,
  j: () => step(1),
  k: () => step(-1),
  w: () => { location.hash = "#/approvals"; },
  m: () => { if (!$("more").hidden) { $("more").open = true; $("rename").focus(); } },
  a: () => { const card = state.view === "page" ? $("view-page").querySelector(".consent:not(.settled)") : chat.waiting()[0]?.node; if (state.view !== "page") toView("chat"); card?.focus(); },
  r: open.resume,
  Delete: open.remove,
  "?": () => $("help").showModal(),
  1: () => toView("chat"), 2: () => toView("time"), 3: () => toView("log"),
};

function onKey(event) {
  if (!hasToken() || $("app").hidden || event.isComposing) return;
  if (event.key === "." && (event.ctrlKey || event.metaKey)) { event.preventDefault(); open.cancel(); return; }
  if (event.key === "u" && (event.ctrlKey || event.metaKey) && event.target === $("say")) { event.preventDefault(); $("attach").click(); return; }
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "Escape") {
    if ($("more").open) { $("more").open = false; $("more").firstElementChild.focus(); return; }
    if (!$("find").hidden && event.target === $("find-text")) { closeFind(); return; }
    if (typing) event.target.blur();
    drawer(false);
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const action = actions[event.key];
  if (action) { event.preventDefault(); action(); }
}

/* Enter sends, except when it confirms a word of an input method. */
function onSayKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  open.speakUp();
}

function onTabKey(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  const tabs = [...document.querySelectorAll("#views [role=tab]")];
  const to = tabs[(tabs.indexOf(event.target) + by + tabs.length) % tabs.length];
  toView(to.dataset.view);
  to.focus();
}

const on = (id, type, fn) => $(id).addEventListener(type, fn);
on("gate-form", "submit", (event) => { event.preventDefault(); setToken($("token").value.trim()); enter(); });
on("gate-tongue", "click", () => toTongue(tongue() === "en" ? "zh" : "en"));
on("composer", "submit", open.speakUp);
on("say", "keydown", onSayKey);
on("say", "input", () => { open.keepDraft(); open.grow(); });
on("mode", "change", open.offerModes);
on("take", "click", open.askTakeOver);
on("cancel", "click", open.cancel);
on("resume", "click", open.resume);
on("new", "click", actions.n);
on("search", "input", search);
on("earlier", "click", () => open.loadEarlier());
on("menu", "click", () => drawer(!$("side").classList.contains("open")));
on("shade", "click", () => drawer(false));
on("lock", "click", () => { open.forgetDrafts(); history.replaceState(null, "", "#/new"); lock(); });
on("help-open", "click", () => $("help").showModal());
on("theme", "click", () => setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length]));
on("tongue", "click", () => toTongue(tongue() === "en" ? "zh" : "en"));
on("views", "click", (e) => { if (e.target.dataset.view) toView(e.target.dataset.view); });
on("views", "keydown", onTabKey);
on("scroll", "scroll", open.onScroll);
on("latest", "click", open.toEnd);
on("find", "submit", (e) => { e.preventDefault(); stepFind(1); });
on("find-text", "input", searchSession);
on("find-text", "keydown", (e) => { if (e.key === "Enter") { e.preventDefault(); stepFind(e.shiftKey ? -1 : 1); } });
on("find-next", "click", () => stepFind(1));
on("find-last", "click", () => stepFind(-1));
on("find-close", "click", closeFind);
for (const [id, act] of [["rename", open.rename], ["fork", open.fork], ["undo", open.undo], ["delete", open.remove], ["find-open", openFind],
  ["export-md", () => open.exportAs("md")], ["export-json", () => open.exportAs("json")],
  ["copy-link", () => navigator.clipboard?.writeText(location.origin + location.pathname + sessionPath(state.key))]])
  on(id, "click", () => { $("more").open = false; act(); });
document.addEventListener("click", (e) => { if ($("more").open && !$("more").contains(e.target)) $("more").open = false; });
document.addEventListener("keydown", onKey);
addEventListener("hashchange", () => { if (location.hash !== shown) go(); });
watchFiles((text) => trouble(text));

document.documentElement.dataset.theme = localStorage.getItem("chela.theme") ?? "auto";
await toTongue(localStorage.getItem("chela.tongue") ?? (/^zh\b/i.test(navigator.language) ? "zh" : "en"));
wanted = location.hash;
if (hasToken()) await enter();
else { $("gate").hidden = false; $("token").focus(); }

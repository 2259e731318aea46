/* manage.js -- pages for operators: schedules, MCP servers, memory, logs, nodes, and the
 * configuration, which an owner changes here. */
import { ask, follow } from "./api.js";
import { code, card, facts, table } from "./operate.js";
import { confirmed, eachFrame, make, visibly, visiblyIn } from "./dom.js";
import { Markdown } from "./markdown.js";
import { sessionPath, state, trouble } from "./session.js";
import { bytes, count, date, say, took, when } from "./words.js";

const button = (style, word, act) => make(`button.small${style}`, { type: "button", onclick: async (event) => {
  event.currentTarget.disabled = true;
  const node = event.currentTarget;
  try { await act(); } catch (error) { trouble(error); }
  node.disabled = false;
} }, say(word));

const pill = (status, text) => make("span.pill", { "data-status": status }, text);

/* --- schedules */

async function schedules(node) {
  const { schedules: list } = await ask("GET", "/api/schedules");
  const said = make("p.quiet", { role: "status" });
  const sessionOf = (s) => s.session || `schedule:${s.name}`;
  const run = (s) => button("", "schedules.run", async () => {
    const { started } = await ask("POST", `/api/schedules/${encodeURIComponent(s.name)}/run`, {});
    said.replaceChildren(say(started ? "schedules.begun" : "schedules.nothing", s.name), " ",
      started && !s.fresh ? make("a", { href: sessionPath(sessionOf(s)) }, say("schedules.see")) : "");
  });
  const one = (s) => card(s.name,
    s.prompt ? visiblyIn(make("p"), s.prompt) : null,
    facts([say("schedules.when"), make("span", {}, code(s.when), s.timezone ? ` ${s.timezone}` : "")], [say("schedules.quiet"), s.quiet_hours], [say("chat.agent"), s.agent],
      [say("schedules.file"), s.wake_file], [say("schedules.by"), say(`schedules.by.${s.source}`)],
      [say("schedules.last"), s.last ? when(s.last) && date(timeOf(s.last)) : say("schedules.never")],
      [say("schedules.today"), s.runs_today ? count(s.runs_today) : ""],
      [say("schedules.next"), s.upcoming.length ? make("ul.plain", {}, s.upcoming.map((t) => make("li", {}, date(t)))) : say("schedules.over")]),
    s.waiting ? make("p.notice.warn", {}, say("schedules.waits")) : null,
    make("div.buttons", {}, run(s), !state.sessions.some((x) => x.key === sessionOf(s)) ? null : make("a.small.button", { href: sessionPath(sessionOf(s)) }, say("schedules.see"))));
  node.replaceChildren(said, ...list.map(one));
  if (!list.length) node.append(make("p.nothing", {}, say("schedules.none")));
}

const timeOf = (t) => (typeof t === "number" ? t : Date.parse(t));

/* --- MCP servers */

const jsonOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function definitionDiff(tool) {
  const rows = [];
  for (const part of ["description", "schema", "outputSchema"]) {
    const now = jsonOf(tool[part] ?? ""), was = tool.was ? jsonOf(tool.was[part] ?? "") : "";
    if (tool.was && now === was) continue;
    if (!now && !was) continue;
    rows.push(make("h4", {}, say(`mcp.${part}`)), make("pre.diff", { tabindex: 0 },
      was ? visiblyIn(make("span.d-old"), was.split("\n").map((l) => `- ${l}`).join("\n") + "\n") : null,
      now ? visiblyIn(make("span.d-new"), now.split("\n").map((l) => `+ ${l}`).join("\n")) : null));
  }
  return make("details.tool", { open: true }, make("summary", {}, code(tool.alias), pill("paused", say(tool.was ? "mcp.changed" : "mcp.new"))), make("div.tool-body", {}, rows));
}

function serverCard(s, act) {
  const open = s.tools.filter((t) => !t.accepted);
  const state = s.login ? ["paused", "mcp.login"] : s.error ? ["error", "mcp.failing"] : s.state === "ready" ? ["done", "mcp.ready"] : ["idle", "mcp.off"];
  return card(s.name,
    make("p", {}, pill(state[0], say(state[1])), " ", s.login ? make("span.quiet", {}, say("mcp.login.how"), " ", code(`chela mcp login ${s.name}`)) : null),
    s.error && !s.login ? make("p.notice.bad", {}, s.error) : null,
    facts([say("mcp.server"), [s.server, s.serverVersion].filter(Boolean).join(" ")], [say("mcp.transport"), say(`mcp.${s.transport}`)],
      [say("mcp.era"), s.era ? `${say(`mcp.${s.era}`)} (${s.version})` : say("mcp.unknown")], [say("mcp.tools"), count(s.tools.length)]),
    open.length ? make("div.stack", {}, make("p.notice.warn", {}, say("mcp.open", count(open.length))), ...open.map(definitionDiff)) : null,
    make("div.buttons", {}, button("", "mcp.check", () => act(s.name, "check")),
      open.length ? button(".primary", "mcp.accept", async () => {
        if (await confirmed({ title: say("mcp.accept.sure", s.name), what: open.map((t) => t.alias).join(", "), note: say("mcp.accept.note"), yes: say("mcp.accept"), danger: false })) await act(s.name, "accept");
      }) : null),
    s.tools.length ? make("details", {}, make("summary.quiet", {}, say("mcp.list", count(s.tools.length))),
      table([say("agents.tool"), say("skills.about")], s.tools.map((t) => [code(t.alias), visiblyIn(make("span"), t.description ?? "")]))) : null);
}

async function mcp(node) {
  const { servers } = await ask("GET", "/api/mcp");
  const cards = new Map();
  const act = async (name, action) => {
    const { server, error } = await ask("POST", `/api/mcp/${encodeURIComponent(name)}`, { action });
    const next = serverCard({ ...server, error: error ?? server.error }, act);
    cards.get(name).replaceWith(next);
    cards.set(name, next);
  };
  for (const s of servers) cards.set(s.name, serverCard(s, act));
  node.replaceChildren(...cards.values());
  if (!servers.length) node.append(make("p.nothing", {}, say("mcp.none")));
}

/* --- notes of the agents */

async function memory(node) {
  const { agents } = await ask("GET", "/api/memory");
  const places = new Map(); /* agents may share a workspace */
  for (const a of agents) places.set(a.workspace, { ...a, ids: [...(places.get(a.workspace)?.ids ?? []), a.id] });
  const text = async (id, file, place) => {
    if (place.childElementCount) return;
    const { text: content, cut } = await ask("GET", `/api/memory/${encodeURIComponent(id)}?file=${encodeURIComponent(file)}`);
    const article = make("article.assistant");
    new Markdown(article).add(content);
    place.replaceChildren(article, cut ? make("p.quiet", {}, say("chat.cut")) : "");
  };
  const note = (id, f) => {
    const place = make("div.tool-body");
    return make("details.tool", { ontoggle: () => text(id, f.file, place).catch(trouble) },
      make("summary", {}, visibly(f.file, make("span.tool-name")), make("span.grow"), make("span.tool-time", {}, `${bytes(f.bytes)}  ·  ${date(f.ts)}`)), place);
  };
  const one = (p) => card(p.ids.join(", "), facts([say("agents.workspace"), code(p.workspace)]),
    p.files.length ? make("div.stack", {}, p.files.map((f) => note(p.id, f))) : make("p.quiet", {}, say("memory.none")));
  node.replaceChildren(make("p.quiet", {}, say("memory.about")), ...[...places.values()].map(one));
}

/* --- the log */

const levels = ["trace", "info", "warn", "error"];

async function logs(node) {
  const lines = [], most = 2000, control = new AbortController();
  const filter = make("input", { type: "search", "aria-label": say("logs.filter"), placeholder: say("logs.filter"), oninput: () => fill() });
  const level = make("select", { "aria-label": say("logs.level"), onchange: () => fill() }, levels.slice(1).map((l) => make("option", { value: l }, say(`logs.${l}`))));
  const hold = make("input", { type: "checkbox", checked: true });
  const list = make("div.log-lines", { role: "log", tabindex: 0, "aria-label": say("page.logs") });
  const none = make("p.quiet", {}, say("logs.none"));
  const wanted = (l) => levels.indexOf(l.level) >= levels.indexOf(level.value) && `${l.area} ${l.text}`.toLowerCase().includes(filter.value.trim().toLowerCase());
  const row = (l) => make("div.log-line", { "data-level": l.level }, make("time.event-time", { datetime: new Date(l.ts).toISOString(), title: date(l.ts) }, new Date(l.ts).toLocaleTimeString("sv-SE")),
    make("span.log-level", {}, say(`logs.${l.level}`)), make("span.log-area", {}, l.area), visibly(l.text, make("span.log-text")));
  let shown = 0;
  const show = () => {
    for (const l of lines.slice(shown)) if (wanted(l)) list.append(row(l));
    shown = lines.length;
    while (list.childElementCount > most) list.firstChild.remove();
    none.hidden = list.childElementCount > 0;
    if (hold.checked) list.scrollTop = list.scrollHeight;
  };
  const fill = () => { list.replaceChildren(); shown = 0; show(); };
  const soon = eachFrame(show);
  const add = (l) => {
    lines.push(l);
    if (lines.length > most) { const cut = lines.splice(0, most / 4).length; shown = Math.max(shown - cut, 0); }
  };
  const { lines: first, kept } = await ask("GET", "/api/logs");
  for (const l of first) add(l);
  node.replaceChildren(make("div.log-bar", {}, filter, level, make("label.quiet", {}, hold, ` ${say("logs.follow")}`)), ...(kept ? [] : [make("p.notice.warn", {}, say("logs.off"))]), none, list);
  show();
  (async () => {
    while (!control.signal.aborted && kept) {
      const last = lines.at(-1)?.seq ?? 0;
      await follow(`/api/logs?follow=1&after=${last}`, "", control.signal, () => {}, (e) => {
        const line = JSON.parse(e.data);
        if (line.seq < (lines.at(-1)?.seq ?? 0) && line.seq <= 1) lines.length = shown = 0; /* the gateway was restarted */
        add(line);
        soon();
      }).catch(() => {});
      await new Promise((resolve) => { setTimeout(resolve, 2000); });
    }
  })();
  return () => control.abort();
}

/* --- processes that hold sessions of the store */

async function nodes(node) {
  const { store, shared, version, pid, uptime_ms, lanes, note, truncated, nodes: list } = await ask("GET", "/api/nodes");
  const states = { alive: "done", dead: "error", stopped: "paused", unknown: "idle" };
  node.replaceChildren(
    card(say("nodes.this"), facts([say("nodes.version"), version], [say("nodes.pid"), String(pid)], [say("nodes.uptime"), took(uptime_ms)], [say("nodes.lanes"), count(lanes)],
      [say("nodes.store"), `${store}, ${say(shared ? "nodes.shared" : "nodes.alone")}`]), note ? make("p.notice.warn", {}, note) : null),
    card(say("nodes.all"), make("p.quiet", {}, say("nodes.about")), truncated ? make("p.notice.warn", {}, say("nodes.more")) : null, table([say("nodes.process"), say("nodes.kind"), say("nodes.state"), say("nodes.sessions"), say("nodes.running"), say("nodes.until")],
      list.map((n) => [code(n.name), say(`nodes.${n.kind}`), pill(states[n.state], say(`nodes.${n.state}`)), count(n.sessions), count(n.running), when(n.until)]))));
}

/* --- configuration */

/* The value that a text of the user means: JSON, else the text itself. */
function valueOf(text) {
  try { return JSON.parse(text); } catch { return text; }
}

function diffOf(text) {
  const pre = make("pre.diff", { tabindex: 0 });
  for (const line of text.split("\n")) {
    const kind = { "-": "span.d-old", "+": "span.d-new" }[line[0]] ?? "span";
    pre.append(visiblyIn(make(kind), `${line}\n`));
  }
  return pre;
}

async function config(node) {
  const { file, error, complaints, options, previous } = await ask("GET", "/api/config");
  const again = () => config(node).catch(trouble);
  const filter = make("input", { type: "search", "aria-label": say("config.filter"), placeholder: say("config.filter"), oninput: () => show() });
  const set = make("input", { type: "checkbox", checked: true, onchange: () => show() });
  const place = make("div.stacked"), said = make("p.quiet", { role: "status" });
  /* Shows the difference, and makes the change if the user agrees. */
  const change = async (body) => {
    const { diff, of } = await ask("POST", "/api/config", { ...body, check: true });
    if (!await confirmed({ title: say("config.sure"), note: say("config.reload"), more: diffOf(diff), yes: say("config.write"), danger: false })) return;
    await ask("POST", "/api/config", { ...body, of });
    await new Promise((resolve) => { setTimeout(resolve, 700); }); /* the gateway reads the file again */
    await again();
    node.querySelector("[role=status]")?.replaceChildren(say("config.written"));
  };
  const edit = async (o) => {
    const field = make(o.value.includes("\n") || o.value.length > 60 ? "textarea.mono" : "input.mono", { "aria-label": o.key, spellcheck: "false", autocapitalize: "off", rows: 6 });
    field.value = o.value;
    if (!await confirmed({ title: say("config.edit"), what: o.key, note: say("config.value.note"), more: field, yes: say("config.check"), danger: false }) || field.value === o.value) return;
    try { await change({ key: o.key, value: valueOf(field.value) }); trouble(null); } catch (failure) { trouble(failure); }
  };
  const show = () => {
    const text = filter.value.trim().toLowerCase();
    const found = options.filter((o) => (!set.checked || o.origin === "file") && `${o.key} ${o.value}`.toLowerCase().includes(text));
    place.replaceChildren(table([say("config.key"), say("config.value"), say("config.origin"), ""], found.map((o) => [code(o.key), code(o.value), say(`config.from.${o.origin}`),
      o.editable && file ? make("button.small", { type: "button", "aria-label": `${say("config.edit")}: ${o.key}`, onclick: () => edit(o) }, say("config.edit")) : ""])));
  };
  node.replaceChildren(card(say("page.config"), file ? facts([say("config.file"), code(file)]) : make("p.quiet", {}, say("config.none")),
    error ? make("p.notice.bad", {}, `${say("config.trouble")}: ${error}`) : null,
    ...complaints.map((line) => make("p.notice.warn", {}, line)), file && !error && !complaints.length ? make("p.quiet", {}, say("config.valid")) : null, said,
    make("p.quiet", {}, say("config.about")),
    previous ? make("div.buttons", {}, button("", "config.back", () => change({ restore: true }))) : null,
    make("div.log-bar", {}, filter, make("label.quiet", {}, set, ` ${say("config.set")}`)), place));
  show();
}

const shows = { schedules, mcp, memory, logs, nodes, config };

export const showPage = (node, name, rest) => shows[name](node, rest);

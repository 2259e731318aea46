/* operate.js -- pages for operators: what waits for a person, agents and their tools, skills,
 * channels; and the parts that pages are made of. manage.js has the other pages. */
import { ask } from "./api.js";
import { onChange } from "./app.js";
import { confirmed, inOrder, make, visiblyIn } from "./dom.js";
import { AnswerCard, ConsentCard } from "./human.js";
import { answerCard, decide, sessionPath, state, takeOverCard, trouble } from "./session.js";
import { count, date, say, took } from "./words.js";

/* A table; cells are texts or nodes. */
export function table(heads, rows) {
  if (!rows.length) return make("p.quiet", {}, say("operate.none"));
  return make("div.table", { tabindex: 0 }, make("table", {}, make("thead", {}, make("tr", {}, heads.map((h) => make("th", { scope: "col" }, h)))),
    make("tbody", {}, rows.map((cells) => make("tr", {}, cells.map((c) => make("td", {}, c ?? "")))))));
}

export const card = (title, ...parts) => make("section.run", { "aria-label": title }, make("header", {}, make("h2", {}, title)), ...parts);
export const facts = (...pairs) => make("dl.facts", {}, pairs.filter(([, v]) => v !== undefined && v !== null && v !== "").flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, v)]));
export const code = (text) => visiblyIn(make("code"), String(text ?? ""));

/* --- what waits for a person, in all sessions */

async function approvals(node) {
  const cards = new Map(); /* by the id of the call */
  const place = (w) => {
    const title = state.sessions.find((s) => s.key === w.session)?.title || w.session;
    const hooks = { answer: answerCard, takeOver: takeOverCard };
    const one = w.approval_id ? new ConsentCard(w.approval_id, w.name, w.summary, decide) : new AnswerCard(w.id, w.name, w.arguments, hooks);
    one.session = w.session;
    if (w.approval_id) {
      one.show(w.arguments);
      one.always.hidden = w.can_remember === false || w.name === "make_plan";
    }
    one.box = make("section.waiting", {}, make("p.waiting-of", {}, make("a", { href: sessionPath(w.session) }, inOrder(title)), make("span.quiet", {}, w.agent)), one.node);
    return one;
  };
  const show = async () => {
    const { approvals: asked, unanswered, truncated } = await ask("GET", "/api/approvals");
    more.hidden = !truncated;
    const now = new Map([...asked, ...unanswered].map((w) => [w.approval_id ?? w.id, w]));
    for (const [id, one] of cards) if (!now.has(id)) { if (!one.settled) one.decided("ask.gone"); }
    for (const [id, w] of now) if (!cards.has(id)) { cards.set(id, place(w)); node.append(cards.get(id).box); }
    none.hidden = cards.size > 0;
  };
  const none = make("p.nothing", {}, say("wait.none"));
  const more = make("p.notice.warn", { role: "status", hidden: true }, say("wait.more"));
  node.replaceChildren(none, more);
  await show();
  return onChange(() => show().catch(() => {}));
}

/* --- agents */

function toolRow(t) {
  return [code(t.name), t.summary, t.permission, t.effect, t.offered ? `${say(`consent.${t.consent}`)} (${say(`why.${t.consent_why}`)})` : `${say("agents.off")}: ${say(`why.${t.why}`)}`, t.kind];
}

const most = (limit) => (limit > 0 ? count(limit) : "∞"); /* -1: no limit */

async function agents(node) {
  const { agents: list } = await ask("GET", "/api/agents");
  state.agents = list;
  node.replaceChildren(...list.map((a) => card(a.id,
    a.description ? make("p", {}, a.description) : null,
    facts([say("agents.models"), a.models.map((m, i) => [i ? " → " : "", code(m)]).flat()].map((v) => (Array.isArray(v) ? make("span", {}, v) : v)), [say("agents.workspace"), code(a.workspace)], [say("agents.permissions"), a.permission],
      [say("agents.limits"), [`${most(a.limits.max_turns)} ⟳`, `${most(a.limits.max_tool_calls)} ⚙`, a.limits.timeout_ms > 0 ? took(a.limits.timeout_ms) : "∞"].join("  ·  ")]),
    table([say("agents.tool"), say("skills.about"), say("agents.permission"), say("agents.effect"), say("agents.consent"), say("agents.by")],
      [...a.tools].sort((x, y) => Number(y.offered) - Number(x.offered)).map(toolRow)))));
}

/* --- skills */

async function skills(node) {
  const { agents: list } = await ask("GET", "/api/skills");
  node.replaceChildren(...list.map((a) => card(a.id, table([say("skills.name"), say("skills.about"), say("skills.from")],
    a.skills.map((s) => [make("span", {}, code(s.name), s.version ? ` ${s.version}` : ""), make("span", {}, s.description ?? "", s.problem ? make("p.notice.warn", {}, s.problem) : null), code(s.location ?? s.file)])))));
}

/* --- channels, and people who ask for access */

async function channels(node) {
  const [{ channels: list, pairings }, health] = await Promise.all([ask("GET", "/api/channels"), ask("GET", "/readyz").catch(() => null)]);
  const again = () => channels(node).catch(trouble);
  const pill = (status) => make("span.pill", { "data-status": status === "ok" ? "done" : "error" }, say(status === "ok" ? "channels.ok" : "channels.bad"));
  const act = async (body) => { try { await ask("POST", "/api/pairings", body); await again(); } catch (error) { trouble(error); } };
  const approve = (p) => make("button.small.primary", { type: "button", onclick: () => act({ approve: p.code }) }, say("channels.approve"));
  const remove = (p) => make("button.small.danger", { type: "button", onclick: async () => {
    if (await confirmed({ title: say("channels.remove.sure", p.sender), yes: say("channels.remove") })) act({ remove: { channel: p.channel, sender: p.sender } });
  } }, say("channels.remove"));
  const people = (rows, act_, time) => table([say("page.channels"), say("channels.person"), say("channels.code"), say(time === "until" ? "channels.until" : "channels.when"), ""],
    rows.map((p) => [p.channel, code(p.sender), p.code ? code(p.code) : "", date(p[time]), act_(p)]));
  node.replaceChildren(
    card(say("page.channels"), list.length ? table([say("page.channels"), say("channels.agent"), say("channels.health"), ""],
      list.map((c) => [c.name, c.agent, pill(c.status), make("span", {}, c.error ?? "", c.unsent ? ` ${say("channels.stuck", count(c.unsent))}` : "")])) : make("p.quiet", {}, say("channels.none"))),
    health?.checks ? card(say("channels.checks"), table(["", "", ""], health.checks.map((k) => [k.name, pill(k.status), k.detail ?? ""]))) : null,
    card(say("channels.pairing"), people(pairings.filter((p) => p.code), approve, "until")),
    card(say("channels.known"), people(pairings.filter((p) => !p.code), remove, "ts")));
}

const shows = { approvals, agents, skills, channels };

export const showPage = (node, name, rest) => shows[name](node, rest);

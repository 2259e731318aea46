/* request.js -- one request to a model in full: sections of the system prompt with their
 * origins and sizes, tools, messages, what was left out, tokens, cost, and the bytes sent. */
import { ask, pathOf } from "./api.js";
import { copyButton, draw, lines, make, visibly } from "./dom.js";
import { code, facts, table } from "./operate.js";
import { sessionPath, state } from "./session.js";
import { bytes, count, date, dollars, say, took } from "./words.js";

const sizeOf = (text) => new Blob([text]).size;
const pretty = (value) => JSON.stringify(value, null, 2);

function folded(title, about, body) {
  const place = make("div.tool-body");
  return make("details.tool", { ontoggle: (e) => { if (e.target.open && !place.childElementCount) place.append(...[body()].flat()); } },
    make("summary", {}, visibly(title, make("span.tool-name")), make("span.grow"), make("span.tool-time", {}, about)), place);
}

const part = (word, ...children) => make("section.stack.part", { "aria-label": say(word) }, make("h3", {}, say(word)), ...children);

/* A bar with the parts of the request by size. */
function sizesBar(sizes) {
  const total = sizes.reduce((n, s) => n + s.size, 0) || 1;
  const about = sizes.map((s) => `${s.name} ${Math.round(s.size / total * 100)} %`).join(", ");
  const svg = draw("svg", { viewBox: "0 0 1000 22", width: 1000, height: 22, role: "img", "aria-label": about, preserveAspectRatio: "none" });
  let at = 0;
  for (const s of sizes) {
    const wide = s.size / total * 1000;
    svg.append(draw("rect", { class: `fill-${s.kind}`, x: at, y: 0, width: Math.max(wide - 2, 0.5), height: 22, rx: 3 }, draw("title", {}, `${s.name} ${bytes(s.size)}`)));
    at += wide;
  }
  return make("div", {}, svg, make("p.legend", {}, sizes.map((s) => make("span", {}, make("i", { "data-kind": s.kind }), `${s.name} ${bytes(s.size)}`))));
}

const blockText = (b) => (b.type === "tool_call" ? `→ ${b.name} ${pretty(b.arguments)}` : b.type === "tool_result" ? (typeof b.content === "string" ? b.content : pretty(b.content)) : b.media_type ? `[${b.type} ${b.media_type}]` : b.text ?? pretty(b));
const messageText = (m) => (typeof m.content === "string" ? m.content : (m.content ?? []).map(blockText).join("\n"));

function costs(r) {
  const u = r.usage ?? {};
  const cached = u.cache_read ? `${count(u.cache_read)} (${Math.round(u.cache_read / Math.max(u.input, 1) * 100)} %)` : "";
  return facts([say("chat.model"), code(r.model)], [say("request.when"), date(r.ts)], [say("request.took"), r.ms === undefined ? "" : took(r.ms)], [say("request.turn"), String(r.turn)],
    [say("request.attempt"), r.attempt ? String(r.attempt + 1) : ""], [say("request.role"), r.role], [say("usage.input"), u.input === undefined ? "" : count(u.input)], [say("usage.cached"), cached],
    [say("request.written"), u.cache_write ? count(u.cache_write) : ""], [say("usage.output"), u.output === undefined ? "" : count(u.output)], [say("chat.thought"), u.reasoning ? count(u.reasoning) : ""],
    [say("usage.cost"), typeof r.cost_usd === "number" ? dollars(r.cost_usd) : ""], [say("request.size"), bytes(r.bytes)], [say("request.stop"), r.stop]);
}

const to = (n) => sessionPath(state.key, `/q/${n}`);

export async function showRequest(node, n) {
  const key = state.key;
  node.replaceChildren(make("p.nothing", {}, say("chat.loading")));
  let r;
  try {
    r = await ask("GET", pathOf(key, `/requests/${Number(n) || 0}`));
  } catch (error) {
    if (state.key === key) node.replaceChildren(make("p.nothing", {}, error.message), make("p.center", {}, make("a", { href: sessionPath(key, "/time") }, say("request.back"))));
    return;
  }
  if (state.key !== key) return;
  const sections = r.sections ?? [], tools = r.tools ?? [], messages = r.messages ?? [];
  const sum = (list, size) => list.reduce((all, one) => all + size(one), 0);
  const sizes = [{ name: say("request.sections"), kind: "model", size: sum(sections, (s) => s.bytes ?? 0) }, { name: say("request.tools"), kind: "tool", size: sum(tools, (t) => sizeOf(JSON.stringify(t))) },
    { name: say("request.messages"), kind: "wait", size: sum(messages, (m) => sizeOf(JSON.stringify(m))) }];
  const origin = (s) => [s.origin, say("request.tokens", count(s.tokens ?? 0)), bytes(s.bytes ?? 0), s.of ? say("request.of", count(s.of)) : ""].filter(Boolean).join("  ·  ");
  const failure = r.failure ? visibly([r.failure.class, r.failure.status, r.failure.text].filter(Boolean).join(": "), make("p.notice.bad")) : null;
  node.replaceChildren(make("section.run.request", { "data-request": r.request }, make("header", {}, make("h2", {}, say("request.title", count(r.request), count(r.of))), make("span.grow"),
    make("a", { href: sessionPath(key, `/r/${encodeURIComponent(r.run)}`) }, say("request.back")),
    r.request > 1 ? make("a", { href: to(r.request - 1) }, `← ${say("request.before")}`) : null, r.request < r.of ? make("a", { href: to(r.request + 1) }, `${say("request.after")} →`) : null),
  failure, costs(r), sizesBar(sizes),
  (r.cut ?? []).length ? part("request.cut", table([say("request.what"), say("request.why"), say("request.fromto")], r.cut.map((c) => [c.what, c.why, `${count(c.tokens_before)} → ${count(c.tokens_after)}`]))) : null,
  part("request.sections", ...sections.map((s) => folded(s.name, origin(s), () => lines(s.text ?? "")))),
  part("request.tools", ...tools.map((t) => folded(t.name, bytes(sizeOf(JSON.stringify(t))), () => [lines(t.description ?? ""), lines(pretty(t.parameters ?? {}))]))),
  part("request.messages", ...messages.map((m, i) => folded(`${i + 1}  ${m.role}`, `${messageText(m).slice(0, 60).replace(/\s+/g, " ")}  ·  ${bytes(sizeOf(JSON.stringify(m)))}`, () => lines(messageText(m)))),
    r.note ? folded(say("request.note"), bytes(sizeOf(r.note)), () => lines(r.note)) : null),
  r.reply ? part("request.reply", lines(messageText(r.reply))) : null,
  part("request.wire", r.verified === false ? make("p.notice.warn", {}, r.not_verified ?? say("request.unverified")) : r.verified ? make("p.quiet", {}, say("request.verified")) : null,
    folded(`${r.http?.method ?? ""} ${r.http?.url ?? ""}`, "", () => [r.http?.headers ? lines(pretty(r.http.headers)) : "", copyButton(() => pretty(r.http?.body)) ?? "", lines(pretty(r.http?.body ?? {}))]),
    folded(say("request.parameters"), "", () => lines(pretty(r.parameters ?? {}))))));
  node.scrollTop = 0;
}

/* usage.js -- what models and people did: tokens, cost, latency, errors and waits by day,
 * agent, model and channel; and the runs that failed. */
import { ask } from "./api.js";
import { inOrder, make, visiblyIn } from "./dom.js";
import { table } from "./operate.js";
import { bars, byDay, curves, quantile, total } from "./plot.js";
import { sessionPath, state } from "./session.js";
import { count, date, dollars, say, sayReason, sayStatus, took } from "./words.js";

const most = 5; /* groups with a colour of their own */
const own = ["web", "schedule", "hook", "fork", "api"];

/* The channel that a session belongs to, from its key. */
function channelOf(key) {
  const name = key.includes(":") ? key.split(":", 1)[0] : "api";
  return own.includes(name) ? say(`channel.${name}`) : name;
}

const short = (model) => String(model ?? "?").split("/").at(-1) || "?";
const failed = (r) => ["error", "stopped"].includes(r.status);

/* Series for the charts: one for each of the largest groups, one for the rest. */
function grouped(days, entries, groupOf, valueOf) {
  const sums = new Map();
  for (const e of entries) sums.set(groupOf(e), (sums.get(groupOf(e)) ?? 0) + valueOf(e));
  const names = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name), first = names.slice(0, most);
  const valuesOf = (wanted) => days.map((d) => d.list.filter((e) => wanted(groupOf(e))).reduce((sum, e) => sum + valueOf(e), 0));
  const series = first.map((name, i) => ({ name, kind: `s${i}`, values: valuesOf((g) => g === name) }));
  if (names.length > most) series.push({ name: say("usage.rest"), kind: "rest", values: valuesOf((g) => !first.includes(g)) });
  return series;
}

const tile = (word, value) => make("div.tile", {}, make("span.quiet", {}, say(word)), make("strong", {}, value));
const sorted = (list, what) => list.map((e) => e[what]).sort((a, b) => a - b);

function tiles(calls, runs, cost) {
  const ms = sorted(calls, "ms"), bad = runs.filter(failed).length;
  return make("div.tiles", {}, tile("usage.runs", count(runs.length)), tile("usage.failed", bad ? `${count(bad)} (${Math.round(bad / runs.length * 100)} %)` : "0"), tile("usage.calls", count(calls.length)),
    tile("usage.input", count(total(calls, "input"))), tile("usage.output", count(total(calls, "output"))), tile("usage.half", took(quantile(ms, 0.5))),
    tile("usage.most", took(quantile(ms, 0.95))), tile("usage.waited", took(total(runs, "waited_ms"))), typeof cost === "number" ? tile("usage.cost", dollars(cost)) : null);
}

/* One row for each group. */
function groups(by, calls, runs, callGroup, runGroup) {
  const all = new Map();
  const of = (name) => { if (!all.has(name)) all.set(name, { calls: [], runs: [] }); return all.get(name); };
  for (const c of calls) of(callGroup(c)).calls.push(c);
  for (const r of runs) of(runGroup(r)).runs.push(r);
  const rows = [...all].sort((a, b) => b[1].calls.length - a[1].calls.length);
  const cost = (g) => { const known = by === "model" ? g.calls : g.runs; return known.some((e) => typeof e.cost_usd === "number") ? dollars(total(known, "cost_usd")) : ""; };
  return make("section.plot", {}, make("h3", {}, say("usage.by", say(`usage.${by}`))), table([say(`usage.${by}`), say("usage.runs"), say("usage.failed"), say("usage.calls"), say("usage.input"), say("usage.output"), say("usage.cost"), say("usage.half"), say("usage.waited")],
    rows.map(([name, g]) => [visiblyIn(make("span"), name), count(g.runs.length), count(g.runs.filter(failed).length), count(g.calls.length), count(total(g.calls, "input")), count(total(g.calls, "output")), cost(g),
      g.calls.length ? took(quantile(sorted(g.calls, "ms"), 0.5)) : "", took(total(g.runs, "waited_ms"))])));
}

const runLink = (r) => make("a", { href: sessionPath(r.session, `/r/${encodeURIComponent(r.run)}`) }, inOrder(state.sessions.find((s) => s.key === r.session)?.title || r.session));

/* Runs that failed or were cancelled, the newest first. */
function failures(runs) {
  const list = runs.filter((r) => failed(r) || r.status === "cancelled").sort((a, b) => b.ts - a.ts), more = list.length - 20;
  return make("section.plot", {}, make("h3", {}, say("usage.failures")), make("div.stacked", {}, table([say("usage.when"), say("usage.session"), say("usage.agent"), say("usage.status"), say("usage.why")],
    list.slice(0, 20).map((r) => [date(r.ts), runLink(r), r.agent, make("span.pill", { "data-status": r.status }, sayStatus(r.status)), visiblyIn(make("span"), [r.reason && sayReason(r.reason), r.error].filter(Boolean).join(": "))]))), more > 0 ? make("p.quiet", {}, say("usage.more", count(more))) : null);
}

function longestWaits(runs) {
  const list = runs.filter((r) => r.waited_ms > 0).sort((a, b) => b.waited_ms - a.waited_ms).slice(0, 5);
  if (!list.length) return null;
  return make("section.plot", {}, make("h3", {}, say("usage.longest")), table([say("usage.when"), say("usage.session"), say("usage.waits"), say("usage.waited")], list.map((r) => [date(r.ts), runLink(r), count(r.waits), took(r.waited_ms)])));
}

function draw(node, { days, by, calls, runs, cost, cut }) {
  const width = Math.max(Math.min(node.clientWidth - 72, 910), 260), modelOf = new Map(calls.map((c) => [c.session, short(c.model)]));
  const callGroup = { agent: (c) => c.agent, model: (c) => short(c.model), channel: (c) => channelOf(c.session) }[by];
  const runGroup = { agent: (r) => r.agent, model: (r) => modelOf.get(r.session) ?? "?", channel: (r) => channelOf(r.session) }[by];
  const ofCalls = byDay(calls, days), ofRuns = byDay(runs, days), priced = by === "model" ? ofCalls : ofRuns;
  const latency = (q) => ofCalls.map((d) => (d.list.length ? quantile(sorted(d.list, "ms"), q) : null));
  const kinds = [["usage.cached", "cache", (c) => c.cache_read ?? 0], ["usage.fresh", "model", (c) => c.input - (c.cache_read ?? 0)], ["usage.output", "tool", (c) => c.output]];
  node.replaceChildren(...[cut ? make("p.notice.warn", { role: "status" }, say("usage.cut", count(calls.length), count(runs.length))) : null, tiles(calls, runs, cost),
    bars(say("usage.tokens"), ofCalls, kinds.map(([word, kind, of]) => ({ name: say(word), kind, values: ofCalls.map((d) => d.list.reduce((sum, c) => sum + of(c), 0)) })), width, count),
    bars(say("usage.tokens.by", say(`usage.${by}`)), ofCalls, grouped(ofCalls, calls, callGroup, (c) => c.input + c.output), width, count),
    cost === null ? null : bars(say("usage.cost.by", say(`usage.${by}`)), priced, grouped(priced, by === "model" ? calls : runs, by === "model" ? callGroup : runGroup, (e) => e.cost_usd ?? 0), width, dollars),
    curves(say("usage.latency"), ofCalls, [{ name: say("usage.half"), kind: "model", values: latency(0.5) }, { name: say("usage.most"), kind: "wait", values: latency(0.95) }], width, took),
    bars(say("usage.errors"), ofRuns, [["usage.failed", "bad", failed], ["usage.cancelled", "rest", (r) => r.status === "cancelled"]].map(([word, kind, is]) => ({ name: say(word), kind, values: ofRuns.map((d) => d.list.filter(is).length) }))
      .concat([{ name: say("usage.requests.failed"), kind: "wait", values: ofRuns.map((d) => total(d.list, "failures")) }]), width, count),
    bars(say("usage.errors.by", say(`usage.${by}`)), ofRuns, grouped(ofRuns, runs.filter(failed), runGroup, (r) => (failed(r) ? 1 : 0)), width, count),
    bars(say("usage.waiting"), ofRuns, [{ name: say("usage.waited"), kind: "wait", values: ofRuns.map((d) => total(d.list, "waited_ms")) }], width, took),
    longestWaits(runs), failures(runs), groups(by, calls, runs, callGroup, runGroup)].filter(Boolean));
}

let chosen = { days: 14, by: "agent" };

export async function showPage(node) {
  const place = make("div"), choice = (name, values, word) => {
    const field = make("select", { "aria-label": say(`usage.choose.${name}`), onchange: () => { chosen = { ...chosen, [name]: name === "days" ? Number(field.value) : field.value }; if (name === "days") load(); else show(); } },
      values.map((v) => make("option", { value: v, selected: v === chosen[name] }, word(v))));
    return field;
  };
  let data = null;
  const show = () => {
    if (!data) return;
    if (data.calls.length || data.runs.length) draw(place, { ...chosen, ...data });
    else place.replaceChildren(make("p.nothing", {}, say("usage.none")));
  };
  const load = async () => {
    const [usage, activity] = await Promise.all([ask("GET", `/api/usage?days=${chosen.days}`), ask("GET", `/api/activity?days=${chosen.days}`)]);
    data = { calls: usage.calls, runs: activity.runs, cost: usage.cost_usd, cut: usage.truncated || activity.truncated };
    show();
  };
  node.replaceChildren(make("div.log-bar", {}, choice("days", [7, 14, 30, 90], (v) => say("usage.title", v)), choice("by", ["agent", "model", "channel"], (v) => say("usage.by", say(`usage.${v}`)))), place);
  await load();
  addEventListener("resize", show);
  return () => removeEventListener("resize", show);
}

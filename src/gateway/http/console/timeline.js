/* timeline.js -- the runs of a session on a time axis.
 *
 * Built from the session's records. A record is written at the end of an operation: a model
 * call begins at the preceding record, a tool call at its request. Waiting for a person can
 * take hours and would hide everything else, so it is drawn shorter, and hatched. */
import { allRecordsOf, ask, pathOf, recordsOf } from "./api.js";
import { plain, readable } from "./content.js";
import { copyButton, draw, lines, make, visiblyIn } from "./dom.js";
import { sessionPath, state, trouble } from "./session.js";
import { count, dollars, say, sayReason, sayStatus, took } from "./words.js";

/* [{id, input, status, reason, spans: [{kind, title, start, end, ...}], ...}] */
function runsOf(records) {
  const runs = new Map(), calls = new Map();
  let last = 0, sent = 0; /* when the last record and the last request were written */
  for (const r of records) {
    const run = runs.get(r.data.run) ?? { id: r.data.run, start: r.ts, end: r.ts, spans: [], input: "" };
    const add = (span) => { run.spans.push({ start: last || r.ts, end: r.ts, ...span }); };
    const first = r.data.message?.content?.[0];
    if (r.data.run) runs.set(r.data.run, run);
    if (r.type === "inbound") run.input ||= (r.data.message?.content ?? []).map((b) => b.text ?? "").join(" ");
    else if (r.type === "message" && r.data.message?.role === "assistant") {
      if (r.data.message.model) add({ kind: "model", title: r.data.message.model ?? "", start: sent || last || r.ts, usage: r.data.usage, turn: r.data.turn, got: textOf(r.data.message) });
      sent = 0;
      for (const b of r.data.message.content ?? []) if (b.type === "tool_call") calls.set(b.id, { start: r.ts, sent: b.arguments });
    } else if (r.type === "started" && calls.has(r.data.id)) calls.get(r.data.id).start = r.ts;
    else if (r.type === "done" && first) {
      const call = calls.get(first.id);
      calls.delete(first.id);
      add({ kind: "tool", title: first.name, start: call?.start ?? last, sent: call && readable(call.sent), got: plain(first.content), failed: first.is_error });
    } else if (r.type === "asked") add({ kind: "wait", title: r.data.name, start: r.ts, id: r.data.approval, sent: r.data.summary });
    else if (r.type === "answered") { endWait(runs, r); for (const call of calls.values()) call.start = r.ts; }
    else if (r.type === "request") sent = r.ts;
    else if (r.type === "failure") {
      add({ kind: "model", title: run.spans.findLast((x) => x.kind === "model")?.title ?? "", start: sent || last || r.ts, turn: r.data.turn, failed: true, got: [r.data.class, r.data.status, r.data.text].filter(Boolean).join(": ") });
      sent = 0;
    } else if (r.type === "compaction") add({ kind: "rewrite", title: say("chat.shorter") });
    else if (r.type === "state") Object.assign(run, { status: r.data.status, reason: r.data.reason, usage: r.data.usage, cost: r.data.cost, turns: r.data.turns, error: r.data.error });
    run.end = Math.max(run.end, r.ts);
    last = r.ts;
  }
  return [...runs.values()];
}

function textOf(message) {
  return (message.content ?? []).map((b) => (b.type === "tool_call" ? `→ ${b.name} ${JSON.stringify(b.arguments)}` : b.text ?? "")).join("\n").trim();
}

function endWait(runs, r) {
  for (const run of runs.values()) {
    const wait = run.spans.findLast((s) => s.kind === "wait" && s.id === r.data.approval);
    if (!wait) continue;
    wait.end = r.ts;
    wait.got = r.data.decision;
    run.end = Math.max(run.end, r.ts);
  }
}

/* Maps a time to a fraction of the width; all waits together get a fifth of the rest. */
function scaleOf(run) {
  const waits = run.spans.filter((s) => s.kind === "wait" && s.end > s.start);
  const idle = waits.reduce((sum, s) => sum + s.end - s.start, 0);
  const busy = Math.max(run.end - run.start - idle, 1);
  const factor = idle > busy / 5 ? busy / 5 / idle : 1;
  const at = (t) => {
    let x = t - run.start;
    for (const w of waits) x -= (1 - factor) * Math.max(0, Math.min(t, w.end) - w.start);
    return Math.max(0, x) / (busy + idle * factor);
  };
  return { at, shortened: factor < 1 };
}

/* of: names the row, so that it stays open when the view is drawn again. */
function spanRow(span, scale, of, open) {
  const from = scale.at(span.start), to = Math.max(scale.at(span.end), from);
  const bar = make("span.span-bar", { "data-kind": span.kind, "data-failed": span.failed });
  bar.style.left = `${Math.min(from * 100, 99.4)}%`;
  bar.style.width = `max(3px, ${(to - from) * 100}%)`;
  const title = span.kind === "model" ? span.title.split("/").at(-1) : span.title;
  const about = [took(span.end - span.start)];
  if (span.usage) about.push(`${count(span.usage.input)} → ${count(span.usage.output)}`);
  return make("details.span", { "data-of": of, open: open.has(of) },
    make("summary", {}, make("span.span-kind", { "data-kind": span.kind }, say(`time.${span.kind}`)),
      make("span.span-title", { title: span.title }, title), make("span.span-track", {}, bar), make("span.span-about", {}, about.join("  ·  "))),
    make("div.tool-body", {}, span.request ? make("p", {}, make("a", { href: sessionPath(state.key, `/q/${span.request}`) }, say("time.request", count(span.request)))) : null,
      span.sent ? lines(span.sent) : null, span.got ? lines(span.got) : null));
}

function runCard(run, number, at, open) {
  const scale = scaleOf(run);
  const about = [took(run.end - run.start)];
  if (run.usage?.input) about.push(say("end.tokens", count(run.usage.input), count(run.usage.output)));
  if (run.usage?.cache_read) about.push(`${say("usage.cached")} ${count(run.usage.cache_read)}`);
  if (typeof run.cost === "number") about.push(dollars(run.cost));
  const bad = ["error", "stopped", "cancelled"].includes(run.status);
  return make(`section.run${run.id === at ? ".flash" : ""}`, { "data-run": run.id, "aria-label": say("time.run", number) },
    make("header", {}, make("h3", {}, make("a", { href: sessionPath(state.key, `/r/${encodeURIComponent(run.id)}`), title: run.id }, say("time.run", number))),
      make("span.pill", { "data-status": run.status }, sayStatus(run.status ?? "idle")), make("span.quiet", {}, new Date(run.start).toLocaleString(document.documentElement.lang)),
      make("span.grow"), make("span.quiet", {}, about.join("  ·  ")), copyButton(() => `${location.origin}${location.pathname}${sessionPath(state.key, `/r/${encodeURIComponent(run.id)}`)}`, "log.link")),
    make("p.run-input", { title: run.input }, run.input),
    bad && (run.error || run.reason) ? visiblyIn(make("p.notice.bad"), [run.reason && sayReason(run.reason), run.error].filter(Boolean).join(": ")) : null,
    ...run.spans.map((s, i) => spanRow(s, scale, `${run.id} ${i}`, open)),
    scale.shortened ? make("p.quiet", {}, say("time.short")) : null);
}

/* The size of the context of each model call of the session, as a bar each. */
function contextPlot(runs) {
  const calls = runs.flatMap((r) => r.spans).filter((s) => s.kind === "model" && s.usage?.input);
  if (calls.length < 2) return null;
  const most = Math.max(...calls.map((c) => c.usage.input)), wide = 900, tall = 90, band = wide / calls.length;
  const about = say("time.context.about", count(calls.length), count(most), count(calls.at(-1).usage.input));
  const svg = draw("svg", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "img", "aria-label": about });
  calls.forEach((c, i) => {
    const cached = c.usage.cache_read ?? 0, y = (n) => tall - (tall - 4) * n / most;
    const bar = (kind, from, to) => draw("rect", { class: `fill-${kind}`, x: i * band + band * 0.1, width: Math.max(band * 0.8, 0.7), y: y(to), height: Math.max(y(from) - y(to), 0.5) });
    svg.append(draw("g", {}, draw("title", {}, `${count(c.usage.input)} → ${count(c.usage.output)}`), cached ? bar("cache", 0, cached) : "", bar("model", cached, c.usage.input)));
  });
  return make("section.plot", {}, make("h3", {}, say("time.context")), svg, make("p.quiet", {}, about));
}

let shown = null; /* {key, all}: the whole session was asked for */

/* at: the run to show. */
export async function showTimeline(node, at) {
  const key = state.key;
  if (state.fresh || !key) { node.replaceChildren(make("p.nothing", {}, say("time.none"))); return; }
  try {
    const asked = ask("GET", pathOf(key, "/requests")).catch(() => ({ requests: [] }));
    let answer = shown?.key === key ? await allRecordsOf(key) : await recordsOf(key, 1000);
    if (at && shown?.key !== key && !answer.records.some((r) => r.data.run === at)) { shown = { key }; answer = await allRecordsOf(key); }
    if (state.key !== key) return;
    const { requests } = await asked;
    if (state.key !== key) return;
    drawRuns(node, answer.records, requests, at);
  } catch (error) {
    trouble(error);
  }
}

/* Gives each model call the number of its request. */
function number(runs, requests) {
  const left = new Map();
  for (const r of requests) if (!r.role) left.set(`${r.run} ${r.turn}`, [...(left.get(`${r.run} ${r.turn}`) ?? []), r]);
  for (const run of runs) {
    for (const span of run.spans) {
      const found = span.kind === "model" ? left.get(`${run.id} ${span.turn}`)?.shift() : null;
      if (found) Object.assign(span, { request: found.request, title: span.title || found.model });
    }
  }
}

function drawRuns(node, records, requests, at) {
  const runs = runsOf(records);
  number(runs, requests);
  const whole = (records[0]?.seq ?? 1) <= 1;
  const earlier = whole ? null : make("button.small", { type: "button", onclick: () => { shown = { key: state.key }; showTimeline(node); } }, say("time.earlier"));
  const top = node.scrollTop, open = new Set([...node.querySelectorAll("details.span[open]")].map((row) => row.dataset.of));
  node.replaceChildren(...[contextPlot(runs), ...runs.map((r, i) => runCard(r, i + 1, at, open)).reverse(), earlier].filter(Boolean));
  if (!runs.length) node.append(make("p.nothing", {}, say("time.none")));
  node.scrollTop = top;
  const wanted = at && node.querySelector(`[data-run="${CSS.escape(at)}"]`);
  if (!wanted) return;
  for (const row of wanted.querySelectorAll("details.span")) if (row.querySelector("[data-failed]")) row.open = true;
  wanted.scrollIntoView({ block: "start" });
}

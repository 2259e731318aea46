/* usage.js -- charts of tokens and latency, from the list of model calls. */
import { ask } from "./api.js";
import { draw, make } from "./dom.js";
import { count, dollars, say, took } from "./words.js";

const days = 14;

function quantile(sorted, q) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] : 0;
}

/* The next round number, for the top of an axis. */
function roundUp(n) {
  const power = 10 ** Math.floor(Math.log10(Math.max(n, 1)));
  return [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= n);
}

function dayOf(ms) {
  return new Date(ms).toLocaleDateString("sv-SE");
}

/* The calls by day up to today; days without calls are included. */
function byDay(calls, n) {
  const all = new Map();
  const today = new Date();
  for (let i = n - 1; i >= 0; i--) {
    const date = new Date(today.getFullYear(), today.getMonth(), today.getDate() - i);
    all.set(dayOf(date), { date, calls: [] });
  }
  for (const c of calls) all.get(dayOf(c.ts))?.calls.push(c);
  return [...all.values()];
}

const total = (calls, what) => calls.reduce((sum, c) => sum + (c[what] ?? 0), 0);

/* Draws the axes; returns a function from values to heights. */
function canvas(width, height, top, show, name) {
  const left = 56, right = 12, bottom = 22, above = 8;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name });
  const y = (v) => above + (height - above - bottom) * (1 - v / top);
  for (const part of [0, 0.5, 1]) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(top * part), y2: y(top * part) }),
      draw("text", { class: "tick end-at", x: left - 8, y: y(top * part) + 4 }, show(top * part)));
  }
  return { svg, y, left, band: (n) => (width - left - right) / n };
}

function dayLabels(c, list, height) {
  const step = Math.ceil(46 / c.band(list.length));
  list.forEach((d, i) => {
    if ((list.length - 1 - i) % step) return;
    const text = d.date.toLocaleDateString(document.documentElement.lang, { month: "numeric", day: "numeric" });
    c.svg.append(draw("text", { class: "tick middle", x: c.left + c.band(list.length) * (i + 0.5), y: height - 4 }, text));
  });
}

function tokensPlot(list, width) {
  const height = 200, top = roundUp(Math.max(...list.map((d) => total(d.calls, "input") + total(d.calls, "output")), 1));
  const c = canvas(width, height, top, count, say("usage.tokens")), band = c.band(list.length), wide = Math.min(band * 0.62, 34);
  list.forEach((d, i) => {
    const cached = total(d.calls, "cache_read");
    const parts = [["cache", cached], ["model", total(d.calls, "input") - cached], ["tool", total(d.calls, "output")]];
    const group = draw("g", {}, draw("title", {}, `${dayOf(d.date)}\n${say("usage.cached")} ${count(cached)}\n${say("usage.fresh")} ${count(parts[1][1])}\n${say("usage.output")} ${count(parts[2][1])}`));
    let base = 0;
    for (const [kind, n] of parts) {
      if (n > 0) group.append(draw("rect", { class: `fill-${kind}`, x: c.left + band * i + (band - wide) / 2, width: wide, y: c.y(base + n), height: Math.max(c.y(base) - c.y(base + n), 1), rx: 2 }));
      base += Math.max(n, 0);
    }
    c.svg.append(group);
  });
  dayLabels(c, list, height);
  return c.svg;
}

function latencyPlot(list, width) {
  const height = 200, sorted = list.map((d) => d.calls.map((k) => k.ms).sort((a, b) => a - b));
  const top = roundUp(Math.max(...sorted.map((s) => quantile(s, 0.95)), 1));
  const c = canvas(width, height, top, took, say("usage.latency")), band = c.band(list.length);
  for (const [q, kind, word] of [[0.95, "wait", "usage.most"], [0.5, "model", "usage.half"]]) {
    const points = sorted.map((s, i) => (s.length ? [c.left + band * (i + 0.5), c.y(quantile(s, q)), quantile(s, q)] : null)).filter(Boolean);
    c.svg.append(draw("polyline", { class: `line-${kind}`, points: points.map((p) => `${p[0]},${p[1]}`).join(" ") }));
    for (const [x, y, ms] of points) c.svg.append(draw("circle", { class: `fill-${kind}`, cx: x, cy: y, r: 3.5 }, draw("title", {}, `${say(word)} ${took(ms)}`)));
  }
  dayLabels(c, list, height);
  return c.svg;
}

function legend(...items) {
  return make("p.legend", {}, ...items.map(([kind, word]) => make("span", {}, make("i", { "data-kind": kind }), say(word))));
}

function tile(word, value) {
  return make("div.tile", {}, make("span.quiet", {}, say(word)), make("strong", {}, value));
}

function modelTable(calls) {
  const models = new Map();
  for (const c of calls) models.set(c.model, [...(models.get(c.model) ?? []), c]);
  const row = (tag, cells) => make("tr", {}, ...cells.map((text, i) => make(i ? `${tag}.right` : tag, {}, text)));
  const body = [...models].sort((a, b) => b[1].length - a[1].length).map(([name, list]) => row("td", [name.split("/").at(-1) || "?", count(list.length),
    count(total(list, "input")), count(total(list, "output")), took(quantile(list.map((c) => c.ms).sort((a, b) => a - b), 0.5))]));
  return make("div.table", { tabindex: 0 }, make("table", {}, make("thead", {}, row("th", ["usage.model", "usage.calls", "usage.input", "usage.output", "usage.half"].map((w) => say(w)))),
    make("tbody", {}, ...body)));
}

function showUsage(node, { calls, cost_usd }) {
  const list = byDay(calls, days), width = Math.max(Math.min(node.clientWidth - 72, 910), 260);
  const ms = calls.map((c) => c.ms).sort((a, b) => a - b);
  node.replaceChildren(make("h2", {}, say("usage.title", days)));
  if (!calls.length) { node.append(make("p.nothing", {}, say("usage.none"))); return; }
  node.append(make("div.tiles", {}, tile("usage.calls", count(calls.length)), tile("usage.input", count(total(calls, "input"))),
    tile("usage.output", count(total(calls, "output"))), tile("usage.half", took(quantile(ms, 0.5))), tile("usage.most", took(quantile(ms, 0.95))),
    typeof cost_usd === "number" ? tile("usage.cost", dollars(cost_usd)) : null),
  make("section.plot", {}, make("h3", {}, say("usage.tokens")), tokensPlot(list, width), legend(["cache", "usage.cached"], ["model", "usage.fresh"], ["tool", "usage.output"])),
  make("section.plot", {}, make("h3", {}, say("usage.latency")), latencyPlot(list, width), legend(["model", "usage.half"], ["wait", "usage.most"])),
  make("section.plot", {}, make("h3", {}, say("usage.by")), modelTable(calls)));
}

export async function showPage(node) {
  const data = await ask("GET", `/api/usage?days=${days}`);
  showUsage(node, data);
  const again = () => showUsage(node, data);
  addEventListener("resize", again);
  return () => removeEventListener("resize", again);
}

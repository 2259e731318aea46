/* plot.js -- charts by day as SVG, each with a name and a table of its values. */
import { draw, make } from "./dom.js";
import { say } from "./words.js";

export const dayOf = (ms) => new Date(ms).toLocaleDateString("sv-SE");
export const total = (list, what) => list.reduce((sum, one) => sum + (one[what] ?? 0), 0);

export function quantile(sorted, q) {
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] : 0;
}

/* The next round number, for the top of an axis. */
function roundUp(n) {
  const power = 10 ** Math.floor(Math.log10(n > 0 ? n : 1));
  return [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= n) ?? 1;
}

/* The entries by day up to today; days without entries are included. */
export function byDay(entries, n) {
  const all = new Map(), today = new Date();
  for (let i = n - 1; i >= 0; i--) {
    const date = new Date(today.getFullYear(), today.getMonth(), today.getDate() - i);
    all.set(dayOf(date), { date, list: [] });
  }
  for (const e of entries) all.get(dayOf(e.ts))?.list.push(e);
  return [...all.values()];
}

/* Draws the axes; y maps values to heights. */
function canvas(width, height, top, show, name) {
  const left = 60, right = 12, bottom = 22, above = 8;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name });
  const y = (v) => above + (height - above - bottom) * (1 - v / top);
  for (const part of top === 1 ? [0, 1] : [0, 0.5, 1]) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(top * part), y2: y(top * part) }),
      draw("text", { class: "tick end-at", x: left - 8, y: y(top * part) + 4 }, show(top * part)));
  }
  return { svg, y, left, band: (n) => (width - left - right) / n };
}

function dayLabels(c, days, height) {
  const step = Math.ceil(46 / c.band(days.length));
  days.forEach((d, i) => {
    if ((days.length - 1 - i) % step) return;
    const text = d.date.toLocaleDateString(document.documentElement.lang, { month: "numeric", day: "numeric" });
    c.svg.append(draw("text", { class: "tick middle", x: c.left + c.band(days.length) * (i + 0.5), y: height - 4 }, text));
  });
}

/* series: [{name, kind, values: one for each day}]; kind: the class of the colour. */
function tableOf(days, series, show) {
  const used = days.map((d, i) => i).filter((i) => series.some((s) => s.values[i]));
  const row = (tag, cells) => make("tr", {}, cells.map((text, i) => make(i ? `${tag}.right` : tag, tag === "th" ? { scope: "col" } : {}, text)));
  return make("details.values", {}, make("summary.quiet", {}, say("usage.table")), make("div.table", { tabindex: 0 }, make("table", {},
    make("thead", {}, row("th", [say("usage.day"), ...series.map((s) => s.name)])), make("tbody", {}, used.reverse().map((i) => row("td", [dayOf(days[i].date), ...series.map((s) => show(s.values[i] ?? 0))]))))));
}

const legend = (series) => make("p.legend", {}, series.map((s) => make("span", {}, make("i", { "data-kind": s.kind }), s.name)));

/* The name of a chart for those who do not see it. */
function about(title, days, series, show) {
  const sums = series.map((s) => `${s.name} ${show(Math.max(...s.values.map((v) => v ?? 0), 0))}`).join(", ");
  return `${title}. ${say("usage.peak", days.length)}: ${sums}`;
}

function frame(title, days, series, show, svg) {
  return make("section.plot", { "aria-label": title }, make("h3", {}, title), svg, legend(series), tableOf(days, series, show));
}

/* Bars, stacked by series. */
export function bars(title, days, series, width, show) {
  const height = 200, sums = days.map((d, i) => series.reduce((sum, s) => sum + (s.values[i] ?? 0), 0));
  const c = canvas(width, height, roundUp(Math.max(...sums, 0)), show, about(title, days, series, show)), band = c.band(days.length), wide = Math.min(band * 0.66, 34);
  days.forEach((d, i) => {
    const group = draw("g", {}, draw("title", {}, [dayOf(d.date), ...series.filter((s) => s.values[i]).map((s) => `${s.name} ${show(s.values[i])}`)].join("\n")));
    let base = 0;
    for (const s of series) {
      const n = s.values[i] ?? 0;
      if (n > 0) group.append(draw("rect", { class: `fill-${s.kind}`, x: c.left + band * i + (band - wide) / 2, width: wide, y: c.y(base + n), height: Math.max(c.y(base) - c.y(base + n), 1), rx: 2 }));
      base += Math.max(n, 0);
    }
    c.svg.append(group);
  });
  dayLabels(c, days, height);
  return frame(title, days, series, show, c.svg);
}

/* Lines with points; days without a value have none. */
export function curves(title, days, series, width, show) {
  const height = 200, top = roundUp(Math.max(...series.flatMap((s) => s.values.map((v) => v ?? 0)), 1));
  const c = canvas(width, height, top, show, about(title, days, series, show)), band = c.band(days.length);
  for (const s of series) {
    const points = s.values.map((v, i) => (v ? [c.left + band * (i + 0.5), c.y(v), v, days[i].date] : null)).filter(Boolean);
    c.svg.append(draw("polyline", { class: `line-${s.kind}`, points: points.map((p) => `${p[0]},${p[1]}`).join(" ") }));
    for (const [x, y, v, date] of points) c.svg.append(draw("circle", { class: `fill-${s.kind}`, cx: x, cy: y, r: 3.5 }, draw("title", {}, `${dayOf(date)}\n${s.name} ${show(v)}`)));
  }
  dayLabels(c, days, height);
  return frame(title, days, series, show, c.svg);
}

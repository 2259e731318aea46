/* log.js -- the raw events of the open session; the latest ones are kept. */
import { copyButton, eachFrame, lines, make, visibly } from "./dom.js";
import { sessionPath, state } from "./session.js";
import { count, say } from "./words.js";

export class Log {
  constructor(node) {
    this.events = [];
    this.most = 2000;
    this.node = node;
    this.list = make("div.log", { role: "log", tabindex: 0, "aria-label": say("view.log") });
    this.refresh = eachFrame(() => this.show());
    this.frame();
  }
  /* Builds the view in the language of the page. */
  frame() {
    this.filter = make("input", { type: "search", placeholder: say("log.filter"), "aria-label": say("log.filter"), oninput: () => this.fill() });
    this.deltas = make("input", { type: "checkbox", onchange: () => this.fill() });
    this.counter = make("span.quiet");
    this.node.replaceChildren(make("div.log-bar", {}, this.filter, make("label.quiet", {}, this.deltas, ` ${say("log.deltas")}`),
      make("span.grow"), this.counter, make("button.small", { onclick: () => this.clear() }, say("log.clear"))), this.list);
    this.fill();
  }
  clear() {
    this.events = [];
    this.fill();
  }
  add(event) {
    this.events.push({ event, text: JSON.stringify(event) });
    if (this.events.length > this.most) this.shown -= this.events.splice(0, this.most / 4).length;
    if (!this.node.hidden) this.refresh();
  }
  wanted({ event, text }) {
    const filter = this.filter.value.trim().toLowerCase();
    return (this.deltas.checked || !event.type.endsWith("_delta")) && (!filter || text.toLowerCase().includes(filter));
  }
  row({ event }) {
    const { type, run, seq, ts, cursor, ...rest } = event;
    const short = JSON.stringify(rest);
    const time = new Date(ts).toLocaleTimeString("sv-SE") + `.${String(ts % 1000).padStart(3, "0")}`;
    return make("details.event", { "data-event": cursor }, make("summary", {}, make("span.event-time", {}, time), make("span.event-type", { "data-type": type }, type),
      visibly(short === "{}" ? "" : short.slice(0, 240), make("span.event-short"))),
    copyButton(() => `${location.origin}${location.pathname}${sessionPath(state.key, `/e/${cursor}`)}`, "log.link"), lines(JSON.stringify(event, null, 2)));
  }
  /* at: the position of the event to show. */
  fill(at) {
    this.at = null;
    this.shown = 0;
    this.list.replaceChildren();
    this.show();
    if (at) this.find(at);
  }
  /* An event that is not here may still arrive: the stream of the session has just begun. */
  find(at) {
    const place = this.events.find(({ event }) => event.cursor === at);
    if (!place) {
      this.at = at;
      this.list.prepend(make("p.notice.warn", {}, say("log.forgotten")));
      return;
    }
    if (place.event.type.endsWith("_delta") && !this.deltas.checked) { this.deltas.checked = true; this.fill(); }
    const row = this.list.querySelector(`[data-event="${CSS.escape(at)}"]`);
    if (!row) return;
    row.open = true;
    row.scrollIntoView({ block: "center" });
    row.classList.add("flash");
  }
  /* Shows the events since the last call. */
  show() {
    if (!this.filter) return;
    const stuck = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 60;
    if (this.shown < 0) { this.fill(); return; } /* events were dropped before they were shown */
    for (const e of this.events.slice(this.shown)) if (this.wanted(e)) this.list.append(this.row(e));
    this.shown = this.events.length;
    while (this.list.childElementCount > this.most) this.list.firstChild.remove();
    this.counter.textContent = this.shown ? say("log.count", count(this.shown)) : say("log.none");
    if (stuck) this.list.scrollTop = this.list.scrollHeight;
    if (this.at && this.events.some(({ event }) => event.cursor === this.at)) this.fill(this.at);
  }
}

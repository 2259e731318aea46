/* chat.js -- the view of a conversation.
 *
 * It is built from the session's records when the session is opened, then from the events after
 * the last record. Pieces of a reply in progress (ephemeral events) are shown until the events of
 * the reply's record replace them. Tool calls are identified by their id, and can be reported
 * any number of times. Earlier records can be added in front. */
import { argumentsNode, citationsNode, foldedText, headline, mediaNode, plain, readable, resultNode } from "./content.js";
import { copyButton, iconButton, inOrder, make, notOften, visibly, visiblyIn } from "./dom.js";
import { AnswerCard, ConsentCard, decidedAs } from "./human.js";
import { Markdown } from "./markdown.js";
import { bytes, count, dollars, say, sayEnding, sayReason, sayStatus, took } from "./words.js";

const cutOff = "\n\n[interrupted]"; /* the end of a reply that was cancelled */
const longMessage = 20000, longAnswer = 100000; /* characters that are shown at once */
const tooLong = 1000000; /* characters that are not shown as Markdown */
const unnamed = "unnamed:"; /* begins the id of a tool of the service that has none */
const often = 120; /* ms between two looks at arguments that grow */
const mediaOf = (content) => (Array.isArray(content) ? content.filter((c) => c?.media_type) : []);

/* The body of a card is built when the card is opened. */
class ToolCard {
  constructor(id, name) {
    this.id = id;
    this.tool = name;
    this.sent = "";
    this.mark = make("span.mark-tool", { "aria-hidden": "true" });
    this.name = make("span.tool-name", {}, name);
    this.short = make("span.tool-short");
    this.time = make("span.tool-time");
    this.body = make("div.tool-body");
    this.media = make("div.tool-media", { hidden: true });
    this.details = make("details.tool", { "data-id": id, ontoggle: () => this.build() },
      make("summary", {}, this.mark, this.name, this.short, this.time), this.body);
    this.node = make("div.tool-box", {}, this.details, this.media);
    this.refresh = notOften(often, () => this.showArguments());
    this.state("waits");
  }
  state(word) {
    this.details.dataset.state = word;
    this.mark.textContent = { waits: "○", runs: "◐", done: "✓", failed: "✕" }[word];
  }
  get open() {
    return ["waits", "runs"].includes(this.details.dataset.state);
  }
  build() {
    if (!this.details.open) return;
    const shown = argumentsNode(this.tool, this.sent), exact = visiblyIn(make("pre", { tabindex: 0 }), readable(this.sent));
    this.body.replaceChildren(make("h4", {}, say("chat.arguments")),
      ...(shown ? [shown, make("details.exactly", {}, make("summary.quiet", {}, say("ask.exact")), exact)] : [exact]));
    this.gotNode = null;
    if (this.got !== undefined || this.said) this.buildResult();
  }
  buildResult() {
    const head = make("h4", {}, say("chat.result"));
    if (this.got === undefined) this.gotNode = visiblyIn(make("pre", { tabindex: 0 }), this.said);
    else this.gotNode = resultNode(this.tool, this.sent, this.got);
    this.body.append(make("div.tool-got", {}, head, this.gotNode, this.cut ? make("p.quiet", {}, say("chat.cut")) : null));
  }
  arguments(json) {
    this.sent = json;
    this.showArguments();
  }
  showArguments() {
    this.short.replaceChildren();
    visibly(headline(this.sent), this.short);
    this.build();
  }
  /* Each look reads all arguments so far, so not every piece gets one. */
  piece(text) {
    this.sent = (typeof this.sent === "string" ? this.sent : "") + text;
    this.refresh();
  }
  progress(text) {
    this.said = (this.said ?? "") + text;
    if (this.details.open && this.gotNode) visiblyIn(this.gotNode, text);
    else this.build();
  }
  result(content, failed, ms, cut) {
    this.got = plain(content);
    this.cut = cut;
    this.show(mediaOf(content));
    if (ms !== undefined) this.time.textContent = took(ms);
    this.state(failed ? "failed" : "done");
    this.build();
  }
  /* Pictures, sound and files of a result are shown below the card. */
  show(media) {
    if (!media.length) return;
    this.media.hidden = false;
    this.media.replaceChildren(...media.map(mediaNode));
  }
}

export class Chat {
  /* hooks: began, resumed, ended, asked, made, delivered, edit, again, openRun; and those of
   * the cards: decide, answer, takeOver. */
  constructor(node, hooks) {
    this.node = this.into = node;
    this.hooks = hooks;
    this.clear();
  }
  clear() {
    this.node.replaceChildren();
    this.tools = new Map();
    this.children = new Map(); /* runs of child agents, by id */
    this.consents = new Map();
    this.answers = new Map(); /* calls that wait for their result, by id */
    this.filled = new Set(); /* records whose media are shown */
    this.late = new Map(); /* queued messages whose records are not loaded: whether they were dropped */
    this.inputs = new Map(); /* by run: {seq, content} of the message that began it */
    this.text = this.thought = this.planNode = null;
    this.indexes = new Map();
    this.seq = null; /* of the record that is shown */
    this.run = null;
    this.passing = []; /* nodes of the reply in progress, which has no record yet */
    this.recorded = false; /* its record has begun to come */
    this.piece = false; /* the event that is shown is a piece */
  }
  put(node) {
    if (this.seq) node.dataset.seq = this.seq;
    if (this.run) node.dataset.run = this.run;
    if (this.piece) this.passing.push(node);
    const queued = this.into === this.node ? this.node.querySelector(":scope > .user.pending") : null;
    if (queued) queued.before(node);
    else this.into.append(node);
    return node;
  }
  /* A message that waits for the run stays below all that the run says. */
  queued(content, badge) {
    const { text, thought } = this;
    this.text = this.thought = null;
    const node = this.user(content, badge);
    node.classList.add("pending");
    node.dataset.text = node.content.filter((b) => b.type === "text").map((b) => b.text).join("\n");
    this.into.append(node);
    Object.assign(this, { text, thought });
    return node;
  }

  /* --- parts of a conversation */

  /* edits: the message can be edited and sent again. */
  user(content, badge, edits) {
    this.close();
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content ?? [];
    const node = make("article.user", { "aria-label": say("chat.you") }, badge ? make("span.badge", {}, badge) : null);
    for (const b of blocks) {
      if (b.type === "text") node.append(foldedText(b.text ?? "", (part) => visiblyIn(make("div"), part), longMessage));
      else if (b.type !== "context") node.append(mediaNode(b));
    }
    node.content = blocks;
    if (edits) node.append(make("span.tools-of", {}, iconButton("✎", say("chat.edit"), () => this.hooks.edit(node))));
    return this.put(node);
  }
  words(text) {
    if (!this.text) {
      this.settleThought();
      this.text = new Markdown(this.put(make("article.assistant", { "aria-label": say("chat.it") })));
    }
    this.text.add(text);
  }
  /* An answer that would keep the browser busy. */
  long(text) {
    const show = (part) => {
      if (part.length > tooLong) return visiblyIn(make("pre", { tabindex: 0 }), part);
      const node = make("div"), markdown = new Markdown(node);
      markdown.text = inOrder(part);
      markdown.show();
      return node;
    };
    this.close();
    this.put(make("article.assistant", { "aria-label": say("chat.it") }, foldedText(text, show, longAnswer)));
  }
  cite(list) {
    const node = citationsNode(list);
    const last = [...this.into.children].findLast((n) => n.matches(".assistant, .user, .citations"));
    if (!node || last?.matches(".citations")) return;
    this.close();
    this.put(node);
  }
  think(text) {
    if (!this.thought) {
      this.thought = make("div");
      this.thoughtTitle = make("summary", {}, say("chat.thinking"));
      this.text?.show();
      this.text = null;
      this.put(make("details.think", { open: !this.piece && this.thoughtOpen }, this.thoughtTitle, this.thought));
    }
    this.thought.append(inOrder(text));
  }
  settleThought() {
    if (this.thought) this.thoughtTitle.textContent = say("chat.thought");
    this.thought = null;
  }
  close() {
    this.settleThought();
    this.text?.show();
    this.text = null;
  }
  /* The record of the reply is here, or the reply failed: what its pieces showed goes. Its cards
   * of tools stay, and move to their places. */
  replacePieces() {
    for (const [id, card] of this.tools) if (id.startsWith(unnamed) && this.passing.includes(card.node)) this.tools.delete(id);
    const kept = new Set([...this.tools.values()].map((card) => card.node));
    this.thoughtOpen = this.passing.some((n) => n.matches("details.think[open]"));
    for (const node of this.passing) if (!kept.has(node)) node.remove();
    this.moving = new Set(this.passing.filter((n) => kept.has(n)));
    this.passing = [];
    this.recorded = false;
    this.text = this.thought = null;
  }
  tool(id, name) {
    let card = this.tools.get(id);
    if (card && !this.piece && this.moving?.delete(card.node)) {
      this.close();
      this.put(card.node);
    }
    if (!card) {
      this.close();
      this.tools.set(id, card = new ToolCard(id, name));
      this.put(card.node);
    }
    return card;
  }
  consent(id, name, summary, exact, remember) {
    let card = this.consents.get(id);
    if (!card) {
      this.close();
      this.consents.set(id, card = new ConsentCard(id, name, summary, this.hooks.decide));
      card.always.hidden = remember === false || name === "make_plan";
      this.put(card.node);
    }
    if (exact !== undefined) card.show(exact);
    return card;
  }
  unanswered(id, name, json) {
    if (this.answers.has(id)) return;
    this.close();
    const card = new AnswerCard(id, name, json, this.hooks);
    this.answers.set(id, card);
    this.put(card.node);
  }
  /* The cards that wait for a person. */
  waiting() {
    return [...this.consents.values(), ...this.answers.values()].filter((c) => !c.settled);
  }
  notice(text, style = "") {
    this.close();
    return this.put(visiblyIn(make(`p.notice${style && `.${style}`}`), String(text ?? "")));
  }
  plan(steps) {
    if (!Array.isArray(steps)) return;
    this.steps = steps;
    if (!this.planNode) this.planNode = this.put(make("section.plan"));
    this.planNode.replaceChildren(make("h3", {}, say("chat.plan")), make("ol", {}, ...steps.map((s) =>
      make("li", { "data-state": s.status ?? "pending" }, s.description ?? JSON.stringify(s)))));
  }
  /* Records hold the plan as a call, and each step as a call with the id plan_N_sSTEP. */
  stepDone(id, failed) {
    const step = /^plan_\d+_s(\d+)/.exec(id)?.[1];
    if (!step || !this.planNode) return;
    this.plan(this.steps.map((s) => (s.step_id === Number(step) ? { ...s, status: failed ? "failed" : "done" } : s)));
  }
  end({ run, status, reason, turns, tool_calls, usage, cost, ending }) {
    this.close();
    if (status === "paused") return;
    const parts = [sayStatus(status) + (reason && !["task_completed", "cancelled"].includes(reason) ? `: ${sayReason(reason)}` : "")];
    if (turns) parts.push(turns === 1 ? say("end.turn") : say("end.turns", turns));
    if (tool_calls) parts.push(tool_calls === 1 ? say("end.call") : say("end.calls", tool_calls));
    if (usage?.input) parts.push(say("end.tokens", count(usage.input), count(usage.output)));
    if (typeof cost === "number") parts.push(dollars(cost));
    const cut = status === "cancelled" && !this.seq ? [...this.node.querySelectorAll(`[data-run="${CSS.escape(run)}"]`)].findLast((n) => n.matches(".assistant, .tool-box")) : null;
    if (cut?.matches(".assistant")) cut.after(make("p.notice.warn", {}, say("chat.cutoff")));
    const told = status === "cancelled" ? "" : sayEnding(reason, ending);
    if (told) this.notice(told, status === "done" ? "warn" : "bad");
    const answer = () => [...this.node.querySelectorAll(`.assistant[data-run="${CSS.escape(run ?? "")}"]`)].map((n) => n.innerText).join("\n\n");
    const copy = copyButton(answer);
    copy?.classList.add("bare");
    this.put(make("footer.end", { "data-status": status }, make("span", {}, parts.join("  ·  ")),
      make("span.tools-of", {}, iconButton("↻", say("chat.again"), () => this.hooks.again(run)),
        iconButton("≡", say("chat.torun"), () => this.hooks.openRun(run)), copy)));
    for (const card of this.tools.values()) if (card.open) card.state("failed");
    this.planNode = null;
  }

  /* --- from records */

  /* live: the run of the last record is in progress. */
  load(records, live) {
    const last = records.findLast((r) => r.type === "state");
    const cut = last?.data.status === "running" && !live;
    for (const r of records) this.record(r);
    this.seq = this.run = null;
    if (cut) this.notice(say("chat.interrupted"), "warn");
    const running = last?.data.status === "running" && live;
    for (const card of this.tools.values()) if (running && card.details.dataset.state === "waits") card.state("runs");
    return running ? "running" : cut ? "interrupted" : last?.data.status === "paused" ? "paused" : "idle";
  }
  /* Shows earlier records in front of the others. */
  loadEarlier(records) {
    const { text, thought, planNode, steps } = this;
    this.text = this.thought = this.planNode = null;
    this.into = document.createDocumentFragment();
    for (const r of records) this.record(r);
    this.close();
    this.node.prepend(this.into);
    this.into = this.node;
    this.seq = this.run = null;
    Object.assign(this, { text, thought, planNode, steps });
  }
  record({ seq, type, data }) {
    this.seq = seq;
    this.run = data.run;
    if (type === "inbound") this.inbound(seq, data);
    else if (type === "message" && data.of) this.taken(data);
    else if (type === "message") this.message(data.message);
    else if (type === "done") this.resultOf(data.message?.content?.[0]);
    else if (type === "asked") this.consent(data.approval, data.name, data.summary, data.arguments, data.remember);
    else if (type === "answered") this.answered(data);
    else if (type === "compaction") this.notice(say("chat.shorter"));
    else if (type === "state") this.stateOf(data);
  }
  /* The run takes a queued message, which is shown here, or drops the message. A dropped message
   * begins a run of its own, or is gone. */
  taken({ of, dropped }) {
    const bubble = [this.into, this.node].map((root) => root.querySelector(`.user[data-seq="${of}"]`)).find(Boolean);
    if (!bubble) { this.late.set(of, dropped); return; }
    bubble.remove();
    if (!dropped) this.user(bubble.content, bubble.badge);
  }
  inbound(seq, { run, mode, message }) {
    const content = message?.content, badge = { steer: say("chat.steered"), follow_up: say("chat.followed") }[mode];
    if (mode === "start") this.inputs.set(run, { seq, content });
    if (!badge) this.user(content, null, mode === "start");
    else if (!this.late.has(seq)) this.queued(content, say("chat.waits")).badge = badge;
    else if (!this.late.get(seq)) this.user(content, badge);
  }
  message(m) {
    if (m?.role !== "assistant") { if (m?.role === "user") this.user(m.content); return; }
    for (const b of m.content ?? []) {
      if (b.type === "text" && b.text.endsWith(cutOff)) { this.words(b.text.slice(0, -cutOff.length)); this.notice(say("chat.cutoff"), "warn"); }
      else if (b.type === "text" && b.text.length > 1.5 * longAnswer) this.long(b.text);
      else if (b.type === "text") { this.words(b.text); this.cite(b.citations); }
      else if (b.type === "reasoning" && b.text) this.think(b.text);
      else if (b.media_type) { this.close(); this.put(make("div.said-media", {}, mediaNode(b))); }
      else if (b.type === "opaque") this.opaque(b.json);
      else if (b.type === "refusal") this.notice(b.text, "warn");
      else if (b.type === "tool_call") {
        this.tool(b.id, b.name).arguments(b.arguments ?? b.arguments_raw);
        if (b.name === "make_plan") this.plan(b.arguments?.steps);
      }
    }
    this.cite(m.citations);
    this.close();
  }
  /* A tool that the model's service ran. */
  byServer(id, name, sent, got) {
    const card = this.tool(id, String(name));
    card.details.dataset.by = "server";
    card.arguments(sent ?? {});
    card.time.textContent = say("chat.byserver");
    if (got) card.result(got, false);
    else card.state("done");
  }
  /* A block of a record in the vendor's own form. */
  opaque(json) {
    let v;
    try { v = JSON.parse(json); } catch { return; }
    const type = String(v?.type);
    if (type === "server_tool_use") this.byServer(v.id, v.name, v.input);
    else if (type.endsWith("_tool_result")) this.tools.get(v.tool_use_id)?.result(v.content, false);
    else if (type.endsWith("_call") && v.id) this.byServer(v.id, type.slice(0, -"_call".length), v.action);
  }
  resultOf(b) {
    if (!b) return;
    this.tool(b.id, b.name).result(b.content, b.is_error);
    this.answerCame(b.id, plain(b.content));
    this.stepDone(b.id, b.is_error);
  }
  /* Events hold the text of a result only: the records of an ended run add media, and the
   * places of its messages. */
  complete(records) {
    for (const r of records) {
      const b = r.data.message?.content?.[0];
      if (r.type === "done" && b) this.tools.get(b.id)?.show(mediaOf(b.content));
      if (r.type === "inbound" && r.data.mode === "start" && !this.inputs.get(r.data.run)?.seq) {
        const bubble = this.node.querySelector(`.user[data-run="${CSS.escape(r.data.run)}"]`);
        if (!bubble) continue; /* a run whose events have not come */
        this.inputs.set(r.data.run, { seq: r.seq, content: r.data.message?.content });
        bubble.dataset.seq = r.seq;
      }
      if (r.type !== "message" || r.data.message?.role !== "assistant") continue;
      const media = mediaOf(r.data.message.content), of = `[data-run="${CSS.escape(r.data.run)}"]`;
      if (!media.length) continue;
      const foot = [...this.node.querySelectorAll(`.end${of}`)].at(-1), places = [...this.node.querySelectorAll(`.said-media.announced${of}`)];
      if (this.filled.has(r.seq)) continue;
      const known = this.node.querySelector(`.said-media[data-seq="${r.seq}"]`);
      if (known || places.length || foot) this.filled.add(r.seq);
      for (const one of media) {
        if (known) { places.shift()?.remove(); continue; }
        const shown = make("div.said-media", { "data-seq": r.seq, "data-run": r.data.run }, mediaNode(one)), place = places.shift();
        if (place) place.replaceWith(shown);
        else foot?.before(shown);
      }
    }
  }
  answered(data) {
    const card = this.consents.get(data.approval) ?? [...this.consents.values()].find((c) => !c.settled);
    card?.decided(decidedAs[data.decision] ?? "ask.gone", data.reason);
  }
  answerCame(id, text) {
    const card = this.answers.get(id);
    if (card && !card.settled) card.decided("ask.replied", text);
  }
  stateOf(data) {
    if (data.status !== "running" && data.reason) this.end(data);
  }

  /* --- from events after the last record */

  event(e) {
    if (e.depth) { this.below(e); return; }
    this.run = e.run;
    this.piece = Boolean(e.ephemeral);
    /* The record of the reply comes: its first part replaces the pieces, so that nothing flickers. */
    if (this.recorded && !this.piece || ["retry", "fallback", "run_end"].includes(e.type)) this.replacePieces();
    if (e.type === "turn_start") this.recorded = true;
    this.on[e.type]?.call(this, e);
    this.piece = false;
  }
  /* Events of a child agent are progress of its call. */
  below(e) {
    if (e.type === "child_start")
      this.children.set(e.run, { agent: e.agent, card: this.children.get(e.parent)?.card ?? this.tools.get(e.call) });
    const child = this.children.get(e.run);
    if (e.type === "tool_call") child?.card?.progress(`${child.agent}: ${e.name}\n`);
    if (e.type === "child_end") this.children.delete(e.run);
  }
  on = {
    run_start(e) { this.hooks.began(e); },
    state(e) {
      if (e.from !== "WAITING") return;
      this.hooks.resumed();
      for (const card of this.waiting()) card.decided("ask.gone");
    },
    turn_start() { this.close(); this.indexes.clear(); },
    text_delta(e) { this.words(e.text); },
    reasoning_delta(e) { this.think(e.text); },
    citation(e) { this.cite(e.citations); },
    citations(e) { this.cite(e.citations); },
    tool_call_delta(e) {
      if (e.id) this.indexes.set(e.index, this.tool(e.id, e.name));
      if (e.arguments_delta) this.indexes.get(e.index)?.piece(e.arguments_delta);
    },
    tool_call(e) {
      const card = this.tool(e.id, e.name);
      card.arguments(e.arguments);
      if (card.open) card.state("runs"); /* a call that only reads has no record of its start */
      if (e.name === "make_plan") this.plan(e.arguments?.steps);
    },
    tool_start(e) { this.tool(e.id, e.name).state("runs"); },
    tool_progress(e) { this.tools.get(e.id)?.progress(e.text); },
    tool_result(e) {
      this.tool(e.id, e.name).result(e.content, e.is_error, e.duration_ms, e.truncated);
      this.answerCame(e.id, plain(e.content));
      this.stepDone(e.id, e.is_error);
    },
    server_tool(e) { this.byServer(e.id || `${unnamed}${e.run}:${e.seq}`, e.name, e.arguments, e.result); },
    /* The event has no data: the journal has it. */
    media(e) {
      if (!this.piece && this.filled.has(parseInt(e.cursor, 10))) return;
      this.close();
      this.put(make("div.said-media.announced", {}, make("p.media.quiet", {}, say("chat.made", e.media_type, e.bytes ? bytes(e.bytes) : e.url ?? "", e.path ?? ""))));
      this.hooks.made();
    },
    approval_required(e) {
      this.consent(e.approval_id, e.name, e.summary, undefined, e.can_remember);
      this.tools.get(e.id)?.state("waits");
      this.hooks.asked(e.approval_id);
    },
    client_tool_required(e) { this.tool(e.id, e.name).state("waits"); this.hooks.asked(e.id); },
    steering(e) { this.hooks.delivered(e, "steer"); },
    follow_up(e) { this.hooks.delivered(e, "follow_up"); },
    retry(e) { this.piece = false; this.notice(say("chat.retry", e.attempt, took(e.delay_ms), e.reason)); },
    fallback(e) { this.piece = false; this.notice(say("chat.fallback", e.from, e.to, e.reason)); },
    handoff(e) { this.piece = false; this.notice(say("chat.handoff", e.from, e.to)); },
    compaction(e) { this.notice(say("chat.compacted", count(e.tokens_before), count(e.tokens_after))); },
    warning(e) { this.piece = false; this.notice(e.text, "warn"); },
    plan(e) { this.piece = false; this.plan(e.steps); },
    turn_end(e) { this.cite(e.citations); },
    run_end(e) {
      this.cite(e.citations);
      this.end({ ...e, cost: e.usage?.cost_usd });
      this.hooks.ended(e);
    },
  };
}

/* chat.js -- the view of a conversation.
 *
 * It is built from the session's records when the session is opened, then from events. A
 * state record holds the sequence number of the next event, so that replayed events do not
 * repeat what the records hold. Tool calls are identified by their id, and can be reported
 * any number of times. */

const brief = 96; /* characters of a call's arguments in its title */

function plain(content) {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((c) => c.text ?? `[${c.type}]`).join("\n");
  return content === undefined || content === null ? "" : JSON.stringify(content, null, 2);
}

/* Incomplete arguments are not valid JSON yet. */
function readable(json) {
  return typeof json === "string" ? indented(json) : JSON.stringify(json ?? {}, null, 2);
}

function headline(json) {
  const exact = typeof json === "string" ? json : JSON.stringify(json ?? {});
  let values;
  try { values = [...members(compact(exact)).values()]; } catch { return exact.slice(0, brief); }
  const text = values.map((v) => (v.startsWith('"') ? JSON.parse(v) : v)).join("  ").replace(/\s+/g, " ");
  return text.length > brief ? `${text.slice(0, brief)}…` : text;
}

/* The text with hidden characters made visible, except tabs and line breaks. */
function lines(text) {
  const node = make("pre.summary", { tabindex: 0 });
  for (const piece of text.split(/([\n\t]+)/)) {
    if (/^[\n\t]/.test(piece)) node.append(piece);
    else visibly(piece, node);
  }
  return node;
}

class ToolCard {
  constructor(id, name) {
    this.id = id;
    this.sent = "";
    this.mark = make("span.mark-tool");
    this.name = make("span.tool-name", {}, name);
    this.short = make("span.tool-short");
    this.time = make("span.tool-time");
    this.sentNode = make("pre", { tabindex: 0 });
    this.gotNode = make("pre", { tabindex: 0 });
    this.gotPart = make("div", { hidden: true }, make("h4", {}, say("chat.result")), this.gotNode);
    this.node = make("details.tool", { "data-id": id },
      make("summary", {}, this.mark, this.name, this.short, this.time),
      make("div.tool-body", {}, make("h4", {}, say("chat.arguments")), this.sentNode, this.gotPart));
    this.state("waits");
  }
  state(word) {
    this.node.dataset.state = word;
    this.mark.textContent = { waits: "○", runs: "◐", done: "✓", failed: "✕" }[word];
  }
  arguments(json) {
    this.sent = json;
    this.short.replaceChildren();
    visibly(headline(json), this.short);
    this.sentNode.replaceChildren();
    this.sentNode.append(...lines(readable(json)).childNodes);
  }
  piece(text) {
    this.arguments((typeof this.sent === "string" ? this.sent : "") + text);
  }
  progress(text) {
    this.gotPart.hidden = false;
    this.gotNode.append(text);
  }
  result(content, failed, ms, cut) {
    this.gotPart.hidden = false;
    this.gotNode.replaceChildren(...lines(plain(content)).childNodes);
    if (cut) this.gotNode.append(make("span.quiet", {}, `\n${say("chat.cut")}`));
    if (ms !== undefined) this.time.textContent = took(ms);
    this.state(failed ? "failed" : "done");
  }
}

class Chat {
  /* hooks: began, resumed, ended, asked, delivered; and those of the cards: decide, answer,
   * takeOver. */
  constructor(node, hooks) {
    this.node = node;
    this.hooks = hooks;
    this.clear();
  }
  clear() {
    this.node.replaceChildren();
    this.tools = new Map();
    this.children = new Map(); /* runs of child agents, by id */
    this.consents = new Map();
    this.answers = new Map(); /* calls that wait for their result, by id */
    this.next = new Map(); /* by run: the next sequence number that is new */
    this.text = this.thought = this.planNode = null;
    this.indexes = new Map();
    this.missed = false; /* events were lost: reload the records */
  }
  put(node) {
    this.node.append(node);
    return node;
  }

  /* --- parts of a conversation */

  user(content, badge) {
    this.close();
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content ?? [];
    const node = make("article.user", {}, badge ? make("span.badge", {}, badge) : null);
    for (const b of blocks) {
      if (b.type === "text") node.append(make("div", {}, b.text));
      else if (b.type === "image" && b.data) node.append(make("img", { alt: say("chat.picture"), src: `data:${b.mime ?? "image/png"};base64,${b.data}` }));
      else node.append(make("div.quiet", {}, `[${b.type}]`));
    }
    return this.put(node);
  }
  words(text) {
    if (!this.text) {
      this.settleThought();
      this.text = new Markdown(this.put(make("article.assistant")));
    }
    this.text.add(text);
  }
  think(text) {
    if (!this.thought) {
      this.thought = make("div");
      this.thoughtTitle = make("summary", {}, say("chat.thinking"));
      this.text?.show();
      this.text = null;
      this.put(make("details.think", {}, this.thoughtTitle, this.thought));
    }
    this.thought.append(text);
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
  tool(id, name) {
    let card = this.tools.get(id);
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
    return this.put(make(`p.notice${style && `.${style}`}`, {}, text));
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
  end({ status, reason, turns, tool_calls, usage, cost, error }) {
    this.close();
    if (status === "paused") return;
    const parts = [sayStatus(status) + (reason && !["task_completed", "cancelled"].includes(reason) ? `: ${reason}` : "")];
    if (turns) parts.push(turns === 1 ? say("end.turn") : say("end.turns", turns));
    if (tool_calls) parts.push(tool_calls === 1 ? say("end.call") : say("end.calls", tool_calls));
    if (usage?.input) parts.push(say("end.tokens", count(usage.input), count(usage.output)));
    if (typeof cost === "number") parts.push(dollars(cost));
    if (error) this.notice(error, "bad");
    this.put(make("footer.end", { "data-status": status }, parts.join("  ·  ")));
    for (const card of this.tools.values()) if (["waits", "runs"].includes(card.node.dataset.state)) card.state("failed");
    this.planNode = null;
  }

  /* --- from records */

  /* live: the run of the last record is in progress. */
  load(records, live) {
    const last = records.findLast((r) => r.type === "state");
    const cut = last?.data.status === "running" && !live;
    const running = last?.data.status === "running" && live ? last : null;
    for (const r of records) {
      /* The events of the current turn are replayed from its start. */
      if (running && r.seq > running.seq && r.data.run === running.data.run && r.type !== "done") continue;
      this.record(r);
    }
    if (cut) this.notice(say("chat.interrupted"), "warn");
    return running ? "running" : cut ? "interrupted" : last?.data.status === "paused" ? "paused" : "idle";
  }
  record({ type, data }) {
    if (type === "inbound") this.user(data.message?.content, { steer: say("chat.steered"), follow_up: say("chat.followed") }[data.mode]);
    else if (type === "message" && !data.of) this.message(data.message);
    else if (type === "done") this.resultOf(data.message?.content?.[0]);
    else if (type === "asked") this.consent(data.approval, data.name, data.summary, data.arguments, data.remember);
    else if (type === "answered") this.answered(data);
    else if (type === "compaction") this.notice(say("chat.shorter"));
    else if (type === "state") this.stateOf(data);
  }
  message(m) {
    if (m?.role !== "assistant") { if (m?.role === "user") this.user(m.content); return; }
    for (const b of m.content ?? []) {
      if (b.type === "text") this.words(b.text);
      else if (b.type === "reasoning" && b.text) this.think(b.text);
      else if (b.type === "tool_call") {
        this.tool(b.id, b.name).arguments(b.arguments);
        if (b.name === "make_plan") this.plan(b.arguments?.steps);
      }
    }
    this.close();
  }
  resultOf(b) {
    if (!b) return;
    this.tool(b.id, b.name).result(b.content, b.is_error);
    this.answerCame(b.id, plain(b.content));
    this.stepDone(b.id, b.is_error);
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
    this.next.set(data.run, data.seq ?? 0);
    if (data.status !== "running" && data.reason) this.end(data);
  }

  /* --- from events; returns whether the event was new */

  event(e) {
    if (e.depth) { this.below(e); return true; }
    const expected = this.next.get(e.run) ?? 0;
    if (e.seq < expected) return false;
    if (e.seq > expected && e.type !== "run_start") this.missed = true; /* sequence numbers jump when a run is resumed */
    this.next.set(e.run, e.seq + 1);
    this.on[e.type]?.call(this, e);
    return true;
  }
  /* Events of a child agent are progress of its call. */
  below(e) {
    if (e.type === "child_start")
      this.children.set(e.run, { agent: e.agent, card: this.children.get(e.parent)?.card ?? this.tools.get(e.call) });
    const child = this.children.get(e.run);
    if (e.type === "tool_call") child?.card?.progress(`${child.agent}: ${e.name}`);
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
    tool_call_delta(e) {
      if (e.id) this.indexes.set(e.index, this.tool(e.id, e.name));
      if (e.arguments_delta) this.indexes.get(e.index)?.piece(e.arguments_delta);
    },
    tool_call(e) { this.tool(e.id, e.name).arguments(e.arguments); },
    tool_start(e) { this.tool(e.id, e.name).state("runs"); },
    tool_progress(e) { this.tools.get(e.id)?.progress(e.text); },
    tool_result(e) {
      this.tool(e.id, e.name).result(e.content, e.is_error, e.duration_ms, e.truncated);
      this.answerCame(e.id, plain(e.content));
    },
    approval_required(e) {
      this.consent(e.approval_id, e.name, e.summary, undefined, e.can_remember);
      this.hooks.asked(e.approval_id);
    },
    client_tool_required(e) { this.tool(e.id, e.name); this.hooks.asked(e.id); },
    steering(e) { this.hooks.delivered(e, "steer"); },
    follow_up(e) { this.hooks.delivered(e, "follow_up"); },
    retry(e) { this.notice(say("chat.retry", e.attempt, took(e.delay_ms), e.reason)); },
    fallback(e) { this.notice(say("chat.fallback", e.from, e.to, e.reason)); },
    handoff(e) { this.notice(say("chat.handoff", e.from, e.to)); },
    compaction(e) { this.notice(say("chat.compacted", count(e.tokens_before), count(e.tokens_after))); },
    warning(e) { this.notice(e.text, "warn"); },
    plan(e) { this.plan(e.steps); },
    run_end(e) {
      this.end({ ...e, cost: e.usage?.cost_usd, error: e.status === "error" ? e.error ?? e.message : null });
      this.hooks.ended(e);
    },
  };
}

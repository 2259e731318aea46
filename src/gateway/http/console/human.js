/* human.js -- cards for decisions that a run waits for: approve a call, approve a plan,
 * answer a question.
 *
 * A decision is possible only when the exact arguments are shown. Edited arguments are shown
 * again as they will be sent, with hidden characters made visible. */
import { argumentsNode, headline } from "./content.js";
import { lines, make, visibly } from "./dom.js";
import { compact, indented, members, objectOf, parts } from "./jsontext.js";
import { say } from "./words.js";

/* --- fields: {node, focus(), read()}; read throws if the input is invalid */

function textField(label, value = "") {
  const area = make("textarea", { rows: 3, "aria-label": label });
  area.value = value;
  return {
    node: area,
    focus: () => area.focus(),
    read() {
      if (!area.value.trim()) throw new Error(say("ask.empty"));
      return area.value;
    },
  };
}

/* An optional text. */
function reasonField(label) {
  const field = textField(label);
  return { ...field, read: () => field.node.value.trim() };
}

/* A live view of a field's value as it will be sent. */
function exactly(field) {
  const exact = make("pre.exact", { tabindex: 0 }), wrong = make("p.bad.quiet", { role: "alert" });
  const show = () => {
    exact.replaceChildren();
    wrong.textContent = "";
    try { visibly(field.read(), exact); } catch (error) { wrong.textContent = error.message; }
    exact.hidden = !exact.childNodes.length;
  };
  field.node.addEventListener("input", show);
  show();
  return { ...field, node: make("div.stack", {}, field.node, make("h4", {}, say("ask.will")), exact, wrong) };
}

function readObject(text) {
  let out;
  try { out = compact(text); } catch (error) { throw new Error(`${say("ask.nojson")}: ${error.message}`); }
  if (!out.startsWith("{")) throw new Error(say("ask.noobject"));
  return out;
}

function jsonField(label, json) {
  const area = make("textarea.mono", { rows: Math.min(16, indented(json).split("\n").length + 1), "aria-label": label, spellcheck: "false", autocapitalize: "off" });
  area.value = indented(json);
  return exactly({ node: area, focus: () => area.focus(), read: () => readObject(area.value) });
}

/* --- a plan */

function stepRow(step, act) {
  const numbers = () => parts(step.get("depends_on") ?? "[]").join(", ");
  const text = (name) => { try { return JSON.parse(step.get(name) ?? '""') ?? ""; } catch { return ""; } };
  const field = (what, label, value, keep) => {
    const node = make(what, { "aria-label": label, placeholder: label, spellcheck: "false", autocomplete: "off", ...(what.startsWith("textarea") && { rows: 1 }) });
    node.value = value;
    if (what.startsWith("textarea")) node.rows = value.split("\n").length;
    node.addEventListener("input", () => keep(node.value));
    return node;
  };
  const button = (mark, label, by) => make("button.bare", { type: "button", "aria-label": label, title: label, onclick: () => act(by) }, mark);
  return make("li.step", {},
    make("header", {}, make("strong", {}, say("plan.step", step.get("step_id") ?? "?")), make("span.grow"),
      button("↑", say("plan.up"), -1), button("↓", say("plan.down"), 1), button("✕", say("plan.remove"), 0)),
    field("input", say("plan.what"), text("description"), (v) => step.set("description", JSON.stringify(v))),
    make("div.step-row", {},
      make("label", {}, say("plan.tool"), field("input.mono", say("plan.none"), text("tool_name"), (v) => step.set("tool_name", JSON.stringify(v.trim())))),
      make("label", {}, say("plan.after"), field("input.mono", say("plan.first"), numbers(), (v) => step.set("depends_on", `[${v.split(/[\s,]+/).filter(Boolean).join(",")}]`)))),
    field("textarea.mono", say("plan.input"), indented(step.get("tool_input") ?? "{}"), (v) => step.set("tool_input", v.trim() || "{}")));
}

/* Step numbers do not change: other steps refer to them. */
function planField(json) {
  const plan = members(json);
  const steps = parts(plan.get("steps") ?? "[]").map(members);
  const list = make("ol.steps"), node = make("div.stack", {}, list);
  const changed = () => { redraw(); node.dispatchEvent(new Event("input")); };
  const act = (i, by) => {
    const [step] = steps.splice(i, 1);
    if (by) steps.splice(Math.max(0, i + by), 0, step);
    changed();
  };
  function redraw() {
    list.replaceChildren(...steps.map((step, i) => stepRow(step, (by) => act(i, by))));
  }
  const add = () => {
    const id = Math.max(0, ...steps.map((s) => Number(s.get("step_id")) || 0)) + 1;
    steps.push(new Map([["step_id", String(id)], ["description", '""'], ["tool_name", '""'], ["tool_input", "{}"], ["depends_on", "[]"]]));
    changed();
    list.lastChild.querySelector("input").focus();
  };
  redraw();
  node.append(make("button.small.add", { type: "button", onclick: add }, say("plan.add")));
  const read = () => readObject(objectOf(plan.set("steps", `[${steps.map(objectOf).join(",")}]`)));
  return exactly({ node, focus: () => list.querySelector("input")?.focus(), read });
}

/* --- cards */

/* Ctrl Enter submits the open form, Escape closes it. */
class WaitingCard {
  constructor(id, title, kind = "") {
    this.id = id;
    this.keys = new Map();
    this.quick = make("div.buttons");
    this.wordy = make("div.buttons.wordy");
    this.form = make("form.words", { hidden: true, onsubmit: (e) => { e.preventDefault(); this.submit(); }, oninput: () => { this.wrong.textContent = ""; } });
    this.outcome = make("p.quiet", { hidden: true, role: "status" });
    this.body = make("div.stack");
    this.node = make(`section.consent${kind && `.${kind}`}`, { "data-id": id, tabindex: -1, onkeydown: (e) => this.key(e) },
      make("h3", {}, title), this.body, this.quick, this.wordy, this.form, this.outcome);
  }
  get settled() {
    return this.node.classList.contains("settled");
  }
  button(into, word, key, style, act) {
    const node = make(`button.small${style && `.${style}`}`, { type: "button", "data-key": key, onclick: act }, say(word));
    into.append(node);
    if (key) this.keys.set(key, node);
    return node;
  }
  /* A decision with a text: its button opens a form. does: the label of the submit button, if
   * it differs from that of the first one. */
  words(word, key, { note, does, field, send }) {
    return this.button(this.wordy, word, key, "", () => this.open({ title: say(does ?? word), note: say(note), field: field(), send }));
  }
  open({ title, note, field, send }) {
    this.field = field;
    this.send = send;
    this.wrong = make("p.bad.quiet", { role: "alert" });
    this.form.replaceChildren(make("p.quiet", {}, note), field.node, this.wrong,
      make("div.buttons", {}, make("button.small.primary", { type: "submit", "data-key": "Ctrl ⏎" }, title),
        make("button.small", { type: "button", "data-key": "Esc", onclick: () => this.shut() }, say("ask.back"))));
    this.form.hidden = false;
    this.quick.hidden = this.wordy.hidden = true;
    field.focus();
    this.form.scrollIntoView({ block: "nearest" });
  }
  shut() {
    this.form.hidden = true;
    this.form.replaceChildren();
    this.quick.hidden = this.wordy.hidden = false;
    this.node.focus();
  }
  submit() {
    let text;
    try { text = this.field.read(); } catch (error) { this.refused(error.message); return; }
    this.send(text);
  }
  key(event) {
    if (event.isComposing || this.settled) return;
    if (event.key === "Escape" && !this.form.hidden) { event.stopPropagation(); this.shut(); return; }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !this.form.hidden) { event.preventDefault(); this.submit(); return; }
    if (event.target.matches("input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const button = this.form.hidden ? this.keys.get(event.key) : null;
    if (!button || button.disabled || button.hidden) return;
    event.preventDefault();
    event.stopPropagation();
    button.click();
  }
  ready(yes) {
    for (const b of this.node.querySelectorAll("button")) b.disabled = !yes;
  }
  refused(why) {
    this.ready(true);
    if (!this.form.hidden) this.wrong.textContent = why;
  }
  /* word: the decision; given: its text. */
  decided(word, given) {
    this.quick.hidden = this.wordy.hidden = this.form.hidden = true;
    this.outcome.hidden = false;
    this.outcome.replaceChildren(say(word), ...(given ? [lines(given)] : []));
    this.node.classList.add("settled");
  }
}

export const decidedAs = {
  "allow-once": "ask.allow-once", "allow-always": "ask.allow-always", deny: "ask.denied",
  edit: "ask.edited", answer: "ask.answered", "take-over": "ask.taken",
};

/* A call that needs consent. A plan is one, too: a call of make_plan. */
export class ConsentCard extends WaitingCard {
  /* decide(card, decision, words) */
  constructor(id, name, summary, decide) {
    const plan = name === "make_plan";
    super(id, plan ? say("plan.title") : say("ask.title", name), plan ? "reviews" : "");
    this.decide = (decision, words) => decide(this, decision, words);
    this.name = name;
    this.exact = make("pre.exact", { tabindex: 0 }, say("ask.loading"));
    this.body.append(...[plan ? this.plan = make("ol.plan-steps") : summary && lines(summary), make("h4", {}, say("ask.exact")), this.exact].filter(Boolean));
    this.button(this.quick, plan ? "plan.run" : "ask.once", "y", "primary", () => this.decide("allow-once"));
    this.always = this.button(this.quick, "ask.always", "Y", "", () => this.decide("allow-always"));
    this.button(this.quick, "ask.deny", "d", "danger", () => this.decide("deny"));
    const words = (word, key, decision, field, does) =>
      this.words(word, key, { note: `${word}.note`, does, field, send: (text) => this.decide(decision, text) });
    if (plan) words("plan.edit", "e", "edit", () => planField(this.json), "plan.run");
    else words("ask.edit", "e", "edit", () => jsonField(say("ask.edit"), this.json), "ask.run");
    if (!plan) words("ask.answer", "g", "answer", () => textField(say("chat.result")));
    words(plan ? "plan.again" : "ask.why", "w", "deny", () => reasonField(say("ask.reason")));
    words("ask.take", "t", "take-over", () => textField(say("ask.take")), "ask.take.do");
    this.ready(false);
  }
  show(json) {
    this.json = json;
    this.exact.replaceChildren();
    visibly(json, this.exact);
    this.shown?.remove();
    this.shown = argumentsNode(this.name, json);
    if (this.shown) this.exact.previousSibling.before(this.shown);
    if (this.plan) this.listSteps();
    this.ready(true);
  }
  listSteps() {
    let steps = [];
    try { steps = JSON.parse(this.json).steps ?? []; } catch { /* not JSON: the text is shown as it is */ }
    this.plan.replaceChildren(...steps.map((s) => {
      const node = make("li", {}, visibly(String(s.description ?? ""), make("span")));
      const after = (s.depends_on ?? []).length ? `  ·  ${say("plan.after")} ${s.depends_on.join(", ")}` : "";
      if (s.tool_name) node.append(visibly(`${s.tool_name}  ${headline(s.tool_input)}${after}`, make("small.mono")));
      return node;
    }));
  }
}

/* A call that a person or a client answers: a question of the model, or a client's tool.
 * answer(card, text), takeOver(card, text). */
export class AnswerCard extends WaitingCard {
  constructor(id, name, json, { answer, takeOver }) {
    let given = {};
    try { given = JSON.parse(json); } catch { /* not JSON: shown as it is */ }
    const question = given.question ?? given.prompt ?? given.message;
    const asks = name === "ask_user" && typeof question === "string";
    super(id, asks ? say("ask.question") : say("ask.result", name), "question");
    this.asks = asks;
    this.answer = (text) => answer(this, text);
    if (asks) this.body.append(lines(question));
    else this.body.append(make("h4", {}, say("ask.exact")), visibly(json, make("pre.exact", { tabindex: 0 })));
    const choices = asks ? given.choices ?? given.options ?? [] : [];
    choices.forEach((c, i) => this.choice(String(c), i < 9 ? String(i + 1) : null));
    const word = asks ? "ask.reply" : "ask.answer";
    this.words(word, "g", { note: `${word}.note`, does: asks ? "chat.answer" : null, field: () => textField(say("chat.result")), send: this.answer });
    this.words("ask.take", "t", { note: "ask.take.note", does: "ask.take.do", field: () => textField(say("ask.take")), send: (text) => takeOver(this, text) });
  }
  choice(text, key) {
    const node = visibly(text, make("button.small.choice", { type: "button", "data-key": key, onclick: () => this.answer(text) }));
    this.quick.append(node);
    if (key) this.keys.set(key, node);
  }
}

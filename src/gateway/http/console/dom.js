/* dom.js -- builds nodes. Text becomes text, never HTML. */
import { say } from "./words.js";

export const $ = (id) => document.getElementById(id);

/* make("p.quiet", {title: "x", onclick: f}, "text", node, ...) */
export function make(what, attributes, ...children) {
  const [tag, ...classes] = what.split(".");
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(" ");
  return fill(node, attributes, children);
}

/* The same for SVG; the namespace is that of the page's logo. */
export function draw(tag, attributes, ...children) {
  const node = document.createElementNS(document.querySelector("svg").namespaceURI, tag);
  return fill(node, attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

/* Makes hidden characters visible: control characters, bidirectional marks, zero-width
 * spaces. The rest of the text is unchanged. */
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|\ud82f[\udca0-\udca3]|\ud834[\udd73-\udd7a]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;

const controls = ("NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI " +
  "DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US").split(" ");

function nameOf(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return controls[code];
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

export function visibly(text, into) {
  let from = 0;
  for (const found of text.matchAll(hidden)) {
    into.append(text.slice(from, found.index));
    into.append(make("span.hidden-char", {}, nameOf(found[0])));
    if (found[0] === "\n") into.append("\n");
    from = found.index + found[0].length;
  }
  into.append(text.slice(from));
  return into;
}

/* The text with the characters named that change the order of letters; emoji and marks of
 * scripts stay as they are. */
export const inOrder = (text) => String(text ?? "").replace(/[\u202a-\u202e\u2066-\u2069]/g, (c) => `⟦${nameOf(c)}⟧`);

/* Appends the text with hidden characters made visible, except tabs and line breaks. */
export function visiblyIn(node, text) {
  for (const piece of text.split(/([\n\t]+)/)) {
    if (/^[\n\t]/.test(piece)) node.append(piece);
    else visibly(piece, node);
  }
  return node;
}

export const lines = (text) => visiblyIn(make("pre.summary", { tabindex: 0 }), text);

/* Null if the page has no clipboard access, which needs HTTPS or localhost. */
export function copyButton(text, word = "chat.copy") {
  if (!navigator.clipboard) return null;
  const button = make("button.copy", { type: "button" }, say(word));
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text());
    button.textContent = say("chat.copied");
    setTimeout(() => { button.textContent = say(word); }, 1500);
  });
  return button;
}

/* Runs work at most once per frame. */
export function eachFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; work(); });
  };
}

/* Runs work in a frame, at most once in ms milliseconds. */
export function notOften(ms, work) {
  let asked = false, last = -ms;
  const run = () => requestAnimationFrame(() => { asked = false; last = performance.now(); work(); });
  return () => {
    if (asked) return;
    asked = true;
    const wait = last + ms - performance.now();
    if (wait > 0) setTimeout(run, wait);
    else run();
  };
}

/* Saves a text or bytes as a file of the user. */
export function download(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/* Asks a question in a dialog; resolves with whether the answer was yes. more: a node. */
export async function confirmed({ title, what = "", note = "", yes, more, danger = true }) {
  const dialog = $("sure");
  $("sure-title").textContent = title;
  $("sure-what").textContent = what;
  $("sure-note").textContent = note;
  $("sure-what").hidden = !what;
  $("sure-note").hidden = !note;
  $("sure-more").replaceChildren(...(more ? [more] : []));
  $("sure-yes").textContent = yes;
  $("sure-yes").className = danger ? "small danger" : "small primary";
  dialog.returnValue = "no";
  dialog.showModal();
  if (more) (more.matches("input, textarea, select") ? more : more.querySelector("input, textarea, select"))?.focus();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "yes";
}

/* An icon button with a name. */
export function iconButton(mark, label, act) {
  return make("button.bare", { type: "button", "aria-label": label, title: label, onclick: act }, mark);
}

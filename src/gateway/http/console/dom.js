/* dom.js -- making nodes.
 *
 * Text becomes text nodes and nothing else: no string is ever read as HTML,
 * which the page's policy would not allow either. */

function $(id) {
  return document.getElementById(id);
}

/* make("p.quiet", {title: "x", onclick: f}, "text", node, ...) */
function make(what, attributes, ...children) {
  const [tag, ...classes] = what.split(".");
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(" ");
  return fill(node, attributes, children);
}

/* The same in SVG; the page's own mark tells what that is. */
function draw(tag, attributes, ...children) {
  const node = document.createElementNS(document.querySelector("svg").namespaceURI, tag);
  return fill(node, attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

/* Everything that could hide something, shown: control characters, marks that
 * turn the direction of writing, spaces without width. The text is otherwise
 * as it is. */
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;

const controls = ("NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI " +
  "DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US").split(" ");

function nameOf(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return controls[code];
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

function visibly(text, into) {
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

/* Null where the browser has no clipboard for us: it wants HTTPS or localhost. */
function copyButton(text) {
  if (!navigator.clipboard) return null;
  const button = make("button.copy", { type: "button" }, say("chat.copy"));
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text());
    button.textContent = say("chat.copied");
    setTimeout(() => { button.textContent = say("chat.copy"); }, 1500);
  });
  return button;
}

/* Once a frame at most. */
function eachFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; work(); });
  };
}

/* content.js -- shows what messages and tools carry: texts, arguments, edits as diffs,
 * pictures, sound, files and citations. */
import { download, make, visiblyIn } from "./dom.js";
import { coloured, diffNode, languageOf } from "./highlight.js";
import { compact, indented, members } from "./jsontext.js";
import { link, safeAddress } from "./markdown.js";
import { bytes, say } from "./words.js";

const brief = 96;    /* characters of a call's arguments in its title */
const folded = 4000; /* characters of a result that are shown at once */

export function plain(content) {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.filter((c) => !c.media_type).map((c) => c.text ?? `[${c.type}]`).join("\n");
  return content === undefined || content === null ? "" : JSON.stringify(content, null, 2);
}

/* Incomplete arguments are not valid JSON yet. */
export function readable(json) {
  return typeof json === "string" ? indented(json) : JSON.stringify(json ?? {}, null, 2);
}

export function headline(json) {
  const exact = typeof json === "string" ? json : JSON.stringify(json ?? {});
  let values;
  try { values = [...members(compact(exact)).values()]; } catch { return exact.slice(0, brief); }
  const text = values.map((v) => (v.startsWith('"') ? JSON.parse(v) : v)).join("  ").replace(/\s+/g, " ");
  return text.length > brief ? `${text.slice(0, brief)}…` : text;
}

/* A long text that shows its beginning, and the rest when asked for. */
export function foldedText(text, show = (part) => visiblyIn(make("pre", { tabindex: 0 }), part), most = folded) {
  if (text.length <= most * 1.5) return show(text);
  const cut = text.lastIndexOf("\n", most), end = cut > most / 2 ? cut : most;
  const node = make("div.folded", {}, show(text.slice(0, end)));
  const more = make("button.small", { type: "button", onclick: () => {
    node.replaceChildren(show(text), make("button.small", { type: "button", onclick: () => node.replaceWith(foldedText(text, show, most)) }, say("chat.less")));
  } }, say("chat.rest", bytes(text.length - end)));
  node.append(more);
  return node;
}

/* --- arguments */

function parsed(json) {
  if (typeof json !== "string") return json ?? {};
  try { return JSON.parse(json); } catch { return null; }
}

const first = (given, ...names) => names.map((n) => given[n]).find((v) => typeof v === "string");

/* The changes of a call of edit: [[before, after]]. */
function editsOf(given) {
  const one = (e) => [first(e, "old_text", "old_string", "oldText", "oldString"), first(e, "new_text", "new_string", "newText", "newString")];
  const list = Array.isArray(given.edits) ? given.edits.filter((e) => e && typeof e === "object").map(one) : [one(given)];
  return list.filter(([a, b]) => a !== undefined && b !== undefined);
}

/* The arguments of a call as a person reads them; null: only as JSON. */
export function argumentsNode(name, json) {
  const given = parsed(json);
  if (!given || typeof given !== "object") return null;
  const path = first(given, "file_path", "path", "filePath");
  const title = path === undefined ? null : make("p.file-name", {}, visiblyIn(make("code"), path));
  if (name === "edit") {
    const edits = editsOf(given);
    return edits.length ? make("div.change", {}, title, edits.map(([a, b]) => diffNode(a, b))) : null;
  }
  if (name === "write" && typeof given.content === "string")
    return make("div.change", {}, title, foldedText(given.content, (part) => diffNode("", part)));
  if (name === "apply_patch" && typeof (given.patch ?? given.input) === "string")
    return make("div.change", {}, foldedText(given.patch ?? given.input, (part) => coloured(make("pre.diff", { tabindex: 0 }), part, "diff")));
  if (name === "exec" && typeof given.command === "string")
    return make("div.change", {}, make("pre", { tabindex: 0 }, coloured(make("code"), given.command, "sh")));
  return null;
}

/* The result of a call; a file that was read is coloured. */
export function resultNode(name, sent, text) {
  const given = name === "read" ? parsed(sent) : null;
  const language = given && languageOf(first(given, "file_path", "path", "filePath"));
  if (language) return foldedText(text, (part) => coloured(make("pre", { tabindex: 0 }), part, language));
  if (/^(diff --git|--- \S)/.test(text)) return foldedText(text, (part) => coloured(make("pre.diff", { tabindex: 0 }), part, "diff"));
  return foldedText(text);
}

/* --- media */

const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"];

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

/* Media that are stored with the message. Those at an address are links: loading them would
 * tell their server who reads the page. An SVG picture may hold a script, so it is a file. */
export function mediaNode(b) {
  const type = String(b.media_type ?? b.mime ?? ""), name = b.name || say(`chat.${b.type}`, type);
  if (b.url) {
    const address = safeAddress(b.url);
    return make("p.media", {}, address ? link(address, `▨ ${b.name || address}`) : visiblyIn(make("span"), `▨ ${b.url}`));
  }
  if (!b.data) return make("p.media.quiet", {}, `[${b.type}]`);
  const save = () => download(name, bytesOf(b.data), "application/octet-stream");
  if (b.type === "image" && pictures.includes(type)) {
    const open = make("button.picture", { type: "button", "aria-label": say("chat.enlarge"), onclick: () => enlarge(picture) });
    const picture = make("img", { alt: b.name || say("chat.picture"), src: `data:${type};base64,${b.data}`, loading: "lazy" });
    open.append(picture);
    return make("figure.media", {}, open);
  }
  if (b.type === "audio" && /^audio\/[\w.+-]+$/.test(type))
    return make("figure.media", {}, make("audio", { controls: true, preload: "metadata", "aria-label": name, src: `data:${type};base64,${b.data}` }));
  return make("p.media", {}, make("button.small", { type: "button", onclick: save }, visiblyIn(make("span"), `⇩ ${name}`), ` · ${bytes(b.data.length * 3 / 4)}`));
}

function enlarge(picture) {
  const shown = make("dialog.big", { "aria-label": picture.alt, onclick: () => shown.close() }, make("img", { src: picture.src, alt: picture.alt }),
    make("form", { method: "dialog" }, make("button.small", {}, say("help.close"))));
  document.body.append(shown);
  shown.addEventListener("close", () => shown.remove());
  shown.showModal();
}

/* --- citations: [{url, title, ...}] */

export function citationsNode(list) {
  const known = new Map();
  for (const c of Array.isArray(list) ? list : []) if (c && typeof c === "object" && !known.has(c.url ?? c.title)) known.set(c.url ?? c.title, c);
  if (!known.size) return null;
  return make("aside.citations", { "aria-label": say("chat.sources") }, make("h4", {}, say("chat.sources")),
    make("ol", {}, [...known.values()].map((c) => {
      const address = safeAddress(String(c.url ?? "")), title = String(c.title || c.url || "?");
      const quote = c.cited_text ?? c.text ?? c.quote;
      return make("li", {}, address ? link(address, visiblyIn(make("span"), title)) : visiblyIn(make("span"), title),
        typeof quote === "string" && quote ? make("q.quiet", {}, visiblyIn(make("span"), quote.slice(0, 300))) : null);
    })));
}

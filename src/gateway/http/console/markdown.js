/* markdown.js -- renders Markdown as nodes.
 *
 * Supported: paragraphs, headings, lists, quotes, fences, tables, rules; emphasis, code,
 * links. Other syntax is shown as text. Links must be http, https or mailto. A picture is
 * shown as a link, because loading it would tell its server who reads the page.
 *
 * Text arrives in pieces. Blocks that did not change keep their nodes, so that a piece costs
 * one block and not the whole message. */
import { copyButton, inOrder, make, notOften } from "./dom.js";
import { coloured } from "./highlight.js";

const depthMost = 8; /* nesting of lists and quotes */
const reach = 4096;  /* longest distance between a mark and its end, in characters */

/* --- inline: emphasis, code, links */

const inlineRules = [
  [/^`+/, takeCode],
  [/^!?\[/, takeLink],
  [/^(\*\*\*|\*\*|\*|___|__|_|~~)/, takeEmphasis],
  [/^<?((?:https?:\/{2}|mailto:)[^\s<>]+)>?/, takeAddress],
  [/^(?: {2,}|\\)\n/, (text, found) => ({ node: make("br"), length: found[0].length })],
  [/^\\([!-/:-@[-`{-~])/, (text, found) => ({ node: document.createTextNode(found[1]), length: 2 })],
];

function takeCode(text, found) {
  const mark = found[0];
  for (let at = text.indexOf(mark, mark.length); at >= 0; at = text.indexOf(mark, at + 1)) {
    if (text[at + mark.length] === "`") { while (text[at + 1] === "`") at++; continue; }
    const inside = text.slice(mark.length, at).replace(/\n/g, " ").replace(/^ (.*\S.*) $/, "$1");
    return { node: make("code", {}, inside), length: at + mark.length };
  }
  return null;
}

export function safeAddress(address) {
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

export function link(address, ...children) {
  return make("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow", title: address }, ...children);
}

/* The position of the bracket that closes the one at `from`; -1: none. */
function closing(text, from, open, close) {
  let depth = 0;
  for (let i = from; i < text.length && i < from + 4096; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === open) depth++;
    else if (text[i] === close && --depth === 0) return i;
  }
  return -1;
}

function takeLink(text, found, depth) {
  const start = found[0].length - 1, middle = closing(text, start, "[", "]");
  if (middle < 0 || text[middle + 1] !== "(") return null;
  const end = closing(text, middle + 1, "(", ")");
  if (end < 0) return null;
  const label = text.slice(start + 1, middle);
  const address = safeAddress(text.slice(middle + 2, end).trim().split(/\s/)[0].replace(/^<|>$/g, ""));
  if (!address) return null;
  const inside = document.createDocumentFragment();
  if (start) inside.append(`\u25a8 ${label || address}`);
  else inlineInto(inside, label, depth + 1);
  return { node: link(address, inside), length: end + 1 };
}

function takeAddress(text, found) {
  const bare = found[0][0] === "<" ? found[1] : found[1].replace(/[.,;:!?'")\]}*_]+$/, "");
  const address = safeAddress(bare);
  return address ? { node: link(address, bare), length: found[0][0] === "<" ? found[0].length : bare.length } : null;
}

const emphasis = { "*": ["em"], _: ["em"], "**": ["strong"], __: ["strong"], "~~": ["del"], "***": ["strong", "em"], ___: ["strong", "em"] };

function takeEmphasis(text, found, depth, before) {
  const mark = found[0];
  if (/^\s|^$/.test(text.slice(mark.length, mark.length + 1))) return null;
  if (mark[0] === "_" && /[\p{L}\p{N}]/u.test(before)) return null;
  for (let at = text.indexOf(mark, mark.length); at >= 0; at = text.indexOf(mark, at + 1)) {
    const after = text[at + mark.length] ?? "";
    if (/\s/.test(text[at - 1]) || (mark.length < 2 && after === mark) || (mark[0] === "_" && /[\p{L}\p{N}]/u.test(after))) continue;
    const nodes = emphasis[mark].map((tag) => make(tag));
    nodes[0].append(...nodes.slice(1));
    inlineInto(nodes.at(-1), text.slice(mark.length, at), depth + 1);
    return { node: nodes[0], length: at + mark.length };
  }
  return null;
}

function inlineInto(parent, text, depth = 0) {
  let plain = 0, at = 0;
  while (at < text.length) {
    const rest = /[`![*_~<hm \\]/.test(text[at]) ? text.slice(at, at + reach) : "";
    let got = null;
    for (const [pattern, take] of rest && depth < depthMost ? inlineRules : []) {
      const found = pattern.exec(rest);
      if (found && (got = take(rest, found, depth, text[at - 1] ?? ""))) break;
    }
    if (!got) { at++; continue; }
    parent.append(text.slice(plain, at), got.node);
    plain = at += got.length;
  }
  parent.append(text.slice(plain));
}

/* --- blocks: a list of lines is split into blocks, each a list of lines again */

const opens = {
  fence: /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/,
  heading: /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/,
  rule: /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/,
  quote: /^ {0,3}> ?/,
  item: /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/,
  row: /^\s*\|?[^|]*\|.*$/,
  line: /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/,
};

function kindOf(lines, i) {
  const text = lines[i];
  if (opens.fence.test(text)) return "fence";
  if (opens.heading.test(text)) return "heading";
  if (opens.rule.test(text)) return "rule";
  if (opens.quote.test(text)) return "quote";
  if (opens.item.test(text)) return "item";
  if (text.includes("|") && opens.row.test(text) && lines[i + 1]?.includes("-") && opens.line.test(lines[i + 1])) return "table";
  return "text";
}

/* The number of lines of the block that begins at i. */
function extent(lines, i, kind) {
  let end = i + 1;
  if (kind === "fence") {
    const mark = opens.fence.exec(lines[i])[1];
    const closes = new RegExp(`^ {0,3}${mark[0] === "~" ? "~" : "`"}{${mark.length},}\\s*$`);
    while (end < lines.length && !closes.test(lines[end])) end++;
    return Math.min(end + 1, lines.length) - i;
  }
  if (kind === "table" || kind === "quote") {
    const goes = kind === "quote" ? (l) => opens.quote.test(l) || /\S/.test(l) : (l) => l.includes("|");
    while (end < lines.length && goes(lines[end])) end++;
    return end - i;
  }
  if (kind === "item") return extentOfList(lines, i);
  if (kind === "text") while (end < lines.length && /\S/.test(lines[end]) && kindOf(lines, end) === "text") end++;
  return end - i;
}

/* Is the line an item of the same list, not of a nested one? A nested item is indented at
 * least to the text of the item before. */
function siblingOf(first, line) {
  const item = opens.item.exec(line);
  return item && item[1].length < Math.max(first[0].trimEnd().length + 1, 2) ? item : null;
}

function extentOfList(lines, i) {
  const first = opens.item.exec(lines[i]), ordered = /\d/.test(first[2]);
  let end = i + 1;
  for (; end < lines.length; end++) {
    const item = siblingOf(first, lines[end]);
    if (item && opens.rule.test(lines[end])) break;
    if (item) { if (/\d/.test(item[2]) !== ordered) break; continue; }
    if (/^\s{2,}\S/.test(lines[end])) continue;
    if (!/\S/.test(lines[end])) {
      const next = lines.slice(end).find((l) => /\S/.test(l));
      if (next === undefined || !(/^\s{2,}\S/.test(next) || opens.item.test(next))) break;
      continue;
    }
    if (!/\S/.test(lines[end - 1]) || kindOf(lines, end) !== "text") break;
  }
  return end - i;
}

function split(text) {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
  const blocks = [];
  for (let i = 0; i < lines.length;) {
    if (!/\S/.test(lines[i])) { i++; continue; }
    const kind = kindOf(lines, i), n = extent(lines, i, kind);
    blocks.push({ kind, lines: lines.slice(i, i + n) });
    i += n;
  }
  return blocks;
}

const build = {
  rule: () => make("hr"),
  heading(lines) {
    const [, marks, text] = opens.heading.exec(lines[0]);
    const node = make(`h${Math.min(marks.length + 1, 6)}`);
    inlineInto(node, text);
    return node;
  },
  text(lines) {
    const node = make("p");
    inlineInto(node, lines.map((l) => l.replace(/^\s+/, "")).join("\n"));
    return node;
  },
  quote(lines, depth) {
    return blocksInto(make("blockquote"), lines.map((l) => l.replace(opens.quote, "")).join("\n"), depth + 1);
  },
  fence(lines) {
    const [, mark, language] = opens.fence.exec(lines[0]);
    const closed = lines.length > 1 && lines.at(-1).trim().startsWith(mark);
    const code = lines.slice(1, closed ? -1 : undefined).join("\n");
    return make("figure.code", {},
      make("figcaption", {}, make("span", {}, language || "text"), copyButton(() => code)),
      make("pre", { tabindex: 0 }, coloured(make("code"), code, language)));
  },
  table(lines) {
    const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replace(/\\\|/g, "|"));
    const sides = cells(lines[1]).map((c) => (c.endsWith(":") ? (c.startsWith(":") ? "center" : "right") : ""));
    const row = (line, tag) => make("tr", {}, ...cells(line).slice(0, sides.length).map((text, i) => {
      const cell = make(sides[i] ? `${tag}.${sides[i]}` : tag);
      inlineInto(cell, text);
      return cell;
    }));
    return make("div.table", { tabindex: 0 }, make("table", {}, make("thead", {}, row(lines[0], "th")),
      make("tbody", {}, ...lines.slice(2).map((line) => row(line, "td")))));
  },
  item(lines, depth) {
    const first = opens.item.exec(lines[0]), ordered = /\d/.test(first[2]);
    const list = make(ordered ? "ol" : "ul", ordered && parseInt(first[2], 10) !== 1 ? { start: parseInt(first[2], 10) } : {});
    const loose = lines.some((l, i) => !/\S/.test(l) && i < lines.length - 1);
    for (let i = 0; i < lines.length;) {
      const item = opens.item.exec(lines[i]), width = item[0].length;
      const own = [lines[i].slice(width)];
      for (i++; i < lines.length && !siblingOf(first, lines[i]); i++) own.push(lines[i].replace(new RegExp(`^ {0,${Math.max(width, 2)}}`), ""));
      list.append(listItem(own, loose, depth));
    }
    return list;
  },
};

function listItem(lines, loose, depth) {
  const node = make("li");
  const task = /^\[([ xX])\] /.exec(lines[0]);
  if (task) {
    lines[0] = lines[0].slice(4);
    node.className = "task";
    node.append(make("input", { type: "checkbox", disabled: true, checked: task[1] !== " " }));
  }
  blocksInto(node, lines.join("\n"), depth + 1);
  if (!loose) for (const p of [...node.children].filter((c) => c.tagName === "P")) p.replaceWith(...p.childNodes);
  return node;
}

export function blocksInto(parent, text, depth = 0) {
  if (depth > depthMost) { parent.append(text); return parent; }
  for (const block of split(text)) parent.append(build[block.kind](block.lines, depth));
  return parent;
}

/* A growing message. */
const often = 120; /* ms between two looks at a text that grows */

export class Markdown {
  constructor(node) {
    this.node = node;
    this.text = "";
    this.sources = [];
    this.refresh = notOften(often, () => this.show());
  }
  add(text) {
    this.text += inOrder(text);
    this.refresh();
  }
  show() {
    const blocks = split(this.text), sources = blocks.map((b) => b.lines.join("\n"));
    let same = 0;
    while (same < sources.length && sources[same] === this.sources[same]) same++;
    while (this.node.childNodes.length > same) this.node.lastChild.remove();
    for (const block of blocks.slice(same)) this.node.append(build[block.kind](block.lines, 0));
    this.sources = sources;
  }
}

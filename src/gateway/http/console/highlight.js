/* highlight.js -- colours code: comments, strings, numbers, keywords; and lines of a diff.
 *
 * A small tokenizer with the rules of `chela chat`: good enough to read by, and it cannot be
 * led astray by hostile code, because every token becomes a text node. Hidden characters are made
 * visible. */
import { make, visiblyIn } from "./dom.js";

const languages = [
  ["c h cpp c++ cc hpp java js javascript jsx mjs ts typescript tsx go rust rs swift kotlin cs csharp php zig scala dart json jsonc css", "//", true],
  ["python py sh bash zsh shell console ruby rb yaml yml toml make makefile perl r dockerfile ini conf elixir", "#", false],
  ["sql lua haskell hs", "--", false],
  ["lisp scheme clojure", ";", false],
].flatMap(([names, comment, blocks]) => names.split(" ").map((name) => [name, { comment, blocks }]));
const rulesOf = new Map(languages);

const keywords = new Set(("and as assert async await auto bool break case catch char class const continue def default " +
  "defer delete do double elif else end enum esac except export extends extern false fi final finally float fn for foreach " +
  "from func function go if impl import in inline int interface is lambda let local long loop match mod module mut namespace " +
  "new nil none not null or package pass private protected pub public raise return select self short signed sizeof static " +
  "struct super switch then this throw trait true try type typedef union unless unsigned until use using var void volatile " +
  "when where while with yield").split(" "));

const most = 100000; /* characters; longer code is not coloured */

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

function tokensOf(rules) {
  const comment = (rules.comment === "#" ? "(?<![^\\s])" : "") + escaped(rules.comment) + "[^\\n]*";
  const parts = [rules.blocks ? `(?:${comment}|\\/\\*[^]*?(?:\\*\\/|$))` : comment,
    "\"(?:[^\"\\\\\\n]|\\\\.)*\"?|'(?:[^'\\\\\\n]|\\\\.)*'?|`(?:[^`\\\\]|\\\\.)*`?", "\\b\\d[\\w.]*", "[\\p{L}_][\\p{L}\\p{N}_]*"];
  return new RegExp(parts.map((p) => `(${p})`).join("|"), "gu");
}

/* The language of a file, by its name. */
export function languageOf(path) {
  const name = String(path ?? "").split("/").at(-1).toLowerCase();
  return rulesOf.has(name) ? name : name.includes(".") ? name.split(".").at(-1) : "";
}

function colourTokens(node, text, rules) {
  let from = 0;
  for (const found of text.matchAll(rules.tokens ??= tokensOf(rules))) {
    const kind = found[1] ? "comment" : found[2] ? "string" : found[3] ? "number" : keywords.has(found[4]?.toLowerCase()) ? "keyword" : "";
    if (!kind) continue;
    visiblyIn(node, text.slice(from, found.index));
    node.append(visiblyIn(make(`span.t-${kind}`), found[0]));
    from = found.index + found[0].length;
  }
  visiblyIn(node, text.slice(from));
}

function colourDiff(node, text) {
  for (const line of text.split(/(?<=\n)/)) {
    const kind = /^(\+\+\+|---|diff |index )/.test(line) ? "d-head" : line.startsWith("@@") ? "d-place" : line[0] === "+" ? "d-new" : line[0] === "-" ? "d-old" : "";
    node.append(kind ? visiblyIn(make(`span.${kind}`), line) : visiblyIn(make("span"), line));
  }
}

/* Appends the code to the node. */
export function coloured(node, text, language) {
  const name = language.toLowerCase(), rules = rulesOf.get(name);
  if (text.length > most) visiblyIn(node, text);
  else if (name === "diff" || name === "patch") colourDiff(node, text);
  else if (rules) colourTokens(node, text, rules);
  else visiblyIn(node, text);
  return node;
}

/* --- the difference of two texts, by lines */

const longest = 2000; /* lines of a side; longer texts are shown as removed and added */

/* [[" " | "-" | "+", line]]: the longest common subsequence of the lines between a common
 * head and a common tail. */
export function diffLines(before, after) {
  const a = before === "" ? [] : before.split("\n"), b = after === "" ? [] : after.split("\n");
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const same = (list) => list.map((line) => [" ", line]);
  return [...same(a.slice(0, head)), ...middle(x, y), ...same(tail ? a.slice(-tail) : [])];
}

function middle(x, y) {
  if (x.length * y.length > longest * longest / 4) return [...x.map((l) => ["-", l]), ...y.map((l) => ["+", l])];
  const wide = y.length + 1, best = new Uint16Array((x.length + 1) * wide);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let k = y.length - 1; k >= 0; k--)
      best[i * wide + k] = x[i] === y[k] ? best[(i + 1) * wide + k + 1] + 1 : Math.max(best[(i + 1) * wide + k], best[i * wide + k + 1]);
  }
  const out = [];
  let i = 0, k = 0;
  while (i < x.length || k < y.length) {
    if (i < x.length && k < y.length && x[i] === y[k]) { out.push([" ", x[i]]); i++; k++; }
    else if (i < x.length && (k === y.length || best[(i + 1) * wide + k] >= best[i * wide + k + 1])) out.push(["-", x[i++]]);
    else out.push(["+", y[k++]]);
  }
  return out;
}

const around = 3; /* unchanged lines that are shown beside a change */

/* A coloured diff; long unchanged parts are left out. */
export function diffNode(before, after) {
  const all = diffLines(before, after), node = make("pre.diff", { tabindex: 0 });
  const near = all.map(() => false);
  all.forEach(([mark], i) => {
    if (mark !== " ") for (let k = Math.max(0, i - around); k <= Math.min(all.length - 1, i + around); k++) near[k] = true;
  });
  let skipped = 0;
  all.forEach(([mark, line], i) => {
    if (!near[i]) { skipped++; return; }
    if (skipped) node.append(make("span.d-place", {}, `⋯ ${skipped}\n`));
    skipped = 0;
    node.append(visiblyIn(make(`span.${{ "-": "d-old", "+": "d-new", " ": "d-same" }[mark]}`), `${mark} ${line}\n`));
  });
  if (skipped && skipped < all.length) node.append(make("span.d-place", {}, `⋯ ${skipped}\n`));
  return node;
}

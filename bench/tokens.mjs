// tokens.mjs -- how far off the guess of a text's tokens is.
//
//   node bench/tokens.mjs PROGRAM DIR... [-- NODE_MODULES]     PROGRAM is bench/tokens, built
//
// Every text file below each DIR is counted by o200k_base (the npm package
// gpt-tokenizer, installed into a temporary directory unless NODE_MODULES has
// it) and guessed by the program. Then each file is taken as a conversation of
// ten turns whose vendor reports what it counted: how far off is a gauge, after
// three turns, about the next request? Exits with 1 when either is too far.
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { execFileSync, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const LIMITS = { guess: 0.08, learnt: 0.03 };
const TURNS = 10;
const KINDS = /\.(md|c|h|mjs|js|json|sse|txt|yaml|sh)$/;

const args = process.argv.slice(2);
const split = args.includes("--") ? args.indexOf("--") : args.length;
const [program, ...dirs] = args.slice(0, split);
if (!program || !dirs.length) {
  console.error("usage: node bench/tokens.mjs PROGRAM DIR... [-- NODE_MODULES]");
  process.exit(2);
}

const work = mkdtempSync(join(tmpdir(), "chela-tokens-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

function loadTokenizer() {
  let modules = args[split + 1];
  if (!modules) {
    execFileSync("npm", ["install", "--ignore-scripts", "--silent", "--prefix", work, "gpt-tokenizer@3"]);
    modules = join(work, "node_modules");
  }
  return createRequire(join(modules, "x.js"))("gpt-tokenizer/encoding/o200k_base");
}

const { encode } = loadTokenizer();
const count = (text) => encode(text, { disallowedSpecial: new Set() }).length;

function guess(texts) {
  const names = texts.map((text, i) => {
    const name = join(work, `t${i}`);
    writeFileSync(name, text);
    return name;
  });
  const run = spawnSync(program, { input: names.join("\n"), encoding: "utf8", maxBuffer: 1 << 26 });
  if (run.status !== 0) throw new Error(run.stderr);
  return { n: run.stdout.trim().split("\n").map(Number), speed: run.stderr.trim() };
}

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const percent = (x) => `${(x * 100).toFixed(1)} %`;

// A text in turns: what each request adds to the one before.
function pieces(text) {
  const lines = text.split("\n");
  const step = Math.ceil(lines.length / TURNS);
  return Array.from({ length: TURNS }, (_, i) => lines.slice(i * step, (i + 1) * step).join("\n"));
}

// As ch_gauge does it: the last request is known, what is new is scaled.
function learntErrors(text) {
  const parts = pieces(text);
  const guesses = guess(parts).n;
  const counts = parts.map(count);
  const errors = [];
  let guessed = 0;
  let counted = 0;
  for (let i = 0; i < TURNS; i++) {
    if (i >= 3) errors.push(Math.abs((counted + guesses[i] * (counted / guessed)) / (counted + counts[i]) - 1));
    guessed += guesses[i];
    counted += counts[i];
  }
  return errors;
}

let failed = false;
for (const dir of dirs) {
  const files = readdirSync(dir, { recursive: true })
    .map((f) => join(dir, f))
    .filter((f) => KINDS.test(f) && !f.includes("node_modules") && statSync(f).size > 300);
  const texts = files.map((f) => readFileSync(f, "utf8"));
  const { n, speed } = guess(texts);
  const errors = texts.map((text, i) => Math.abs(n[i] / count(text) - 1));
  const learnt = median(texts.filter((t) => t.split("\n").length >= 4 * TURNS).slice(0, 40).flatMap(learntErrors));
  const plain = median(errors);
  failed ||= plain > LIMITS.guess || learnt > LIMITS.learnt;
  console.log(
    `${basename(dir).padEnd(12)} ${String(files.length).padStart(5)} files   guess off by ${percent(plain)}` +
      `   after three turns ${percent(learnt ?? NaN)}   ${speed}`,
  );
}
process.exit(failed ? 1 : 0);

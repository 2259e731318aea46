// json.mjs -- json/ beside V8 on the same texts, in the same run.
//
//   node bench/json.mjs PROGRAM [FILE...]      PROGRAM is bench/json, built
//
// A FILE that holds an array of tool schemas with `valid` and `invalid`
// arguments (as the agent bench has) counts as the group "arguments"; every
// other file is one text of the group "bodies". Without files a small built-in
// set is used. V8 and the program take turns; the figures are medians of CPU
// time, all threads, so V8's collector is counted as its arena is for us.
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";

const ROUNDS = 7;
const SECONDS = 0.3;

const builtinArguments = [
  { command: "git log --oneline -20 && make test", timeout_ms: 120000 },
  { path: "src/main.c", edits: [{ old_text: "return 0;\n}", new_text: "return run();\n}", all: false }] },
  { pattern: "epoll_(wait|ctl)", glob: "**/*.c", context: 3, case_insensitive: false },
  { city: "北京", unit: "celsius" },
].map((v) => JSON.stringify(v));

const builtinBodies = [
  JSON.stringify({
    id: "msg_01", type: "message", role: "assistant", model: "model-1",
    content: [{ type: "text", text: "The capital of France is Paris.\n\nIt lies on the Seine." }],
    stop_reason: "end_turn", stop_sequence: null,
    usage: { input_tokens: 14, cache_read_input_tokens: 0, output_tokens: 12 },
  }, null, 2),
];

const deltas = ["Hello", " world, this", " is what a model says", " when", " it answers you at some length", "."].map(
  (text, i) => JSON.stringify({ type: "content_block_delta", index: i, delta: { type: "text_delta", text } }),
);

function argumentsOf(value) {
  if (!Array.isArray(value)) return [];
  return value.flatMap((s) => [...(s.valid ?? []), ...(s.invalid ?? [])]);
}

function readGroups(files) {
  const args = [], bodies = [];
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    const found = argumentsOf(JSON.parse(text));
    if (found.length) args.push(...found.map((v) => JSON.stringify(v)));
    else bodies.push(text);
  }
  return [
    { name: "arguments", texts: args.length ? args : builtinArguments },
    { name: "bodies", texts: bodies.length ? bodies : builtinBodies },
    { name: "deltas", texts: deltas },
  ];
}

let kept = 0;
const work = {
  parse: (texts) => { for (const t of texts) kept += JSON.parse(t) ? 1 : 0; },
  pull: (texts) => {
    for (const t of texts) {
      const e = JSON.parse(t);
      kept += e.type.length + e.index + e.delta.type.length + e.delta.text.length;
    }
  },
};

const median = (xs) => [...xs].sort((a, b) => a - b)[Math.floor(xs.length / 2)];
const cpuNs = () => { const u = process.cpuUsage(); return (u.user + u.system) * 1000; };

function timeV8(pass, texts, seconds) {
  const start = cpuNs();
  let now = start, passes = 0;
  while (now - start < seconds * 1e9) {
    for (let i = 0; i < 200; i++) pass(texts);
    passes += 200;
    now = cpuNs();
  }
  return (now - start) / passes / texts.length;
}

function measureV8(groups) {
  const rows = new Map();
  for (const { name, texts } of groups) {
    rows.set(`${name} parse`, timeV8(work.parse, texts, SECONDS));
    const values = texts.map((t) => JSON.parse(t));
    rows.set(`${name} write`, timeV8((vs) => { for (const v of vs) kept += JSON.stringify(v).length; }, values, SECONDS));
    if (name === "deltas") rows.set(`${name} pull`, timeV8(work.pull, texts, SECONDS));
  }
  return rows;
}

function measureProgram(program, groups) {
  const run = spawnSync(program, [String(SECONDS)], { input: JSON.stringify(groups), encoding: "utf8" });
  if (run.status !== 0) throw new Error(`${program}: ${run.error ?? run.stderr}`);
  return new Map(run.stdout.trim().split("\n").map((line) => {
    const at = line.lastIndexOf(" ");
    return [line.slice(0, at), Number(line.slice(at + 1))];
  }));
}

const [program, ...files] = process.argv.slice(2);
if (!program) {
  console.error("usage: node bench/json.mjs PROGRAM [FILE...]");
  process.exit(2);
}
const groups = readGroups(files);
const v8 = [], ours = [];
measureV8(groups); // warm up
for (let i = 0; i < ROUNDS; i++) {
  v8.push(measureV8(groups));
  ours.push(measureProgram(program, groups));
}
for (const { name, texts } of groups)
  console.log(`${name}: ${texts.length} texts, ${Math.round(texts.reduce((n, t) => n + Buffer.byteLength(t), 0) / texts.length)} bytes on average`);
console.log(`\nns a text, median of ${ROUNDS} rounds, CPU time      V8 ${process.versions.v8}     chela     ratio`);
for (const row of ours[0].keys()) {
  const a = median(v8.map((r) => r.get(row))), b = median(ours.map((r) => r.get(row)));
  console.log(`${row.padEnd(44)} ${a.toFixed(0).padStart(12)} ${b.toFixed(0).padStart(9)} ${(a / b).toFixed(2).padStart(8)}x`);
}

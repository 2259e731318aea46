// schema.mjs -- checking tool arguments beside ajv, in the same run.
//
//   node bench/schema.mjs PROGRAM BENCH_DIR [NODE_MODULES]     PROGRAM is bench/schema, built
//
// BENCH_DIR holds schemas.json (tool schemas, each with valid and invalid
// arguments) and peers/ajv with a package.json and its lock file, from which
// ajv is installed into a temporary directory unless NODE_MODULES has it. ajv
// and the program take turns; the figures are medians of CPU time over all
// threads, so V8's compiler and collector are counted. Exits with 1 when the
// program is not as much faster as it should be.
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { execFileSync, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROUNDS = 9;
const SECONDS = 0.4;
const WANTED = { validate: 1.5, "parse+validate": 2.5 };

const [program, benchDir, modules] = process.argv.slice(2);
if (!program || !benchDir) {
  console.error("usage: node bench/schema.mjs PROGRAM BENCH_DIR [NODE_MODULES]");
  process.exit(2);
}

function loadAjv() {
  if (modules) return createRequire(join(modules, "x.js"))("ajv/dist/2020.js");
  const dir = mkdtempSync(join(tmpdir(), "chela-ajv-"));
  try {
    for (const file of ["package.json", "package-lock.json"])
      cpSync(join(benchDir, "peers/ajv", file), join(dir, file));
    execFileSync("npm", ["ci", "--ignore-scripts", "--silent"], { cwd: dir, stdio: "inherit" });
    return createRequire(join(dir, "x.js"))("ajv/dist/2020.js");
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const text = readFileSync(join(benchDir, "schemas.json"), "utf8");
const ajv = new (loadAjv().Ajv2020)({ strict: false });
const cases = JSON.parse(text).flatMap(({ schema, valid, invalid }) => {
  const check = ajv.compile(schema);
  return [...valid.map((v) => [v, true]), ...invalid.map((v) => [v, false])].map(([value, want]) => ({
    check, value, want, text: JSON.stringify(value),
  }));
});

const passes = {
  validate: () => { let n = 0; for (const c of cases) n += c.check(c.value) === c.want; return n; },
  "parse+validate": () => { let n = 0; for (const c of cases) n += c.check(JSON.parse(c.text)) === c.want; return n; },
};

const median = (xs) => [...xs].sort((a, b) => a - b)[Math.floor(xs.length / 2)];
const cpuNs = () => { const u = process.cpuUsage(); return (u.user + u.system) * 1000; };

function timeAjv(pass) {
  const start = cpuNs();
  let now = start, done = 0;
  while (now - start < SECONDS * 1e9) {
    for (let i = 0; i < 500; i++) {
      if (pass() !== cases.length) throw new Error("ajv: wrong verdict");
      done += cases.length;
    }
    now = cpuNs();
  }
  return (now - start) / done;
}

function timeProgram() {
  const run = spawnSync(program, [String(SECONDS)], { input: text, encoding: "utf8" });
  if (run.status !== 0) throw new Error(`${program}: ${run.error ?? run.stderr}`);
  return Object.fromEntries(run.stdout.trim().split("\n").map((line) => {
    const at = line.lastIndexOf(" ");
    return [line.slice(0, at), Number(line.slice(at + 1))];
  }));
}

const theirs = { validate: [], "parse+validate": [] }, ours = [];
for (const pass of Object.values(passes)) timeAjv(pass); // warm up
for (let i = 0; i < ROUNDS; i++) {
  for (const name of Object.keys(passes)) theirs[name].push(timeAjv(passes[name]));
  ours.push(timeProgram());
}

let failed = false;
console.log(`${cases.length} values, ns each, median of ${ROUNDS} rounds, CPU time; Node ${process.versions.node}`);
console.log("                        ajv     chela    ratio   wanted");
for (const [name, wanted] of Object.entries(WANTED)) {
  const a = median(theirs[name]), b = median(ours.map((r) => r[name]));
  failed ||= a / b < wanted;
  console.log(`${name.padEnd(16)} ${a.toFixed(0).padStart(10)} ${b.toFixed(0).padStart(9)} ${(a / b).toFixed(2).padStart(7)}x ${wanted.toFixed(1).padStart(7)}x`);
}
for (const name of ["report", "compile"])
  console.log(`${name.padEnd(16)} ${"".padStart(10)} ${median(ours.map((r) => r[name])).toFixed(0).padStart(9)}`);
process.exit(failed ? 1 : 0);

// The Model Context Protocol: the official conformance suite against examples/mcp_server and
// examples/mcp_client, and the official clients against both `mcp_server` and `chela mcp serve`.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, check, done, same } from './lib.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const scratch = mkdtempSync(join(tmpdir(), 'mcp-sdk-'));

function run(command, args, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (d) => { out += d; });
    child.stderr.on('data', (d) => { err += d; });
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

// The server of the examples; resolves to its address and a way to end it.
async function serve() {
  const child = spawn(join(build, 'examples/mcp_server'), ['--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', (d) => resolve(String(d).trim()));
    child.on('exit', () => reject(new Error('mcp_server ended')));
  });
  return { url, close: () => new Promise((resolve) => { child.on('exit', resolve); child.kill(); }) };
}

// The checks of every scenario of a run: {scenario: [{id, status, errorMessage}]}.
function verdicts(dir) {
  const found = {};
  const walk = (path) => {
    for (const name of readdirSync(path)) {
      const full = join(path, name);
      if (statSync(full).isDirectory()) walk(full);
      else if (name === 'checks.json') found[path.slice(dir.length + 1)] = JSON.parse(readFileSync(full, 'utf8'));
    }
  };
  if (existsSync(dir)) walk(dir);
  return found;
}

// The scenarios that a revision requires, by the suite's own list.
async function required(side, revision) {
  const { out } = await run(process.execPath, [suite, 'list', `--${side}`, '--requirements', revision]);
  const title = side === 'server' ? 'Server scenarios' : 'Client scenarios';
  const section = out.split('Run and reported')[0].split(/\n\n/).find((part) => part.startsWith(title)) ?? '';
  return section.split('\n').map((line) => /^\s*- (\S+)/.exec(line)?.[1]).filter(Boolean);
}

const counts = { server: { '2025-11-25': 30, '2026-07-28': 37 }, client: { '2025-11-25': 18, '2026-07-28': 32 } };

// Each scenario is one case of the test.
async function hold(side, revision, args, env) {
  const dir = join(scratch, `${side}-${revision}`);
  const { out } = await run(process.execPath, [suite, side, ...args, '--requirements', revision, '-o', dir], env);
  const names = await required(side, revision);
  await check(`${side} ${revision}: the suite requires ${counts[side][revision]} scenarios`, () =>
    same(names.length, counts[side][revision], names.join(' ')));
  const ended = Object.fromEntries([...out.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gmu)].map((m) => [m[2], m[1] === '✓' && +m[3] > 0]));
  const all = verdicts(dir);
  for (const name of names) {
    await check(`${side} ${revision}: ${name}`, () => {
      const key = Object.keys(all).find((k) => k.includes(name.replaceAll('/', '-')) || k.includes(name));
      const bad = (all[key] ?? []).filter((c) => c.status === 'FAILURE' || c.status === 'WARNING').map((c) => `${c.id}: ${c.errorMessage}`);
      if (!ended[name] || bad.length) throw new Error(bad.join('\n') || out.slice(-2000));
    });
  }
}

const server = await serve();
const address = server.url.replace('127.0.0.1', 'localhost');
for (const revision of ['2025-11-25', '2026-07-28']) await hold('server', revision, ['--url', address]);

const client = { BROWSER: 'curl -sL', CLIENT_METADATA_URL: 'https://conformance-test.local/client-metadata.json' };
for (const revision of ['2025-11-25', '2026-07-28']) {
  await hold('client', revision, ['--command', join(build, 'examples/mcp_client')], client);
}
await server.close();
rmSync(scratch, { recursive: true });
done();

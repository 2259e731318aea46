// The Model Context Protocol: the official conformance suite against examples/mcp_server and
// examples/mcp_client, and the official clients against `mcp_server`, `chela mcp serve` and /mcp of
// the gateway.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
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

// --- the official clients, over HTTP and over pipes

const work = join(scratch, 'work');
mkdirSync(work);
writeFileSync(join(work, 'note'), 'the note\n');
writeFileSync(join(work, 'rules.yaml'), 'rules:\n  - { when: { user: "stall" }, say: "half of it", stall_after: 1 }\n  - { say: "hello" }\n');
writeFileSync(join(work, 'chela.yaml'), `agents:\n  list:\n    - { id: coder, model: "scripted/${work}/rules.yaml" }\n`);
const env = { PATH: process.env.PATH, HOME: scratch, CHELA_TEST: process.env.CHELA_TEST ?? '', CHELA_TEST_RUN: process.env.CHELA_TEST_RUN ?? '' };
const pipe = { command: join(build, 'chela'), args: ['mcp', 'serve', '--config', 'chela.yaml'], cwd: work, env };
const about = { name: 'test', version: '1' };
const text = (result) => result.content.map((c) => c.text).join('');

// --- skills, an extension: over HTTP, by `chela mcp serve`
mkdirSync(join(work, 'skills/greet/more'), { recursive: true });
writeFileSync(join(work, 'skills/greet/SKILL.md'), '---\nname: greet\ndescription: Greets.\nmetadata: { a: 1 }\n---\nSay hello.\n');
writeFileSync(join(work, 'skills/greet/more/words.txt'), 'hello\n');
const listenToken = 'the-token-of-this-server';
const skilled = spawn(pipe.command, [...pipe.args, '--listen', '127.0.0.1:0'], { cwd: work, env: { ...env, CHELA_TOKEN: listenToken }, stdio: ['ignore', 'pipe', 'pipe'] });
const behind = await new Promise((resolve, reject) => {
  const look = (d) => { const found = /http:\/\/[0-9.:]+\/mcp/.exec(String(d)); if (found) resolve(found[0]); };
  skilled.stdout.on('data', look);
  skilled.stderr.on('data', look);
  skilled.on('exit', () => reject(new Error('chela mcp serve ended')));
});
// The suite shows no token: a proxy adds it.
const adding = createServer((q, r) => {
  const on = request(behind, { method: q.method, headers: { ...q.headers, authorization: `Bearer ${listenToken}` } }, (a) => {
    r.writeHead(a.statusCode, a.headers);
    a.pipe(r);
  });
  r.on('close', () => on.destroy());
  on.on('error', () => r.destroy());
  q.pipe(on);
});
await new Promise((resolve) => { adding.listen(0, '127.0.0.1', resolve); });
const skills = `http://127.0.0.1:${adding.address().port}/mcp`;
for (const revision of ['2025-11-25', '2026-07-28']) {
  for (const scenario of ['enumeration', 'manifest', 'directory']) {
    await check(`skills ${revision}: ${scenario}`, async () => {
      const dir = join(scratch, `skills-${revision}-${scenario}`);
      await run(process.execPath, [suite, 'server', '--url', skills, '--scenario', `sep-2640-skills-${scenario}`, '--spec-version', revision, '--force', '-o', dir]);
      const all = Object.values(verdicts(dir)).flat();
      const bad = all.filter((c) => c.status === 'FAILURE' || c.status === 'WARNING').map((c) => `${c.id}: ${c.errorMessage}`);
      if (!all.some((c) => c.status === 'SUCCESS' || c.status === 'SKIPPED') || bad.length) throw new Error(bad.join('\n') || 'nothing was checked');
    });
  }
}
await new Promise((resolve) => { skilled.on('exit', resolve); skilled.kill(); });
adding.close();
adding.closeAllConnections();

const kinds = {
  'client 2.4.0, modern': [() => new Client(about, { versionNegotiation: { mode: { pin: '2026-07-28' } } }), StreamableHTTPClientTransport, StdioClientTransport],
  'client 2.4.0, legacy': [() => new Client(about, { versionNegotiation: { mode: 'legacy' } }), StreamableHTTPClientTransport, StdioClientTransport],
  'sdk 1.32.2': [() => new OldClient(about), OldHttp, OldStdio],
};
// The gateway; resolves to the address of /mcp and a way to end it.
const token = 'gateway-0123456789abcdef';
async function gateway() {
  writeFileSync(join(work, 'gateway.yaml'), `store: sqlite:./chela.db\ngateway: { mcp: { enabled: true } }\nagents: { list: [{ id: coder, model: "scripted/${work}/rules.yaml" }] }\n`);
  const child = spawn(join(build, 'chela'), ['serve', '--config', 'gateway.yaml', '--listen', '127.0.0.1:0'], { cwd: work, env: { ...env, CHELA_TOKEN: token }, stdio: ['ignore', 'inherit', 'pipe'] });
  const url = await new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (d) => {
      said += d;
      const found = /listening on (http:\/\/[0-9.:]+)/.exec(said);
      if (found) resolve(`${found[1]}/mcp`);
    });
    child.on('exit', () => reject(new Error(`the gateway ended: ${said}`)));
  });
  return { url, close: () => new Promise((resolve) => { child.on('exit', resolve); child.kill(); }) };
}

const gate = await gateway();
for (const [name, [make, Http, Stdio]] of Object.entries(kinds)) {
  await check(`${name}: /mcp of the gateway`, async () => {
    const c = make();
    await c.connect(new Http(new URL(gate.url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
    same(text(await c.callTool({ name: 'read', arguments: { file_path: 'note' } })).includes('the note'), true, 'a tool');
    const asked = await c.callTool({ name: 'ask_coder', arguments: { message: 'hi', session: 'one' } });
    same([asked.content[0].text, asked.structuredContent.session], ['hello', 'one'], 'an agent');
    same((await c.readResource({ uri: 'chela://sessions/mcp:one' })).contents[0].text.includes('hello'), true, 'a transcript');
    await c.close();
  });
  await check(`${name}: over HTTP`, async () => {
    const c = make();
    await c.connect(new Http(new URL(server.url)));
    same((await c.listTools()).tools.some((t) => t.name === 'test_simple_text'), true, 'the tool is listed');
    same(text(await c.callTool({ name: 'test_simple_text', arguments: {} })), 'This is a simple text response for testing.', 'its result');
    same((await c.readResource({ uri: 'test://template/7/data' })).contents[0].mimeType, 'application/json', 'a resource');
    same((await c.getPrompt({ name: 'test_simple_prompt' })).messages.length, 1, 'a prompt');
    await c.close();
  });
  await check(`${name}: chela mcp serve`, async () => {
    const c = make();
    await c.connect(new Stdio(pipe));
    same(text(await c.callTool({ name: 'read', arguments: { file_path: 'note' } })).includes('the note'), true, 'a tool');
    const asked = await c.callTool({ name: 'ask_coder', arguments: { message: 'hi' } });
    same([asked.content[0].text, asked.structuredContent.status], ['hello', 'done'], 'an agent');
    same((await c.readResource({ uri: 'workspace:///note' })).contents[0].text.includes('the note'), true, 'a file');
    await c.close();
  });
}

await check('sdk 1.32.2: tasks of the gateway', async () => {
  const c = new OldClient(about);
  await c.connect(new OldHttp(new URL(gate.url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
  const { tasks } = c.experimental;
  // Calls the agent as a task; resolves to its last state and the result or error.
  const work = async (message, created = () => {}) => {
    let state, last;
    for await (const m of tasks.callToolStream({ name: 'ask_coder', arguments: { message } }, undefined, { task: {} })) {
      if (m.type === 'taskCreated') created(m.task.taskId);
      state = m.task?.status ?? state;
      last = m.result ? text(m.result) : m.error?.message;
    }
    return [state, last];
  };
  same(await work('hi'), ['completed', 'hello'], 'an answer');
  let id;
  const [state, error] = await work('stall', (taskId) => { id = taskId; setTimeout(() => tasks.cancelTask(taskId), 200); });
  same([state, error.includes('cancelled')], ['cancelled', true], 'a task that is cancelled');
  same(await tasks.cancelTask(id).catch((e) => e.code), -32602, 'its end is final');
  await c.close();
});

await gate.close();
await server.close();
rmSync(scratch, { recursive: true, force: true });
done();

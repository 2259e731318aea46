// acp.mjs -- `chela acp` as an editor sees it: memory of its own while idle, the time from the
// model's first byte to the first update, and the time to load a session of 1,000 messages.
//
//     node bench/acp.mjs build/chela
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const program = resolve(process.argv[2] ?? 'build/chela');
const home = mkdtempSync(join(tmpdir(), 'bench-acp-'));
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

// A model whose first byte comes 5 ms after the request.
let first = 0;
const model = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const event = (delta, finish = null) => response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
  setTimeout(() => {
    first = performance.now();
    event({ role: 'assistant', content: 'A sentence as an answer.' });
    event({}, 'stop');
    response.end('data: [DONE]\n\n');
  }, 5);
}).listen(0, '127.0.0.1');
await new Promise((done) => { model.on('listening', done); });

function start() {
  const child = spawn(program, ['acp', '--model', 'openai/m', '--base-url', `http://127.0.0.1:${model.address().port}/v1`, '--store', `sqlite:${join(home, 's.db')}`],
    { cwd: home, env: { PATH: process.env.PATH, HOME: home, OPENAI_API_KEY: 'k' }, stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map();
  let last = 0;
  const self = { child, updates: 0, update: null };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const m = JSON.parse(line);
    if (m.method === 'session/update') { self.updates++; self.update?.(m.params.update); }
    else if (waiting.has(m.id)) { waiting.get(m.id)(m.result ?? m.error); waiting.delete(m.id); }
  });
  self.request = (method, params) => new Promise((done) => {
    waiting.set(++last, done);
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: last, method, params })}\n`);
  });
  self.stop = () => new Promise((done) => { child.on('exit', done); child.stdin.end(); });
  return self;
}

const one = start();
await one.request('initialize', { protocolVersion: 1 });
const { sessionId } = await one.request('session/new', { cwd: home, mcpServers: [] });
const smaps = readFileSync(`/proc/${one.child.pid}/smaps_rollup`, 'utf8');
const own = ['Private_Dirty', 'Private_Clean'].map((k) => Number(new RegExp(`${k}: +(\\d+)`).exec(smaps)[1]));
console.log(`idle with a session: ${own[0]} KB private and written, ${own[1]} KB private and clean`);

const delays = [];
for (let i = 0; i < 500; i++) {
  let seen = 0;
  one.update = (u) => { if (!seen && u.sessionUpdate === 'agent_message_chunk') seen = performance.now(); };
  await one.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'A question of a few words.' }] });
  if (i < 50) delays.push(seen - first);
}
console.log(`first update after the first byte: ${median(delays).toFixed(2)} ms (median of ${delays.length})`);
await one.stop();

const loads = [];
for (let i = 0; i < 9; i++) {
  const two = start();
  await two.request('initialize', { protocolVersion: 1 });
  const begin = performance.now();
  await two.request('session/load', { sessionId, cwd: home, mcpServers: [] });
  loads.push(performance.now() - begin);
  if (two.updates < 1000) throw new Error(`only ${two.updates} updates`);
  await two.stop();
}
console.log(`load of 1,000 messages: ${median(loads).toFixed(1)} ms (median of ${loads.length})`);
model.close();
rmSync(home, { recursive: true });

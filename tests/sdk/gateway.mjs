// The gateway as real clients see it: OpenAI's, the AI SDK's transport in each of
// its versions, with the page's own tools and with approvals, and a WebSocket's.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as http2 from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';
import WebSocket from 'ws';
import { build, check, done, same } from './lib.mjs';

const token = 'gateway-sdk-0123456789abcdef';
const space = mkdtempSync(join(tmpdir(), 'gateway-'));
writeFileSync(join(space, 'rules.yaml'), `
rules:
  - { when: { after: none, user: "where" }, say: "Let me look.", call: { tool: getPlace, args: { near: "me" } } }
  - { when: { after: none, user: "count" }, call: { tool: calculate, args: { expression: "6*7" } } }
  - { when: { after: none, user: "ask me" }, call: { tool: t_ask, args: {} } }
  - { when: { after: none, user: "break" }, fail: { status: 400, message: "no such thing" } }
  - { when: { after: none }, think: "hm", say: "you said: {{user}}" }
  - { say: "it said: {{result}}" }
`);
writeFileSync(join(space, 'asker'), '#!/bin/sh\necho it ran\n');
chmodSync(join(space, 'asker'), 0o755);
writeFileSync(join(space, 'chela.yaml'), `
store: "memory:"
sandbox: { mode: off }
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
tools:
  custom: [{ name: t_ask, description: Asks., command: [./asker], effect: once, permission: write, confirm: true }]
`);

const gateway = spawn(join(build, 'chela'), ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0'], {
  cwd: space, stdio: ['ignore', 'ignore', 'pipe'],
  env: { PATH: process.env.PATH, HOME: space, CHELA_TOKEN: token, CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN },
});
const url = await new Promise((resolve, reject) => {
  gateway.stderr.on('data', (data) => { const m = /listening on (\S+)/.exec(data); if (m) resolve(m[1]); });
  gateway.on('exit', () => reject(new Error('the gateway ended')));
});

const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
const user = (content) => ({ model: 'coder', messages: [{ role: 'user', content }] });
const parameters = { type: 'object', properties: { near: { type: 'string' } } };

await check('openai: models', async () => {
  const ids = [];
  for await (const model of openai.models.list()) ids.push(model.id);
  same(ids, ['coder'], 'the agents');
});
await check('openai: a completion', async () => {
  const got = await openai.chat.completions.create(user('hello'));
  same(got.choices[0].message.content, 'you said: hello', 'the answer');
  same(got.usage.total_tokens > 0, true, 'usage');
});
await check('openai: a stream, put together by the client', async () => {
  const stream = openai.chat.completions.stream({ ...user('hello'), stream_options: { include_usage: true } });
  const got = await stream.finalChatCompletion();
  same(got.choices[0].message.content, 'you said: hello', 'the answer');
  same(got.choices[0].finish_reason, 'stop', 'its end');
  same((await stream.totalUsage()).total_tokens > 0, true, 'usage');
});
for (const stream of [false, true]) {
  await check(`openai: the client runs its own tool${stream ? ', streamed' : ''}`, async () => {
    let asked;
    const runner = openai.chat.completions.runTools({
      ...user('where'), stream,
      tools: [{ type: 'function', function: { name: 'getPlace', description: 'Where.', parameters, parse: JSON.parse, function: (args) => { asked = args; return 'Oslo'; } } }],
    });
    same(await runner.finalContent(), 'it said: Oslo', 'the answer');
    same(asked, { near: 'me' }, 'its arguments');
  });
}
await check('openai: errors', async () => {
  const failure = async (promise) => { try { await promise; } catch (error) { return error; } throw new Error('it did not fail'); };
  const wrong = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'wrong-wrong-wrong-wrong', maxRetries: 0 });
  same((await failure(wrong.models.list())) instanceof OpenAI.AuthenticationError, true, 'the token');
  same((await failure(openai.chat.completions.create({ ...user('x'), model: 'nobody' }))).code, 'model_not_found', 'the model');
  same((await failure(openai.chat.completions.create({ model: 'coder', messages: [] }))) instanceof OpenAI.BadRequestError, true, 'no messages');
  same((await failure(openai.chat.completions.create(user('break')))).status, 400, 'the model rejects it');
});
await check('openai: a response', async () => {
  const got = await openai.responses.create({ model: 'coder', input: 'hello' });
  same([got.status, got.output_text], ['completed', 'you said: hello'], 'the answer');
});
await check('openai: a response, streamed', async () => {
  const got = await openai.responses.stream({ model: 'coder', input: [{ role: 'user', content: [{ type: 'input_text', text: 'hello' }] }] }).finalResponse();
  same([got.status, got.output_text], ['completed', 'you said: hello'], 'the answer');
});
await check('openai: a background response is polled, listed, streamed from an event, and cancelled', async () => {
  let got = await openai.responses.create({ model: 'coder', input: 'hello', background: true });
  while (['queued', 'in_progress'].includes(got.status)) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    got = await openai.responses.retrieve(got.id);
  }
  same([got.status, got.output_text], ['completed', 'you said: hello'], 'the answer');
  const input = [];
  for await (const item of openai.responses.inputItems.list(got.id)) input.push(item.content[0].text);
  same(input, ['hello'], 'its input');
  const events = async (more) => {
    const all = [];
    for await (const event of await openai.responses.retrieve(got.id, { stream: true, ...more })) all.push(event);
    return all;
  };
  const all = await events();
  same(all.at(-1).response.output_text ?? all.at(-1).response.output.at(-1).content[0].text, 'you said: hello', 'the last event');
  same(await events({ starting_after: 2 }), all.slice(3), 'the events after the third');
  same((await openai.responses.cancel(got.id)).status, 'completed', 'a complete response is not cancelled');
});
await check('openai: a response that asks for the caller\'s tool', async () => {
  const tools = [{ type: 'function', name: 'getPlace', description: 'Where.', parameters, strict: false }];
  const input = [{ role: 'user', content: 'where' }];
  const first = await openai.responses.stream({ model: 'coder', input, tools }).finalResponse();
  const call = first.output.find((item) => item.type === 'function_call');
  same([call.name, JSON.parse(call.arguments)], ['getPlace', { near: 'me' }], 'the call');
  const next = await openai.responses.create({ model: 'coder', tools, input: [...input, ...first.output, { type: 'function_call_output', call_id: call.call_id, output: 'Oslo' }] });
  same(next.output_text, 'it said: Oslo', 'the answer');
});

// What a page does: send, read the stream into a message, go on with that.
async function page(ai, chatId, messages) {
  const transport = new ai.DefaultChatTransport({ api: `${url}/api/chat`, headers: { Authorization: `Bearer ${token}` }, body: { tools: { getPlace: { description: 'Where.', parameters } } } });
  const stream = await transport.sendMessages({ chatId, messages, trigger: 'submit-message', messageId: messages.at(-1).id, abortSignal: undefined });
  const last = messages.at(-1);
  let message = last.role === 'assistant' ? last : undefined;
  const errors = [];
  for await (const next of ai.readUIMessageStream({ message, stream, terminateOnError: false, onError: (e) => errors.push(e) })) message = next;
  if (errors.length) throw errors[0];
  return message;
}
const said = (text) => [{ id: 'u1', role: 'user', parts: [{ type: 'text', text }] }];
const words = (message) => message.parts.filter((p) => p.type === 'text').map((p) => p.text);

for (const [version, ai] of [[5, ai5], [6, ai6], [7, ai7]]) {
  await check(`ai ${version}: text and reasoning`, async () => {
    const got = await page(ai, `text-${version}`, said('hello'));
    same(got.parts.map((p) => p.type), ['step-start', 'reasoning', 'text'], 'the parts');
    same(words(got), ['you said: hello'], 'the text');
  });
  await check(`ai ${version}: a tool that runs at the server`, async () => {
    const got = await page(ai, `tool-${version}`, said('count'));
    const tool = got.parts.find((p) => p.type === 'dynamic-tool');
    same([tool.toolName, tool.state, tool.input], ['calculate', 'output-available', { expression: '6*7' }], 'the tool');
  });
  await check(`ai ${version}: a tool of the page`, async () => {
    const messages = said('where');
    const got = await page(ai, `page-${version}`, messages);
    const tool = got.parts.find((p) => p.type === 'tool-getPlace');
    same([tool.state, tool.input], ['input-available', { near: 'me' }], 'the call');
    Object.assign(tool, { state: 'output-available', output: { city: 'Oslo' } });
    const next = await page(ai, `page-${version}`, [...messages, got]);
    same(next.id, got.id, 'the same message');
    same(words(next), ['Let me look.', 'it said: {"city":"Oslo"}'], 'the text');
  });
}
for (const [version, ai] of [[6, ai6], [7, ai7]]) {
  for (const approved of [true, false]) {
    await check(`ai ${version}: consent ${approved ? 'given' : 'refused'}`, async () => {
      const messages = said('ask me');
      const got = await page(ai, `ask-${version}-${approved}`, messages);
      const tool = got.parts.find((p) => p.type === 'dynamic-tool');
      same(tool.state, 'approval-requested', 'the question');
      Object.assign(tool, { state: 'approval-responded', approval: { ...tool.approval, approved } });
      const next = await page(ai, `ask-${version}-${approved}`, [...messages, got]);
      same(next.parts.find((p) => p.type === 'dynamic-tool').state, approved ? 'output-available' : 'output-denied', 'what became of it');
    });
  }
}

// A hundred streams side by side on one connection of HTTP/2; ten of them are given
// up in the middle.
await check('node: streams of HTTP/2', async () => {
  const session = http2.connect(url);
  const chat = (n) => new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST', ':path': '/v1/chat/completions', authorization: `Bearer ${token}`, 'content-type': 'application/json',
    });
    const given = n % 10 === 0;
    let text = '';
    stream.setEncoding('utf8').on('error', reject).on('data', (data) => {
      text += data;
      if (given) stream.close(http2.constants.NGHTTP2_CANCEL);
    });
    stream.on('close', () => resolve(given || /data: \[DONE\]/.test(text)));
    stream.end(JSON.stringify({ ...user(`number ${n}`), stream: true }));
  });
  const whole = await Promise.all(Array.from({ length: 100 }, (_, n) => chat(n)));
  same(whole.filter(Boolean).length, 100, 'streams that came to their end');
  await new Promise((resolve) => session.close(resolve));
});

// A WebSocket, what came on it, and a way to wait for something that does.
function socket(path, protocols, options) {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/api/sessions/${path}`, protocols, options);
  const came = [], waits = [];
  const look = () => waits.splice(0).forEach((w) => { const m = came.find(w.is); if (m) w.found(m); else waits.push(w); });
  ws.on('message', (data, binary) => { came.push(binary ? { binary } : JSON.parse(data)); look(); });
  const closed = new Promise((resolve) => { ws.on('close', (code, why) => resolve([code, String(why)])); });
  const opened = new Promise((resolve, reject) => { ws.on('open', resolve); ws.on('error', reject); });
  const until = (is) => new Promise((found) => { waits.push({ is, found }); look(); });
  return { ws, came, closed, opened, until, say: (frame) => ws.send(JSON.stringify(frame)) };
}
const bearer = { headers: { Authorization: `Bearer ${token}` } };

await check('ws: a session, its events and its answers', async () => {
  const s = socket('socket-1/socket', [], bearer);
  await s.opened;
  same(s.ws.protocol, '', 'no subprotocol');
  s.say({ type: 'message', text: 'hello', ref: 'a' });
  const end = await s.until((m) => m.type === 'run_end');
  same([end.status, end.text], ['done', 'you said: hello'], 'the answer');
  const ack = s.came.find((m) => m.type === 'ack');
  same([ack.status, ack.ref, ack.run], [202, 'a', end.run], 'what was accepted');
  const said = (ephemeral) => s.came.filter((m) => m.type === 'text_delta' && Boolean(m.ephemeral) === ephemeral).map((m) => m.text).join('');
  same([said(true), said(false)], [end.text, end.text], 'its pieces, and the record that replaces them');
  s.say({ type: 'message', text: 'ask me' });
  const { approval_id: id } = await s.until((m) => m.type === 'approval_required');
  await s.until((m) => m.reason === 'approval_required');
  s.say({ type: 'approval', id, decision: 'allow-once', ref: 'b' });
  same((await s.until((m) => m.ref === 'b')).resumed, true, 'consent');
  same((await s.until((m) => m.type === 'run_end' && m.text)).status, 'done', 'and it went on');
  const last = await s.until((m) => m.type === 'run_end' && m.text.startsWith('it said'));
  s.ws.close(4000, 'enough');
  same((await s.closed)[0], 4000, 'the code comes back');
  const back = socket(`socket-1/socket?after=${encodeURIComponent(`${last.run}:${last.seq - 1}`)}`, [], bearer);
  same((await back.until((m) => m.type === 'run_end')).seq, last.seq, 'what was missed');
  back.ws.terminate();
});
await check('ws: the token among the subprotocols', async () => {
  const s = socket('socket-2/socket', ['chela.v1', `bearer.${token}`]);
  await s.opened;
  same(s.ws.protocol, 'chela.v1', 'the one that is spoken');
  s.ws.close();
  await s.closed;
  for (const [protocols, options, status] of [[['chela.v1', 'bearer.wrong-wrong-wrong-wrong'], {}, 401], [[`bearer.${token}`], {}, 401], [[], { origin: 'https://evil.example', ...bearer }, 403]]) {
    const refused = await socket('socket-2/socket', protocols, options).opened.then(() => 'opened', (error) => error.message);
    same(refused, `Unexpected server response: ${status}`, 'a wrong one');
  }
});
await check('ws: in fragments, with pings, and what is not taken', async () => {
  const s = socket('socket-3/socket', [], bearer);
  await s.opened;
  const pong = new Promise((resolve) => { s.ws.on('pong', (data) => resolve(String(data))); });
  const text = JSON.stringify({ type: 'message', text: '长'.repeat(60000), ref: 1 });
  const bytes = Buffer.from(text);
  s.ws.send(bytes.subarray(0, 50001), { fin: false, binary: false });
  s.ws.ping('are you there');
  s.ws.send(bytes.subarray(50001), { fin: true, binary: false });
  same(await pong, 'are you there', 'a pong between them');
  same((await s.until((m) => m.ref === 1)).status, 202, 'a long message');
  same((await s.until((m) => m.type === 'run_end')).text.length, 60010, 'all of it');
  s.ws.send(Buffer.from([1, 2, 3]));
  same(await s.closed, [1003, 'only text messages are supported'], 'binary');
  const big = socket('socket-3/socket', [], bearer);
  await big.opened;
  big.ws.send('x'.repeat(5 * 1024 * 1024));
  same((await big.closed)[0], 1009, 'too much');
});

const stays = socket('socket-1/socket', [], bearer);
await stays.opened;
gateway.removeAllListeners('exit');
const ended = new Promise((resolve) => gateway.on('exit', resolve));
gateway.kill();
await check('it ends when told to', async () => same(await ended, 0, 'exit code'));
await check('ws: who is there is told so', async () => same(await stays.closed, [1001, 'the gateway is stopping'], 'the goodbye'));
rmSync(space, { recursive: true });
done();

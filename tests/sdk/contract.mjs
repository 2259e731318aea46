// The contract of /v1 against the types of the vendors' clients: every member of a request is honoured, named or refused by name; every
// answer, and every event of a stream, has the members that the types require.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, check, done, same } from './lib.mjs';
import { members, problems, typeOf } from './types.mjs';

const page = readFileSync(join(process.env.CHELA_ROOT, 'docs/v1.md'), 'utf8');
/** The rows of an endpoint, by their paths. */
const table = (endpoint) => new Map([...page.split(`## POST /v1/${endpoint}\n`)[1].split('\n## ')[0].matchAll(/^\| `([^`]+)` \| [^|]+\| (.*) \|$/gm)].map(([, path, about]) => [path, about]));
const words = (about) => [...about.split(';')[0].matchAll(/`([^`]+)`/g)].map((m) => m[1]);

/** The members without a row. A list that has a row of its own names the types whose members have rows; others are taken whole. */
function unknown(rows, type, ignore = []) {
  const found = new Set();
  const inside = (prefix) => [...rows.keys()].some((path) => path.startsWith(prefix));
  members(type, (path, variant) => {
    if (path.endsWith('[]')) return inside(`${path}.`) && (!rows.has(path) || !variant || words(rows.get(path)).includes(variant));
    if (!rows.has(path) && !ignore.includes(path)) found.add(path);
    return inside(`${path}.`) || inside(`${path}[]`);
  });
  return [...found].sort();
}
for (const [endpoint, file, name] of [['chat/completions', 'completions', 'ChatCompletionCreateParamsStreaming'], ['responses', 'responses', 'ResponseCreateParamsStreaming'], ['messages', 'messages', 'MessageCreateParamsStreaming'], ['messages', 'beta', 'MessageCreateParamsStreaming'], ['embeddings', 'embeddings', 'EmbeddingCreateParams']]) {
  await check(`${name} of ${file}: the contract has every member`, async () => same(unknown(table(endpoint), typeOf(file, name), ['betas']), [], 'members without a row'));
}

// --- answers and streams

const token = 'contract-sdk-0123456789abcdef';
const space = mkdtempSync(join(tmpdir(), 'contract-'));
writeFileSync(join(space, 'rules.yaml'), `
rules:
  - { when: { after: none, user: "weather" }, think: "where?", say: "Let me look.", call: { tool: get_weather, args: { city: "Oslo" } } }
  - { when: { after: none, user: "patch" }, say: "I shall.", call: { tool: patch, args: { input: "*** Begin" } } }
  - { when: { after: none, user: "count" }, think: "hm", say: "I count.", call: { tool: calculate, args: { expression: "6*7" } } }
  - { when: { after: none, user: "cut" }, say: "a text that is", stop: max_tokens }
  - { when: { after: none, user: "form" }, say: "{}" }
  - { when: { after: none, user: "^no$" }, say: "I cannot.", stop: refusal }
  - { when: { after: none, user: "break" }, fail: { status: 500, message: "it broke" } }
  - { when: { after: none }, think: "hm hm", say: "you said: {{user}}" }
  - { think: "so", say: "it said: {{result}}" }
`);
writeFileSync(join(space, 'chela.yaml'), `
store: "memory:"
sandbox: { mode: off }
agents: { list: [{ id: coder, model: scripted/rules.yaml, retries: 0 }] }
`);
const gateway = spawn(join(build, 'chela'), ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0'], {
  cwd: space, stdio: ['ignore', 'ignore', 'pipe'],
  env: { PATH: process.env.PATH, HOME: space, CHELA_TOKEN: token, CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN },
});
const url = await new Promise((resolve, reject) => {
  gateway.stderr.on('data', (data) => { const m = /listening on (\S+)/.exec(data); if (m) resolve(m[1]); });
  gateway.on('exit', () => reject(new Error('the gateway ended')));
});
const post = (path, body) => fetch(`${url}/v1/${path}`, {
  method: 'POST', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ model: 'coder', ...body }),
});
async function events(path, body) {
  const answer = await post(path, { ...body, stream: true });
  const text = await answer.text();
  return text.split('\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));
}
const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const schema = { type: 'object' };
const cases = ['hello', 'weather', 'count', 'cut', 'no', 'form', 'break'];
const own = ['output_text', '_request_id', 'parsed_output']; // members that only the client's objects have

const chatBody = (text) => ({
  messages: [{ role: 'user', content: text }],
  ...(text === 'weather' && { tools: [{ type: 'function', function: { name: 'get_weather', parameters } }] }),
  ...(text === 'patch' && { tools: [{ type: 'custom', custom: { name: 'patch' } }] }),
  ...(text === 'form' && { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } }),
});
const responsesBody = (text) => ({
  input: text, include: ['reasoning.encrypted_content'],
  ...(text === 'weather' && { tools: [{ type: 'function', name: 'get_weather', parameters, strict: true }] }),
  ...(text === 'patch' && { tools: [{ type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' } }] }),
  ...(text === 'form' && { text: { format: { type: 'json_schema', name: 'n', schema } } }),
});
const messagesBody = (text) => ({
  max_tokens: 500, messages: [{ role: 'user', content: text }],
  ...(text === 'weather' && { tools: [{ name: 'get_weather', input_schema: parameters }] }),
  ...(text === 'form' && { output_config: { format: { type: 'json_schema', schema } } }),
});
const faces = [
  ['chat/completions', chatBody, [...cases, 'patch'], typeOf('completions', 'ChatCompletion'), typeOf('completions', 'ChatCompletionChunk')],
  ['responses', responsesBody, [...cases, 'patch'], typeOf('responses', 'Response'), typeOf('responses', 'ResponseStreamEvent')],
  ['messages', messagesBody, cases, typeOf('messages', 'Message'), typeOf('messages', 'RawMessageStreamEvent')],
];

/** Events of Responses: numbered without a gap; what is open is closed, in its place; the last one is the whole. */
function responsesOrder(all) {
  const wrong = all.flatMap((e, i) => (e.sequence_number === i ? [] : [`event ${i} has the number ${e.sequence_number}`]));
  const open = new Map(), parts = new Set();
  const items = [];
  for (const e of all) {
    if (e.type === 'response.output_item.added') { if (e.output_index !== items.length + open.size) wrong.push(`item ${e.output_index} is out of place`); open.set(e.output_index, e.item); }
    const item = open.get(e.output_index);
    if (e.output_index !== undefined && !item) wrong.push(`${e.type} of an item that is not open`);
    if (e.item_id && item && e.item_id !== item.id) wrong.push(`${e.type} of ${e.item_id}, not of ${item.id}`);
    if (/part\.added$/.test(e.type)) parts.add(e.item_id);
    if (/(output_text|summary_text)\.delta$/.test(e.type) && !parts.has(e.item_id)) wrong.push(`${e.type} before its part`);
    if (/part\.done$/.test(e.type)) parts.delete(e.item_id);
    if (e.type === 'response.output_item.done') { if (parts.has(e.item.id)) wrong.push('an item ends before its part'); if (e.item.id !== item?.id) wrong.push('an item ends with another id'); items.push(e.item); open.delete(e.output_index); }
  }
  if (open.size) wrong.push('an item is not closed');
  if (!/^response\.(completed|incomplete|failed)$/.test(all.at(-1).type)) wrong.push(`the last event is ${all.at(-1).type}`);
  if (JSON.stringify(all.at(-1).response.output) !== JSON.stringify(items)) wrong.push('the items are not those of the response');
  return wrong;
}
/** Events of Messages: blocks in order, one open at a time. */
function messagesOrder(all) {
  const wrong = [];
  let open = -1, next = 0;
  all.forEach((e, i) => {
    if ((e.type === 'message_start') !== (i === 0)) wrong.push(`${e.type} as event ${i}`);
    if (e.type === 'content_block_start') { if (open >= 0 || e.index !== next) wrong.push(`block ${e.index} begins`); open = e.index; }
    if (e.type === 'content_block_delta' && e.index !== open) wrong.push(`a piece of block ${e.index}`);
    if (e.type === 'content_block_stop') { if (e.index !== open) wrong.push(`block ${e.index} ends`); open = -1; next++; }
  });
  if (all.at(-1).type !== 'message_stop') wrong.push(`the last event is ${all.at(-1).type}`);
  return wrong;
}
/** Chunks of Chat Completions: one id; the role in the first one; one reason of the end, in the last one with a choice. */
function chatOrder(all) {
  const ends = all.filter((e) => e.choices[0]?.finish_reason);
  const choices = all.filter((e) => e.choices.length);
  return [
    ...(new Set(all.map((e) => e.id)).size === 1 ? [] : ['several ids']),
    ...(all[0].choices[0]?.delta.role === 'assistant' ? [] : ['no role']),
    ...(ends.length === 1 && ends[0] === choices.at(-1) ? [] : [`${ends.length} ends`]),
  ];
}
const orders = { responses: responsesOrder, messages: messagesOrder, 'chat/completions': chatOrder };

for (const [path, bodyOf, texts, whole, event] of faces) {
  for (const text of texts) {
    await check(`${path}, ${text}: the answer is of its type`, async () => {
      const answer = await post(path, bodyOf(text));
      same(answer.status, text === 'break' ? 502 : 200, 'the status');
      if (answer.ok) same(problems(whole, await answer.json(), '', own), [], 'what is wrong');
    });
    await check(`${path}, ${text}: every event of the stream is of its type, in its place`, async () => {
      const all = await events(path, bodyOf(text));
      if (text === 'break') return;
      same(all.flatMap((e) => problems(event, e, e.type ?? 'chunk', own)), [], 'what is wrong');
      same(orders[path](all), [], 'the order');
    });
  }
}

await check('responses, count: text between calls of the gateway is commentary', async () => {
  const { output } = await (await post('responses', responsesBody('count'))).json();
  same(output.filter((item) => item.type === 'message').map((item) => item.phase), ['commentary', 'final_answer'], 'the phases');
});

gateway.removeAllListeners('exit');
const ended = new Promise((resolve) => gateway.on('exit', resolve));
gateway.kill();
await ended;
rmSync(space, { recursive: true });
done();

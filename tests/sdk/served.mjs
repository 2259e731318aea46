// The gateway as a server of OpenAI's and Anthropic's protocols, with a model behind it that
// speaks one of six: the vendors' clients run a tool of their own in a stateless loop, and
// the reasoning that the model signed comes back to it.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents';
import * as amazon from './bedrock.mjs';
import { build, check, done, key, same, serve, signed } from './lib.mjs';

const token = 'gateway-sdk-0123456789abcdef';
const space = mkdtempSync(join(tmpdir(), 'served-'));
const server = await serve();

// One agent for each conversation with a model: an instance of the server is used once.
const apis = { anthropic: ['', 'claude-sonnet-4-5'], openai: ['/v1', 'test'], 'openai-responses': ['/v1', 'gpt-5'], gemini: ['', 'gemini-3-test'], interactions: ['', 'gemini-3-test'], bedrock: ['', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'] };
const agents = [];
const providers = [];
let count = 0;
function agent(conversation, api) {
  const id = `a${count++}`;
  const [tail, model] = apis[api];
  providers.push(`  p${id}: { api: ${api}, baseUrl: "${server.url}/${conversation}/${id}${tail}", ${api === 'bedrock' ? '' : 'apiKeyEnv: MODEL_KEY, '}models: [{ id: "${model}" }] }`);
  agents.push(`    - { id: ${id}, model: "p${id}/${model}", reasoning: medium, retries: 0, tools: { allow: [] } }`);
  return id;
}
const clients = ['anthropic', 'chat', 'responses'];
const loops = Object.keys(apis).flatMap((api) => clients.flatMap((client) => [false, true].map((stream) => ({ api, client, stream, id: agent('calculate', api) }))));
const hello = agent('hello', 'anthropic');
const thinks = agent('reasoning', 'anthropic');
const cached = agent('cached', 'anthropic');
const withSdk = agent('calculate', 'openai');
const withRunner = agent('calculate', 'anthropic');
const errors = ['always_429', 'always_500', 'unauthorized', 'no_model', 'refused_400'].map((name) => [name, agent(name, 'anthropic')]);
providers.push(`  vectors: { api: openai, baseUrl: "${server.url}/embed/e/v1", apiKeyEnv: MODEL_KEY, models: [{ id: e }] }`);
agents.push('    - { id: embedder, model: "vectors/e", embedding: "vectors/e" }');
writeFileSync(join(space, 'chela.yaml'), `
store: "memory:"
providers:
${providers.join('\n')}
agents:
  list:
${agents.join('\n')}
`);
const gateway = spawn(join(build, 'chela'), ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0'], {
  cwd: space, stdio: ['ignore', 'ignore', 'pipe'],
  env: { PATH: process.env.PATH, HOME: space, CHELA_TOKEN: token, MODEL_KEY: key, ...amazon.environment, CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN },
});
let log = '';
const url = await new Promise((resolve, reject) => {
  gateway.stderr.on('data', (data) => { log += data; const m = /listening on (\S+)/.exec(data); if (m) resolve(m[1]); });
  gateway.on('exit', () => reject(new Error(`the gateway ended: ${log}`)));
});
const anthropic = new Anthropic({ baseURL: url, apiKey: token, maxRetries: 0 });
const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
const schema = { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] };
const failure = async (promise) => { try { await promise; } catch (error) { return error; } throw new Error('it did not fail'); };

// Each plays the loop and says what it saw: [reasoning, arguments, text].
const play = {
  async anthropic(model, stream) {
    const body = { model, max_tokens: 1000, messages: [{ role: 'user', content: 'go' }], tools: [{ name: 'calculate', description: 'Calculates.', input_schema: schema }] };
    const ask = () => (stream ? anthropic.messages.stream(body).finalMessage() : anthropic.messages.create(body));
    const first = await ask();
    const of = (type) => first.content.filter((b) => b.type === type);
    same(first.stop_reason, 'tool_use', 'the stop reason');
    body.messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: of('tool_use').map((b) => ({ type: 'tool_result', tool_use_id: b.id, content: '42' })) });
    const second = await ask();
    same(second.usage.output_tokens > 0, true, 'usage');
    return [of('thinking').map((b) => b.thinking).join(''), of('tool_use')[0].input, second.content.map((b) => b.text).join('')];
  },
  async chat(model, stream) {
    const body = { model, messages: [{ role: 'user', content: 'go' }], tools: [{ type: 'function', function: { name: 'calculate', description: 'Calculates.', parameters: schema } }] };
    let reasoning = '';
    let details = [];
    const ask = async () => {
      if (!stream) return (await openai.chat.completions.create(body)).choices[0].message;
      const runner = openai.chat.completions.stream(body);
      runner.on('chunk', (c) => { reasoning += c.choices[0]?.delta.reasoning_content ?? ''; details.push(...(c.choices[0]?.delta.reasoning_details ?? [])); });
      return (await runner.finalChatCompletion()).choices[0].message;
    };
    const first = await ask();
    if (stream) first.reasoning_details = details;
    const call = first.tool_calls[0];
    body.messages.push(first, { role: 'tool', tool_call_id: call.id, content: '42' });
    const shown = stream ? reasoning : first.reasoning_content ?? '';
    const second = await ask();
    return [shown, JSON.parse(call.function.arguments), second.content];
  },
  async responses(model, stream) {
    const body = { model, store: false, include: ['reasoning.encrypted_content'], input: [{ role: 'user', content: 'go' }], tools: [{ type: 'function', name: 'calculate', description: 'Calculates.', parameters: schema, strict: false }] };
    const ask = () => (stream ? openai.responses.stream(body).finalResponse() : openai.responses.create(body));
    const first = await ask();
    const call = first.output.find((i) => i.type === 'function_call');
    body.input.push(...first.output, { type: 'function_call_output', call_id: call.call_id, output: [{ type: 'input_text', text: '42' }] });
    const second = await ask();
    const summaries = first.output.filter((i) => i.type === 'reasoning').flatMap((i) => i.summary).map((s) => s.text);
    return [summaries.join(''), JSON.parse(call.arguments), second.output_text];
  },
};

for (const { api, client, stream, id } of loops) {
  await check(`${client} before ${api}${stream ? ', streamed' : ''}: a tool loop`, async () => {
    same(await play[client](id, stream), ['I should calculate this.', { expression: '(2 + 40) * 1' }, '2 + 40 is 42.'], 'what the client saw');
    const requests = server.requests().filter((r) => r.instance === id);
    same([requests.length, requests.flatMap((r) => r.problems)], [2, []], 'what the model got');
    same(signed[api](requests[1].body), true, 'the reasoning comes back to its author');
  });
}

await check('anthropic: a message, whole and streamed', async () => {
  const body = { model: thinks, max_tokens: 100, messages: [{ role: 'user', content: 'go' }] };
  const got = await anthropic.messages.create(body);
  same([got.type, got.role, got.stop_reason, got.content.map((b) => b.type)], ['message', 'assistant', 'end_turn', ['thinking', 'text']], 'the message');
  same([got.content[1].text, got.usage.input_tokens, got.usage.output_tokens], ['42', 30, 25], 'text and usage');
});
await check('anthropic: the usage of a stream', async () => {
  const stream = anthropic.messages.stream({ model: cached, max_tokens: 100, messages: [{ role: 'user', content: 'word '.repeat(400) }] });
  let start;
  stream.on('streamEvent', (e) => { if (e.type === 'message_start') start = { ...e.message.usage }; });
  const { usage } = await stream.finalMessage();
  same([usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens], [392, 4096, 512, 6], 'at its end');
  same(start.input_tokens > 400 && start.input_tokens < 1500, true, `an estimate at its start: ${start.input_tokens}`);
});
await check('anthropic: key headers', async () => {
  const body = JSON.stringify({ model: hello, max_tokens: 9, messages: [{ role: 'user', content: 'go' }] });
  const post = async (headers) => (await fetch(`${url}/v1/messages`, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } }));
  same((await post({ 'x-api-key': 'wrong-wrong-wrong-wrong' })).status, 401, 'a wrong key');
  same((await (await post({})).json()).type, 'error', 'the form of an error');
  same((await post({ 'x-api-key': token, 'anthropic-version': '2023-06-01' })).status, 200, 'the right key');
});
await check('anthropic: the tool runner', async () => {
  const calculate = { name: 'calculate', description: 'Calculates.', input_schema: schema, parse: (input) => input, run: () => '42' };
  const got = await anthropic.beta.messages.toolRunner({ model: withRunner, max_tokens: 100, messages: [{ role: 'user', content: 'go' }], tools: [calculate] });
  same(got.content.map((b) => b.text).join(''), '2 + 40 is 42.', 'the answer');
});
await check('models: both clients list the agents, and show one', async () => {
  for (const [name, client] of Object.entries({ anthropic, openai })) {
    const listed = [];
    for await (const model of client.models.list()) listed.push(model);
    same([listed.length, (await client.models.list()).hasNextPage()], [agents.length, false], `${name}: the list`);
    const shown = await client.models.retrieve(hello);
    same(shown, listed.find((m) => m.id === hello), `${name}: one agent`);
    same(name === 'openai' || [shown.type, shown.display_name, new Date(shown.created_at).getTime()], name === 'openai' || ['model', hello, 0], 'its members');
    same((await failure(client.models.retrieve('nobody'))).status, 404, `${name}: no agent`);
  }
});
await check('anthropic: counting', async () => {
  const count = async (text) => (await anthropic.messages.countTokens({ model: hello, messages: [{ role: 'user', content: text }] })).input_tokens;
  const [few, many] = [await count('hello'), await count('hello world '.repeat(100))];
  same(few > 0 && few < 20 && many > 150 && many < 400, true, `${few} ${many}`);
});
await check('anthropic: errors', async () => {
  const ask = (model, more) => failure(anthropic.messages.create({ model, max_tokens: 9, messages: [{ role: 'user', content: 'go' }], ...more }));
  const classes = {};
  for (const [name, id] of errors) { const e = await ask(id); classes[name] = [e.status, e.error?.error?.type]; }
  same(classes, { always_429: [429, 'rate_limit_error'], always_500: [502, 'api_error'], unauthorized: [502, 'api_error'], no_model: [502, 'api_error'], refused_400: [400, 'invalid_request_error'] }, 'errors of the model');
  same((await ask('nobody')) instanceof Anthropic.NotFoundError, true, 'an unknown agent');
  same((await ask(hello, { messages: [] })) instanceof Anthropic.BadRequestError, true, 'no messages');
  same((await ask(hello, { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: '' }] }] })) instanceof Anthropic.BadRequestError, true, 'a result of nothing');
});
await check('openai: errors of the model', async () => {
  const ask = (model, stream) => failure(openai.chat.completions.create({ model, stream, messages: [{ role: 'user', content: 'go' }] }));
  const [limited, refused] = [errors[0][1], errors[4][1]];
  same((await ask(limited)) instanceof OpenAI.RateLimitError, true, 'a rate limit');
  same((await ask(limited, true)) instanceof OpenAI.RateLimitError, true, 'a rate limit before a stream');
  same((await ask(refused)) instanceof OpenAI.BadRequestError, true, 'a bad request');
});
for (const encoding_format of [undefined, 'float']) {
  await check(`openai: embeddings${encoding_format ? ` as ${encoding_format}` : ''}`, async () => {
    const got = await openai.embeddings.create({ model: 'embedder', input: ['one', 'two'], encoding_format });
    const rounded = got.data.map((d) => Array.from(d.embedding, (x) => Math.round(x * 100) / 100));
    same([rounded, got.usage.prompt_tokens], [[[0.6, 0.8], [0, 1]], 7], 'the vectors');
  });
}
await check('openai: embeddings that are wrong', async () => {
  same((await failure(openai.embeddings.create({ model: 'embedder', input: [] }))) instanceof OpenAI.BadRequestError, true, 'no text');
  same((await failure(openai.embeddings.create({ model: 'embedder', input: 'one text, two vectors' }))).status, 502, 'a service that answers otherwise');
});
await check('@openai/agents: an agent with a tool', async () => {
  setDefaultOpenAIClient(openai);
  setTracingDisabled(true);
  let asked;
  const calculate = tool({ name: 'calculate', description: 'Calculates.', parameters: { ...schema, additionalProperties: true }, strict: false, execute: (args) => { asked = args; return '42'; } });
  const got = await run(new Agent({ name: 'a', instructions: 'Calculate.', model: withSdk, tools: [calculate] }), 'go');
  same([got.finalOutput, asked], ['2 + 40 is 42.', { expression: '(2 + 40) * 1' }], 'the answer');
});
gateway.removeAllListeners('exit');
gateway.kill();
server.close();
rmSync(space, { recursive: true });
done();

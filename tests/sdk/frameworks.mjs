// Frameworks before the gateway, with the providers that they have for each protocol of /v1: their
// loops run a tool of the client, and what they understand is what the model said.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import * as ai from 'ai7';
import { build, check, done, key, same, serve, signed } from './lib.mjs';

const token = 'frameworks-sdk-0123456789abcdef';
const space = mkdtempSync(join(tmpdir(), 'frameworks-'));
const server = await serve();
const apis = { anthropic: ['', 'claude-sonnet-5-5'], openai: ['/v1', 'test'], 'openai-responses': ['/v1', 'gpt-6.1-sol'] };
const clients = ['ai chat', 'ai responses', 'ai messages', 'langchain chat', 'langchain responses', 'langchain messages'];
const cases = clients.flatMap((client) => Object.keys(apis).map((api) => ({ client, api, id: `${client.replace(' ', '-')}-${api}` })));
writeFileSync(join(space, 'chela.yaml'), `
store: "memory:"
providers:
${cases.map(({ id, api }) => `  p-${id}: { api: ${api}, baseUrl: "${server.url}/calculate/${id}${apis[api][0]}", apiKeyEnv: MODEL_KEY, models: [{ id: "${apis[api][1]}" }] }`).join('\n')}
agents:
  list:
${cases.map(({ id, api }) => `    - { id: ${id}, model: "p-${id}/${apis[api][1]}", reasoning: medium, retries: 0, tools: { allow: [] } }`).join('\n')}
`);
const gateway = spawn(join(build, 'chela'), ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0'], {
  cwd: space, stdio: ['ignore', 'ignore', 'pipe'],
  env: { PATH: process.env.PATH, HOME: space, CHELA_TOKEN: token, MODEL_KEY: key, CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN },
});
const url = await new Promise((resolve, reject) => {
  gateway.stderr.on('data', (data) => { const m = /listening on (\S+)/.exec(data); if (m) resolve(m[1]); });
  gateway.on('exit', () => reject(new Error('the gateway ended')));
});

const schema = { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] };
const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: token });
const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: token });
const models = {
  'ai chat': (id) => openai.chat(id),
  'ai responses': (id) => openai.responses(id),
  'ai messages': (id) => anthropic(id),
  'langchain chat': (model) => new ChatOpenAI({ model, apiKey: token, maxRetries: 0, configuration: { baseURL: `${url}/v1` } }),
  'langchain responses': (model) => new ChatOpenAI({ model, apiKey: token, maxRetries: 0, useResponsesApi: true, configuration: { baseURL: `${url}/v1` } }),
  'langchain messages': (model) => new ChatAnthropic({ model, apiKey: token, maxRetries: 0, anthropicApiUrl: url, maxTokens: 1000 }),
};

// Each plays the loop; resolves to [arguments of the call, the answer, tokens of the answer].
async function playAi(model) {
  let asked;
  const calculate = ai.tool({ description: 'Calculates.', inputSchema: ai.jsonSchema(schema), execute: (args) => { asked = args; return '42'; } });
  const run = ai.streamText({ model, prompt: 'go', tools: { calculate }, stopWhen: ai.isStepCount(5), maxRetries: 0, maxOutputTokens: 1000 });
  const text = await run.text;
  return [asked, text, (await run.usage).outputTokens];
}
async function playLangchain(model) {
  const bound = model.bindTools([{ type: 'function', function: { name: 'calculate', description: 'Calculates.', parameters: schema } }]);
  const messages = [new HumanMessage('go')];
  const first = await bound.invoke(messages);
  messages.push(first, new ToolMessage({ tool_call_id: first.tool_calls[0].id, content: '42' }));
  let last;
  for await (const piece of await bound.stream(messages)) last = last ? last.concat(piece) : piece;
  return [first.tool_calls[0].args, last.text, last.usage_metadata.output_tokens];
}

for (const { client, api, id } of cases) {
  await check(`${client} before ${api}: a tool loop`, async () => {
    const play = client.startsWith('ai ') ? playAi : playLangchain;
    const [asked, text, tokens] = await play(models[client](id));
    same([asked, text, tokens > 0], [{ expression: '(2 + 40) * 1' }, '2 + 40 is 42.', true], 'what the client saw');
    const requests = server.requests().filter((r) => r.instance === id);
    same([requests.length, requests.flatMap((r) => r.problems)], [2, []], 'what the model got');
    // Their classes for Chat Completions know no reasoning.
    same(client.endsWith('chat') || signed[api](requests[1].body), true, 'the reasoning comes back to its author');
  });
}
gateway.removeAllListeners('exit');
gateway.kill();
server.close();
rmSync(space, { recursive: true });
done();

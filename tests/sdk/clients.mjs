// The vendors' own clients against the test server: what they understand of a
// conversation must be what its file says. This checks the server, so that
// chela's tests against it mean something.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import * as amazon from './bedrock.mjs';
import * as google from './gemini.mjs';
import * as responses from './responses.mjs';
import { check, conversations, done, key, meaning, same, serve, visible } from './lib.mjs';

const names = ['calculate', 'ls', 'write', 'edit', 'read'];
const schema = { type: 'object', properties: {} };

const anthropicStop = { end_turn: 'stop', max_tokens: 'length', tool_use: 'tool_use', refusal: 'refusal', pause_turn: 'pause' };
const openaiStop = { stop: 'stop', length: 'length', tool_calls: 'tool_use', content_filter: 'refusal' };

function anthropicMeaning(message) {
  const of = (type) => message.content.filter((b) => b.type === type);
  const u = message.usage;
  return {
    text: of('text').map((b) => b.text).join(''),
    reasoning: of('thinking').map((b) => b.thinking).join(''),
    calls: of('tool_use').map((b) => ({ name: b.name, arguments: b.input })),
    stop: anthropicStop[message.stop_reason],
    usage: {
      input: u.input_tokens + u.cache_creation_input_tokens + u.cache_read_input_tokens,
      output: u.output_tokens,
      cache_read: u.cache_read_input_tokens,
      cache_write: u.cache_creation_input_tokens,
      reasoning: u.output_tokens_details?.thinking_tokens ?? 0,
    },
  };
}

async function playAnthropic(base, conversation, stream) {
  const client = new Anthropic({ apiKey: key, baseURL: base });
  const messages = [{ role: 'user', content: 'go' }];
  const understood = [];
  for (const _ of visible(conversation)) {
    const body = { model: 'claude-test', max_tokens: 1000, messages, tools: names.map((name) => ({ name, description: name, input_schema: schema })) };
    const message = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    understood.push(anthropicMeaning(message));
    messages.push({ role: 'assistant', content: message.content });
    messages.push({
      role: 'user',
      content: message.content.filter((b) => b.type === 'tool_use').map((b) => ({ type: 'tool_result', tool_use_id: b.id, content: 'done' })),
    });
  }
  return understood;
}

function openaiMeaning(completion, reasoning) {
  const { message, finish_reason } = completion.choices[0];
  const u = completion.usage;
  return {
    text: message.content ?? '',
    reasoning,
    calls: (message.tool_calls ?? []).map((c) => ({ name: c.function.name, arguments: JSON.parse(c.function.arguments || '{}') })),
    stop: openaiStop[finish_reason],
    usage: {
      input: u.prompt_tokens,
      output: u.completion_tokens,
      cache_read: u.prompt_tokens_details.cached_tokens,
      cache_write: u.prompt_tokens_details.cache_write_tokens,
      reasoning: u.completion_tokens_details.reasoning_tokens,
    },
  };
}

// The client's own accumulator gives up on a reply cut by length: put the
// pieces of such a stream together here.
async function gather(client, body, cut) {
  let reasoning = '';
  if (!cut) {
    const run = client.chat.completions.stream(body);
    run.on('chunk', (c) => { reasoning += c.choices[0]?.delta.reasoning_content ?? ''; });
    return [await run.finalChatCompletion(), reasoning];
  }
  const whole = { choices: [{ message: { content: '' } }] };
  for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
    const choice = chunk.choices[0];
    whole.choices[0].message.content += choice?.delta.content ?? '';
    whole.choices[0].finish_reason = choice?.finish_reason ?? whole.choices[0].finish_reason;
    whole.usage = chunk.usage ?? whole.usage;
  }
  return [whole, reasoning];
}

async function playOpenAI(base, conversation, stream) {
  const client = new OpenAI({ apiKey: key, baseURL: `${base}/v1` });
  const messages = [{ role: 'user', content: 'go' }];
  const understood = [];
  for (const reply of visible(conversation)) {
    const body = {
      model: 'gpt-test', messages,
      tools: names.map((name) => ({ type: 'function', function: { name, description: name, parameters: schema } })),
      ...(stream ? { stream_options: { include_usage: true } } : {}),
    };
    let completion;
    let reasoning;
    if (stream) {
      [completion, reasoning] = await gather(client, body, reply.stop === 'length');
    } else {
      completion = await client.chat.completions.create(body);
      reasoning = completion.choices[0].message.reasoning_content ?? '';
    }
    understood.push(openaiMeaning(completion, reasoning));
    const { content, tool_calls } = completion.choices[0].message;
    for (const call of tool_calls ?? []) call.function.arguments ||= '{}';
    messages.push({ role: 'assistant', content, ...(tool_calls?.length ? { tool_calls } : {}) });
    for (const call of tool_calls ?? []) messages.push({ role: 'tool', tool_call_id: call.id, content: 'done' });
  }
  return understood;
}

const playResponses = (base, conversation, stream) => responses.play(base, visible(conversation), stream, names, schema);
const playBedrock = (base, conversation, stream) => amazon.play(base, visible(conversation), stream, names, schema);
const playGemini = (base, conversation, stream) => google.play(base, visible(conversation), stream, names, schema);
const playSteps = (base, conversation, stream) => google.playSteps(base, visible(conversation), stream, names, schema);

const server = await serve();
for (const conversation of conversations('good')) {
  for (const [vendor, play] of [['anthropic', playAnthropic], ['openai', playOpenAI], ['responses', playResponses], ['gemini', playGemini], ['interactions', playSteps], ['bedrock', playBedrock]]) {
    for (const stream of [true, false]) {
      const way = `${vendor}-${stream ? 'stream' : 'whole'}`;
      await check(`${conversation.name}: ${way}`, async () => {
        const base = `${server.url}/${conversation.name}/${way}`;
        same(await play(base, conversation, stream), visible(conversation).map((r) => meaning(r, vendor)), 'understood otherwise');
      });
    }
  }
}

// What the server says of a bad request reaches the client as the vendor's
// error class, and its checks do find what is wrong.
const bad = {
  'a call without its result': [{ role: 'user', content: 'go' }, { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'ls', input: {} }] }, { role: 'user', content: 'and?' }],
  'a result without its call': [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'x' }] }],
  'an empty text': [{ role: 'user', content: [{ type: 'text', text: '' }] }],
  'a changed thinking block': [{ role: 'user', content: 'go' }, { role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature: 'sig_1' }, { type: 'text', text: 'b' }] }, { role: 'user', content: 'more' }],
  'a message of the assistant first': [{ role: 'assistant', content: 'hi' }],
};
for (const [name, messages] of Object.entries(bad)) {
  await check(`the server refuses ${name}`, async () => {
    const client = new Anthropic({ apiKey: key, baseURL: `${server.url}/hello/bad` });
    const error = await client.messages.create({ model: 'm', max_tokens: 9, messages }).catch((e) => e);
    same(error instanceof Anthropic.BadRequestError, true, String(error));
  });
}
for (const [name, messages] of Object.entries({
  'an unanswered call': [{ role: 'user', content: 'go' }, { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'ls', arguments: '{}' } }] }, { role: 'user', content: 'and?' }],
  'an answer to nothing': [{ role: 'user', content: 'go' }, { role: 'tool', tool_call_id: 'c1', content: 'x' }],
})) {
  await check(`the server refuses ${name} (chat)`, async () => {
    const client = new OpenAI({ apiKey: key, baseURL: `${server.url}/hello/bad/v1` });
    const error = await client.chat.completions.create({ model: 'm', messages }).catch((e) => e);
    same(error instanceof OpenAI.BadRequestError, true, String(error));
  });
}
for (const [name, input] of Object.entries(responses.refused)) {
  await check(`the server refuses ${name} (responses)`, async () => {
    const error = await responses.client(`${server.url}/hello/bad`).responses.create({ model: 'm', store: false, input }).catch((e) => e);
    same(error instanceof OpenAI.BadRequestError, true, String(error));
  });
}
const user = (...parts) => ({ role: 'user', parts });
const model = (...parts) => ({ role: 'model', parts });
const call = { functionCall: { name: 'ls', args: {}, id: 'c1' }, thoughtSignature: 'skip_thought_signature_validator' };
const response = { functionResponse: { name: 'ls', id: 'c1', response: { output: 'x' } } };
for (const [name, contents, config] of [
  ['an unanswered call', [user({ text: 'go' }), model(call), user({ text: 'and?' })]],
  ['an answer to nothing', [user(response)]],
  ['an answer of another tool', [user({ text: 'go' }), model(call), user({ functionResponse: { ...response.functionResponse, name: 'rm' } })]],
  ['text beside an answer', [user({ text: 'go' }), model(call), user(response, { text: 'so?' })]],
  ['a call without its signature', [user({ text: 'go' }), model({ functionCall: call.functionCall }), user(response)]],
  ['a signature of its own making', [user({ text: 'go' }), model({ ...call, thoughtSignature: 'AAAA' }), user(response)]],
  ['a content without parts', [user()]],
  ['a content of the model first', [model({ text: 'hi' })]],
  ['a role it does not have', [{ role: 'assistant', parts: [{ text: 'hi' }] }]],
  ['level and budget together', [user({ text: 'go' })], { thinkingConfig: { thinkingLevel: 'LOW', thinkingBudget: 9 } }],
  ['a name that is not declared', [user({ text: 'go' })], { tools: [{ functionDeclarations: [{ name: 'ls' }] }], toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['rm'] } } }],
]) {
  await check(`the server refuses ${name} (gemini)`, async () => {
    const { models } = google.client(`${server.url}/hello/bad`);
    const error = await models.generateContent({ model: 'gemini-3-test', contents, config }).catch((e) => e);
    same([error instanceof google.ApiError, error.status], [true, 400], String(error));
  });
}
const step = (type, more) => ({ type, ...more });
const said = (text) => step('user_input', { content: [{ type: 'text', text }] });
const signed = step('thought', { signature: 'skip_thought_signature_validator' });
const asks = step('function_call', { id: 'c1', name: 'ls', arguments: {} });
const gets = step('function_result', { call_id: 'c1', name: 'ls', result: 'x' });
for (const [name, input, more] of [
  ['an unanswered call', [said('go'), signed, asks, said('and?')]],
  ['an answer to nothing', [said('go'), gets]],
  ['a call without its signature', [said('go'), asks, gets]],
  ['a signature of its own making', [said('go'), { ...signed, signature: 'AAAA' }, asks, gets]],
  ['a step without content', [said('go'), step('model_output', { content: [] })]],
  ['a step of the model first', [step('model_output', { content: [{ type: 'text', text: 'hi' }] })]],
  ['a tool choice without tools', [said('go')], { generation_config: { tool_choice: 'any' } }],
]) {
  await check(`the server refuses ${name} (interactions)`, async () => {
    const error = await google.interact(`${server.url}/hello/bad`, { input, ...more }).catch((e) => e);
    same(error.statusCode ?? error.status, 400, String(error));
  });
}
await check('errors carry their class', async () => {
  const client = new Anthropic({ apiKey: key, baseURL: `${server.url}/unauthorized/a` });
  const one = await client.messages.create({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'go' }] }).catch((e) => e);
  same(one instanceof Anthropic.AuthenticationError, true, String(one));
  const chat = new OpenAI({ apiKey: key, baseURL: `${server.url}/no_model/a/v1` });
  const two = await chat.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'go' }] }).catch((e) => e);
  same([two instanceof OpenAI.NotFoundError, two.code], [true, 'model_not_found'], String(two));
});
await check('errors carry their class (gemini)', async () => {
  const { models } = google.client(`${server.url}/unauthorized/g`);
  const error = await models.generateContent({ model: 'm', contents: 'go' }).catch((e) => e);
  same([error instanceof google.ApiError, error.status], [true, 401], String(error));
});

// Amazon's, which also checks who signed.
const says = (...content) => ({ role: 'user', content });
const use = { role: 'assistant', content: [{ toolUse: { toolUseId: 't1', name: 'ls', input: {} } }] };
const result = { toolResult: { toolUseId: 't1', content: [{ text: 'x' }] } };
const tools = { toolConfig: amazon.toolConfig(names, schema) };
for (const [name, messages, more] of [
  ['a call without its result', [says({ text: 'go' }), use, says({ text: 'and?' })], tools],
  ['a result without its call', [says(result)], tools],
  ['a result after a text', [says({ text: 'go' }), use, says({ text: 'and?' }, result)], tools],
  ['an empty result', [says({ text: 'go' }), use, says({ toolResult: { toolUseId: 't1', content: [] } })], tools],
  ['tools that are not described', [says({ text: 'go' }), use, says(result)]],
  ['a blank text', [says({ text: ' ' })]],
  ['two messages of one role', [says({ text: 'a' }), says({ text: 'b' })]],
  ['a message of the assistant first', [{ role: 'assistant', content: [{ text: 'hi' }] }]],
  ['a changed thinking block', [says({ text: 'go' }), { role: 'assistant', content: [{ reasoningContent: { reasoningText: { text: 'a', signature: 'sig_1' } } }, { text: 'b' }] }, says({ text: 'more' })]],
  ['five cache marks', [says({ text: 'go' }, ...Array(5).fill({ cachePoint: { type: 'default' } }))]],
]) {
  await check(`the server refuses ${name} (bedrock)`, async () => {
    const error = await amazon.ask(`${server.url}/hello/bad`, { messages, ...more }).catch((e) => e);
    same(error.name, 'ValidationException', String(error));
  });
}
for (const [name, more] of [
  ['a wrong secret', { credentials: { ...amazon.credentials, secretAccessKey: 'wrong' } }],
  ['a wrong session token', { credentials: { ...amazon.credentials, sessionToken: 'wrong' } }],
  ['a clock that is ten minutes off', { systemClockOffset: 600000 }],
]) {
  await check(`the server refuses ${name} (bedrock)`, async () => {
    const error = await amazon.ask(`${server.url}/hello/bad`, { messages: [says({ text: 'go' })] }, more).catch((e) => e);
    same(/signature does not match/.test(error.message), true, String(error));
  });
}
await check('errors carry their class, also inside a stream (bedrock)', async () => {
  const classes = [];
  for (const name of ['unauthorized', 'no_model', 'always_429', 'always_500', 'stream_error']) {
    const error = await amazon.gather(`${server.url}/${name}/b`, { messages: [says({ text: 'go' })] }, { maxAttempts: 1 }).catch((e) => e);
    classes.push(error.name);
  }
  same(classes, ['UnrecognizedClientException', 'ResourceNotFoundException', 'ThrottlingException', 'InternalServerException', 'ServiceUnavailableException'], 'other names');
});
await check('the clients\' own requests are without fault', async () => {
  const faults = server.requests().filter((r) => r.instance !== 'bad').flatMap((r) => r.problems.map((p) => `${r.conversation}/${r.instance}: ${p}`));
  same([...new Set(faults)], [], 'the checks object to what the vendors send');
});
server.close();
done();

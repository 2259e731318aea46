// The openai client's responses API: how it plays a conversation, and requests
// that the service would refuse.
import OpenAI from 'openai';
import { key } from './lib.mjs';

export const client = (base) => new OpenAI({ apiKey: key, baseURL: `${base}/v1` });

function meaning(response) {
  const of = (type) => response.output.filter((item) => item.type === type);
  const u = response.usage;
  const calls = of('function_call');
  const stop = response.status === 'incomplete' ? { max_output_tokens: 'length', content_filter: 'refusal' }[response.incomplete_details.reason]
    : calls.length ? 'tool_use' : 'stop';
  return {
    text: of('message').flatMap((m) => m.content).map((p) => p.text ?? '').join(''),
    reasoning: of('reasoning').flatMap((r) => r.summary).map((p) => p.text).join(''),
    calls: calls.map((c) => ({ name: c.name, arguments: JSON.parse(c.arguments || '{}') })),
    stop,
    usage: {
      input: u.input_tokens,
      output: u.output_tokens,
      cache_read: u.input_tokens_details.cached_tokens,
      cache_write: u.input_tokens_details.cache_write_tokens,
      reasoning: u.output_tokens_details.reasoning_tokens,
    },
  };
}

// The client's own accumulator gives up on events it does not know; its stream
// hands them on.
async function finalResponse({ responses }, body, noisy) {
  if (!noisy) return responses.stream(body).finalResponse();
  let response;
  for await (const event of await responses.create({ ...body, stream: true })) {
    if (['response.completed', 'response.incomplete'].includes(event.type)) response = event.response;
  }
  return response;
}

// Stateless, as chela asks: all items go back, reasoning in its encrypted form.
export async function play(base, replies, stream, names, schema) {
  const openai = client(base);
  const input = [{ role: 'user', content: 'go' }];
  const understood = [];
  for (const reply of replies) {
    const noisy = reply.blocks.some((b) => b.unknown || b.ping);
    const body = {
      model: 'gpt-test', input, store: false, include: ['reasoning.encrypted_content'],
      tools: names.map((name) => ({ type: 'function', name, description: name, parameters: schema, strict: false })),
    };
    const response = stream ? await finalResponse(openai, body, noisy) : await openai.responses.create(body);
    understood.push(meaning(response));
    input.push(...response.output);
    for (const call of response.output.filter((item) => item.type === 'function_call')) {
      input.push({ type: 'function_call_output', call_id: call.call_id, output: 'done' });
    }
  }
  return understood;
}

const go = { role: 'user', content: 'go' };
const call = { type: 'function_call', call_id: 'c1', name: 'ls', arguments: '{}' };
const answer = { type: 'function_call_output', call_id: 'c1', output: 'x' };
const thought = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'a' }], encrypted_content: 'sig_1' };
export const refused = {
  'an unanswered call': [go, call],
  'an answer to nothing': [go, answer],
  'reasoning that led to nothing': [go, { ...thought, summary: [], encrypted_content: 'sig_cbf29ce484222325' }, go],
  'reasoning that was changed': [go, thought, { role: 'assistant', content: 'b' }, go],
  'reasoning that it did not keep': [go, { ...thought, encrypted_content: null }, { role: 'assistant', content: 'b' }, go],
  'an id of the wrong kind': [go, { ...call, id: 'toolu_1' }, answer],
  'a part of another protocol': [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
  'an output message without its id': [go, { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'x', annotations: [] }] }],
};

// Google's own client: plays a conversation and says what it understood.
import { ApiError, GoogleGenAI } from '@google/genai';
import { key } from './lib.mjs';

export { ApiError };
export const client = (base) => new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: base, retryOptions: { attempts: 3 } } });

const stops = { STOP: 'stop', MAX_TOKENS: 'length', SAFETY: 'refusal', CONTINUATION: 'pause' };

function meaning(chunks) {
  const parts = chunks.flatMap((c) => c.candidates?.[0]?.content?.parts ?? []);
  const texts = (thought) => parts.filter((p) => p.text && !!p.thought === thought).map((p) => p.text).join('');
  const calls = parts.filter((p) => p.functionCall).map((p) => ({ name: p.functionCall.name, arguments: p.functionCall.args ?? {} }));
  const reason = chunks.map((c) => c.candidates?.[0]?.finishReason).filter(Boolean).at(-1);
  const u = chunks.at(-1).usageMetadata;
  const reasoning = u.thoughtsTokenCount ?? 0;
  return {
    text: texts(false),
    reasoning: texts(true),
    calls,
    stop: reason === 'STOP' && calls.length ? 'tool_use' : stops[reason],
    usage: {
      input: u.promptTokenCount, output: u.candidatesTokenCount + reasoning, cache_read: u.cachedContentTokenCount ?? 0, cache_write: 0, reasoning,
    },
  };
}

export async function play(base, replies, stream, names, schema) {
  const { models } = client(base);
  const contents = [{ role: 'user', parts: [{ text: 'go' }] }];
  const understood = [];
  for (const _ of replies) {
    const request = {
      model: 'gemini-3-test', contents,
      config: { tools: [{ functionDeclarations: names.map((name) => ({ name, description: name, parametersJsonSchema: schema })) }] },
    };
    const chunks = [];
    if (stream) for await (const chunk of await models.generateContentStream(request)) chunks.push(chunk);
    else chunks.push(await models.generateContent(request));
    understood.push(meaning(chunks));
    // As the client's own chat does: every part goes back as it came.
    const parts = chunks.flatMap((c) => c.candidates?.[0]?.content?.parts ?? []).filter((p) => p.text !== '' || p.thoughtSignature);
    const calls = parts.filter((p) => p.functionCall).map((p) => p.functionCall);
    contents.push({ role: 'model', parts });
    contents.push({
      role: 'user',
      parts: calls.length ? calls.map(({ id, name }) => ({ functionResponse: { id, name, response: { output: 'done' } } })) : [{ text: 'more' }],
    });
  }
  return understood;
}

// --- Interactions

const statuses = { completed: 'stop', requires_action: 'tool_use', incomplete: 'length', requires_continuation: 'pause' };

function meaningOfSteps(steps, { status, usage: u }) {
  const of = (type) => steps.filter((s) => s.type === type);
  const texts = (list) => list.flat().filter((c) => c?.type === 'text').map((c) => c.text).join('');
  const calls = of('function_call').map((s) => ({ name: s.name, arguments: s.arguments }));
  return {
    text: texts(of('model_output').map((s) => s.content)),
    reasoning: texts(of('thought').map((s) => s.summary ?? [])),
    calls,
    stop: status === 'completed' && calls.length ? 'tool_use' : statuses[status],
    usage: {
      input: u.total_input_tokens, output: u.total_output_tokens + u.total_thought_tokens, cache_read: u.total_cached_tokens, cache_write: 0,
      reasoning: u.total_thought_tokens,
    },
  };
}

// The events of a stream as whole steps.
async function gather(events) {
  const steps = [];
  let end;
  for await (const e of events) {
    if (e.event_type === 'step.start') steps[e.index] = { ...e.step };
    if (e.event_type === 'interaction.completed') end = e.interaction;
    if (e.event_type === 'error') throw new Error(e.error.code);
    if (e.event_type !== 'step.delta') continue;
    const step = steps[e.index];
    const { type, text, content, signature } = e.delta;
    if (type === 'text') step.content = [{ type, text: (step.content?.[0]?.text ?? '') + text }];
    if (type === 'thought_summary') step.summary = [{ type: 'text', text: (step.summary?.[0]?.text ?? '') + content.text }];
    if (type === 'thought_signature') step.signature = signature;
    if (type === 'arguments_delta') step.text = (step.text ?? '') + e.delta.arguments;
  }
  return [steps.map(({ text, ...step }) => (step.type === 'function_call' ? { ...step, arguments: JSON.parse(text || '{}') } : step)), end];
}

export const interact = (base, request) => client(base).interactions.create({ model: 'gemini-3-test', store: false, ...request });

export async function playSteps(base, replies, stream, names, schema) {
  const input = [{ type: 'user_input', content: [{ type: 'text', text: 'go' }] }];
  const understood = [];
  for (const _ of replies) {
    const tools = names.map((name) => ({ type: 'function', name, description: name, parameters: schema }));
    const answer = await interact(base, { input, tools, stream });
    const [steps, end] = stream ? await gather(answer) : [answer.steps, answer];
    understood.push(meaningOfSteps(steps, end));
    input.push(...steps);
    const calls = steps.filter((s) => s.type === 'function_call');
    if (!calls.length) input.push({ type: 'user_input', content: [{ type: 'text', text: 'more' }] });
    for (const { id, name } of calls) input.push({ type: 'function_result', call_id: id, name, result: 'done' });
  }
  return understood;
}

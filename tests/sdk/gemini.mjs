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

// Amazon's own client: plays a conversation and says what it understood. And
// its signer: what a request's signature should be.
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { SignatureV4 } from '@smithy/signature-v4';
import { createHash, createHmac } from 'node:crypto';

export const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
export const environment = { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey };
export const modelId = 'us.anthropic.claude-sonnet-4-5-test-v1:0';
// Left alone it would speak HTTP/2, which the server does not.
export const client = (base, more = {}) => new BedrockRuntimeClient({
  region: 'us-east-1', endpoint: base, credentials, maxAttempts: 4, requestHandler: new NodeHttpHandler(), ...more,
});
export const ask = (base, input, more) => client(base, more).send(new ConverseCommand({ modelId, ...input }));

const stops = { end_turn: 'stop', max_tokens: 'length', tool_use: 'tool_use', content_filtered: 'refusal' };

// Put a stream together, as a program that uses the client has to.
export async function gather(base, input, more) {
  const content = [];
  const reply = { output: { message: { role: 'assistant', content } } };
  const at = (i, empty) => (content[i] ??= empty);
  const { stream } = await client(base, more).send(new ConverseStreamCommand({ modelId, ...input }));
  for await (const { contentBlockStart: start, contentBlockDelta: d, messageStop, metadata } of stream) {
    if (start?.start?.toolUse) content[start.contentBlockIndex] = { toolUse: { ...start.start.toolUse, input: '' } };
    if (d?.delta.text !== undefined) at(d.contentBlockIndex, { text: '' }).text += d.delta.text;
    if (d?.delta.toolUse) content[d.contentBlockIndex].toolUse.input += d.delta.toolUse.input;
    if (d?.delta.reasoningContent) {
      const { reasoningText } = at(d.contentBlockIndex, { reasoningContent: { reasoningText: { text: '', signature: '' } } }).reasoningContent;
      reasoningText.text += d.delta.reasoningContent.text ?? '';
      reasoningText.signature += d.delta.reasoningContent.signature ?? '';
    }
    reply.stopReason = messageStop?.stopReason ?? reply.stopReason;
    reply.usage = metadata?.usage ?? reply.usage;
  }
  for (const { toolUse } of content) if (toolUse) toolUse.input = JSON.parse(toolUse.input || '{}');
  return reply;
}

function meaning({ output, stopReason, usage: u }) {
  const all = (pick) => output.message.content.map(pick).filter((x) => x !== undefined);
  return {
    text: all((b) => b.text).join(''),
    reasoning: all((b) => b.reasoningContent?.reasoningText?.text).join(''),
    calls: all((b) => b.toolUse).map((t) => ({ name: t.name, arguments: t.input })),
    stop: stops[stopReason],
    usage: {
      input: u.inputTokens + u.cacheReadInputTokens + u.cacheWriteInputTokens, output: u.outputTokens,
      cache_read: u.cacheReadInputTokens, cache_write: u.cacheWriteInputTokens, reasoning: 0,
    },
  };
}

export const toolConfig = (names, schema) => ({
  tools: names.map((name) => ({ toolSpec: { name, description: name, inputSchema: { json: schema } } })),
});

export async function play(base, replies, stream, names, schema) {
  const messages = [{ role: 'user', content: [{ text: 'go' }] }];
  const understood = [];
  for (const _ of replies) {
    const input = { messages, toolConfig: toolConfig(names, schema) };
    const reply = await (stream ? gather : ask)(base, input);
    understood.push(meaning(reply));
    const { content } = reply.output.message;
    messages.push({ role: 'assistant', content });
    const results = content.filter((b) => b.toolUse).map((b) => ({ toolResult: { toolUseId: b.toolUse.toolUseId, content: [{ text: 'done' }] } }));
    messages.push({ role: 'user', content: results.length ? results : [{ text: 'more' }] });
  }
  return understood;
}

class Sha256 {
  constructor(secret) { this.hash = secret ? createHmac('sha256', secret) : createHash('sha256'); }
  update(data) { this.hash.update(data); }
  async digest() { return new Uint8Array(this.hash.digest()); }
}

// The Authorization header of a request in the server's log, made anew. That the
// digest in its header is the body's is checked by the server.
export async function signature({ method, path, headers }, sessionToken) {
  const names = /SignedHeaders=([^,]*)/.exec(headers.authorization)[1].split(';');
  const [, region] = /Credential=[^/]*\/\d+\/([^/]*)/.exec(headers.authorization);
  const date = headers['x-amz-date'].replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z');
  const own = ['x-amz-date', 'x-amz-security-token'];
  const given = Object.fromEntries(names.filter((n) => !own.includes(n)).map((n) => [n, headers[n]]));
  const signer = new SignatureV4({ service: 'bedrock', region, sha256: Sha256, credentials: { ...credentials, sessionToken } });
  const request = { method, protocol: 'http:', hostname: '127.0.0.1', path, query: {}, headers: given };
  return (await signer.sign(request, { signingDate: new Date(date) })).headers.authorization;
}

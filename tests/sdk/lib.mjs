// What the tests share: the server, what a conversation means, and TAP.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { isDeepStrictEqual, inspect } from 'node:util';

const root = process.env.CHELA_ROOT;
export const build = process.env.BUILD;
export const key = 'sk-test-0123456789abcdefSENTINEL';

export function conversations(kind) {
  const dir = join(root, 'tests/conversations', kind);
  return readdirSync(dir).sort().map((file) => ({
    name: basename(file, '.json'),
    ...JSON.parse(readFileSync(join(dir, file), 'utf8')),
  }));
}

// Start the server, with the conversations of more folders; resolves to its address and a way to end it.
export async function serve(...folders) {
  const dir = mkdtempSync(join(tmpdir(), 'sdk-'));
  const log = join(dir, 'log.jsonl');
  const child = spawn(join(build, 'tests/support/llmserver'), [
    '--conversations', join(root, 'tests/conversations/good'),
    '--conversations', join(root, 'tests/conversations/bad'),
    '--conversations', join(root, 'tests/sdk/conversations'),
    ...folders.flatMap((folder) => ['--conversations', folder]),
    '--log', log,
  ], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise((resolve, reject) => {
    child.stdout.on('data', (data) => resolve(/port (\d+)/.exec(data)[1]));
    child.on('exit', () => reject(new Error('llmserver ended')));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    log: () => readFileSync(log, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l)),
    requests() { return this.log().filter((l) => !l.end); },
    close: () => { child.kill(); rmSync(dir, { recursive: true }); },
  };
}

function pieceText(piece) {
  if (typeof piece === 'string') return piece;
  if (piece.repeat) return piece.repeat.repeat(piece.times);
  throw new Error(`a piece with no text: ${inspect(piece)}`);
}

// A reply as any client should understand it.
export function meaning(reply, vendor) {
  const all = (kind) => reply.blocks.flatMap((b) => b[kind] ?? []).map(pieceText).join('');
  const calls = reply.blocks.filter((b) => b.call).map(({ call }) => ({
    name: call.name,
    arguments: JSON.parse(call.arguments.map(pieceText).join('') || '{}'),
  }));
  const usage = { input: 10, output: 5, cache_read: 0, cache_write: 0, reasoning: 0, ...reply.usage };
  if (vendor === 'gemini' || vendor === 'interactions') usage.cache_write = 0; // it does not say
  if (vendor === 'bedrock') usage.reasoning = 0; // likewise
  return { text: all('text'), reasoning: all('reasoning'), calls, stop: reply.stop ?? (calls.length ? 'tool_use' : 'stop'), usage };
}

// Replies that a client gets to see: errors are retried away.
export const visible = (conversation) => conversation.replies.filter((r) => !r.error);

// Does a request bring the reasoning of an earlier reply back to its author?
export const signed = {
  anthropic: (body) => body.messages.some((m) => m.content.some((b) => b.type === 'thinking' && b.signature)),
  openai: (body) => body.messages.some((m) => m.reasoning_content),
  'openai-responses': (body) => body.input.some((i) => i.type === 'reasoning' && i.encrypted_content),
  interactions: (body) => body.input.some((s) => s.type === 'thought' && s.summary && s.signature),
  gemini: (body) => body.contents.some((c) => c.parts.some((p) => p.thoughtSignature)),
  bedrock: (body) => body.messages.some((m) => m.content.some((b) => b.reasoningContent?.reasoningText.signature)),
};

let count = 0;
let failed = 0;

export async function check(name, body) {
  count++;
  try {
    await body();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${count} - ${name}`);
    console.log(String(error.stack ?? error).replace(/^/gm, '# '));
  }
}

export function same(actual, expected, what) {
  if (!isDeepStrictEqual(actual, expected)) {
    throw new Error(`${what}\n  expected ${inspect(expected, { depth: 9 })}\n  got      ${inspect(actual, { depth: 9 })}`);
  }
}

export function done() {
  console.log(`1..${count}`);
  process.exitCode = failed ? 1 : 0;
}

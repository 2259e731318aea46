// chela against the server that the vendors' clients vouched for: turn by turn
// it must understand what they understood.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as amazon from './bedrock.mjs';
import { build, check, conversations, done, key, meaning, same, serve, visible } from './lib.mjs';

function run(api, base, flags, more = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'chela-'));
  const args = ['run', '--model', more.model ?? (api === 'bedrock' ? `bedrock/${amazon.modelId}` : `${api}/test`), '--base-url', base, '--output', 'jsonl', ...flags, 'go'];
  const env = { PATH: process.env.PATH, HOME: cwd, ANTHROPIC_API_KEY: key, OPENAI_API_KEY: key, GEMINI_API_KEY: key, ...amazon.environment, ...more.env,
    CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN };
  return new Promise((resolve, reject) => {
    const child = execFile(join(build, 'chela'), args, { cwd, env, maxBuffer: 64e6 }, (error, stdout, stderr) => {
      rmSync(cwd, { recursive: true });
      if (error) reject(new Error(`chela: ${error.message}\n${stderr}`));
      else resolve(stdout.trim().split('\n').map((line) => JSON.parse(line)));
    });
    child.stdin.end();
  });
}

// The events of a run as one meaning a turn.
function turns(events) {
  const all = [];
  for (const e of events) {
    const turn = all.at(-1);
    if (e.type === 'turn_start') all.push({ text: '', reasoning: '', calls: [] });
    if (e.type === 'text_delta') turn.text += e.text;
    if (e.type === 'reasoning_delta') turn.reasoning += e.text;
    if (e.type === 'tool_call') turn.calls.push({ name: e.name, arguments: e.arguments });
    if (e.type === 'turn_end') {
      const { input, output, cache_read, cache_write, reasoning } = e.usage;
      Object.assign(turn, { stop: e.stop_reason, usage: { input, output, cache_read, cache_write, reasoning } });
    }
  }
  return all;
}

const server = await serve();
for (const conversation of conversations('good')) {
  for (const [api, tail] of [['anthropic', ''], ['openai', '/v1'], ['openai-responses', '/v1'], ['gemini', ''], ['bedrock', '']]) {
    for (const flags of [[], ['--no-stream']]) {
      const way = `${api}${flags.join('')}`;
      await check(`chela, ${conversation.name}: ${way}`, async () => {
        const events = await run(api, `${server.url}/${conversation.name}/${way}${tail}`, flags);
        same(turns(events), visible(conversation).map((r) => meaning(r, api)), 'understood otherwise');
      });
    }
  }
}
const odd = [
  ['a plain id', 'us.amazon.nova-lite-v1:0', {}],
  ['a session token', 'us.amazon.nova-lite-v1:0', { AWS_SESSION_TOKEN: 'TOKENEXAMPLE' }],
  ['an ARN', 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a1b2c3', {}],
  ['an id that needs encoding', 'my model+(v1)*~张', { AWS_REGION: 'ap-northeast-1', AWS_SESSION_TOKEN: 'TOKENEXAMPLE' }],
];
for (const [i, [name, model, env]] of odd.entries()) {
  for (const flags of [[], ['--no-stream']]) {
    await check(`chela signs as Amazon does: ${name}${flags.join('')}`, async () => {
      const instance = `odd${i}${flags.length}`;
      await run('bedrock', `${server.url}/hello/${instance}`, flags, { model: `bedrock/${model}`, env });
      const request = server.requests().find((r) => r.instance === instance);
      same(request.headers.authorization, await amazon.signature(request, env.AWS_SESSION_TOKEN), 'another signature');
    });
  }
}
await check('chela\'s requests are without fault', async () => {
  same(server.requests().flatMap((r) => r.problems), [], 'a vendor would object');
});
server.close();
done();

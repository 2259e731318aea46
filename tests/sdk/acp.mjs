// `chela acp` with the official client of the Agent Client Protocol. Every line
// in both directions is held to the official schema.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRequire } from 'node:module';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import Ajv from 'ajv/dist/2020.js';
import { build, check, done, same } from './lib.mjs';

const require = createRequire(import.meta.url);
const sdk = require.resolve('@agentclientprotocol/sdk').replace(/\/dist\/.*/, '');
const schema = JSON.parse(readFileSync(join(sdk, 'schema/v1/schema.json'), 'utf8'));
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'acp', $defs: schema.$defs });
const about = {
  initialize: 'Initialize', 'session/new': 'NewSession', 'session/load': 'LoadSession', 'session/resume': 'ResumeSession',
  'session/list': 'ListSessions', 'session/close': 'CloseSession', 'session/delete': 'DeleteSession', 'session/set_mode': 'SetSessionMode',
  'session/set_config_option': 'SetSessionConfigOption', 'session/prompt': 'Prompt', 'session/request_permission': 'RequestPermission',
  'elicitation/create': 'CreateElicitation', 'fs/read_text_file': 'ReadTextFile', 'fs/write_text_file': 'WriteTextFile',
};
const notes = { 'session/update': 'SessionNotification', 'session/cancel': 'CancelNotification', '$/cancel_request': 'CancelRequestNotification' };

const faults = [];
let messages = 0;
function held(def, value, line) {
  messages++;
  const ok = ajv.getSchema(`acp#/$defs/${def}`);
  if (!ok(value)) faults.push(`${def}: ${ajv.errorsText(ok.errors)}\n${line.slice(0, 400)}`);
}

// Checks the lines of one side; `asked` has the methods of the other side's open requests.
function judge(mine, theirs) {
  let rest = '';
  return (bytes) => {
    const lines = (rest + bytes).split('\n');
    rest = lines.pop();
    for (const line of lines.filter(Boolean)) {
      const m = JSON.parse(line);
      if (m.jsonrpc !== '2.0') faults.push(`not JSON-RPC 2.0: ${line}`);
      if (m.method && m.id !== undefined) { mine.set(m.id, m.method); held(`${about[m.method]}Request`, m.params, line); }
      else if (m.method) held(notes[m.method], m.params, line);
      else if (m.result !== undefined) held(`${about[theirs.get(m.id)]}Response`, m.result, line);
      else held('Error', m.error, line);
    }
  };
}

const home = mkdtempSync(join(tmpdir(), 'acp-'));
const work = join(home, 'work');
mkdirSync(work);
const rules = join(home, 'rules.yaml');
writeFileSync(rules, `rules:
  - when: { user: "fix", after: none }
    say: "Let me look."
    call: { tool: write, args: { file_path: a.txt, content: "helo\\n" } }
  - when: { after: write }
    call: { tool: edit, args: { file_path: a.txt, edits: [{ old_text: helo, new_text: hello }] } }
  - when: { after: edit }
    call: { tool: exec, args: { command: "cat a.txt" } }
  - when: { user: "ask", after: none }
    call: { tool: ask_user, args: { question: "Which?", choices: [red, blue] } }
  - when: { after: ask_user }
    say: "You said {{result}}"
  - when: { after: any }
    say: "Done."
  - when: { user: "slow" }
    call: { tool: exec, args: { command: "sleep 600" } }
  - say: "Hello."
`);

// Start the agent and talk with it; `answer` decides about permissions.
async function connect(talk, { answer = 'allow', capabilities = {}, flags = [] } = {}) {
  const env = { PATH: process.env.PATH, HOME: home, CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN };
  const child = spawn(join(build, 'chela'), ['acp', '--model', `scripted/${rules}`, ...flags], { cwd: work, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ours = new Map();
  const theirs = new Map();
  const [sent, received] = [judge(ours, theirs), judge(theirs, ours)];
  const write = child.stdin.write.bind(child.stdin);
  child.stdin.write = (bytes, ...more) => { sent(Buffer.from(bytes).toString()); return write(bytes, ...more); };
  child.stdout.on('data', (bytes) => received(bytes.toString()));
  const updates = [];
  const asked = [];
  let onAsk;
  const waits = [];
  const note = (u) => { updates.push(u); for (const w of waits) w(); };
  const app = client({ name: 'tests' })
    .onRequest(methods.client.session.requestPermission, async ({ params }) => {
      asked.push(params);
      if (onAsk) return onAsk(params);
      return { outcome: { outcome: 'selected', optionId: answer } };
    })
    .onNotification(methods.client.session.update, ({ params }) => note(params.update));
  if (capabilities.elicitation) {
    app.onRequest(methods.client.elicitation.create, async () => ({ action: 'accept', content: { answer: 'green' } }));
  }
  const buffers = new Map();
  if (capabilities.fs) {
    app.onRequest(methods.client.fs.readTextFile, async ({ params }) => ({ content: buffers.get(params.path) ?? readFileSync(params.path, 'utf8') }))
      .onRequest(methods.client.fs.writeTextFile, async ({ params }) => { buffers.set(params.path, params.content); return {}; });
  }
  const until = (test) => new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not seen: ${test}\n${JSON.stringify(updates.slice(-5))}`)), 30000);
    const look = () => { if (updates.some(test)) { clearTimeout(timer); resolve(); } };
    waits.push(look);
    look();
  });
  try {
    return await app.connectWith(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (ctx) => {
      const started = await ctx.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: capabilities });
      return talk({ ctx, child, started, buffers, updates, asked, until, ask: (fn) => { onAsk = fn; } });
    });
  } finally {
    child.kill('SIGKILL');
    await new Promise((resolve) => { if (child.exitCode !== null || child.signalCode) resolve(); else child.on('exit', resolve); });
  }
}

const prompt = (ctx, sessionId, text) => ctx.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
const open = (ctx) => ctx.request(methods.agent.session.new, { cwd: work, mcpServers: [] });
const said = (updates) => updates.filter((u) => u.sessionUpdate === 'agent_message_chunk').map((u) => u.content.text).join('');

let session;
await check('initialize names version 1 and what the agent can do', () => connect(async ({ started }) => {
  same(started.protocolVersion, 1, 'version');
  same(started.agentCapabilities.loadSession, true, 'load');
  same(started.agentInfo.name, 'chela', 'name');
}));

await check('a prompt with tools, a diff, an approval and an answer', () => connect(async ({ ctx, updates, asked }) => {
  session = (await open(ctx)).sessionId;
  const end = await prompt(ctx, session, 'please fix');
  same(end.stopReason, 'end_turn', 'reason');
  same(said(updates), 'Let me look.Done.', 'text');
  const edit = updates.find((u) => u.sessionUpdate === 'tool_call' && u.title === 'Edit a.txt');
  same(edit.content, [{ type: 'diff', path: join(work, 'a.txt'), oldText: 'helo', newText: 'hello' }], 'diff');
  same(edit.locations, [{ path: join(work, 'a.txt') }], 'location');
  same(asked.length, 1, 'questions');
  same(asked[0].toolCall.title, 'cat a.txt', 'what is asked');
  same(asked[0].options.map((o) => o.kind), ['allow_once', 'allow_always', 'reject_once'], 'options');
  same(readFileSync(join(work, 'a.txt'), 'utf8'), 'hello\n', 'file');
  same(updates.find((u) => u.sessionUpdate === 'session_info_update').title, 'please fix', 'title');
}));

await check('a rejected call is not run, and the model is told', () => connect(async ({ ctx, updates }) => {
  const { sessionId } = await open(ctx);
  same((await prompt(ctx, sessionId, 'please fix')).stopReason, 'end_turn', 'reason');
  const last = updates.filter((u) => u.sessionUpdate === 'tool_call_update').at(-1);
  same(last.status, 'failed', 'status');
}, { answer: 'reject' }));

await check('files go through an editor that holds them', () => connect(async ({ ctx, buffers }) => {
  const { sessionId } = await open(ctx);
  writeFileSync(join(work, 'a.txt'), 'old\n');
  same((await prompt(ctx, sessionId, 'please fix')).stopReason, 'end_turn', 'reason');
  same([...buffers], [[join(work, 'a.txt'), 'hello\n']], 'buffers');
  same(readFileSync(join(work, 'a.txt'), 'utf8'), 'old\n', 'disk');
}, { capabilities: { fs: { readTextFile: true, writeTextFile: true } } }));

await check('list and load: the whole conversation comes again', () => connect(async ({ ctx, updates }) => {
  const { sessions } = await ctx.request(methods.agent.session.list, { cwd: work });
  const mine = sessions.find((s) => s.sessionId === session);
  same([mine.cwd, mine.title], [work, 'please fix'], 'row');
  await ctx.request(methods.agent.session.load, { sessionId: session, cwd: work, mcpServers: [] });
  same(updates.filter((u) => u.sessionUpdate === 'user_message_chunk').map((u) => u.content.text), ['please fix'], 'prompt');
  same(said(updates), 'Let me look.Done.', 'answer');
  same(updates.filter((u) => u.sessionUpdate === 'tool_call').length, 3, 'calls');
}));

await check('resume continues without a replay', () => connect(async ({ ctx, updates }) => {
  await ctx.request(methods.agent.session.resume, { sessionId: session, cwd: work });
  same(said(updates), '', 'nothing before the prompt');
  await prompt(ctx, session, 'hi');
  same(said(updates), 'Hello.', 'answer');
}));

await check('cancel ends a running command with the reason cancelled', () => connect(async ({ ctx, until }) => {
  const { sessionId } = await open(ctx);
  const end = prompt(ctx, sessionId, 'slow');
  await until((u) => u.sessionUpdate === 'tool_call_update' && u.status === 'in_progress');
  await ctx.notify(methods.agent.session.cancel, { sessionId });
  same((await end).stopReason, 'cancelled', 'reason');
}));

await check('cancel while a call waits for consent', () => connect(async ({ ctx, ask }) => {
  const { sessionId } = await open(ctx);
  ask(async () => {
    await ctx.notify(methods.agent.session.cancel, { sessionId });
    return { outcome: { outcome: 'cancelled' } };
  });
  same((await prompt(ctx, sessionId, 'please fix')).stopReason, 'cancelled', 'reason');
  ask(null);
  same((await prompt(ctx, sessionId, 'hi')).stopReason, 'end_turn', 'the next prompt');
}));

await check('a permission is asked again after kill -9', async () => {
  let id;
  await connect(async ({ ctx, child, ask }) => {
    id = (await open(ctx)).sessionId;
    await new Promise((resolve) => {
      ask(() => { child.kill('SIGKILL'); return new Promise(() => {}); });
      child.on('exit', resolve);
      prompt(ctx, id, 'please fix').catch(() => {});
    });
  }).catch(() => {});
  await connect(async ({ ctx, asked, updates, until }) => {
    await ctx.request(methods.agent.session.load, { sessionId: id, cwd: work, mcpServers: [] });
    await until((u) => u.sessionUpdate === 'agent_message_chunk' && u.content.text.includes('Done'));
    same(asked.map((a) => a.toolCall.title), ['cat a.txt'], 'asked');
    same(updates.filter((u) => u.toolCallId === asked[0].toolCall.toolCallId && u.status === 'completed').length, 1, 'run once');
  });
});

await check('a question of the model is a form', () => connect(async ({ ctx, updates }) => {
  const { sessionId } = await open(ctx);
  await prompt(ctx, sessionId, 'ask');
  same(said(updates), 'You said green', 'answer');
}, { capabilities: { elicitation: { form: {} } } }));

await check('without forms the question ends the turn, and the next prompt answers', () => connect(async ({ ctx, updates }) => {
  const { sessionId } = await open(ctx);
  await prompt(ctx, sessionId, 'ask');
  await prompt(ctx, sessionId, '2');
  same(said(updates), 'Which?\n1. red\n2. blueYou said blue', 'answer');
}));

await check('options: mode, model, reasoning, approval', () => connect(async ({ ctx, asked, until }) => {
  const { sessionId, configOptions, modes } = await open(ctx);
  same(configOptions.map((o) => o.id), ['mode', 'model', 'reasoning', 'approval'], 'options');
  same(modes.currentModeId, 'react', 'mode');
  await ctx.request(methods.agent.session.setMode, { sessionId, modeId: 'plan' });
  await until((u) => u.sessionUpdate === 'config_option_update' && u.configOptions[0].currentValue === 'plan');
  await ctx.request(methods.agent.session.setConfigOption, { sessionId, configId: 'mode', value: 'react' });
  await until((u) => u.sessionUpdate === 'current_mode_update' && u.currentModeId === 'react');
  const { configOptions: now } = await ctx.request(methods.agent.session.setConfigOption, { sessionId, configId: 'approval', value: 'auto' });
  same(now.find((o) => o.id === 'approval').currentValue, 'auto', 'value');
  await prompt(ctx, sessionId, 'please fix');
  same(asked.length, 0, 'questions');
}));

await check('close, delete, and a session that is gone', () => connect(async ({ ctx }) => {
  await ctx.request(methods.agent.session.resume, { sessionId: session, cwd: work });
  await ctx.request(methods.agent.session.close, { sessionId: session });
  await ctx.request(methods.agent.session.delete, { sessionId: session });
  await ctx.request(methods.agent.session.delete, { sessionId: session });
  const gone = await ctx.request(methods.agent.session.load, { sessionId: session, cwd: work, mcpServers: [] }).catch((e) => e.code);
  same(gone, -32002, 'code');
}));

await check('a configuration that came with the directory asks first', async () => {
  const dir = join(home, 'cloned');
  mkdirSync(dir);
  writeFileSync(join(dir, 'chela.yaml'), 'approvals: { exec: auto }\n');
  const visit = (answer) => connect(async ({ ctx, asked }) => {
    const { sessionId } = await ctx.request(methods.agent.session.new, { cwd: dir, mcpServers: [] });
    await prompt(ctx, sessionId, 'hi');
    return asked.map((a) => a.toolCall.title);
  }, { answer });
  same(await visit('ignore'), [`Trust ${join(dir, 'chela.yaml')}?`], 'first');
  same(await visit('trust'), [`Trust ${join(dir, 'chela.yaml')}?`], 'second');
  same(await visit('trust'), [], 'trusted');
});

await check(`every message is as the schema says`, async () => {
  same(faults, [], 'faults');
  if (messages < 100) throw new Error(`only ${messages} messages were checked`);
});
rmSync(home, { recursive: true });
done();

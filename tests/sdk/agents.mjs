// Four coding agents with an agent of chela as their model, and a model behind it that checks each
// request (llmserver). The task: list the files, read two at a time, edit one, run a check, read its
// exit code, meet an error of the model, edit again, run again, say so. Then a picture in the same
// conversation, a turn that is given up in the middle, and one after it.
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { relay } from './relay.mjs';
import { build, check, done, key, same, serve, signed } from './lib.mjs';

const token = 'gateway-sdk-0123456789abcdef';
const modules = join(build, 'sdk/node_modules');
const chela = join(build, 'chela');
const space = mkdtempSync(join(tmpdir(), 'agents-'));
const picture = 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGP4z8BAEiJN9aiGUQ1DSgMAkPn/Afnh+ngAAAAASUVORK5CYII=';
const png = 'iVBORw0KGgo'; // how any such picture begins
const tests = { CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN };
const folder = (...names) => { const path = join(space, ...names); mkdirSync(path, { recursive: true }); return path; };
const find = (dir, name) => {
  const entry = readdirSync(dir, { withFileTypes: true, recursive: true }).find((e) => e.isFile() && e.name === name);
  if (!entry) throw new Error(`no ${name} in ${dir}`);
  return join(entry.parentPath, entry.name);
};
const installed = (prefix, name) => () => {
  const [parent, start] = [join(modules, dirname(prefix)), prefix.split('/').at(-1)];
  const found = readdirSync(parent).find((d) => d.startsWith(start));
  if (!found) throw new Error(`npm installed no ${prefix}*`);
  return find(join(parent, found), name);
};

// --- the four ------------------------------------------------------------------
// How each is configured and called, what its tools are named, and what it says of its tokens.
const lines = (out) => out.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l));
const sum = (list) => list.reduce((a, b) => a.map((x, i) => x + b[i]), [0, 0]);
const named = (tool) => tool.name ?? tool.function?.name ?? tool.type;

const codex = {
  program: installed('@openai/codex-linux-', 'codex'),
  apis: ['openai-responses', 'anthropic'],
  files: (url, home, model) => ({
    [`${home}/.codex/config.toml`]: `
model = "${model}"
model_provider = "chela"
model_reasoning_effort = "high"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[mcp_servers.shop]
command = "${chela}"
args = ${JSON.stringify(['mcp', 'serve', '--config', join(space, 'shop.yaml')])}
[model_providers.chela]
name = "chela"
base_url = "${url}/v1"
env_key = "CHELA_TOKEN"
wire_api = "responses"
request_max_retries = 3
stream_max_retries = 3
`,
  }),
  args: (prompt, { resumed, image }) => ['exec', ...(resumed ? ['resume', '--last'] : []), '--skip-git-repo-check', '--json', ...(image ? ['-i', image] : []), '--', prompt],
  run: (cmd) => ['exec_command', { cmd }],
  read: (path) => ['exec_command', { cmd: `cat ${path}` }],
  edit: (path, from, to) => ['exec_command', { cmd: `sed -i s/${from}/${to}/ ${path} && echo it is edited` }],
  edited: 'it is edited',
  widget: 'mcp__shop__widget_07',
  refusal: { status: 500 },
  shown: 502,
  answer: (out) => lines(out).filter((l) => l.item?.type === 'agent_message').map((l) => l.item.text).join('\n'),
  usage: (out) => sum(lines(out).filter((l) => l.usage).map((l) => [l.usage.input_tokens, l.usage.output_tokens])),
  total: true, // of the conversation, not of the turn
};
const claude = {
  program: installed('@anthropic-ai/claude-code-linux-', 'claude'),
  apis: ['anthropic', 'openai-responses'],
  env: (url, model) => ({
    ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token, ANTHROPIC_MODEL: model, ANTHROPIC_SMALL_FAST_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1', IS_SANDBOX: '1',
  }),
  files: (url, home) => ({
    [`${home}/mcp.json`]: JSON.stringify({ mcpServers: { shop: { command: chela, args: ['mcp', 'serve', '--config', join(space, 'shop.yaml')] } } }),
  }),
  args: (prompt, { home, resumed }) => ['-p', '--output-format', 'json', '--effort', 'high', '--dangerously-skip-permissions', '--mcp-config', join(home, 'mcp.json'), ...(resumed ? ['--continue'] : []), '--', prompt],
  run: (command) => ['Bash', { command, description: 'Runs it.' }],
  read: (path, cwd) => ['Read', { file_path: join(cwd, path) }],
  edit: (path, from, to, cwd) => ['Edit', { file_path: join(cwd, path), old_string: from, new_string: to }],
  edited: 'has been updated',
  widget: 'mcp__shop__widget_07',
  search: ['ToolSearch', { query: 'select:mcp__shop__widget_07', max_results: 5 }],
  found: 'widget_07 can be called now',
  views: true, // reads the picture with its own tool
  refusal: { status: 529 },
  shown: 529,
  answer: (out) => JSON.parse(out).result,
  usage: (out) => { const u = JSON.parse(out).usage; return [u.input_tokens + u.cache_read_input_tokens + u.cache_creation_input_tokens, u.output_tokens]; },
};
const pi = (api, upstream) => ({
  program: () => join(modules, '@earendil-works/pi-coding-agent/dist/bundle/cli.js'),
  script: true,
  apis: [upstream],
  files: (url, home, model) => ({
    [`${home}/.pi/agent/models.json`]: JSON.stringify({ providers: { chela: {
      baseUrl: api === 'anthropic-messages' ? url : `${url}/v1`, api, apiKey: token,
      models: [{ id: model, name: model, reasoning: true, input: ['text', 'image'], contextWindow: 100000, maxTokens: 16000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }],
    } } }),
    [`${home}/.pi/agent/settings.json`]: JSON.stringify({ retry: { baseDelayMs: 100 } }),
    [`${home}/.pi/agent/mcp.json`]: JSON.stringify({ mcpServers: { shop: { command: chela, args: ['mcp', 'serve', '--config', join(space, 'shop.yaml')], exposure: 'direct' } } }),
  }),
  args: (prompt, { model, resumed, image }) => ['--offline', '--provider', 'chela', '--model', model, '--thinking', 'high', '--mode', 'json', ...(resumed ? ['--continue'] : []), ...(image ? [`@${image}`] : []), prompt],
  run: (command) => ['bash', { command }],
  read: (path) => ['read', { path }],
  edit: (path, from, to) => ['edit', { path, edits: [{ oldText: from, newText: to }] }],
  edited: 'Successfully replaced',
  widget: 'mcp__shop__widget_07',
  refusal: { status: 429, headers: { 'retry-after': '0' } },
  shown: 429,
  answer: (out) => lines(out).filter((l) => l.type === 'message_end' && l.message.role === 'assistant').flatMap((l) => l.message.content).filter((b) => b.type === 'text').map((b) => b.text).join('\n'),
  usage: (out) => sum(lines(out).filter((l) => l.type === 'message_end' && l.message.role === 'assistant' && l.message.usage).map(({ message: { usage: u } }) => [u.input + u.cacheRead + u.cacheWrite, u.output])),
});
const opencode = {
  program: installed('opencode-linux-', 'opencode'),
  apis: ['openai'],
  env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' }),
  files: (url, home, model, work) => ({
    [`${work}/opencode.json`]: JSON.stringify({
      provider: { chela: { npm: '@ai-sdk/openai-compatible', name: 'chela', options: { baseURL: `${url}/v1`, apiKey: token },
        models: { [model]: { name: model, reasoning: true, attachment: true, modalities: { input: ['text', 'image'], output: ['text'] } } } } },
      mcp: { shop: { type: 'local', command: [chela, 'mcp', 'serve', '--config', join(space, 'shop.yaml')], enabled: true } },
      model: `chela/${model}`, autoupdate: false, share: 'disabled',
    }),
  }),
  args: (prompt, { model, resumed, image }) => ['run', '--pure', '--auto', '--format', 'json', '--model', `chela/${model}`, '--variant', 'high', '--title', 'a task', ...(resumed ? ['--continue'] : []), prompt, ...(image ? ['-f', image] : [])],
  run: (command) => ['bash', { command, description: 'Runs it.' }],
  read: (path, cwd) => ['read', { filePath: join(cwd, path) }],
  edit: (path, from, to, cwd) => ['edit', { filePath: join(cwd, path), oldString: from, newString: to }],
  edited: 'Edit applied',
  hides: true, // tells its model no exit codes
  widget: 'shop_widget_07',
  refusal: { status: 503 },
  shown: 503,
  answer: (out) => lines(out).filter((l) => l.type === 'text').map((l) => l.part.text).join('\n'),
  usage: (out) => sum(lines(out).filter((l) => l.type === 'step_finish').map(({ part: { tokens: t } }) => [t.input + t.cache.read + t.cache.write, t.output + t.reasoning])),
};
const cases = Object.entries({
  codex, claude, opencode,
  'pi-chat': pi('openai-completions', 'anthropic'), 'pi-responses': pi('openai-responses', 'openai'), 'pi-messages': pi('anthropic-messages', 'openai-responses'),
}).flatMap(([name, client]) => client.apis.map((api) => ({ name, client, api, id: `${name}-${api}` })));

// --- the model -----------------------------------------------------------------
const call = ([name, args]) => ({ call: { name, arguments: [JSON.stringify(args)] } });
function conversation(client, cwd) {
  const act = (...calls) => calls.map(call);
  return { about: 'Mends a file until its check passes.', replies: [
    { when: 'it has turned', blocks: [{ text: ['All is ', 'mended.'] }], usage: { input: 800, output: 80 } },
    ...(client.search ? [{ when: client.found, blocks: act([client.widget, {}]), usage: { input: 750, output: 75 } }] : []),
    { when: 'CHECK-PASSED', blocks: act(client.search ?? [client.widget, {}]), usage: { input: 700, output: 70 } },
    { when: 'CHECK-FAILED', blocks: act(client.edit('mend-me.txt', 'wrong', 'right', cwd)), usage: { input: 600, output: 60 } },
    { when: client.edited, blocks: act(client.run('sh check-it.sh')), usage: { input: 500, output: 50 } },
    { when: 'the word is', blocks: act(client.edit('mend-me.txt', 'blank', 'wrong', cwd)), usage: { input: 400, output: 40 } },
    { when: 'check-it.sh', blocks: act(client.read('mend-me.txt', cwd), client.read('notes.txt', cwd)), usage: { input: 300, output: 30 } },
    { when: png, blocks: [{ text: ['It is red.'] }], usage: { input: 900, output: 9 } },
    { when: 'Look at the picture', blocks: act(client.read('red.png', cwd)) },
    { when: 'Take your time', blocks: [{ text: ['Begun. '] }, { stall_ms: 120000 }, { text: ['Over.'] }] },
    { when: 'Make the check pass', blocks: [{ reasoning: ['I list the files first.'] }, { text: ['Looking.'] }, ...act(client.run('ls'))], usage: { input: 200, output: 20, reasoning: 5 } },
    { blocks: [{ text: ['A title'] }] },
  ] };
}
const talks = folder('talks');
for (const one of cases) {
  Object.assign(one, { home: folder(one.id, 'home'), work: folder(one.id, 'work') });
  writeFileSync(join(talks, `${one.id}.json`), JSON.stringify(conversation(one.client, one.work)));
  writeFileSync(join(one.work, 'mend-me.txt'), 'the word is blank\n');
  writeFileSync(join(one.work, 'notes.txt'), 'a side note\n');
  writeFileSync(join(one.work, 'red.png'), Buffer.from(picture, 'base64'));
  writeFileSync(join(one.work, 'check-it.sh'), 'grep -q right mend-me.txt && { printf "CHECK-%s\\n" PASSED; exit 0; }\nprintf "CHECK-%s\\n" FAILED\nexit 3\n');
}
const server = await serve(talks);
// In front of it: the step after the failed check is refused once.
const refused = new Set();
const front = await relay(() => server.url, (request) => {
  const one = cases.find((c) => request.path.includes(`/${c.id}/`));
  if (refused.has(one.id) || !request.text.includes('CHECK-FAILED')) return null;
  refused.add(one.id);
  return { ...one.client.refusal, body: JSON.stringify({ error: { message: 'not now' } }) };
});

// --- the gateway, and who listens at its door -----------------------------------
const apis = { anthropic: ['', 'claude-sonnet-5-5'], openai: ['/v1', 'test'], 'openai-responses': ['/v1', 'gpt-6.1-sol'] };
writeFileSync(join(space, 'chela.yaml'), `
store: "memory:"
providers:
${cases.map(({ id, api }) => `  p-${id}: { api: ${api}, baseUrl: "${front.url}/${id}/one${apis[api][0]}", apiKeyEnv: MODEL_KEY, models: [{ id: "${apis[api][1]}" }] }`).join('\n')}
agents:
  list:
${cases.map(({ id, api }) => `    - { id: ${id}, model: "p-${id}/${apis[api][1]}", retries: 0, tools: { allow: [] } }`).join('\n')}
`);
const widgets = Array.from({ length: 60 }, (_, i) => `widget_${String(i).padStart(2, '0')}`);
writeFileSync(join(space, 'shop.yaml'), `
agents: { list: [{ id: shop, model: scripted/demo, tools: { allow: [${widgets.join(', ')}] } }] }
tools:
  custom:
${widgets.map((name) => `    - { name: ${name}, description: Turns it., command: [/bin/echo, it has turned], parameters: { type: object, properties: {} } }`).join('\n')}
`);
const gateway = spawn(chela, ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0'], {
  cwd: space, stdio: ['ignore', 'ignore', 'pipe'],
  env: { PATH: process.env.PATH, HOME: space, CHELA_TOKEN: token, MODEL_KEY: key, ...tests },
});
let log = '';
const url = await new Promise((resolve, reject) => {
  gateway.stderr.on('data', (data) => { log += data; const m = /listening on (\S+)/.exec(data); if (m) resolve(m[1]); });
  gateway.on('exit', () => reject(new Error(`the gateway ended: ${log}`)));
});
const door = await relay(() => url);

// --- a run of a client -----------------------------------------------------------
function start(one, prompt, options = {}) {
  const { client, id, home, work } = one;
  for (const [path, text] of Object.entries(client.files(door.url, home, id, work))) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const args = client.args(prompt, { home, model: id, ...options });
  const program = client.program();
  let child;
  const ended = new Promise((resolve) => {
    child = execFile(client.script ? process.execPath : program, client.script ? [program, ...args] : args, {
      cwd: work, timeout: 240000, killSignal: 'SIGKILL', maxBuffer: 64e6,
      env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: home, CHELA_TOKEN: token, ...tests, ...client.env?.(door.url, id) },
    }, (error, stdout, stderr) => resolve({ error, stdout, stderr }));
    child.stdin.end();
  });
  return { child, ended };
}
async function play(one, prompt, options) {
  const { error, stdout, stderr } = await start(one, prompt, options).ended;
  const seen = door.requests.filter((r) => r.body?.model === one.id).map((r) => `${r.path} ${r.status} ${r.reply.slice(0, 300)}`);
  if (error) throw new Error(`${error.message}\n${stdout}\n${stderr}\n${seen.join('\n')}\n${log}`);
  return stdout;
}
const asked = (one) => door.requests.filter((r) => r.body?.model === one.id);
const reached = (one) => server.requests().filter((r) => r.conversation === one.id);
const said = (one, out, words) => same(one.client.answer(out).includes(words), true, `${words} in:\n${out}`);

// --- what must hold --------------------------------------------------------------
// The tools that a request offers, those of a namespace by their whole names; without the vendor's.
const offered = (body) => (body.tools ?? []).flatMap((t) => (t.type === 'namespace' ? t.tools.map((x) => `${t.name}__${named(x)}`) : named(t)))
  .filter((name) => name !== 'web_search');
const effort = (body) => body.reasoning?.effort ?? body.reasoning_effort ?? body.output_config?.effort;
const items = (body) => body.messages ?? body.input;
const holds = (what, words) => JSON.stringify(what).includes(words);
async function comes(what, about) {
  for (const end = Date.now() + 120000; Date.now() < end; await wait(50)) if (what()) return;
  throw new Error(`${about} did not come\n${log}`);
}

for (const one of cases) {
  const { client, id, api, work } = one;
  await check(`${id}: lists, reads, edits, runs, meets an error, mends and says so`, async () => {
    const out = await play(one, 'Make the check pass');
    said(one, out, 'All is mended.');
    same(readFileSync(join(work, 'mend-me.txt'), 'utf8'), 'the word is right\n', 'the file');
    const steps = client.search ? 9 : 8;
    same(client.usage(out), client.search ? [4750, 475] : [4000, 400], 'the tokens that it counted');
    const requests = asked(one), model = reached(one);
    same([requests.length, requests.map((r) => r.status).filter((status) => status !== 200)], [steps + 1, [client.shown]], 'answers, and the refused one');
    same([model.length, model.flatMap((r) => r.problems)], [steps, []], 'what the model got');
    requests.filter((r) => r.status === 200).forEach((r, i) => same(offered(model[i].body), offered(r.body), 'the tools, in their order'));
    same(requests.every((r) => !holds(r.body.tools, '"web_search"') || r.answered['x-chela-dropped'].includes('tools[].web_search')), true, 'a tool that OpenAI would run is named');
    same(client.search ? offered(model.at(-1).body).includes(client.widget) : offered(model[0].body).filter((n) => n.includes('widget')).length, client.search ? true : 60, 'a long list');
    same([...new Set(model.map((r) => effort(r.body)))], ['high'], 'the effort');
    same(signed[api](model[1].body), true, 'the reasoning comes back to its author');
    const results = items(model[2].body);
    same(holds(results, 'the word is blank') && JSON.stringify(results).indexOf('the word is blank') < JSON.stringify(results).indexOf('a side note'), true, 'two results, in the order of the calls');
    const failed = items(model[4].body).at(-1);
    same(holds(failed, 'CHECK-FAILED') && (client.hides || /\b3\b/.test(JSON.stringify(failed.content ?? failed.output))), true, `the exit code: ${JSON.stringify(failed)}`);
  });
  if (id !== cases.find((c) => c.name.split('-')[0] === one.name.split('-')[0]).id) continue;
  await check(`${id}: a turn is given up in the middle, and the model's call with it`, async () => {
    const { child, ended } = start(one, 'Take your time', { resumed: true });
    await comes(() => asked(one).some((r) => r.reply.includes('Begun')), 'the beginning of the answer');
    child.kill('SIGINT');
    await ended;
    await comes(() => server.log().some((l) => l.end && l.broken && l.conversation === id), 'the end of the model\'s call');
  });
  await check(`${id}: goes on with a picture, and knows what was before`, async () => {
    const before = reached(one).length;
    said(one, await play(one, 'Look at the picture red.png', { resumed: true, image: client.views ? null : join(work, 'red.png') }), 'It is red.');
    const model = reached(one);
    same(model.slice(before).flatMap((r) => r.problems), [], 'what the model got');
    same([holds(model.at(-1).body, png), holds(model.at(-1).body, 'All is mended.')], [true, true], 'the picture and the conversation');
    same(asked(one).slice(-1)[0].status, 200, 'the answer');
  });
}
await check('every request is answered, or refused by name', () => {
  const wrong = door.requests.filter((r) => r.body && ![200, 429, 502, 503, 529].includes(r.status) && !(r.status === 400 && /`|'/.test(r.reply)));
  same(wrong.map((r) => [r.path, r.status, r.reply.slice(0, 200)]), [], 'requests');
});
gateway.removeAllListeners('exit');
gateway.kill();
door.close();
front.close();
server.close();
rmSync(space, { recursive: true, force: true });
done();

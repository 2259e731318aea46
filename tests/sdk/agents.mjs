// Three coding agents with an agent of chela as their model. The task: make a file with the
// agent's own tool, and say what the tool said.
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build, check, done, same } from './lib.mjs';

const token = 'gateway-sdk-0123456789abcdef';
const modules = join(build, 'sdk/node_modules');
const space = mkdtempSync(join(tmpdir(), 'agents-'));
const rules = (tool, args) => `
rules:
  - { when: { after: none, user: "make the file" }, think: "I will.", say: "Making it.", call: { tool: ${tool}, args: ${JSON.stringify(args)} } }
  - { when: { after: none }, say: "A title" }
  - { say: "it said: {{result}}" }
`;
const command = 'printf hello-%s there > made.txt && cat made.txt';
writeFileSync(join(space, 'exec.yaml'), rules('exec_command', { cmd: command }));
writeFileSync(join(space, 'bash.yaml'), rules('bash', { command, description: 'Makes the file.' }));
writeFileSync(join(space, 'mcp.yaml'), `
rules:
  - { when: { after: none, user: "read the note" }, call: { tool: chela_read, args: { file_path: note } } }
  - { when: { after: none }, say: "A title" }
  - { say: "it said: {{result}}" }
`);
writeFileSync(join(space, 'offer.yaml'), 'agents:\n  list:\n    - { id: helper, model: scripted/mcp.yaml, tools: { allow: [read] } }\n');
writeFileSync(join(space, 'chela.yaml'), `
store: "memory:"
agents:
  list:
    - { id: codex, model: scripted/exec.yaml, tools: { allow: [] } }
    - { id: coder, model: scripted/bash.yaml, tools: { allow: [] } }
    - { id: reader, model: scripted/mcp.yaml, tools: { allow: [] } }
`);
const gateway = spawn(join(build, 'chela'), ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0'], {
  cwd: space, stdio: ['ignore', 'ignore', 'pipe'],
  env: { PATH: process.env.PATH, HOME: space, CHELA_TOKEN: token, CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN },
});
let log = '';
const url = await new Promise((resolve, reject) => {
  gateway.stderr.on('data', (data) => { log += data; const m = /listening on (\S+)/.exec(data); if (m) resolve(m[1]); });
  gateway.on('exit', () => reject(new Error(`the gateway ended: ${log}`)));
});

// A program in a home and a folder of its own; resolves to what it printed.
function runs(name, program, args, files, env = {}) {
  const home = join(space, `${name}-home`);
  const cwd = join(space, `${name}-work`);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(space, path)), { recursive: true });
    writeFileSync(join(space, path), text);
  }
  mkdirSync(cwd, { recursive: true });
  mkdirSync(home, { recursive: true });
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, {
      cwd, timeout: 180000, killSignal: 'SIGKILL', maxBuffer: 64e6,
      env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: home, CHELA_TOKEN: token, ...env },
    }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${name}: ${error.message}\n${stdout}\n${stderr}\n${log}`));
      else resolve({ stdout, made: existsSync(join(cwd, 'made.txt')) && readFileSync(join(cwd, 'made.txt'), 'utf8') });
    });
    child.stdin.end();
  });
}
const worked = (got) => {
  same(got.made, 'hello-there', 'the file');
  same(/it said: [^]*hello-there/.test(got.stdout), true, got.stdout);
};
const find = (dir, name) => {
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && entry.name === name) return join(entry.parentPath, entry.name);
  }
  throw new Error(`no ${name} in ${dir}`);
};

await check('codex runs a task', async () => {
  const [folder] = readdirSync(join(modules, '@openai')).filter((d) => d.startsWith('codex-linux-'));
  worked(await runs('codex', find(join(modules, '@openai', folder), 'codex'), ['exec', '--skip-git-repo-check', 'make the file'], {
    'codex-home/.codex/config.toml': `
model = "codex"
model_provider = "chela"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.chela]
name = "chela"
base_url = "${url}/v1"
env_key = "CHELA_TOKEN"
wire_api = "responses"
`,
  }));
  same(/left out.*web_search/.test(log), true, 'the tool that OpenAI would run is named');
});
for (const api of ['openai-completions', 'openai-responses', 'anthropic-messages']) {
  await check(`pi runs a task: ${api}`, async () => {
    const model = { id: 'coder', name: 'coder', reasoning: true, input: ['text'], contextWindow: 100000, maxTokens: 8000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
    const baseUrl = api === 'anthropic-messages' ? url : `${url}/v1`;
    const name = `pi-${api}`;
    worked(await runs(name, process.execPath, [join(modules, '@earendil-works/pi-coding-agent/dist/bundle/cli.js'), '--offline', '--provider', 'chela', '--model', 'coder', '-p', 'make the file'], {
      [`${name}-home/.pi/agent/models.json`]: JSON.stringify({ providers: { chela: { baseUrl, api, apiKey: token, models: [model] } } }),
    }));
  });
}
await check('opencode runs a task', async () => {
  const [folder] = readdirSync(modules).filter((d) => d.startsWith('opencode-linux-'));
  worked(await runs('opencode', join(modules, folder, 'bin/opencode'), ['run', '--model', 'chela/coder', 'make the file'], {
    'opencode-work/opencode.json': JSON.stringify({
      provider: { chela: { npm: '@ai-sdk/openai-compatible', name: 'chela', options: { baseURL: `${url}/v1`, apiKey: token }, models: { coder: { name: 'coder' } } } },
      model: 'chela/coder', autoupdate: false, share: 'disabled',
    }),
  }, { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' }));
});
// chela is the model, and chela's tool is called over the Model Context Protocol.
await check('opencode uses chela as its MCP server', async () => {
  const [folder] = readdirSync(modules).filter((d) => d.startsWith('opencode-linux-'));
  const got = await runs('reader', join(modules, folder, 'bin/opencode'), ['run', '--model', 'chela/reader', 'read the note'], {
    'reader-work/note': 'a note for opencode\n',
    'reader-work/opencode.json': JSON.stringify({
      provider: { chela: { npm: '@ai-sdk/openai-compatible', name: 'chela', options: { baseURL: `${url}/v1`, apiKey: token }, models: { reader: { name: 'reader' } } } },
      mcp: { chela: { type: 'local', command: [join(build, 'chela'), 'mcp', 'serve', '--config', join(space, 'offer.yaml')], enabled: true } },
      model: 'chela/reader', autoupdate: false, share: 'disabled',
    }),
  }, { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' });
  same(/it said: [^]*a note for opencode/.test(got.stdout), true, got.stdout);
});
gateway.removeAllListeners('exit');
gateway.kill();
rmSync(space, { recursive: true, force: true });
done();

// `chela acp` with acpx, a client of the Agent Client Protocol for the command line.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build, check, done, same } from './lib.mjs';

const acpx = join(dirname(createRequire(import.meta.url).resolve('acpx/package.json')), 'dist/cli.js');
const home = mkdtempSync(join(tmpdir(), 'acpx-'));
const work = join(home, 'work');
mkdirSync(work);
const rules = join(home, 'rules.yaml');
writeFileSync(rules, `rules:
  - when: { user: "fix", after: none }
    call: { tool: write, args: { file_path: a.txt, content: "hello\\n" } }
  - when: { after: write }
    call: { tool: exec, args: { command: "cat a.txt" } }
  - when: { user: "slow", after: none }
    call: { tool: exec, args: { command: "sleep 600" } }
  - when: { after: any }
    say: "Done: {{result}}"
  - say: "Hello."
`);

const env = { PATH: process.env.PATH, HOME: home, CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN };
const agent = `${join(build, 'chela')} acp --model scripted/${rules}`;
const args = (words) => [acpx, '--cwd', work, '--agent', agent, '--ttl', '5', ...words];
function run(...words) { return ran(0, words); }
function ran(status, words) {
  const r = spawnSync(process.execPath, args(words), { env, cwd: work, encoding: 'utf8', timeout: 120000 });
  if (r.status !== status) throw new Error(`acpx ${words.join(' ')}: ${r.status}\n${r.stdout.slice(-2000)}\n${r.stderr}`);
  return r.stdout;
}
const json = (text) => text.split('\n').filter(Boolean).map((l) => JSON.parse(l));
const said = (lines) => lines.map((l) => l.params?.update).filter((u) => u?.sessionUpdate === 'agent_message_chunk').map((u) => u.content.text).join('');
const ended = (lines) => lines.findLast((l) => l.result?.stopReason)?.result.stopReason;

await check('acpx: one prompt with a tool, a file of the client and an approval', async () => {
  const lines = json(run('--approve-all', '--format', 'json', 'exec', 'fix it'));
  same(ended(lines), 'end_turn', 'reason');
  same(lines.filter((l) => l.method === 'fs/write_text_file').map((l) => l.params.path), [join(work, 'a.txt')], 'the client writes');
  same(lines.filter((l) => l.method === 'session/request_permission').length, 1, 'questions');
  same(said(lines).includes('hello'), true, `answer: ${said(lines)}`);
  same(readFileSync(join(work, 'a.txt'), 'utf8'), 'hello\n', 'file');
});

await check('acpx: what its user denies is not done', async () => {
  rmSync(join(work, 'a.txt'));
  const lines = json(ran(5, ['--deny-all', '--format', 'json', 'exec', 'fix it'])); // 5: permission denied
  same(ended(lines), 'end_turn', 'reason');
  same(existsSync(join(work, 'a.txt')), false, 'no file');
});

await check('acpx: a session over several prompts, cancelled, killed and resumed', async () => {
  run('sessions', 'new');
  run('--approve-all', 'first words');
  const slow = spawn(process.execPath, args(['--approve-all', '--format', 'json', 'slow']), { env, cwd: work, stdio: ['ignore', 'pipe', 'ignore'] });
  let out = '';
  const over = new Promise((resolve) => { slow.on('close', resolve); });
  await new Promise((resolve) => { slow.stdout.on('data', (b) => { out += b; if (out.includes('"in_progress"')) resolve(); }); slow.on('close', resolve); });
  run('cancel');
  await over;
  same(ended(json(out)), 'cancelled', 'reason');
  const pid = Number(/pid: (\d+)/.exec(run('status'))?.[1] ?? 0);
  if (pid) process.kill(pid, 'SIGKILL');
  const lines = json(run('--approve-all', '--format', 'json', 'fix it'));
  same(ended(lines), 'end_turn', 'after kill -9');
  const listed = run('sessions', 'list');
  same(listed.includes('first words'), true, `listed: ${listed}`);
  run('sessions', 'close');
});

rmSync(home, { recursive: true, force: true });
done();

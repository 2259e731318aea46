// The reference servers of the Model Context Protocol as servers of chela: their tools are
// listed and called by the command line and in a run.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, check, done, same } from './lib.mjs';

const home = mkdtempSync(join(tmpdir(), 'mcp-'));
const docs = join(home, 'docs');
mkdirSync(docs);
const server = (name) => `[${process.execPath}, ${join(process.cwd(), 'node_modules/@modelcontextprotocol', name, 'dist/index.js')}`;
writeFileSync(join(home, 'mcp.yaml'), `mcp:
  servers:
    everything: { command: ${server('server-everything')}], confirm: false }
    files: { command: ${server('server-filesystem')}, ${docs}], sandbox: { writable: [${docs}] }, confirm: false }
    memory: { command: ${server('server-memory')}], env: { MEMORY_FILE_PATH: ${join(home, '.local/state/chela/mcp/memory/graph.jsonl')} }, confirm: false }
`);
writeFileSync(join(home, 'rules.yaml'), `rules:
  - { when: { after: none }, call: [{ tool: everything__get-sum, args: { a: 2, b: 3 } }, { tool: everything__get-tiny-image, args: {} },
      { tool: files__write_file, args: { path: "${docs}/a.txt", content: "hello" } }] }
  - { say: "{{result.everything__get-sum}}" }
`);

function chela(...args) {
  const env = { PATH: process.env.PATH, HOME: home, LC_ALL: 'C.UTF-8' };
  const r = spawnSync(join(build, 'chela'), args, { cwd: home, env, encoding: 'utf8', timeout: 120000 });
  return { code: r.status, out: r.stdout, err: r.stderr };
}
const call = (name, tool, args) => chela('mcp', 'call', '--config', 'mcp.yaml', name, tool, '--args', JSON.stringify(args));

await check('doctor: all servers answer', () => {
  const { out } = chela('mcp', 'doctor', '--config', 'mcp.yaml');
  same(out.split('\n').filter((l) => l.startsWith('ok ')).length, 3, out);
});
await check('everything: text, structured content, progress', () => {
  same(call('everything', 'echo', { message: 'hi' }).out.trim(), 'Echo: hi', 'text');
  const { out } = chela('mcp', 'call', '--config', 'mcp.yaml', 'everything', 'get-structured-content', '--args', '{"location":"New York"}', '--output', 'json');
  same(typeof JSON.parse(out).structuredContent.temperature, 'number', 'structured');
  same(call('everything', 'trigger-long-running-operation', { duration: 1, steps: 4 }).code, 0, 'progress');
});
await check('everything: it has the configured environment only', () => {
  same(Object.keys(JSON.parse(call('everything', 'get-env', {}).out)).includes('CHELA_ROOT'), false, 'environment');
});
await check('files: nothing outside of its directory', () => {
  same(call('files', 'read_text_file', { path: '/etc/passwd' }).code, 1, 'exit status');
});
await check('memory: a change is kept', () => {
  same(call('memory', 'create_entities', { entities: [{ name: 'chela', entityType: 'program', observations: ['in C'] }] }).code, 0, 'change');
  same(call('memory', 'read_graph', {}).out.includes('in C'), true, 'kept');
});
await check('a run that uses two of them', () => {
  const { out, err } = chela('run', '--config', 'mcp.yaml', '--model', 'scripted/rules.yaml', '--approve', 'auto', 'go');
  same(out.includes('The sum of 2 and 3 is 5'), true, out + err);
  same(readFileSync(join(docs, 'a.txt'), 'utf8'), 'hello', 'the file');
});
rmSync(home, { recursive: true, force: true });
done();

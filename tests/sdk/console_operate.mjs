// The console's pages for operators, in Chromium: schedules, MCP servers, memory, log, nodes,
// configuration, plots, failed runs and whole requests.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { axe, launch, Place, shot } from './browser.mjs';
import { check, done, same } from './lib.mjs';

const place = new Place('console-operate-0123456789abcdef');
const { space } = place;
const day = 24 * 3600 * 1000, now = Date.now();
const evil = '<img src=x onerror=alert(1)> \u202egpj.exe';
place.write('rules.yaml', `
rules:
  - { when: { after: none, user: "strike" }, fail: { status: 400, type: invalid_request_error, message: "the model is on strike <b>now</b>" } }
  - { when: { after: none, user: "count" }, call: { tool: calculate, args: { expression: "6*7" } } }
  - { when: { after: none, user: "ask me" }, call: { tool: t_ask, args: {} } }
  - { say: "you said: {{user}}" }
`);
place.write('asker', '#!/bin/sh\necho done\n');
chmodSync(join(space, 'asker'), 0o755);
mkdirSync(join(space, 'ws/memory'), { recursive: true });
place.write('ws/MEMORY.md', `# Facts\n\nThe door is **blue**. ${evil} [x](javascript:alert(1))\n`);
place.write('ws/memory/2026-11-15.md', '- rain today\n');
place.write(`ws/memory/<b>${'x'.repeat(40)}.md`, 'a hostile name\n');
const server = join(process.env.CHELA_ROOT, 'tests/support/mcp/server.py');
place.write('chela.yaml', `
store: sqlite:./chela.db # the store
sandbox: { mode: off }
agents:
  list:
    - { id: coder, model: scripted/rules.yaml, workspaceDir: ./ws, limits: { maxTurns: 7 } }
    - { id: clerk, model: scripted/rules.yaml, workspaceDir: ./ws }
tools:
  custom: [{ name: t_ask, description: Asks., command: [./asker], effect: once, permission: write, confirm: true, parameters: { type: object } }]
schedules:
  report: { when: "0 9 * * *", timezone: UTC, prompt: "write the report" }
  backup: { when: "every 6h", prompt: "check the backup", quietHours: "22:00-07:00" }
mcp: { servers: { things: { command: [python3, "${server}", legacy, "${join(space, 'words')}"] } } }
`);

// Sessions of the last days, as a store has them.
const used = (input, output, cached = 0) => ({ input, output, cache_read: cached, cache_write: 0, reasoning: 0 });
function pastRun(n, at, { status = 'done', reason = 'task_completed', error, wait = 0, model = 'big-model', text = `question ${n}` }) {
  const run = `run_past${String(n).padStart(8, '0')}`, u = used(900 + 700 * (n % 5), 80 + 30 * (n % 3), 400 * (n % 2));
  const state = (ts, s, more) => ({ type: 'state', ts, data: { run, status: s, mode: 'react', state: s === 'done' ? 'DONE' : 'OBSERVE', turns: 1, tool_calls: 0, errors: 0, seq: 9, usage: u, ...more } });
  const records = [{ type: 'inbound', ts: at, data: { run, mode: 'start', message: { role: 'user', content: [{ type: 'text', text }], ts: at } } }];
  if (status === 'error') records.push({ type: 'failure', ts: at + 900, data: { run, turn: 1, class: 'overloaded', status: 529, text: error } });
  else records.push({ type: 'message', ts: at + 700 + 400 * (n % 4), data: { run, turn: 1, stop: 'stop', usage: u, cost: 0.01 * (n % 4), message: { role: 'assistant', content: [{ type: 'text', text: 'an answer' }], ts: at, api: 'anthropic', model } } });
  if (wait) records.push(state(at + 2000, 'paused', { reason: 'approval' }));
  records.push(state(at + 2500 + wait, status, { reason, error, cost: 0.01 * (n % 4) }));
  return records;
}
let n = 0;
for (let back = 9; back >= 0; back--) {
  const at = now - back * day - 60000 * 30;
  const records = [0, 1, 2].slice(0, 1 + (back % 3)).flatMap((i) => pastRun(++n, at + i * 20000, { model: i ? 'small-model' : 'big-model', wait: back % 4 === 1 ? 90000 * (i + 1) : 0 }));
  if (back % 4 === 1) records.push(...pastRun(++n, at + 400000, { status: 'error', reason: 'model_error', error: `the service is overloaded ${evil}` }));
  await place.import(`${['web', 'feishu', 'hook'][back % 3]}:past-${back}`, records, { agent: back % 2 ? 'coder' : 'clerk', title: back === 1 ? `yesterday ${evil}` : `work of day ${back}` });
}
const python = existsSync('/usr/bin/python3');
if (python) {
  await place.chela(['mcp', 'tools', '--config', 'chela.yaml', 'things']);
  place.write('words', 'changed added');
}
await place.serve();
const browser = await launch();
const texts = (p, selector) => p.locator(selector).allTextContents();
const toPage = async (p, name) => { await p.goto(`${place.url}/#/${name}`); await p.waitForSelector(`#view-page[data-page="${name}"]:not([hidden])`); await p.waitForFunction(() => !document.querySelector('#view-page .nothing')?.textContent?.includes('…')); };
const ends = (p, want) => p.waitForFunction((k) => document.querySelectorAll('.end').length === k, want);
const pages = ['usage', 'memory', 'schedules', 'mcp', 'config', 'logs', 'nodes', 'agents', 'skills', 'channels', 'approvals'];

let page;
await check('operate: Chromium is there', async () => { if (!browser) throw new Error('install chromium'); page = await place.visit(browser); await place.enter(page); });
if (page) {
  await check('operate: yesterday\'s failed run is found, with its error', async () => {
    await toPage(page, 'usage');
    await page.waitForSelector('#view-page .plot svg rect');
    const row = page.locator('tr', { hasText: 'overloaded' }).first();
    same(await row.locator('img').count(), 0, 'an error is text');
    await row.locator('a').click();
    await page.waitForSelector('.run.flash .notice.bad');
    same((await page.textContent('.run.flash .notice.bad')).includes('overloaded'), true, 'why it failed');
    same(await page.locator('.run.flash .span-bar[data-failed]').count(), 1, 'the call that failed');
    await shot(page, 'operate-failed');
    same((await page.textContent('#title')).includes('<img'), true, 'a title is text');
  });
  await check('operate: plots have names, values as a table, and groups', async () => {
    await toPage(page, 'usage');
    await page.waitForSelector('#view-page .plot svg rect');
    const names = await page.locator('#view-page .plot svg').evaluateAll((all) => all.map((s) => s.getAttribute('aria-label')));
    same(names.length, 7, 'plots');
    same(names.every((name) => name.length > 20), true, 'with names that say something');
    await page.locator('#view-page .values summary').first().click();
    same(await page.locator('#view-page .values').first().locator('tbody tr').count() >= 9, true, 'days with values');
    for (const by of ['agent', 'model', 'channel']) {
      await page.selectOption('#view-page select >> nth=1', by);
      const legend = (await texts(page, '#view-page .plot:nth-of-type(2) .legend span')).sort();
      same(legend, { agent: ['clerk', 'coder'], model: ['big-model', 'small-model'], channel: ['feishu', 'page', 'webhooks'] }[by], `by ${by}`);
    }
    same((await texts(page, '#view-page .plot h3')).includes('Longest waits for people'), true, 'waits for people');
    await shot(page, 'operate-usage');
    await page.locator('#view-page .plot').nth(4).scrollIntoViewIfNeeded();
    await shot(page, 'operate-usage-2');
  });
  await check('operate: a schedule runs now', async () => {
    await toPage(page, 'schedules');
    same(await texts(page, '.run h2'), ['report', 'backup'], 'the schedules');
    same(await page.locator('.run', { hasText: 'write the report' }).locator('li').count(), 5, 'its next times');
    await shot(page, 'operate-schedules');
    await page.locator('.run', { hasText: 'write the report' }).locator('button').click();
    await page.locator('[role=status] a').click();
    await ends(page, 1);
    same((await texts(page, '.user div'))[0].includes('write the report'), true, 'what it was told');
  });
  if (python) {
    await check('operate: changed tools of an MCP server are read, then accepted', async () => {
      await toPage(page, 'mcp');
      await page.locator('.run button', { hasText: 'check' }).click();
      await page.locator('.notice.warn', { hasText: '2 tools' }).waitFor();
      same((await texts(page, '.d-new')).join().includes('Now with more'), true, 'what is new');
      same((await texts(page, '.d-old')).join().includes('Echo a text.'), true, 'what was accepted');
      same(await page.locator('.hidden-char').count() >= 0, true, 'hidden characters');
      await shot(page, 'operate-mcp');
      await page.locator('.run button', { hasText: 'Accept' }).click();
      await page.click('#sure-yes');
      await page.waitForFunction(() => !document.querySelector('#view-page .notice.warn'));
      same((await page.textContent('.facts')).includes('with handshake'), true, 'the era');
    });
  }
  await check('operate: notes, whatever they hold', async () => {
    await toPage(page, 'memory');
    same((await texts(page, '.run h2')), ['coder, clerk'], 'agents that share a workspace');
    same((await texts(page, '.tool-name')).map((t) => t.slice(0, 9)), ['MEMORY.md', 'memory/<b', 'memory/20'], 'files');
    await page.locator('.tool summary').first().click();
    await page.locator('.tool strong', { hasText: 'blue' }).waitFor();
    same(await page.locator('#view-page img, #view-page script').count(), 0, 'no element of a note');
    same(await page.locator('#view-page a[href^="javascript"]').count(), 0, 'no script in a link');
    await shot(page, 'operate-memory');
  });
  // The gateway has read the file again. waitForFunction does not wait for a promise.
  const reloaded = async (turns) => {
    for (let i = 0; i < 600; i++) {
      if ((await place.api('/api/agents')).agents[0].limits.max_turns === turns) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`the gateway does not have maxTurns: ${turns}`);
  };
  await check('operate: an owner changes the configuration, sees the difference, and goes back', async () => {
    const before = readFileSync(join(space, 'chela.yaml'), 'utf8');
    await toPage(page, 'config');
    await page.fill('#view-page input[type=search]', 'maxTurns');
    same(await texts(page, '#view-page td:nth-child(2)'), ['7'], 'its value');
    await page.getByLabel('Change: agents.list[coder].limits.maxTurns').click();
    await page.fill('#sure-more input', 'lots');
    await page.click('#sure-yes');
    await page.locator('#trouble', { hasText: 'whole number' }).waitFor();
    same(readFileSync(join(space, 'chela.yaml'), 'utf8'), before, 'nothing was written');
    await page.getByLabel('Change: agents.list[coder].limits.maxTurns').click();
    await page.fill('#sure-more input', '12');
    await page.click('#sure-yes');
    await page.locator('#sure .d-new', { hasText: 'maxTurns: 12' }).waitFor();
    await shot(page, 'operate-config-diff');
    await page.click('#sure-yes');
    await page.locator('[role=status]', { hasText: 'written' }).waitFor();
    same(readFileSync(join(space, 'chela.yaml'), 'utf8'), before.replace('maxTurns: 7', 'maxTurns: 12'), 'that and nothing else');
    await reloaded(12);
    await page.locator('button', { hasText: 'previous version' }).click();
    await page.locator('#sure .d-old', { hasText: 'maxTurns: 12' }).waitFor();
    await page.click('#sure-yes');
    await reloaded(7);
    same(readFileSync(join(space, 'chela.yaml'), 'utf8'), before, 'as it was');
    same(await page.locator('button[aria-label="Change: sandbox.mode"]').count(), 0, 'rights are not changed here');
  });
  await check('operate: the log is filtered and followed', async () => {
    await toPage(page, 'logs');
    await page.locator('.log-line', { hasText: 'was changed from the console' }).first().waitFor();
    await page.fill('#view-page input[type=search]', 'is due');
    await page.waitForFunction(() => [...document.querySelectorAll('.log-line')].every((l) => l.textContent.includes('is due')));
    const seen = await page.locator('.log-line').count();
    await place.api('/api/schedules/report/run', {});
    await page.waitForFunction((k) => document.querySelectorAll('.log-line').length > k, seen);
    await page.selectOption('#view-page select', 'error');
    await page.waitForFunction(() => document.querySelectorAll('.log-line').length === 0);
    await page.selectOption('#view-page select', 'info');
    await page.fill('#view-page input[type=search]', '');
    await shot(page, 'operate-logs');
  });
  await check('operate: nodes', async () => {
    await toPage(page, 'nodes');
    await page.locator('#view-page dd', { hasText: String(place.gateway.pid) }).first().waitFor().catch(async (error) => { throw new Error(`${error.message}\n${await page.textContent('#main')}`); });
    await shot(page, 'operate-nodes');
  });
  await check('operate: the whole request of a turn', async () => {
    await page.click('#new');
    await page.selectOption('#agent', 'coder');
    await page.fill('#say', 'count');
    await page.press('#say', 'Enter');
    await ends(page, 1);
    await page.click('#tab-time');
    await page.locator('.span', { hasText: 'model' }).nth(1).waitFor(); // the run is whole
    await page.locator('.span', { hasText: 'model' }).first().locator('summary').click();
    await page.locator('.span a').first().click();
    await page.waitForSelector('.request');
    same(await page.textContent('.request h2'), 'Request 1 of 2', 'which');
    same((await texts(page, '.part h3')), ['System prompt', 'Tools', 'Messages', 'Reply', 'As sent'], 'its parts');
    same((await page.locator('.part').nth(0).locator('.tool-time').first().textContent()).includes('tokens'), true, 'sizes');
    await page.locator('.part').nth(1).locator('summary').first().click();
    await page.locator('.part').nth(1).locator('pre').first().waitFor();
    await shot(page, 'operate-request');
    await page.locator('.request header a', { hasText: 'Next' }).click();
    await page.locator('h2', { hasText: 'Request 2 of 2' }).waitFor();
    await page.goto(`${await page.url().split('/q/')[0]}/q/99`);
    await page.locator('#view-time .nothing').waitFor();
  });
  await check('operate: tools and pictures of the model\'s service, while they happen', async () => {
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const live = await place.visit(browser);
    const event = (seq, type, more) => `id: ${saved ? `1.${seq}` : '0'}\ndata: ${JSON.stringify({ type, run: 'run_x', seq, ts: now, cursor: saved ? `1.${seq}` : '0', ...(!saved && { ephemeral: true }), ...more })}\n\n`;
    let saved = false;
    await live.route('**/api/sessions/web%3Alive/records*', (route) => route.fulfill({ json: { records: saved ? [{ seq: 1, type: 'message', ts: now, data: { run: 'run_x', turn: 1, message: { role: 'assistant', content: [{ type: 'opaque', name: 'server_tool_use', json: JSON.stringify({ type: 'server_tool_use', id: 'srv_0', name: 'fetch', input: { url: evil } }) }, { type: 'image', media_type: 'image/png', data: png, id: 'media/x.png' }] } } }] : [], live: true, last: 1 } }));
    await live.route('**/api/sessions/web%3Alive/events*', (route) => {
      // Pieces at first; a reader who comes again gets the events of the record.
      const body = event(0, 'run_start', { session: 'web:live', agent: 'coder', model: 'm', mode: 'react' }) + event(1, 'turn_start', { turn: 1 })
        + event(2, 'server_tool', { id: 'srv_1', name: 'web_search', arguments: { query: evil }, result: 'three pages' }) + event(3, 'media', { media_type: 'image/png', path: 'media/x.png', bytes: 68 });
      saved = true;
      return route.fulfill({ contentType: 'text/event-stream', body });
    });
    await place.enter(live);
    await live.goto(`${place.url}/#/s/web%3Alive`);
    const card = live.locator('.tool[data-by=server]');
    await card.waitFor();
    same(await card.getAttribute('data-state'), 'done', 'a tool of the service');
    same((await card.textContent()).includes('by the model\'s service'), true, 'and who ran it');
    await live.locator('.said-media img').waitFor();
    same(await live.locator('.said-media').count(), 1, 'the picture, once');
    same(await live.locator('.tool img').count(), 0, 'arguments are text');
    await live.reload();
    await live.locator('.tool[data-by=server]', { hasText: 'fetch' }).waitFor();
    same(await live.locator('.said-media img').count(), 1, 'the picture, after a reload');
    await live.context().close();
  });
  await check('operate: axe in each page, both languages, both themes, at 200 %', async () => {
    const found = [];
    for (const [locale, colorScheme, viewport] of [['en-US', 'light', { width: 1280, height: 860 }], ['zh-CN', 'dark', { width: 390, height: 844 }], ['en-US', 'dark', { width: 640, height: 430 }]]) {
      const other = await place.visit(browser, { locale, colorScheme, viewport, bypassCSP: true, reducedMotion: 'reduce' });
      await place.enter(other);
      for (const name of pages) {
        await toPage(other, name);
        await other.waitForTimeout(400);
        for (const v of await axe(other)) found.push(`${locale} ${colorScheme} ${name} ${v}`);
        const wide = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) found.push(`${locale} ${viewport.width} ${name} is ${wide} too wide`);
        const left = await other.evaluate(() => (document.documentElement.lang === 'zh-CN' ? [...document.querySelectorAll('#view-page h2, #view-page h3, #view-page th, #view-page dt, #view-page button')].map((e) => e.textContent) : []).filter((t) => /^[a-z]+\.[a-z.]+$/.test(t)));
        if (left.length) found.push(`${name}: no words for ${left}`);
        await shot(other, `operate-${name}-${locale.slice(0, 2)}-${viewport.width}`);
      }
      same(await other.evaluate(() => matchMedia('(prefers-reduced-motion: reduce)').matches && getComputedStyle(document.querySelector('#side')).transitionDuration), '0s', 'nothing moves');
      await other.context().close();
    }
    same(found, [], 'axe');
  });
  await check('operate: both languages have the same words', async () => {
    const [en, zh] = await page.evaluate(async () => {
      const { words } = await import('/console/words_zh.js');
      const source = await (await fetch('/console/words.js')).text();
      return [[...source.matchAll(/"([a-z]+(?:\.[\w-]+)*)": "/g)].map((m) => m[1]), Object.keys(words)];
    });
    same(en.filter((k) => !zh.includes(k)), [], 'without Chinese');
    same(zh.filter((k) => !en.includes(k) && !k.startsWith('reason.')), [], 'without English');
  });
  await check('operate: nothing was loaded from elsewhere, no script ran', async () => {
    same([...new Set(place.asked.map((u) => new URL(u).origin))].filter((o) => o !== 'null'), [place.url], 'origins');
    same(place.complaints, [], 'the browser complained');
  });
}
await browser?.close();
await place.stop();
place.remove();
done();

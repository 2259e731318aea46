// The console in trouble, in Chromium: no mouse, a slow network, a gateway that is killed, a token
// that expires, a message of 10 MB, names and texts that attack the page, 10,000 messages.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, Place } from './browser.mjs';
import { check, done, same } from './lib.mjs';

const place = new Place('console-trouble-0123456789abcdef');
const { space } = place;
const now = Date.now();
const evil = '"><img src=x onerror=alert(1)><script>alert(2)</script>\u202etxt.exe\u200b';
place.write('rules.yaml', `
rules:
  - { when: { after: none, user: "slowly" }, say: "one two three four five six seven eight nine ten eleven twelve", pace_ms: 300 }
  - { when: { after: none, user: "ask me" }, call: { tool: t_ask, args: { file: ${JSON.stringify(evil)} } } }
  - { when: { after: none, user: "attack" }, call: { tool: t_evil, args: {} } }
  - { when: { after: t_evil }, say: ${JSON.stringify(`${evil}\n\n<iframe src="javascript:alert(3)"></iframe> [a](javascript:alert(4)) [b](data:text/html,x) ![c](http://127.0.0.1:1/p.png)\n\n<https://evil.example/>\n\n\`\`\`${evil}\n${evil}\n\`\`\``)} }
  - { say: "you said: {{user}}" }
`);
for (const [name, text] of [['asker', 'echo asked'], ['eviler', `cat <<'E'\n${evil}\n<svg onload=alert(5)>\nE`]]) {
  place.write(name, `#!/bin/sh\n${text}\n`);
  chmodSync(join(space, name), 0o755);
}
place.write('chela.yaml', `
store: sqlite:./chela.db
sandbox: { mode: off }
agents: { list: [{ id: coder, model: scripted/rules.yaml }, { id: other, model: scripted/rules.yaml, limits: { maxTurns: 0 } }] }
tools:
  custom:
    - { name: t_ask, description: Asks., command: [./asker], effect: once, permission: write, confirm: true, parameters: { type: object } }
    - { name: t_evil, description: Attacks., command: [./eviler], effect: read, permission: read, parameters: { type: object } }
`);
const message = (i, role, text) => {
  const run = `run_long${String(i >> 1).padStart(8, '0')}`, ts = now - 3600000 + i * 10;
  return role === 'user' ? { type: 'inbound', ts, data: { run, mode: 'start', message: { role, content: [{ type: 'text', text }], ts } } }
    : { type: 'message', ts, data: { run, turn: 1, stop: 'stop', usage: { input: 10, output: 10 }, message: { role, content: [{ type: 'text', text }], ts, api: 'anthropic', model: 'm' } } };
};
const many = Array.from({ length: 10000 }, (_, i) => message(i, i % 2 ? 'assistant' : 'user', i % 2 ? `Answer **${i}** with \`code\` and a list:\n\n- one\n- two ${i}\n\n\`\`\`js\nconst x = ${i};\n\`\`\`` : `question ${i}`));
await place.import('web:many', many, { title: 'ten thousand' });
const huge = 'A line of a huge message, with **stars**.\n'.repeat(250000); // about 10 MB
for (const key of ['web:one', 'web:two']) await place.import(key, many.slice(0, 1200), { title: `the title of ${key}`, agent: 'other' });
await place.import('web:huge', [message(0, 'user', huge), message(1, 'assistant', huge)], { title: 'huge' });
await place.import(`web:${evil}`.replace(/[\u202e\u200b/]/g, ''), [message(0, 'user', evil), message(1, 'assistant', evil)], { title: evil });
await place.serve();
const browser = await launch();
const texts = (p, selector) => p.locator(selector).allTextContents();
const ends = (p, want) => p.waitForFunction((k) => document.querySelectorAll('.end').length === k, want);
const ask = (key, text) => fetch(`${place.url}/api/sessions/${encodeURIComponent(key)}/messages`, { method: 'POST', headers: { Authorization: `Bearer ${place.token}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ text, agent: 'coder', stream: true }) }).then((r) => r.text()); // until the run has ended
const tell = async (p, text) => { await p.fill('#say', text); await p.press('#say', 'Enter'); };

let page;
await check('trouble: Chromium is there', async () => { if (!browser) throw new Error('install chromium'); page = await place.visit(browser); });
if (page) {
  await check('trouble: everything from the keyboard', async () => {
    await page.keyboard.type(place.token);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#app:not([hidden])');
    await page.keyboard.type('hello from the keys');
    await page.keyboard.press('Enter');
    await ends(page, 1);
    await page.keyboard.press('Escape');
    await page.keyboard.press('n');
    await page.keyboard.type('ask me');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.consent:not(.settled) button:enabled');
    same(await page.locator('.consent img, .consent script').count(), 0, 'arguments are text');
    await page.keyboard.press('Escape');
    await page.keyboard.press('w');
    await page.waitForSelector('#view-page .consent:not(.settled) button:enabled');
    await page.keyboard.press('a');
    await page.keyboard.press('y');
    await page.waitForSelector('#view-page .consent.settled');
    await page.keyboard.press('Escape');
    // Every page is reached with Tab and Enter, and each step shows where one is.
    const reached = new Set();
    for (let i = 0; i < 120 && reached.size < 11; i++) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const e = document.activeElement, s = getComputedStyle(e);
        return { href: e.getAttribute('href'), shown: s.outlineStyle !== 'none' || s.boxShadow !== 'none' || e.id === 'say' || e === document.body };
      });
      if (at.href?.startsWith('#/') && !at.href.startsWith('#/s/')) { reached.add(at.href); same(at.shown, true, `focus is shown on ${at.href}`); }
    }
    same([...reached].length >= 11, true, `pages in the order of Tab: ${[...reached]}`);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#view-page:not([hidden])');
    await page.keyboard.press('?');
    await page.waitForSelector('#help[open]');
    await page.keyboard.press('Escape');
  });
  await check('trouble: answers, tools, names and titles that attack', async () => {
    await page.click('#new');
    await tell(page, 'attack');
    await ends(page, 1);
    await page.locator('.tool summary').first().click();
    await page.locator('.tool pre').nth(1).waitFor();
    same(await page.locator('#chat img, #chat script, #chat iframe, #chat svg, #sessions img, #title img').count(), 0, 'nothing became an element');
    const links = await page.locator('#chat a').evaluateAll((all) => all.map((a) => a.href));
    same(links.filter((l) => !/^https?:/.test(l)), [], 'no link runs a script');
    same(await page.evaluate(() => /[\u202a-\u202e]/.test([...document.querySelectorAll('.assistant, #sessions, #title')].map((e) => e.textContent).join())), false, 'nothing turns the letters round');
    await page.locator('.session', { hasText: 'onerror' }).first().click();
    await page.locator('.user div', { hasText: 'onerror' }).waitFor();
    same(await page.locator('.user .hidden-char').count() > 0, true, 'hidden characters are shown');
    await page.setInputFiles('#attach-file', [{ name: `${evil}.png`.replaceAll('/', ''), mimeType: 'image/png', buffer: Buffer.from('x') }]);
    await page.locator('.chip').waitFor();
    same(await page.locator('.chip script, .chip img[onerror]').count(), 0, 'nor a file name');
    same(place.asked.filter((u) => u.includes('p.png') || u.includes('evil')), [], 'nothing was loaded');
  });
  await check('trouble: a message of 10 MB', async () => {
    const began = Date.now();
    await page.goto(`${place.url}/#/s/web%3Ahuge`);
    await page.waitForSelector('.assistant');
    await page.waitForFunction(() => document.querySelector('#chat').textContent.length > 1000);
    same(await page.evaluate(() => new Promise((resolve) => { setTimeout(() => resolve(true), 0); })), true, 'the page answers');
    same(await page.evaluate(() => document.querySelector('#chat').textContent.length < 2e6), true, 'it is folded');
    same(await page.locator('#chat button', { hasText: 'Show all' }).count() >= 1, true, 'and can be unfolded');
    await page.click('#new');
    await tell(page, 'hello after that');
    await ends(page, 1);
    same(Date.now() - began < 60000, true, 'in time');
    await page.evaluate((text) => { const f = document.querySelector('#say'); f.value = text; f.dispatchEvent(new Event('input')); }, 'x'.repeat(11 * 1024 * 1024));
    await page.press('#say', 'Enter');
    await page.waitForFunction(() => !document.querySelector('#trouble').hidden || document.querySelectorAll('.end').length === 2);
    await page.evaluate(() => { const f = document.querySelector('#say'); f.value = ''; f.dispatchEvent(new Event('input')); });
  });
  await check('trouble: 10,000 messages open at their end, and scroll', async () => {
    await page.goto(`${place.url}/#/s/web%3Amany`);
    await page.locator('.assistant', { hasText: 'two 9999' }).waitFor();
    same(await page.evaluate(() => document.querySelectorAll('#chat > *').length < 1000), true, 'a part of them');
    await page.waitForFunction(() => { const s = document.querySelector('#scroll'); return s.scrollHeight - s.scrollTop - s.clientHeight < 5; }, null, { timeout: 60000 });
    // Leaving a session moves the view to the top. Its scroll event, held back here, may come
    // after the messages of the next session; the view belongs at their end.
    await page.evaluate(() => {
      const hold = (event) => event.stopImmediatePropagation();
      addEventListener('scroll', hold, true);
      window.pinned = new Promise((resolve) => {
        new MutationObserver((_, observer) => {
          if (!document.querySelector('#chat .assistant')) return;
          observer.disconnect();
          removeEventListener('scroll', hold, true);
          document.querySelector('#scroll').dispatchEvent(new Event('scroll'));
          resolve(document.querySelector('#latest').hidden);
        }).observe(document.querySelector('#chat'), { childList: true });
      });
      location.hash = '#/s/web%3Ahuge';
    });
    same(await page.evaluate(() => window.pinned), true, 'a late scroll event leaves the view at the end');
    await page.goto(`${place.url}/#/s/web%3Amany`);
    await page.locator('.assistant', { hasText: 'two 9999' }).waitFor();
    await page.waitForFunction(() => { const s = document.querySelector('#scroll'); return s.scrollHeight - s.scrollTop - s.clientHeight < 5; }, null, { timeout: 60000 });
    const first = () => page.evaluate(() => Number(document.querySelector('#chat [data-seq]').dataset.seq));
    const before = await first();
    await page.evaluate(() => { document.querySelector('#scroll').scrollTop = 150; });
    await page.waitForFunction((seq) => Number(document.querySelector('#chat [data-seq]').dataset.seq) < seq, before);
  });
  await check('trouble: arguments that come in 20,000 pieces', async () => {
    const ms = await page.evaluate(async () => {
      const { Chat } = await import('/console/chat.js');
      const chat = new Chat(document.createElement('div'), {}), began = performance.now();
      const piece = (seq, more) => chat.event({ run: 'run_p', seq, type: 'tool_call_delta', index: 0, ...more });
      piece(0, { id: 'c1', name: 'write', arguments_delta: '{"path":"a.js","content":"' });
      for (let i = 1; i <= 20000; i++) piece(i, { arguments_delta: 'x = 1; ' });
      return performance.now() - began;
    });
    same(ms < 2000 || Math.round(ms), true, 'a piece costs no look at all pieces before it');
  });
  await check('trouble: more events in a frame than the events view drops', async () => {
    const rows = await page.evaluate(async () => {
      const { Log } = await import('/console/log.js');
      const node = document.createElement('div'), log = new Log(node);
      const add = (from, to) => { for (let seq = from; seq < to; seq++) log.add({ type: 'warning', run: 'run_l', seq, ts: 1, cursor: `1.${seq}`, text: 'x' }); log.show(); };
      add(0, 2000);
      add(2000, 2500);
      add(2500, 4000);
      const shown = [...node.querySelectorAll('.event')].map((row) => Number(row.dataset.event.split('.')[1]));
      return [shown.at(-1), shown.length <= 2000, shown.every((seq, i) => !i || seq === shown[i - 1] + 1)];
    });
    same(rows, [3999, true, true], 'the newest, without a gap');
  });
  await check('trouble: the timeline of a session that works', async () => {
    await page.click('#new');
    await tell(page, 'the first');
    await ends(page, 1);
    const key = await page.evaluate(() => location.hash.split('/')[2]);
    await page.evaluate(() => { location.hash += '/time'; });
    await page.locator('#view-time details.span summary').first().click();
    await place.api(`/api/sessions/${key}/messages`, { text: 'the second' });
    await page.waitForFunction(() => document.querySelectorAll('#view-time .run').length === 2);
    same(await page.locator('#view-time details.span[open]').count(), 1, 'a row that was opened stays open');
    for (const name of ['one', 'two']) {
      await page.goto(`${place.url}/#/s/web%3A${name}/r/run_long00000003`);
      await page.waitForFunction((title) => document.querySelector('#title').textContent === title, `the title of web:${name}`);
      await page.locator('#view-time .run.flash[data-run="run_long00000003"]').waitFor();
      await page.goto(`${place.url}/#/new`);
      await page.waitForFunction(() => document.querySelector('#view-time').hidden);
    }
  });
  await check('trouble: a session that the list does not have', async () => {
    await page.route(/sessions\?limit=200$/, (route) => route.fulfill({ json: { sessions: [] } }));
    await page.goto(`${place.url}/#/new`);
    await page.reload();
    await page.waitForSelector('#app:not([hidden])');
    await page.goto(`${place.url}/#/s/web%3Aone`);
    await page.locator('.assistant', { hasText: 'two 1199' }).waitFor();
    same([await page.textContent('#title'), await page.inputValue('#agent')], ['the title of web:one', 'other'], 'its title and its agent');
    await page.unroute(/sessions\?limit=200$/);
    await page.reload();
    await page.waitForSelector('#app:not([hidden])');
  });
  await check('trouble: a message as soon as the page is shown', async () => {
    await page.goto(`${place.url}/#/new`);
    await page.route(/sessions\?limit=200$/, (route) => setTimeout(() => route.continue().catch(() => {}), 2000));
    await page.reload();
    await page.waitForSelector('#app:not([hidden])');
    await tell(page, 'at once');
    await page.locator('.assistant', { hasText: 'you said: at once' }).waitFor();
    same((await place.api('/api/sessions?limit=200')).sessions.filter((s) => s.key === 'null'), [], 'it has a session of its own');
    await page.unroute(/sessions\?limit=200$/);
  });
  await check('trouble: an agent without a limit of turns', async () => {
    await page.goto(`${place.url}/#/agents`);
    await page.locator('.run[aria-label=other] dd', { hasText: '∞ ⟳' }).waitFor();
  });
  await check('trouble: a slow network', async () => {
    const slow = await place.visit(browser);
    await place.enter(slow);
    const cdp = await slow.context().newCDPSession(slow);
    await cdp.send('Network.enable');
    await cdp.send('Network.emulateNetworkConditions', { offline: false, latency: 600, downloadThroughput: 60 * 1024, uploadThroughput: 30 * 1024 });
    await slow.goto(`${place.url}/#/s/web%3Amany`);
    await slow.locator('.loading').waitFor();
    await slow.locator('.assistant', { hasText: 'two 9999' }).waitFor({ timeout: 60000 });
    await slow.click('#new');
    await tell(slow, 'over a slow line');
    await slow.locator('.user', { hasText: 'over a slow line' }).waitFor();
    await slow.waitForSelector('.end', { timeout: 60000 });
    same(await texts(slow, '.assistant'), ['you said: over a slow line'], 'the answer');
    await slow.context().close();
  });
  await check('trouble: a page that opens while a run speaks', async () => {
    const answer = 'one two three four five six seven eight nine ten eleven twelve';
    await page.click('#new');
    await tell(page, 'before');
    await ends(page, 1);
    await tell(page, 'slowly please');
    await page.locator('.assistant', { hasText: 'two' }).waitFor();
    await page.reload();
    await ends(page, 2);
    same(await texts(page, '.user div'), ['before', 'slowly please'], 'each message, once');
    same(await texts(page, '.assistant'), ['you said: before', answer], 'the answer, in one piece');
    await tell(page, 'slowly once more');
    await page.locator('.assistant', { hasText: 'two' }).nth(1).waitFor();
    await tell(page, 'turn around');
    await page.waitForSelector('.user.pending:not(.sending)');
    await page.reload();
    await page.locator('.user div', { hasText: 'turn around' }).waitFor(); // it waits, or was taken meanwhile
    await ends(page, 3);
    for (const when of ['as it went on', 'read again']) {
      const parts = await page.locator('.user div, .assistant').allTextContents();
      same(parts.slice(-4), ['slowly once more', answer, 'turn around', 'you said: turn around'], `its place: ${when}`);
      same(await page.locator('.user:is(.pending, .undelivered)').count(), 0, `taken: ${when}`);
      await page.reload();
      await ends(page, 3);
    }
    const other = await place.visit(browser);
    await place.enter(other);
    await other.goto(page.url());
    await ends(other, 3);
    await tell(page, 'slowly again');
    await ends(other, 4);
    same((await texts(other, '.user div')).at(-1), 'slowly again', 'elsewhere: the message');
    same((await texts(other, '.assistant')).slice(4), [answer], 'elsewhere: the answer, in one piece');
    await other.context().close();
  });
  await check('trouble: a live session of 300 runs is what its transcript says', async () => {
    // Sixty runs are more than the records that are loaded; 300 are more than the events that the gateway keeps.
    let n = 0;
    for (const upTo of [60, 300]) {
      while (n < upTo) await ask('web:runs', `question ${++n}`);
      const context = await place.visit(browser);
      await place.enter(context);
      await context.goto(`${place.url}/#/s/web%3Aruns`);
      await tell(context, `the last of ${upTo}`);
      await context.locator('.assistant', { hasText: `you said: the last of ${upTo}` }).waitFor();
      await context.waitForFunction(() => document.querySelector('.end:last-child'));
      const all = (await place.api('/api/sessions/web%3Aruns?limit=1000')).transcript.map((m) => m.content.map((c) => c.text ?? '').join(''));
      const shown = await texts(context, '.user div, .assistant');
      same(shown.length >= 20, true, `${upTo}: the end is loaded`);
      same(shown.map((t) => t.trim()), all.slice(-shown.length), `${upTo}: each message once, in its place`);
      same(await context.locator('.loading').count(), 0, `${upTo}: nothing is still loading`);
      await context.context().close();
    }
  });
  await check('trouble: sums that are not complete say so', async () => {
    await ask('web:more', 'one more'); // than the 5,000 calls of the longest session
    await page.goto(`${place.url}/#/usage`);
    await page.locator('.page-of .notice', { hasText: 'Not complete' }).waitFor();
    same((await place.api('/api/usage')).truncated, true, 'the calls');
  });
  await check('trouble: the gateway is killed and comes back', async () => {
    await page.click('#new');
    await tell(page, 'slowly please');
    await page.locator('.assistant', { hasText: 'two' }).waitFor();
    const { port } = new URL(place.url);
    await place.stop('SIGKILL');
    await page.locator('#trouble', { hasText: 'Reconnecting' }).waitFor();
    await page.fill('#say', 'a thought meanwhile');
    await place.serve(`127.0.0.1:${port}`);
    await page.waitForFunction(() => document.querySelector('#trouble').hidden, null, { timeout: 40000 });
    await page.waitForFunction(() => document.querySelectorAll('.end').length > 0 || !document.querySelector('#resume').hidden, null, { timeout: 40000 });
    if (await page.isVisible('#resume')) await page.click('#resume');
    await page.locator('.assistant', { hasText: 'twelve' }).waitFor({ timeout: 40000 });
    same(await page.inputValue('#say'), 'a thought meanwhile', 'the draft');
    same((await texts(page, '.user div')).filter((t) => t === 'slowly please').length, 1, 'the question, once');
  });
  await check('trouble: the token expires', async () => {
    const { port } = new URL(place.url), hash = await page.evaluate(() => location.hash);
    const logs = await place.visit(browser);
    await place.enter(logs);
    await logs.goto(`${place.url}/#/logs`);
    await logs.waitForSelector('.log-lines');
    await place.stop();
    await place.serve(`127.0.0.1:${port}`, 'another-token-0123456789abcdef');
    await page.waitForSelector('#gate:not([hidden])', { timeout: 40000 });
    same((await page.textContent('#gate-error')).length > 10, true, 'the page says why');
    same(await page.locator('#chat > *').count(), 0, 'nothing of the session stays in sight');
    await place.enter(page, 'another-token-0123456789abcdef');
    await page.waitForFunction((h) => location.hash === h, hash);
    await page.waitForFunction(() => document.querySelector('#say').value === 'a thought meanwhile');
    await logs.waitForSelector('#gate:not([hidden])', { timeout: 40000 });
    await logs.fill('#token', 'half of');
    await logs.waitForTimeout(5000); // a page that follows a stream asks again within 2 s
    same(await logs.inputValue('#token'), 'half of', 'what is typed stays');
    same(await logs.locator('.log-line').count(), 0, 'nothing of the page stays');
    await logs.context().close();
  });
  await check('trouble: in Chinese, errors of the gateway too', async () => {
    const zh = await place.visit(browser, { locale: 'zh-CN' });
    await place.enter(zh, 'another-token-0123456789abcdef');
    await zh.goto(`${place.url}/#/s/no%20such%20session`);
    await zh.locator('#trouble', { hasText: '删除' }).waitFor();
    await zh.goto(`${place.url}/#/s/web%3Amany/q/7`);
    await zh.locator('#view-time .nothing').waitFor();
    same(/[\u4e00-\u9fff]/.test(await zh.textContent('#view-time .nothing')), true, 'a missing request');
    await zh.context().close();
  });
  await check('trouble: no script ran, nothing came from elsewhere', async () => {
    same([...new Set(place.asked.map((u) => new URL(u).origin))].filter((o) => o !== 'null'), [place.url], 'origins');
    same(place.complaints, [], 'the browser complained');
  });
}
const shared = new Place('console-shared-0123456789abcdef');
if (page) {
  await check('trouble: a message that another process takes up is shown once', async () => {
    shared.write('rules.yaml', 'rules: [{ say: "you said: {{user}}" }]\n');
    shared.write('chela.yaml', 'store: sqlite:./chela.db\nagents: { list: [{ id: coder, model: scripted/rules.yaml }] }\n');
    await shared.serve(undefined, undefined, ['--workers', '2']);
    const pages = [];
    for (let i = 0; i < 4; i++) { // of both processes
      pages.push(await shared.visit(browser));
      await shared.enter(pages[i]);
    }
    await shared.api('/api/sessions/web%3Ashared/messages', { text: 'the first', agent: 'coder' });
    for (const one of pages) await one.goto(`${shared.url}/#/s/web%3Ashared`);
    const want = ['the first', 'you said: the first'];
    for (const [i, one] of pages.entries()) {
      await ends(one, i + 1);
      await tell(one, `from page ${i}`);
      want.push(`from page ${i}`, `you said: from page ${i}`);
      for (const every of pages) await ends(every, i + 2);
    }
    for (const one of pages) same((await texts(one, '.user div, .assistant')).map((t) => t.trim()), want, 'as the transcript says');
  });
}
await browser?.close();
await shared.stop();
shared.remove();
await place.stop();
place.remove();
done();

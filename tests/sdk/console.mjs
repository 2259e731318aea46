// The web console in Chromium, clicked through against `chela serve` with the
// scripted model. Screenshots go where CHELA_SHOTS says, if it says anything.
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { build, check, done, same } from './lib.mjs';

const token = 'console-sdk-0123456789abcdef';
const space = mkdtempSync(join(tmpdir(), 'console-'));
const script = (name, text) => { writeFileSync(join(space, name), text); chmodSync(join(space, name), 0o755); };
writeFileSync(join(space, 'rules.yaml'), `
rules:
  - { when: { after: none, user: "count" }, think: "Let the tool do it.", call: [{ tool: calculate, args: { expression: "6*7" } }, { tool: read, args: { file_path: nowhere.txt } }] }
  - { when: { after: none, user: "ask me" }, call: { tool: t_ask, args: { cmd: "echo \\u202egpj.x\\u200b" } } }
  - { when: { after: none, user: "hidden command" }, call: { tool: exec, args: { command: "echo \\u202egpj.x\\u200b # \\u2066s\\u034fo\\u2800\\u180b" } } }
  - { when: { after: none, user: "hidden change" }, call: { tool: edit, args: { path: note.py, edits: [{ old_text: "a\\u202e", new_text: "b\\u200b" }] } } }
  - { when: { after: none, user: "hidden patch" }, call: { tool: write, args: { path: note.diff, content: "a\\u2069" } } }
  - { when: { after: none, user: "slowly" }, say: "one two three four five six seven eight nine ten eleven twelve", pace_ms: 400 }
  - { when: { after: none, user: "change it" }, call: [{ tool: write, args: { path: note.py, content: "def f():\\n    return 1  # one\\n" } }] }
  - { when: { after: none, user: "mend it" }, call: [{ tool: edit, args: { path: note.py, edits: [{ old_text: "return 1  # one", new_text: "return 2" }] } }] }
  - { when: { after: none, user: "look at it" }, call: [{ tool: read, args: { path: dot.png } }] }
  - { when: { after: none, user: "twice" }, call: [{ tool: t_send, args: { to: one } }, { tool: t_send, args: { to: two } }] }
  - { when: { after: none, user: "fail now" }, fail: { status: 400, type: invalid_request_error, message: "the model is on strike" } }
  - { when: { after: none, user: "wait" }, call: { tool: t_wait, args: {} } }
  - { when: { after: none, user: "send" }, call: { tool: t_send, args: { to: everybody, number: 12345678901234567890 } } }
  - { when: { after: none, user: "which" }, call: { tool: ask_user, args: { question: "Which one shall it be?", choices: [the red one, the blue one] } } }
  - when: { after: none, user: "markdown" }
    say: |
      # Title

      Some **bold**, *slanted* and \`code\`; [a link](https://example.org/x), [a trap](javascript:alert(1)),
      ![a picture](https://example.org/p.png) and <img src=x onerror=alert(1)>.

      1. one
         - inside
      2. two

      | a | b |
      |---|--:|
      | 1 | 2 |

      \`\`\`c
      int main(void); /* <b> */
      \`\`\`
  - { when: { after: none }, say: "you said: {{user}}" }
  - { say: "it said: {{result}}" }
`);
const steps = [1, 2].map((n) => ({ step_id: n, description: `step ${n}`, tool_name: 'calculate', tool_input: { expression: `${n}+2` }, depends_on: n > 1 ? [1] : [] }));
const good = { score: 5, reason: 'r' };
writeFileSync(join(space, 'plan.yaml'), `
rules:
  - { when: { system: "^You are a planner" }, say: '${JSON.stringify({ analysis: 'a', action: 'plan', plan: steps, estimated_steps: 2, can_parallelize: [] })}' }
  - { when: { system: "^You judge" }, say: '${JSON.stringify({ evaluation: { completeness: good, correctness: good, format: good }, overall_pass: true, action: 'accept' })}' }
  - { when: { user: "plan was carried out" }, say: "It is done." }
`);
script('asker', '#!/bin/sh\necho ran >>asked.log\necho it ran\n');
script('sender', '#!/bin/sh\nprintf "sent "\ncat\n');
script('waiter', '#!/bin/sh\ntouch waiting\nwhile [ ! -e go ] && [ -e waiter ]; do sleep 0.05; done\necho done waiting\n');
writeFileSync(join(space, 'chela.yaml'), `
store: sqlite:./chela.db
sandbox: { mode: off }
agents: { list: [{ id: coder, model: scripted/rules.yaml }, { id: planner, model: scripted/plan.yaml, mode: plan },
  { id: clerk, model: scripted/rules.yaml, tools: { allow: [t_send, t_wait, ask_user] } }, { id: reviewed, model: scripted/plan.yaml, mode: plan, reviewPlan: true }] }
tools:
  custom:
    - { name: t_ask, description: Asks., command: [./asker], effect: once, permission: write, confirm: true, parameters: { type: object } }
    - { name: t_send, description: Sends., command: [./sender], effect: once, permission: write, confirm: true,
        parameters: { type: object, properties: { to: { type: string }, number: { type: integer } }, required: [to] } }
    - { name: t_wait, description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }
`);

// A run that was cut off before the gateway came: the page can take it up.
const environment = { PATH: process.env.PATH, HOME: space, CHELA_TOKEN: token, CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN };
const cut = spawn(join(build, 'chela'), ['run', '--config', 'chela.yaml', '-q', '--agent', 'coder', '--session', 'cut', 'wait for it'], { cwd: space, stdio: 'ignore', env: environment });
while (!existsSync(join(space, 'waiting')) && cut.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 50));
await new Promise((resolve) => { cut.on('exit', resolve); cut.kill('SIGKILL'); });
rmSync(join(space, 'waiting'));

const gateway = spawn(join(build, 'chela'), ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0'], {
  cwd: space, stdio: ['ignore', 'ignore', 'pipe'],
  env: environment,
});
const url = await new Promise((resolve, reject) => {
  gateway.stderr.on('data', (data) => { const m = /listening on (\S+)/.exec(data); if (m) resolve(m[1]); });
  gateway.on('exit', () => reject(new Error('the gateway ended')));
});

const executablePath = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join('/usr/bin', name)).find(existsSync);
const browser = executablePath ? await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] }) : null;
const complaints = [], asked = [];

async function visit(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-US', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60000);
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (m) => { if (m.type() === 'error' && !/400|401|404|409|HTTP Authentication failed|INTERNET_DISCONNECTED/.test(m.text())) complaints.push(m.text()); });
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(url);
  return page;
}
async function enter(page) {
  await page.fill('#token', token);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#app:not([hidden])');
}
const ends = (page, n) => page.waitForFunction((want) => document.querySelectorAll('.end').length === want, n);
async function shot(page, name) {
  if (!process.env.CHELA_SHOTS) return;
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(process.env.CHELA_SHOTS, `${name}-${colorScheme}.png`) });
  }
}
async function tell(page, text) {
  await page.fill('#say', text);
  await page.press('#say', 'Enter');
}
const texts = (page, selector) => page.locator(selector).allTextContents();

let page;
await check('console: Chromium is there', async () => { if (!browser) throw new Error('install chromium'); page = await visit(); });
if (page) {
  await check('console: the token is asked for, and looked at', async () => {
    await page.fill('#token', 'wrong-wrong-wrong-wrong');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#gate-error:not(:empty)');
    same(await page.isHidden('#app'), true, 'the page stays shut');
    await enter(page);
    same(await page.evaluate(() => [Object.values(sessionStorage), document.cookie]), [[token], ''], 'kept in the tab');
    same(await page.evaluate((t) => Object.values(localStorage).includes(t), token), false, 'kept for others');
    same((await page.content()).includes(token), false, 'in the document');
    await page.reload();
    await page.waitForSelector('#app:not([hidden])');
  });
  await check('console: a message, and its answer', async () => {
    await tell(page, 'hello');
    await ends(page, 1);
    same(await texts(page, '.user div'), ['hello'], 'what was said');
    same(await texts(page, '.assistant'), ['you said: hello'], 'the answer');
    await page.waitForSelector('.session[aria-current]');
  });
  await check('console: Markdown, and nothing but Markdown', async () => {
    await tell(page, 'markdown');
    await ends(page, 2);
    const last = page.locator('.assistant').last();
    await last.locator('.code code').waitFor();
    same(await last.locator('h2').textContent(), 'Title', 'a heading');
    same(await last.locator('strong').textContent(), 'bold', 'emphasis');
    same(await last.locator('ol > li').count(), 2, 'a list');
    same(await last.locator('ol ul li').textContent(), 'inside', 'a list in it');
    same(await last.locator('td.right').textContent(), '2', 'a table');
    same(await last.locator('.code code').textContent(), 'int main(void); /* <b> */', 'code');
    same(await last.locator('a').evaluateAll((all) => all.map((a) => a.href)), ['https://example.org/x', 'https://example.org/p.png'], 'links');
    same(await page.locator('#chat img, #chat script, #chat b').count(), 0, 'what a model wrote became an element');
    await shot(page, 'markdown');
  });
  await check('console: tool calls', async () => {
    await tell(page, 'count');
    await ends(page, 3);
    const card = page.locator('.tool', { hasText: 'calculate' });
    same(await card.getAttribute('data-state'), 'done', 'its state');
    same(await page.locator('.tool', { hasText: 'nowhere.txt' }).first().getAttribute('data-state'), 'failed', 'a failed one');
    same(await card.locator('pre').first().isVisible(), false, 'folded');
    await card.locator('summary').click();
    await card.locator('pre').nth(1).waitFor(); // it is built when it is opened
    same((await card.locator('pre').allTextContents()).map((t) => t.replace(/\s/g, '')), ['{"expression":"6*7"}', '42'], 'arguments and result');
    same(await page.locator('.think div').textContent(), 'Let the tool do it.', 'reasoning');
    await shot(page, 'tools');
  });
  await check('console: consent, with the exact bytes', async () => {
    await tell(page, 'ask me');
    const card = page.locator('.consent');
    await card.locator('button.primary:enabled').click({ trial: true });
    same(await card.locator('.exact .hidden-char').allTextContents(), ['U+202E', 'U+200B'], 'what would hide is shown');
    same(existsSync(join(space, 'asked.log')), false, 'it did not run yet');
    await shot(page, 'consent');
    await card.locator('button.primary').click();
    await ends(page, 4);
    same(existsSync(join(space, 'asked.log')), true, 'it ran');
    same((await texts(page, '.assistant')).at(-1), 'it said: it ran', 'the run went on');
  });
  await check('console: denied', async () => {
    await tell(page, 'ask me again');
    await page.locator('.consent:not(.settled) button.danger:enabled').click();
    await ends(page, 5);
    same(await page.locator('.tool').last().getAttribute('data-state'), 'failed', 'the call');
  });
  await check('console: another page sees the same, and what goes on', async () => {
    const other = await visit({ viewport: { width: 390, height: 844 }, locale: 'zh-CN', colorScheme: 'dark' });
    // The menu may be opened before the sessions are listed.
    await other.route('**/api/sessions?*', async (route) => { await new Promise((done) => setTimeout(done, 1000)); await route.continue(); });
    await enter(other);
    await other.click('#menu');
    await other.click('.session');
    await ends(other, 5);
    const words = async (p) => (await texts(p, '.assistant')).map((text) => text.replace(/Copy|复制/, ''));
    same(await words(other), await words(page), 'the conversation');
    same(await other.evaluate(() => document.documentElement.lang), 'zh-CN', 'its language');
    same(await other.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'it fits a phone');
    await other.click('#more > summary');
    const box = await other.locator('.menu-list').boundingBox();
    same(box.x >= 0 && box.x + box.width <= 390 && box.y + box.height <= 844, true, `the menu is on the screen: ${JSON.stringify(box)}`);
    await shot(other, 'phone-menu');
    await other.click('#more > summary');
    await tell(page, 'to both');
    await ends(other, 6);
    await other.locator('.user div', { hasText: 'to both' }).waitFor(); // it is read from the records
    same((await texts(other, '.assistant')).at(-1), 'you said: to both', 'and answered');
    await shot(other, 'phone');
    await other.context().close();
  });
  await check('console: steer and cancel while it works', async () => {
    await page.keyboard.press('Escape');
    await page.keyboard.press('n');
    await tell(page, 'wait');
    await page.waitForSelector('.tool[data-state=runs]');
    await tell(page, 'and this');
    await page.waitForSelector('.user.pending');
    await page.keyboard.press('Control+.');
    await ends(page, 2);
    same(await page.isHidden('#cancel'), true, 'nothing to cancel any more');
    same(await page.locator('.end').evaluateAll((all) => all.map((e) => e.dataset.status)), ['cancelled', 'done'], 'how it ended, and what came after');
  });
  await check('console: a plan, ticked off', async () => {
    const states = () => page.locator('.plan li').evaluateAll((all) => all.map((li) => `${li.textContent}: ${li.dataset.state}`));
    await page.click('#new');
    await page.selectOption('#agent', 'planner');
    await tell(page, 'add them');
    await ends(page, 1);
    same(await states(), ['step 1: done', 'step 2: done'], 'its steps');
    await page.reload();
    await ends(page, 1);
    same(await states(), ['step 1: done', 'step 2: done'], 'its steps, read again');
    await shot(page, 'plan');
  });
  const waits = (p) => p.waitForSelector('.consent:not(.settled) button:enabled');
  const open = page.locator('.consent:not(.settled)');
  const lastWords = async (p) => (await texts(p, '.assistant')).at(-1);
  async function begin(agent, text) {
    await page.click('#new');
    await page.selectOption('#agent', agent);
    await tell(page, text);
    await waits(page);
  }
  await check('console: arguments are edited, and what is shown is what runs', async () => {
    await begin('clerk', 'send it');
    await page.locator('#title').click();
    await page.keyboard.press('a');
    await page.keyboard.press('e');
    const field = open.locator('textarea');
    same(await field.inputValue(), '{\n  "to": "everybody",\n  "number": 12345678901234567890\n}', 'no number is rounded');
    await field.fill('{ "to": ');
    same(await open.locator('.words .exact').isHidden(), true, 'half of it cannot run');
    await page.keyboard.press('Control+Enter');
    same(await open.count(), 1, 'nor is it sent');
    await field.fill('{ "towards": 7 }');
    await page.keyboard.press('Control+Enter');
    await open.locator('[role=alert]', { hasText: 'do not fit' }).first().waitFor();
    await field.fill('{ "to": "bob\u200b", "number": 12345678901234567890 }');
    same(await open.locator('.words .exact').textContent(), '{"to":"bobU+200B","number":12345678901234567890}', 'what will run');
    same(await open.locator('.words .hidden-char').allTextContents(), ['U+200B'], 'what would hide');
    await shot(page, 'edit');
    await page.keyboard.press('Control+Enter');
    await ends(page, 1);
    same((await lastWords(page)).includes('sent {"to":"bob\u200b","number":12345678901234567890}'), true, 'what ran');
    same(await page.locator('.consent.settled').count(), 1, 'the card is settled');
  });
  await check('console: a person gives the result, or says why not', async () => {
    await tell(page, 'send it again');
    await waits(page);
    await page.locator('#title').click();
    await page.keyboard.press('a');
    await page.keyboard.press('g');
    await page.keyboard.type('I have done so by hand');
    await shot(page, 'result');
    await page.keyboard.press('Control+Enter');
    await ends(page, 2);
    same(await lastWords(page), 'it said: I have done so by hand', 'the result');
    await tell(page, 'send it once more');
    await waits(page);
    await open.locator('.wordy button', { hasText: 'say why' }).click();
    await open.locator('textarea').fill('not on Sundays');
    await open.locator('button[type=submit]').click();
    await ends(page, 3);
    same((await lastWords(page)).includes('not on Sundays'), true, 'the reason');
  });
  await check('console: a person takes over', async () => {
    await tell(page, 'send it for the last time');
    await waits(page);
    await page.locator('#title').click();
    await page.keyboard.press('a');
    await page.keyboard.press('t');
    await page.keyboard.type('I will see to it.');
    await page.keyboard.press('Escape');
    same(await open.locator('form').isHidden(), true, 'put away');
    await page.keyboard.press('t');
    await page.keyboard.type('I will see to it.');
    await page.keyboard.press('Control+Enter');
    await ends(page, 4);
    same(await lastWords(page), 'I will see to it.', 'the answer');
    await tell(page, 'wait');
    await page.waitForSelector('.tool[data-state=runs]');
    same(await page.locator('#mode option').allTextContents(), ['Steer now', 'After the run'], 'taking over is no way to send');
    await page.fill('#say', 'Enough of that.');
    await page.click('#take');
    await page.waitForSelector('#sure[open]');
    same((await page.textContent('#sure-note')).includes('becomes the assistant'), true, 'it says what it does');
    await shot(page, 'take-over');
    await page.keyboard.press('Escape');
    same(await page.locator('.end').count(), 4, 'not meant');
    same(await page.inputValue('#say'), 'Enough of that.', 'the text stays');
    await page.click('#take');
    await page.click('#sure-yes');
    await ends(page, 5);
    same(await lastWords(page), 'Enough of that.', 'while a tool works');
    await page.reload();
    await ends(page, 5);
    same(await texts(page, '.consent.settled > [role=status]'), [
      'Allowed with other arguments{"to":"bobU+200B","number":12345678901234567890}', 'Result given by a personI have done so by hand',
      'Deniednot on Sundays', 'Taken overI will see to it.'], 'what was decided, read again');
  });
  await check('console: a question is answered', async () => {
    await begin('clerk', 'which');
    same(await texts(page, '.question .summary'), ['Which one shall it be?'], 'the question');
    same(await texts(page, '.choice'), ['the red one', 'the blue one'], 'its choices');
    await shot(page, 'question');
    await page.locator('#title').click();
    await page.keyboard.press('a');
    await page.keyboard.press('2');
    await ends(page, 1);
    same(await lastWords(page), 'it said: the blue one', 'a choice');
    await tell(page, 'which now');
    await waits(page);
    same(await page.textContent('#send'), 'Answer', 'words go to the question');
    await tell(page, 'neither');
    await ends(page, 2);
    same(await lastWords(page), 'it said: neither', 'words of their own');
    await tell(page, 'which at last');
    await waits(page);
    await page.reload();
    await waits(page);
    await open.locator('.choice').first().click();
    await ends(page, 3);
    same(await lastWords(page), 'it said: the red one', 'after it was opened again');
  });
  await check('console: a plan is edited before it runs', async () => {
    await begin('reviewed', 'sum it up');
    same(await texts(page, '.plan-steps span'), ['step 1', 'step 2'], 'the plan');
    await shot(page, 'review');
    await open.locator('.wordy button', { hasText: 'Edit the plan' }).click();
    await open.locator('.step').nth(1).locator('textarea').fill('{ "expression": "40+2" }');
    await open.locator('.step').nth(0).locator('input').first().fill('the first step');
    await open.locator('.add').click();
    same(await open.locator('.step').count(), 3, 'a step more');
    await open.locator('.step').nth(2).getByLabel('Remove').click();
    await shot(page, 'plan-edit');
    const exact = JSON.parse(await open.locator('.words .exact').textContent());
    same(exact.steps.map((s) => [s.description, s.tool_input.expression]), [['the first step', '1+2'], ['step 2', '40+2']], 'what will run');
    await open.locator('button[type=submit]').click();
    await ends(page, 1);
    same(await page.locator('.plan li').evaluateAll((all) => all.map((li) => `${li.textContent}: ${li.dataset.state}`)), ['the first step: done', 'step 2: done'], 'what ran');
    await page.locator('.tool[data-id$=s2] summary').click();
    await page.locator('.tool pre', { hasText: /^42$/ }).waitFor();
  });
  await check('console: on a phone, in the dark, in Chinese', async () => {
    await begin('clerk', 'send it from afar');
    const phone = await visit({ viewport: { width: 390, height: 844 }, locale: 'zh-CN', colorScheme: 'dark' });
    await enter(phone);
    await phone.click('#menu');
    await phone.locator('.session', { hasText: 'from afar' }).click();
    await waits(phone);
    await shot(phone, 'phone-consent');
    await phone.locator('.wordy button', { hasText: '修改参数' }).click();
    await shot(phone, 'phone-edit');
    same(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'it fits');
    await phone.locator('.words button[type=submit]').click();
    await ends(phone, 1);
    await ends(page, 1);
    await phone.context().close();
  });
  await check('console: timeline, events, usage', async () => {
    await page.locator('.session', { hasText: 'hello' }).click();
    await ends(page, 6);
    await page.click('#tab-time');
    await page.waitForFunction(() => document.querySelectorAll('.run').length === 6);
    same((await texts(page, '.run:last-child .span-kind')), ['model'], 'the first run');
    same(await page.locator('.span-bar[data-kind=wait]').count(), 2, 'waits for consent');
    await shot(page, 'timeline');
    await page.click('#tab-log');
    await page.waitForSelector('.event-type[data-type=run_end]');
    await shot(page, 'events');
    await page.click('#pages a[href="#/usage"]');
    await page.waitForSelector('#view-page .plot svg rect');
    same(await page.locator('#view-page .plot svg').count() >= 5, true, 'plots');
    await shot(page, 'usage');
  });
  await check('console: sessions are found by their words', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('hel');
    await page.waitForFunction(() => document.querySelectorAll('.session').length === 1);
    same(await texts(page, '.session-title'), ['hello'], 'the session');
    await page.fill('#search', 'to both');
    await page.waitForSelector('.hit');
    same(await texts(page, '.hit .session-title'), ['hello'], 'by what was said in it');
  });
  await check('console: a run that was cut off goes on', async () => {
    await page.fill('#search', '');
    await page.click('.session[data-key="cut"]');
    await page.click('#resume', { trial: true });
    same(await page.getAttribute('#status', 'data-status'), 'interrupted', 'its status');
    await shot(page, 'cut');
    writeFileSync(join(space, 'go'), '');
    await page.click('#resume');
    await ends(page, 1);
    same((await texts(page, '.assistant')).at(-1), 'it said: done waiting', 'what came of it');
    same(await texts(page, '.user div'), ['wait for it'], 'what was said, once');
    same(await page.isHidden('#resume'), true, 'nothing to resume any more');
  });
  await check('console: a session is deleted, once that is meant', async () => {
    await page.waitForFunction(() => document.querySelector('#status').dataset.status !== 'running');
    await page.locator('#title').click();
    await page.keyboard.press('Delete');
    await page.waitForSelector('#sure[open]');
    await shot(page, 'delete');
    await page.keyboard.press('Escape');
    same(await page.locator('.session[data-key="cut"]').count(), 1, 'not meant');
    await page.click('#more summary');
    await page.click('#delete');
    await page.click('#sure button[value=yes]');
    await page.waitForFunction(() => !document.querySelector('.session[data-key="cut"]'));
    same(await page.evaluate(() => location.hash), '#/new', 'a new one is begun');
  });
  await check('console: while a call waits, words are a denial with a reason', async () => {
    await begin('clerk', 'send it somewhere');
    same(await page.textContent('#send'), 'Deny', 'what Enter does');
    same((await page.textContent('#field-note')).includes('denies the call'), true, 'and the page says so');
    await tell(page, 'no, please use another directory');
    await ends(page, 1);
    same(await page.locator('.end').getAttribute('data-status'), 'done', 'the run went on');
    same((await lastWords(page)).includes('no, please use another directory'), true, 'the model got the reason');
    same((await texts(page, '.assistant')).filter((t) => t === 'no, please use another directory'), [], 'nobody else said it');
    await tell(page, 'twice please');
    await page.waitForFunction(() => document.querySelectorAll('.consent:not(.settled) button:enabled').length > 8);
    same((await page.textContent('#field-note')).includes('all 2 calls'), true, 'how many it denies');
    await tell(page, 'neither of them');
    await ends(page, 2);
    same(await page.locator('.consent.settled').count(), 3, 'both are settled');
  });
  await check('console: an address for each session, run and event', async () => {
    const hash = await page.evaluate(() => location.hash);
    same(hash.startsWith('#/s/web%3A'), true, 'of the session');
    const run = await page.locator('.end').last().getAttribute('data-run');
    const other = await page.context().newPage();
    const go = async (rest) => { await other.goto(`${url}/${hash}${rest}`); await other.reload(); };
    await go('');
    await other.fill('#token', token); // sessionStorage belongs to a tab
    await other.keyboard.press('Enter');
    await ends(other, 2);
    const atEnd = (p) => p.waitForFunction(() => { const s = document.querySelector('#scroll'); return s.scrollHeight - s.scrollTop - s.clientHeight < 5; });
    await atEnd(other);
    await go(`/r/${run}`);
    await other.waitForSelector(`.run.flash[data-run="${run}"]`);
    // The event may arrive after the view is filled.
    await other.route('**/events*', async (route) => { await new Promise((done) => setTimeout(done, 1000)); await route.continue(); });
    const { records } = await (await fetch(`${url}/api/sessions/${hash.slice(4)}/records`, { headers: { authorization: `Bearer ${token}` } })).json();
    const ofRun = records.find((r) => r.type === 'state' && r.data.run === run).seq;
    await go(`/e/${ofRun}`);
    await other.waitForSelector(`.event.flash[data-event="${ofRun}"]`);
    await go('/e/nothing');
    await other.waitForSelector('#view-log .notice');
    await other.goto(`${url}/#/s/no%20such%20session`);
    await other.locator('#trouble', { hasText: 'deleted' }).waitFor();
    same(await other.isDisabled('#send'), true, 'nothing is sent to it');
    await other.close();
  });
  await check('console: drafts are kept by session', async () => {
    await page.fill('#say', 'a thought for later');
    await page.click('#new');
    same(await page.inputValue('#say'), '', 'another session has its own');
    await page.fill('#say', 'new words');
    await page.reload();
    await page.waitForSelector('#app:not([hidden])');
    same(await page.inputValue('#say'), 'new words', 'after a reload');
    await page.fill('#say', '');
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('#say').value === 'a thought for later');
    await page.fill('#say', '');
  });
  await check('console: a message that is not sent stays', async () => {
    await page.context().setOffline(true);
    await page.locator('#trouble', { hasText: 'offline' }).waitFor();
    await tell(page, 'into the void');
    await page.locator('#trouble', { hasText: 'Not sent' }).waitFor();
    same(await page.inputValue('#say'), 'into the void', 'the text');
    await shot(page, 'offline');
    await page.context().setOffline(false);
    await page.press('#say', 'Enter');
    await page.locator('.assistant', { hasText: 'you said: into the void' }).waitFor();
    await page.waitForFunction(() => document.querySelector('#trouble').hidden);
  });
  await check('console: a cancelled answer stays, and the message after it arrives', async () => {
    await page.click('#new');
    await page.selectOption('#agent', 'coder');
    await tell(page, 'slowly please');
    await page.locator('.assistant', { hasText: 'two' }).waitFor();
    await page.selectOption('#mode', 'follow_up');
    await tell(page, 'and then this');
    await page.waitForSelector('.user.pending');
    await page.keyboard.press('Control+.');
    await ends(page, 2);
    const told = async () => [(await texts(page, '.assistant')).map((t) => t.slice(0, 7)), await texts(page, '.user div'), await texts(page, '.notice.warn')];
    const want = [['one two', 'you sai'], ['slowly please', 'and then this'], ['The answer was cancelled here.']];
    same(await told(), want, 'the answer as far as it came; the message began a run');
    same(await page.locator('.pending').count(), 0, 'nothing waits any more');
    await shot(page, 'cancelled');
    await page.reload();
    await ends(page, 2);
    same(await told(), want, 'after a reload');
  });
  await check('console: a session that another tab deletes', async () => {
    const other = await visit();
    await enter(other);
    const hash = await page.evaluate(() => location.hash);
    await other.goto(`${url}/${hash}`);
    await ends(other, 2);
    await other.click('#more summary');
    await other.click('#delete');
    await other.click('#sure-yes');
    await page.locator('#trouble', { hasText: 'deleted' }).waitFor();
    same(await page.textContent('#status'), 'deleted', 'its status');
    same((await texts(page, '.user div')).length > 0, true, 'what was said can still be read');
    await other.context().close();
  });
  await check('console: hidden characters of a coloured command or change are shown', async () => {
    for (const [words, want] of [['hidden command', ['U+202E', 'U+200B', 'U+2066', 'U+034F', 'U+2800', 'U+180B']], ['hidden change', ['U+202E', 'U+200B']], ['hidden patch', ['U+2069']]]) {
      const asks = words === 'hidden command';
      await page.click('#new');
      await tell(page, asks ? `${words}\u202e` : words); // the title of the session has it, too
      if (!asks) {
        await ends(page, 1);
        await page.locator('.tool').last().locator('summary').first().click();
      }
      const shown = page.locator(`${asks ? '.consent' : '.tool'} .change`);
      await shown.waitFor();
      same(await shown.locator('.hidden-char').allTextContents(), want, words);
      same(/[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/.test(await shown.innerText()), false, `${words}: as text`);
      if (!asks) continue;
      await shot(page, 'hidden-command');
      const back = page.url(), titles = page.locator('.waiting-of a');
      await page.goto(`${url}/#/approvals`);
      await titles.first().waitFor();
      same((await titles.allTextContents()).filter((t) => /[\u202a-\u202e]/.test(t)), [], 'the titles of the sessions that wait');
      await page.goto(back);
      await shown.waitFor();
      await page.locator('.consent .buttons .danger').click();
      await ends(page, 1);
    }
  });
  await check('console: code and changes in colour, pictures, files, an error', async () => {
    writeFileSync(join(space, 'dot.png'), Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'));
    await page.click('#new');
    await page.selectOption('#agent', 'coder');
    await tell(page, 'change it');
    await ends(page, 1);
    await page.locator('.tool').last().locator('summary').first().click();
    await page.locator('.d-new').first().waitFor();
    same((await texts(page, '.d-new')).map((t) => t.trim()).slice(0, 2), ['+ def f():', '+     return 1  # one'], 'a new file');
    await tell(page, 'mend it');
    await ends(page, 2);
    await page.locator('.tool').last().locator('summary').first().click();
    await page.locator('.d-old').first().waitFor();
    same(await page.locator('.tool').last().locator('.d-old, .d-new').allTextContents().then((all) => all.map((t) => t.trim())), ['- return 1  # one', '+ return 2'], 'a change');
    await shot(page, 'diff');
    await tell(page, 'look at it');
    await ends(page, 3);
    await page.locator('.tool-media img').waitFor();
    await page.setInputFiles('#attach-file', [{ name: 'a<b>.png', mimeType: 'image/png', buffer: readFileSync(join(space, 'dot.png')) }, { name: 'x.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4') }]);
    await page.waitForFunction(() => document.querySelectorAll('.chip').length === 2);
    await tell(page, 'here are files');
    await ends(page, 4);
    same(await page.locator('.user').last().locator('img, .media button').count() >= 2, true, 'the files of a message');
    await tell(page, 'fail now');
    await ends(page, 5);
    const failed = 'The model service failed, so there is no complete answer. Please write again later.';
    same((await texts(page, '.notice.bad')).at(-1), failed, 'how it ended');
    await page.reload();
    await ends(page, 5);
    same((await texts(page, '.notice.bad')).at(-1), failed, 'how it ended, from the store');
    same((await texts(page, '#chat')).join().includes('on strike'), false, 'not the words of the service');
    await page.click('#tongue');
    await page.reload();
    await ends(page, 5);
    same((await texts(page, '.notice.bad')).at(-1), '模型服务出错，没有得到完整的回答。请稍后再发一次。', 'how it ended, in Chinese');
    await page.click('#tongue');
    await page.reload();
    await ends(page, 5);
    await page.locator('.end').last().hover();
    await page.locator('.end').last().getByLabel('timeline').click();
    await page.waitForSelector('.run.flash .notice.bad');
    await shot(page, 'failed');
  });
  await check('console: edit, answer again, undo, fork, rename, find', async () => {
    await page.click('#new');
    await page.selectOption('#agent', 'coder');
    await tell(page, 'first words');
    await ends(page, 1);
    await tell(page, 'second words');
    await ends(page, 2);
    const original = await page.evaluate(() => location.hash);
    await page.locator('.user').last().hover();
    await page.locator('.user').last().getByLabel('Edit').click();
    await page.locator('.user textarea').fill('other words');
    await page.locator('.user button.primary').click();
    await page.locator('.assistant', { hasText: 'you said: other words' }).waitFor();
    await ends(page, 2);
    same(await texts(page, '.user div'), ['first words', 'other words'], 'edited in a copy');
    same(await page.evaluate(() => location.hash) === original, false, 'which is another session');
    await page.locator('.end').last().getByLabel('Answer again').click();
    await page.waitForFunction((was) => location.hash !== was, await page.evaluate(() => location.hash)).catch(() => {});
    await ends(page, 2);
    await page.click('#more summary');
    await page.click('#undo');
    await ends(page, 1);
    same(await page.inputValue('#say'), 'other words', 'what was undone can be sent again');
    await page.fill('#say', '');
    await page.click('#more summary');
    await page.click('#rename');
    await page.fill('#sure-more input', 'a better name');
    await page.click('#sure-yes');
    await page.waitForFunction(() => document.querySelector('#title').textContent === 'a better name');
    await page.goto(`${url}/${original}`);
    await ends(page, 2);
    same(await texts(page, '.user div'), ['first words', 'second words'], 'the original stays');
    await page.locator('#title').click();
    await page.keyboard.press('f');
    await page.fill('#find-text', 'first words');
    await page.waitForFunction(() => /^1 \/ /.test(document.querySelector('#find-count').textContent));
    await page.waitForSelector('.flash');
    await page.click('#find-close');
  });
  await check('console: pages for an operator, and axe in each view', async () => {
    const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const plainly = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-US', bypassCSP: true });
    const other = await plainly.newPage();
    await other.goto(url);
    await enter(other);
    const found = [];
    for (const theme of ['light', 'dark']) {
      await other.emulateMedia({ colorScheme: theme });
      for (const hash of ['#/new', await page.evaluate(() => location.hash), `${await page.evaluate(() => location.hash)}/time`, '#/approvals', '#/usage', '#/agents', '#/skills', '#/channels']) {
        await other.goto(`${url}/${hash}`);
        await other.waitForTimeout(900);
        await other.evaluate(axe);
        const { violations } = await other.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }));
        for (const v of violations) found.push(`${theme} ${hash.slice(0, 12)} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(' | ')}`);
        if (theme === 'light') await shot(other, `page-${hash.replace(/\W+/g, '-').slice(0, 20)}`);
      }
    }
    same(found, [], 'axe');
    await plainly.close();
  });
  await check('console: the first view is small', async () => {
    let bytes = 0;
    for (const name of ['app', 'api', 'attach', 'chat', 'content', 'dom', 'highlight', 'human', 'jsontext', 'markdown', 'session', 'words'])
      bytes += gzipSync(await (await fetch(`${url}/console/${name}.js`)).text()).length;
    same(bytes < 60 * 1024, true, `${bytes} bytes of script`);
  });
  await check('console: a quiet page asks for nothing', async () => {
    await page.click('#new');
    await page.waitForTimeout(1500);
    const before = asked.length;
    await page.waitForTimeout(6000);
    same(asked.slice(before), [], 'requests');
  });
  await check('console: a WebSocket of a page, with the token among its subprotocols', async () => {
    const talk = (shown) => page.evaluate(async ([path, bearer]) => {
      const socket = new WebSocket(path, ['chela.v1', `bearer.${bearer}`]);
      const types = [];
      return new Promise((resolve) => {
        socket.onopen = () => socket.send(JSON.stringify({ type: 'message', text: 'over a socket', agent: 'coder' }));
        socket.onmessage = ({ data }) => {
          const frame = JSON.parse(data);
          types.push(frame.type);
          if (frame.type === 'run_end') socket.close(1000, frame.text);
        };
        socket.onclose = ({ code, wasClean }) => resolve({ protocol: socket.protocol, code, wasClean, first: types[0], last: types.at(-1) });
      });
    }, [`${url.replace('http', 'ws')}/api/sessions/page-socket/socket`, shown]);
    same(await talk(token), { protocol: 'chela.v1', code: 1000, wasClean: true, first: 'ack', last: 'run_end' }, 'a conversation');
    same((await talk('another-0123456789abcdef')).code, 1006, 'with another token');
  });
  await check('console: nothing was loaded from elsewhere, nothing was refused', async () => {
    same([...new Set(asked.map((u) => new URL(u).origin))].filter((o) => o !== 'null'), [url], 'origins');
    same(complaints, [], 'the browser complained');
  });
}
await browser?.close();
gateway.kill();
await new Promise((resolve) => { gateway.on('exit', resolve); });
rmSync(space, { recursive: true, force: true });
done();

// A chat, followed in the browser: an event of the platform comes in, and who
// looks at the console sees the agent read, list, write and answer, while it does
// and afterwards.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { build, check, done, same } from './lib.mjs';

const token = 'story-sdk-0123456789abcdef', verification = 'verification-token';
const space = mkdtempSync(join(tmpdir(), 'story-'));
const request = '帮我写一个 Python 脚本,功能是遍历当前目录所有文件';
const children = [];
process.on('exit', () => { for (const child of children) child.kill('SIGKILL'); });

function start(command, args, options, pattern, stream) {
  const child = spawn(join(build, command), args, options);
  children.push(child);
  return new Promise((resolve, reject) => {
    child[stream].on('data', (data) => { const m = pattern.exec(data); if (m) resolve(m[1]); });
    child.on('exit', () => reject(new Error(`${command} ended`)));
  });
}

mkdirSync(join(space, 'lark'));
writeFileSync(join(space, 'lark/sent'), '');
cpSync(join(process.env.CHELA_ROOT, 'demo'), join(space, 'work'), { recursive: true });
const port = await start('tests/support/larkserver', [join(space, 'lark'), 'cli_story', 'secret'], { stdio: ['ignore', 'pipe', 'inherit'] }, /(\d+)/, 'stdout');
writeFileSync(join(space, 'chela.yaml'), `
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/demo, workspaceDir: ./work }] }
channels: { feishu: { appId: cli_story, domain: "http://127.0.0.1:${port}", allowFrom: [ou_zhang] } }
`);
const url = await start('chela', ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0'], {
  cwd: space, stdio: ['ignore', 'ignore', 'pipe'],
  env: {
    PATH: process.env.PATH, HOME: space, CHELA_TOKEN: token, FEISHU_APP_SECRET: 'secret', FEISHU_VERIFICATION_TOKEN: verification,
    CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN,
  },
}, /listening on (\S+)/, 'stderr');

async function push(id) {
  const now = `${Date.now()}`;
  const got = await fetch(`${url}/channels/feishu/events`, {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      schema: '2.0',
      header: { event_id: `ev_${id}`, event_type: 'im.message.receive_v1', create_time: now, token: verification, app_id: 'cli_story', tenant_key: 'tk' },
      event: {
        sender: { sender_id: { open_id: 'ou_zhang' }, sender_type: 'user', tenant_key: 'tk' },
        message: { message_id: id, create_time: now, chat_id: 'oc_zhang', chat_type: 'p2p', message_type: 'text', content: JSON.stringify({ text: request }) },
      },
    }),
  });
  same(got.status, 200, 'the event is taken');
}
async function answered(id) {
  for (let i = 0; i < 400; i++) {
    if (readFileSync(join(space, 'lark/sent'), 'utf8').includes(`/messages/${id}/reply `)) return;
    await wait(50);
  }
  throw new Error(`no answer to ${id}`);
}

// If the page does not come to show something, say what it shows instead.
async function comes(page, what) {
  try {
    await page.waitForFunction(what);
  } catch (error) {
    throw new Error(`${error.message}\nat ${await page.evaluate(() => location.href)}:\n${await page.locator('body').innerText()}`);
  }
}

const executablePath = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join('/usr/bin', name)).find(existsSync);
const browser = executablePath ? await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] }) : null;
await check('story: a chat is followed in the browser', async () => {
  if (!browser) throw new Error('install chromium');
  const page = await (await browser.newContext({ locale: 'en-US' })).newPage();
  page.setDefaultTimeout(30000);
  await page.goto(url);
  await page.fill('#token', token);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#app:not([hidden])');

  await push('om_1');
  await page.click('.session[data-key="feishu:oc_zhang"]'); // once the list has it
  await comes(page, () => document.querySelectorAll('.end').length === 1);
  const names = () => page.locator('.tool .tool-name').allTextContents();
  same(await names(), ['read', 'ls', 'write'], 'what it did');
  same((await page.locator('.user').first().textContent()).includes(request), true, 'what was asked');
  same((await page.locator('.assistant').last().textContent()).includes('list_files.py'), true, 'what was answered');
  await answered('om_1');

  await push('om_2'); // with the page open: it comes by itself
  await comes(page, () => document.querySelectorAll('.end').length === 2);
  same(await names(), ['read', 'ls', 'write', 'read', 'ls'], 'the file is there already');
  await answered('om_2');
});
await check('story: a run that ends while the page opens is shown', async () => {
  const page = await (await browser.newContext({ locale: 'en-US' })).newPage();
  page.setDefaultTimeout(30000);
  let held = false;
  await page.route('**/records?*', async (route) => {
    const response = await route.fetch();
    if (!held) { // the page gets the records of before the run, and its events too late
      held = true;
      await push('om_3');
      await answered('om_3');
      await wait(1000);
    }
    await route.fulfill({ response });
  });
  await page.goto(url);
  await page.fill('#token', token);
  await page.keyboard.press('Enter');
  await page.click('.session[data-key="feishu:oc_zhang"]');
  await comes(page, () => document.querySelectorAll('.end').length === 3);
  await page.unrouteAll({ behavior: 'wait' }); // the page may read more records
});
await browser?.close();
for (const child of children) { child.removeAllListeners('exit'); child.kill('SIGTERM'); await new Promise((resolve) => child.on('exit', resolve)); }
rmSync(space, { recursive: true });
done();

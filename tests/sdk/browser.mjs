// A gateway with the scripted model, and Chromium, for the tests of the web console.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { build } from './lib.mjs';

const executablePath = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join('/usr/bin', name)).find(existsSync);

export const launch = () => (executablePath ? chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] }) : null);

export class Place {
  constructor(token) {
    this.token = token;
    this.space = mkdtempSync(join(tmpdir(), 'console-'));
    this.complaints = [];
    this.asked = [];
  }
  env(token = this.token) {
    return { PATH: process.env.PATH, HOME: this.space, CHELA_TOKEN: token, CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN };
  }
  write(name, text) {
    writeFileSync(join(this.space, name), text);
  }
  chela(args) {
    const child = spawn(join(build, 'chela'), args, { cwd: this.space, env: this.env(), stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.on('data', (data) => { out += data; });
    return new Promise((resolve, reject) => { child.on('exit', (code) => (code === 0 ? resolve(out) : reject(new Error(`chela ${args.join(' ')}: ${code}`)))); });
  }
  /* A session from its records. */
  async import(key, records, { agent = 'coder', title = key, ts = Date.now() } = {}) {
    const head = { chela_session: 1, key, agent, title, status: 'idle', created: records[0]?.ts ?? ts, updated: records.at(-1)?.ts ?? ts, records: records.length };
    this.write('import.jsonl', [head, ...records.map((r, i) => ({ seq: i + 1, ...r }))].map((l) => JSON.stringify(l)).join('\n') + '\n');
    await this.chela(['sessions', 'import', '--config', 'chela.yaml', 'import.jsonl']);
  }
  async serve(listen = '127.0.0.1:0', token = this.token, more = []) {
    this.gateway = spawn(join(build, 'chela'), ['serve', '--config', 'chela.yaml', '--listen', listen, '-v', ...more], { cwd: this.space, stdio: ['ignore', 'ignore', 'pipe'], env: this.env(token) });
    let said = '';
    this.url = await new Promise((resolve, reject) => {
      this.gateway.stderr.on('data', (data) => { said += data; const m = /listening on (\S+)/.exec(said); if (m) resolve(m[1]); });
      this.gateway.on('exit', () => reject(new Error(`the gateway ended: ${said.slice(-2000)}`)));
    });
    return this.url;
  }
  async stop(signal = 'SIGTERM') {
    const { gateway } = this;
    if (!gateway || gateway.exitCode !== null || gateway.signalCode) return;
    await new Promise((resolve) => { gateway.on('exit', resolve); gateway.kill(signal); });
  }
  async api(path, body) {
    const response = await fetch(this.url + path, { method: body ? 'POST' : 'GET', headers: { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
    return response.json();
  }
  async visit(browser, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: 'en-US', ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(60000);
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (m) => { if (m.type() === 'error' && !/40\d|ERR_|HTTP Authentication failed|50[0-9]/.test(m.text())) this.complaints.push(m.text()); });
    page.on('request', (request) => this.asked.push(request.url()));
    page.on('dialog', (dialog) => { this.complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    await page.goto(this.url);
    return page;
  }
  async enter(page, token = this.token) {
    await page.fill('#token', token);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#app:not([hidden])');
  }
  remove() {
    rmSync(this.space, { recursive: true, force: true });
  }
}

const axeText = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// What axe finds; the page must have been opened with bypassCSP.
export async function axe(page) {
  await page.evaluate(axeText);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }));
  return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 140)).join(' | ')}`);
}

export async function shot(page, name) {
  if (process.env.CHELA_SHOTS) await page.screenshot({ path: join(process.env.CHELA_SHOTS, `${name}.png`) });
}

// Figures of the web console in Chromium, against `chela serve`:
//
//     BUILD=$PWD/build CHELA_ROOT=$PWD node bench/console.mjs
//
// Needs BUILD/sdk: `make sdk`, then `cp tests/sdk/*.mjs build/sdk`. Prints one line a figure.
import { gzipSync } from 'node:zlib';
const lib = new URL(`file://${process.env.BUILD}/sdk/browser.mjs`);
const { launch, Place } = await import(lib);

const place = new Place('console-bench-0123456789abcdef'), now = Date.now();
const words = Array.from({ length: 600 }, (_, i) => `word${i}`).join(' ');
place.write('rules.yaml', `rules:\n  - { when: { user: "stream" }, say: "${words}", pace_ms: 20 }\n  - { say: "you said: {{user}}" }\n`);
place.write('chela.yaml', 'store: sqlite:./chela.db\nsandbox: { mode: off }\nagents: { list: [{ id: coder, model: scripted/rules.yaml }] }\n');
const message = (i) => {
  const run = `run_long${String(i >> 1).padStart(8, '0')}`, ts = now - 3600000 + i * 10, role = i % 2 ? 'assistant' : 'user';
  const text = i % 2 ? `Answer **${i}** with \`code\`:\n\n- one\n- two\n\n\`\`\`js\nconst x = ${i};\n\`\`\`\n\nThe end of ${i}.` : `question ${i}`;
  return i % 2 ? { type: 'message', ts, data: { run, turn: 1, stop: 'stop', usage: { input: 10, output: 10 }, message: { role, content: [{ type: 'text', text }], ts, api: 'anthropic', model: 'm' } } }
    : { type: 'inbound', ts, data: { run, mode: 'start', message: { role, content: [{ type: 'text', text }], ts } } };
};
await place.import('web:many', Array.from({ length: 10000 }, (_, i) => message(i)), { title: 'many' });
await place.serve();
const browser = await launch(), page = await place.visit(browser);
await place.enter(page);
const scripts = [...new Set(place.asked.filter((u) => u.endsWith('.js')))];
let size = 0;
for (const url of scripts) size += gzipSync(await (await fetch(url)).text()).length;
console.log(`first view: ${scripts.length} scripts, ${(size / 1024).toFixed(1)} KB gzipped (target 60)`);

const opens = [];
for (let i = 0; i < 3; i++) {
  await page.goto(`${place.url}/#/new`);
  await page.waitForTimeout(300);
  const began = Date.now();
  await page.evaluate(() => { location.hash = '#/s/web%3Amany'; });
  await page.locator('.assistant', { hasText: 'The end of 9999' }).waitFor();
  opens.push(Date.now() - began);
}
console.log(`10,000 messages: opened in ${opens.sort((a, b) => a - b)[1]} ms (target 1500)`);

const frames = await page.evaluate(async () => {
  const s = document.querySelector('#scroll'), times = [];
  let last = performance.now();
  for (let i = 0; i < 240; i++) {
    s.scrollBy(0, i < 120 ? -120 : 120);
    await new Promise(requestAnimationFrame);
    const t = performance.now();
    times.push(t - last);
    last = t;
  }
  return times.sort((a, b) => a - b);
});
console.log(`scrolling: median frame ${frames[120].toFixed(1)} ms, 95th percentile ${frames[228].toFixed(1)} ms (60 frames a second: 16.7)`);

const cdp = await page.context().newCDPSession(page);
await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
const busy = async () => { const { metrics } = await cdp.send('Performance.getMetrics'); return metrics.find((m) => m.name === 'TaskDuration').value; };
await page.goto(`${place.url}/#/new`);
await page.fill('#say', 'stream');
await page.press('#say', 'Enter');
await page.locator('.assistant', { hasText: 'word20' }).waitFor();
const from = [Date.now(), await busy()];
await page.waitForTimeout(8000);
const to = [Date.now(), await busy()];
console.log(`50 deltas a second: ${((to[1] - from[1]) / ((to[0] - from[0]) / 1000) * 100).toFixed(1)} % of a core (target 5)`);
await page.waitForSelector('.end');
await page.waitForTimeout(1500);
const before = place.asked.length;
await page.waitForTimeout(8000);
console.log(`idle: ${place.asked.length - before} requests in 8 s (target 0)`);
await browser.close();
await place.stop();
place.remove();

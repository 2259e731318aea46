// crabline.mjs -- chela against crabline's servers of Discord, Telegram and Slack: counterparts
// that others wrote for their own channels. crabline's Slack has no Socket Mode and sends no
// events, so the test sends them, signed; crabline has neither WeCom nor DingTalk.
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { build, check, done, same } from './lib.mjs';

const space = mkdtempSync(join(tmpdir(), 'crabline-'));
const children = [];
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(space, { recursive: true, force: true });
});

async function until(what, test) {
  for (let i = 0; i < 1200; i++) {
    const got = await test();
    if (got) return got;
    await wait(50);
  }
  throw new Error(`${what} did not come`);
}

const program = new URL('node_modules/.bin/crabline', import.meta.url).pathname;

async function service(name) {
  const ready = join(space, `${name}.json`);
  mkdirSync(join(space, name));
  const child = spawn(process.execPath, [program, '--json', 'serve', name, '--ready-file', ready], { cwd: join(space, name), stdio: 'ignore' });
  children.push(child);
  const manifest = await until(`the server of ${name}`, () => existsSync(ready) && readFileSync(ready, 'utf8'));
  return JSON.parse(manifest);
}

const [discord, telegram, slack] = await Promise.all(['discord', 'telegram', 'slack'].map(service));
const recorded = (s) => (existsSync(s.recorderPath) ? readFileSync(s.recorderPath, 'utf8').split('\n').filter(Boolean) : []);
const inbound = async (s, body) => {
  const got = await fetch(s.endpoints.adminInboundUrl, {
    method: 'POST', headers: { 'content-type': 'application/json', 'x-crabline-admin-token': s.adminToken }, body: JSON.stringify(body),
  });
  if (!got.ok) throw new Error(`${s.provider}: ${got.status} ${await got.text()}`);
  return got.json();
};

const dir = join(space, 'gateway');
mkdirSync(dir);
writeFileSync(join(dir, 'rules.yaml'), 'rules:\n  - { say: "heard: {{user}}" }\n');
writeFileSync(join(dir, 'chela.yaml'), `store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels:
  discord: { tokenEnv: DISCORD_TOKEN, apiUrl: "${discord.endpoints.apiRoot}/v10", dmPolicy: open, groupPolicy: open }
  telegram: { tokenEnv: TELEGRAM_BOT_TOKEN, domain: "${telegram.endpoints.apiRoot}", dmPolicy: open }
  slack: { mode: webhook, botTokenEnv: SLACK_BOT_TOKEN, signingSecretEnv: SLACK_SIGNING_SECRET, apiUrl: "${slack.endpoints.apiRoot}", dmPolicy: open, groupPolicy: open }
`);

async function gateway() {
  const child = spawn(join(build, 'chela'), ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0', '-v'], {
    cwd: dir, stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH, HOME: dir, CHELA_TOKEN: 'gateway-crabline-0123456789', DISCORD_TOKEN: discord.botToken,
      TELEGRAM_BOT_TOKEN: telegram.botToken, SLACK_BOT_TOKEN: slack.botToken, SLACK_SIGNING_SECRET: slack.signingSecret,
      CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN,
    },
  });
  children.push(child);
  let log = '';
  const url = await new Promise((resolve, reject) => {
    child.stderr.on('data', (data) => {
      log += data;
      const m = /listening on (\S+)/.exec(log);
      if (m) resolve(m[1]);
    });
    child.on('exit', () => reject(new Error(`the gateway ended: ${log}`)));
  });
  return { url, child, log: () => log };
}

let chela = await gateway();

// The texts that chela has sent and the server has accepted.
const sent = (s) => recorded(s).map((line) => JSON.parse(line))
  .filter((r) => r.type === 'api' && r.accepted && /\/(messages|sendMessage|chat\.postMessage)$/.test(r.path) && r.method === 'POST')
  .map((r) => r.body.content ?? r.body.text);
const answers = (s, text) => sent(s).filter((t) => t.startsWith('heard: ') && t.includes(text)).length;
const answered = (s, text) => until(`${s.provider}'s answer to "${text}"`, () => answers(s, text) > 0);

// --- people write

const rooms = discord.fixture;
const tell = {
  discord: (text) => inbound(discord, { channelId: rooms.channelId, guildId: rooms.guildId, senderId: '135000000000000012', senderName: 'Alice', content: `<@${discord.botUserId}> ${text}` }),
  telegram: (text) => inbound(telegram, { chatId: 4711, senderId: 4711, text }),
  async slack(text, ts = `17000${text.length}0000.000100`) {
    const body = JSON.stringify({ type: 'event_callback', team_id: 'T1', event_id: `Ev${ts}`, event_time: 1,
      event: { type: 'message', channel: 'D1234567890', channel_type: 'im', user: 'U1234567890', text, ts } });
    await until('an acknowledgement', async () => {
      const timestamp = `${Math.floor(Date.now() / 1000)}`;
      const signature = `v0=${createHmac('sha256', slack.signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')}`;
      const got = await fetch(`${chela.url}/channels/slack/events`, {
        method: 'POST', body, headers: { 'content-type': 'application/json', 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature },
      });
      return got.status === 200; // 503 until the channel knows who it is
    });
  },
};

for (const s of [discord, telegram, slack]) {
  await check(`${s.provider}: a message is answered`, async () => {
    if (s === discord) await until('a session', () => /\[discord\] connected/.test(chela.log()));
    await tell[s.provider]('hello');
    await answered(s, 'hello');
  });
}
await check('slack: an event that comes again is one message', async () => {
  await tell.slack('hello');
  await tell.slack('after it');
  await answered(slack, 'after it');
  same(answers(slack, 'hello'), 1, 'answers');
});
await check('discord: words of a person keep their name', () => {
  same(sent(discord).some((t) => /Alice.*: .*hello$/.test(t)), true, 'the name of the sender');
});

// --- the gateway dies, people go on

// crabline's Discord does not keep events for a session without a connection.
await check('a new process answers', async () => {
  const ended = new Promise((resolve) => chela.child.on('exit', resolve));
  chela.child.kill('SIGKILL');
  await ended;
  await tell.telegram('meanwhile');
  chela = await gateway();
  await answered(telegram, 'meanwhile');
  await until('a session', () => /\[discord\] connected/.test(chela.log()));
  await tell.discord('afterwards');
  await answered(discord, 'afterwards');
  await tell.slack('hello');
  await tell.slack('in the end');
  await answered(slack, 'in the end');
  same([answers(telegram, 'meanwhile'), answers(discord, 'afterwards')], [1, 1], 'answers');
});
await check('nothing was said twice', () => {
  same([discord, telegram, slack].map((s) => answers(s, 'hello')), [1, 1, 1], 'answers');
});
done();
process.exit();

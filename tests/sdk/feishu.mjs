// Feishu's own SDK as the oracle: its ciphers and its dispatcher judge the same
// callbacks as our gateway; its clients and our gateway talk to one platform,
// and what they say is compared.
import { spawn } from 'node:child_process';
import { createCipheriv, createHash, randomBytes, randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import lark from '@larksuiteoapi/node-sdk';
import { build, check, done, same } from './lib.mjs';

const app = 'cli_0123456789abcdef';
const secret = 'app-secret-0123456789';
const verification = 'verification-token';
const encryptKey = 'encrypt-key';
const space = mkdtempSync(join(tmpdir(), 'feishu-'));
const quiet = { error() {}, warn() {}, info() {}, debug() {}, trace() {} };
const children = [];
process.on('exit', () => { for (const child of children) child.kill('SIGKILL'); });

async function until(what, test) {
  for (let i = 0; i < 1200; i++) {
    const got = test();
    if (got) return got;
    await wait(50);
  }
  throw new Error(`${what} did not come`);
}

// --- the platform, and a gateway that is its app

async function platform(name) {
  const dir = join(space, name);
  mkdirSync(dir);
  for (const file of ['sent', 'calls', 'line']) writeFileSync(join(dir, file), '');
  const child = spawn(join(build, 'tests/support/larkserver'), [dir, app, secret], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const port = await new Promise((resolve) => child.stdout.once('data', (data) => resolve(Number(data))));
  const lines = (file) => readFileSync(join(dir, file), 'utf8').split('\n').filter(Boolean);
  const url = `http://127.0.0.1:${port}`;
  return {
    url, lines,
    // Over the long connection; what it was acknowledged with.
    async push(event) {
      for (let i = 0; i < 200; i++) {
        const got = await fetch(`${url}/test/push`, { method: 'POST', body: JSON.stringify(event) });
        if (got.status !== 503) return { status: got.status, body: await got.json() };
        await wait(50);
      }
      throw new Error('nobody connected');
    },
  };
}

async function gateway(name, lines, rules = 'rules: [{ say: "you said: {{user}}" }]\n', more = '') {
  const dir = join(space, name);
  mkdirSync(dir);
  writeFileSync(join(dir, 'rules.yaml'), rules);
  writeFileSync(join(dir, 'chela.yaml'), `
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels: { feishu: { appId: ${app}, dmPolicy: open, ${lines} } }
${more}`);
  const child = spawn(join(build, 'chela'), ['serve', '--config', 'chela.yaml', '--listen', '127.0.0.1:0'], {
    cwd: dir, stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH, HOME: dir, CHELA_TOKEN: 'gateway-feishu-0123456789', FEISHU_APP_SECRET: secret,
      FEISHU_VERIFICATION_TOKEN: verification, FEISHU_ENCRYPT_KEY: encryptKey,
      CHELA_TEST: process.env.CHELA_TEST, CHELA_TEST_RUN: process.env.CHELA_TEST_RUN,
    },
  });
  children.push(child);
  return new Promise((resolve, reject) => {
    child.stderr.on('data', (data) => { const m = /listening on (\S+)/.exec(data); if (m) resolve(m[1]); });
    child.on('exit', () => reject(new Error('the gateway ended')));
  });
}

function event(id, text) {
  return {
    schema: '2.0',
    header: { event_id: `ev_${id}`, event_type: 'im.message.receive_v1', create_time: `${Date.now()}`, token: verification, app_id: app, tenant_key: 'tk' },
    event: {
      sender: { sender_id: { open_id: 'ou_ann', union_id: 'on_ann' }, sender_type: 'user', tenant_key: 'tk' },
      message: { message_id: id, create_time: `${Date.now()}`, chat_id: 'oc_ann', chat_type: 'p2p', message_type: 'text', content: JSON.stringify({ text }) },
    },
  };
}

// --- callbacks: both judge the same requests

const heard = [];
const dispatcher = new lark.EventDispatcher({ encryptKey, verificationToken: verification, logger: quiet })
  .register({ 'im.message.receive_v1': (data) => { heard.push(data.message.message_id); return {}; } });

// As the service does it; the SDK can only decrypt.
function seal(text, secretKey = encryptKey) {
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', createHash('sha256').update(secretKey).digest(), iv);
  return { encrypt: Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final()]).toString('base64') };
}

function signed(body, change = {}) {
  const timestamp = `${Math.floor(Date.now() / 1000)}`;
  const nonce = randomBytes(6).toString('hex');
  const text = JSON.stringify(body);
  const signature = createHash('sha256').update(timestamp + nonce + encryptKey + text).digest('hex');
  return { body: text, headers: { 'x-lark-request-timestamp': timestamp, 'x-lark-request-nonce': nonce, 'x-lark-signature': signature, ...change } };
}

// What the SDK makes of a request: was its handler called?
async function sdkTakes(request, id) {
  const before = heard.length;
  const data = Object.assign(Object.create({ headers: request.headers }), JSON.parse(request.body));
  try { await dispatcher.invoke(data); } catch { return false; }
  return heard.length > before && heard.at(-1) === id;
}

async function weTake(url, request) {
  const got = await fetch(`${url}/channels/feishu/events`, {
    method: 'POST', headers: { 'content-type': 'application/json', ...request.headers }, body: request.body,
  });
  return got.status === 200;
}

const cloud = await platform('cloud');
const url = await gateway('webhook', `domain: "${cloud.url}", encryptKeyEnv: FEISHU_ENCRYPT_KEY`);

const replied = (id) =>
  until(`our reply to ${id}`, () => cloud.lines('sent').find((l) => l.startsWith(`/open-apis/im/v1/messages/${id}/reply`)));

await check('feishu: what the SDK decrypts and finds signed is taken, of any length', async () => {
  for (let i = 0; i < 40; i++) {
    const id = `om_len${i}`;
    const one = event(id, '你好 hello '.repeat(randomInt(1, 40)) + 'x'.repeat(i));
    const request = signed(seal(JSON.stringify(one)));
    same([await sdkTakes(request, id), await weTake(url, request)], [true, true], `event ${i}`);
    // A message that comes during a run joins the run, and the reply names the later message.
    if (!i) await replied(id);
  }
});
await check('feishu: the vectors of our unit tests are what the SDK says', async () => {
  same(new lark.AESCipher('test key').decrypt('P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk='), 'hello world', "the vendor's own");
});
await check('feishu: what the SDK refuses is refused', async () => {
  const sealed = () => seal(JSON.stringify(event('om_bad', 'x')));
  const cases = {
    'another signature': signed(sealed(), { 'x-lark-signature': '0'.repeat(64) }),
    'another nonce': signed(sealed(), { 'x-lark-request-nonce': 'other' }),
    'another key': signed(seal(JSON.stringify(event('om_bad', 'x')), 'other')),
    'not base64': signed({ encrypt: '!!!' }),
    'cut': signed({ encrypt: sealed().encrypt.slice(0, 44) }),
  };
  for (const [name, request] of Object.entries(cases)) {
    same([await sdkTakes(request, 'om_bad'), await weTake(url, request)], [false, false], name);
  }
});
await check('feishu: the challenge', async () => {
  const body = seal(JSON.stringify({ challenge: 'c-1', token: verification, type: 'url_verification' }));
  const theirs = lark.generateChallenge(body, { encryptKey });
  const ours = await fetch(`${url}/channels/feishu/events`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  same(theirs.isChallenge, true, 'theirs');
  same(await ours.json(), theirs.challenge, 'the same answer');
});

// --- calls: the same requests as the SDK's client makes

function canonical(line) {
  const [method, path, ...rest] = line.split(' ');
  const body = rest.join(' ');
  return { method, path, body: body ? JSON.parse(body) : null };
}

// One for all: the SDK keeps its token by the app's id, whatever platform gave it.
const mine = await platform('client');
const client = new lark.Client({ appId: app, appSecret: secret, domain: mine.url, logger: quiet });

await check('feishu: a reply is the request that the SDK makes', async () => {
  await replied('om_len0');
  const ours = canonical(cloud.lines('calls').find((l) => l.startsWith('POST /open-apis/im/v1/messages/om_len0/reply')));
  await client.im.message.reply({ path: { message_id: 'om_len0' }, data: { content: ours.body.content, msg_type: 'post', uuid: ours.body.uuid } });
  const theirs = canonical(mine.lines('calls').find((l) => l.includes('/reply')));
  same(ours, theirs, 'the request');
  await client.im.messageReaction.create({ path: { message_id: 'om_len0' }, data: { reaction_type: { emoji_type: 'Typing' } } });
  const reaction = (calls) => canonical(calls.find((l) => l.startsWith('POST') && l.includes('/om_len0/reactions')));
  same(reaction(cloud.lines('calls')), reaction(mine.lines('calls')), 'the reaction');
  const token = (calls) => canonical(calls.find((l) => l.includes('tenant_access_token')));
  same(token(cloud.lines('calls')), token(mine.lines('calls')), 'the token');
});

await check('feishu: a card that grows is the requests that the SDK makes', async () => {
  const cards = await platform('cards');
  await gateway('cards-chela', `domain: "${cards.url}", mode: websocket, streaming: true`,
    'rules: [{ when: { after: none }, say: "One.", call: { tool: wait, args: {} } }, { say: "One. Two." }]\n',
    'tools: { custom: [{ name: wait, description: waits, command: [sh, -c, "until [ -e go ]; do sleep 0.05; done"], effect: read, permission: read }] }\n');
  await cards.push(event('om_card', 'hello'));
  await until('the card', () => cards.lines('sent').length);
  writeFileSync(join(space, 'cards-chela', 'go'), '');
  await until('its end', () => cards.lines('calls').find((l) => l.startsWith('PATCH')));
  const about = (p) => p.lines('calls').map(canonical).filter((c) => c.path.includes('/cardkit/') || c.path.endsWith('/om_card/reply'));
  const calls = about(cards);
  for (const { path, body } of calls) {
    const [, card_id, element_id] = /cards\/(\d+)(?:\/elements\/(\w+))?/.exec(path) ?? [];
    if (path.endsWith('/reply')) await client.im.message.reply({ path: { message_id: 'om_card' }, data: body });
    else if (path.endsWith('/content')) await client.cardkit.v1.cardElement.content({ path: { card_id, element_id }, data: body });
    else if (path.endsWith('/settings')) await client.cardkit.v1.card.settings({ path: { card_id }, data: body });
    else await client.cardkit.v1.card.create({ data: body });
  }
  same(calls, about(mine), 'the requests');
  same(calls.map((c) => c.path.split('/').at(-1)), ['cards', 'reply', ...calls.slice(2, -1).map(() => 'content'), 'settings'], 'their order');
});

// --- the long connection

await check('feishu: over the long connection both say the same', async () => {
  const mine = await platform('line-sdk');
  const got = [];
  const ws = new lark.WSClient({ appId: app, appSecret: secret, domain: mine.url, logger: quiet, loggerLevel: lark.LoggerLevel.error });
  await ws.start({ eventDispatcher: new lark.EventDispatcher({ logger: quiet }).register({ 'im.message.receive_v1': (data) => { got.push(data.message.message_id); } }) });
  const theirs = await mine.push(event('om_ws', 'hello'));
  await until('the event at the SDK', () => got.length);
  same(got, ['om_ws'], 'the SDK heard it');

  const other = await platform('line-chela');
  await gateway('line', `domain: "${other.url}", mode: websocket`);
  const ours = await other.push(event('om_ws', 'hello'));
  await until('our reply', () => other.lines('sent').length);
  same([ours.status, ours.body.code], [theirs.status, theirs.body.code], 'the acknowledgement');
  const ping = (p) => p.lines('line').find((l) => l.startsWith('ping'));
  same(ping(other), ping(mine), 'the ping, byte for byte');
  const ack = (p) => /^ack \S+/.exec(p.lines('line').find((l) => l.startsWith('ack')))?.[0];
  same(ack(other), ack(mine), 'what is acknowledged');
  const asked = (p) => canonical(p.lines('calls').find((l) => l.includes('/callback/ws/endpoint')));
  same(asked(other), asked(mine), 'how an address is asked for');
  ws.close({ force: true });
});

rmSync(space, { recursive: true, force: true });
done();
process.exit(); // the SDK's timers would keep it

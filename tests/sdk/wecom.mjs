// wecom.mjs -- WeCom's own client against tests/support/channels/wecomserver: what the stand-in
// does is what the client expects of the service.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WSClient } from '@wecom/aibot-node-sdk'

const checks = []
const check = (name, ok, why) => checks.push({ name, ok: !!ok, why })
const root = process.env.CHELA_ROOT
const folder = mkdtempSync(join(tmpdir(), 'wecom-'))
const server = spawn(join(root, 'tests/support/channels/wecomserver'), [folder, 'bot-1', 'secret-1'], { stdio: ['ignore', 'pipe', 'inherit'] })
const port = await new Promise((r) => server.stdout.once('data', (d) => r(Number(d))))
const base = `http://127.0.0.1:${port}`
const post = (path, body) => fetch(base + path, { method: 'POST', body: JSON.stringify(body) })
const shown = async () => (await fetch(base + '/test/messages')).json()
const until = async (f) => {
    for (let i = 0; i < 300 && !(await f()); i++) await new Promise((r) => setTimeout(r, 50))
    return f()
}
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

try {
    const client = new WSClient({ botId: 'bot-1', secret: 'secret-1', wsUrl: `ws://127.0.0.1:${port}`, logger: quiet })
    const seen = []
    let file
    client.on('message.text', (f) => {
        seen.push(f.body.text.content)
        client.replyStream(f, 's-1', 'so far', false).then(() => client.replyStream(f, 's-1', 'complete', true))
    })
    client.on('message.image', async (f) => (file = await client.downloadFile(f.body.image.url, f.body.image.aeskey)))
    client.on('event.template_card_event', (f) => {
        seen.push('press')
        client.updateTemplateCard(f, { card_type: 'button_interaction', task_id: 't-1', main_title: { title: 'Decided', desc: 'by ann' }, button_list: [{ text: 'x', key: 'k' }] })
    })
    client.on('event.disconnected_event', () => seen.push('taken'))
    const ready = new Promise((r) => client.on('authenticated', r))
    client.connect()
    await ready
    check('the client subscribes', true)
    await post('/test/message', { msgid: 'm1', aibotid: 'bot-1', chattype: 'single', from: { userid: 'ann' }, msgtype: 'text', text: { content: 'one' } })
    check('it gets a message', await until(() => seen[0] === 'one'), seen)
    check('its stream is one message', await until(async () => (await shown()).some((m) => m.kind === 'stream' && m.text === 'complete' && m.finish)))
    await client.sendMessage('ann', { msgtype: 'markdown', markdown: { content: 'pushed' } })
    check('a message is pushed', (await shown()).at(-1).text === 'pushed')
    const up = await client.uploadMedia(Buffer.alloc(600000, 'x'), { type: 'file', filename: 'a.txt' })
    await client.sendMediaMessage('ann', 'file', up.media_id)
    check('a file is uploaded in pieces', Object.keys((await shown()).at(-1).media.got).length === 2)
    await client.sendMessage('ann', { msgtype: 'template_card', template_card: { card_type: 'button_interaction', task_id: 't-1', main_title: { title: 'Q' }, button_list: [{ text: 'a', key: 'k' }] } })
    await post('/test/press', { msgid: 'e1', aibotid: 'bot-1', from: { userid: 'ann' }, msgtype: 'event', event: { eventtype: 'template_card_event', event_key: 'k', task_id: 't-1' } })
    check('a press arrives', await until(() => seen.includes('press')), seen)
    check('its card is changed', await until(async () => (await shown()).some((m) => m.text === 'by ann')))
    writeFileSync(join(folder, 'files', 'f1'), 'plain text')
    await post('/test/message', { msgid: 'm2', aibotid: 'bot-1', chattype: 'single', from: { userid: 'ann' }, msgtype: 'image', image: { url: base + '/files/f1', aeskey: Buffer.from([...Array(32).keys()]).toString('base64') } })
    check('a file is decrypted', await until(() => file?.buffer?.toString() === 'plain text'), file)
    const second = new WSClient({ botId: 'bot-1', secret: 'secret-1', wsUrl: `ws://127.0.0.1:${port}`, logger: quiet })
    second.connect()
    check('a second connection takes over', await until(() => seen.includes('taken')), seen)
    const wrong = new WSClient({ botId: 'bot-1', secret: 'other', wsUrl: `ws://127.0.0.1:${port}`, logger: quiet })
    let refused
    wrong.on('error', (e) => (refused = String(e)))
    wrong.connect()
    check('a wrong secret is refused', await until(() => refused?.includes('40014')), refused)
    for (const c of [client, second, wrong]) c.disconnect()
} catch (e) {
    check('the client works', false, e)
} finally {
    server.kill()
    rmSync(folder, { recursive: true, force: true })
}
checks.forEach(({ name, ok, why }, i) => {
    console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} - wecom: ${name}`)
    if (!ok && why !== undefined) console.log('# ' + String(why.stack ?? JSON.stringify(why)).split('\n').join('\n# '))
})
console.log(`1..${checks.length}`)
process.exit(checks.every((c) => c.ok) ? 0 : 1)

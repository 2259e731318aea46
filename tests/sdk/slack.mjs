// slack.mjs -- Slack's own client against tests/support/channels/slackserver: what the stand-in
// does is what the client expects of the service.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SocketModeClient } from '@slack/socket-mode'
import { WebClient } from '@slack/web-api'

const checks = []
const check = (name, ok, why) => checks.push({ name, ok: !!ok, why })
const root = process.env.CHELA_ROOT
const folder = mkdtempSync(join(tmpdir(), 'slack-'))
const server = spawn(join(root, 'tests/support/channels/slackserver'), [folder, 'xoxb-1', 'xapp-1'], { stdio: ['ignore', 'pipe', 'inherit'] })
const port = await new Promise((r) => server.stdout.once('data', (d) => r(Number(d))))
const base = `http://127.0.0.1:${port}`
const post = (path, body) => fetch(base + path, { method: 'POST', body: JSON.stringify(body) })
const until = async (f) => {
    for (let i = 0; i < 300 && !(await f()); i++) await new Promise((r) => setTimeout(r, 50))
    return f()
}

try {
    const web = new WebClient('xoxb-1', { slackApiUrl: base + '/api/' })
    const who = await web.auth.test()
    check('auth.test tells who we are', who.user_id === 'UBOT')
    const socket = new SocketModeClient({ appToken: 'xapp-1', clientOptions: { slackApiUrl: base + '/api/' }, logLevel: 'error' })
    const seen = []
    socket.on('message', async ({ ack, event }) => {
        seen.push(event.text)
        await ack()
    })
    socket.on('interactive', async ({ ack, body }) => {
        seen.push(body.actions[0].action_id)
        await ack()
    })
    await socket.start()
    let answer = await post('/test/event', { type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', text: 'one', ts: '1.2' })
    check('the client gets an event and acknowledges it', answer.status === 200 && seen[0] === 'one', seen)
    answer = await post('/test/press', { type: 'block_actions', user: { id: 'U1' }, channel: { id: 'D1' }, container: { message_ts: '1.2' }, actions: [{ action_id: 'a', value: 'v' }] })
    check('and a press', answer.status === 200 && seen[1] === 'a', seen)
    await post('/test/drop?how=disconnect', {})
    answer = await post('/test/event', { type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', text: 'two', ts: '1.3' })
    check('it connects again when it is asked to', answer.status === 200 && seen.includes('two'), seen)
    const sent = await web.chat.postMessage({ channel: 'D1', text: 'hello', metadata: { event_type: 'x', event_payload: { key: 'k1' } } })
    check('a message gets a ts', /^\d+\.\d+$/.test(sent.ts))
    const history = await web.conversations.history({ channel: 'D1', include_all_metadata: true })
    check('its metadata is found', JSON.stringify(history.messages).includes('k1'), history)
    const changed = await web.chat.update({ channel: 'D1', ts: sent.ts, text: 'bye' })
    check('a message is changed', changed.ok)
    const up = await web.files.uploadV2({ channel_id: 'D1', filename: 'a.txt', file: Buffer.from('abc') })
    check('a file is uploaded', up.ok)
    await socket.disconnect()
    const ended = () => readFileSync(join(folder, 'calls'), 'utf8').includes('closed {"code": 1000}')
    check('it closes its connection with 1000', await until(async () => ended()))
} catch (e) {
    check('the client works', false, e)
} finally {
    server.kill()
    rmSync(folder, { recursive: true, force: true })
}
checks.forEach(({ name, ok, why }, i) => {
    console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} - slack: ${name}`)
    if (!ok && why !== undefined) console.log('# ' + String(why.stack ?? JSON.stringify(why)).split('\n').join('\n# '))
})
console.log(`1..${checks.length}`)
process.exit(checks.every((c) => c.ok) ? 0 : 1)

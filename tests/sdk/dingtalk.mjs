// dingtalk.mjs -- DingTalk's own client against tests/support/channels/dingtalkserver: what the
// stand-in does is what the client expects of the service.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axios from 'axios'
import { DWClient, TOPIC_ROBOT } from 'dingtalk-stream'

const checks = []
const check = (name, ok, why) => checks.push({ name, ok: !!ok, why })
const root = process.env.CHELA_ROOT
const folder = mkdtempSync(join(tmpdir(), 'dingtalk-'))
const server = spawn(join(root, 'tests/support/channels/dingtalkserver'), [folder, 'ding-1', 'secret-1'], { stdio: ['ignore', 'pipe', 'inherit'] })
const port = await new Promise((r) => server.stdout.once('data', (d) => r(Number(d))))
const base = `http://127.0.0.1:${port}`
const post = (path, body) => fetch(base + path, { method: 'POST', body: JSON.stringify(body) })
console.info = () => {}

try {
    // The client's addresses are fixed.
    axios.interceptors.request.use((c) => ({ ...c, url: c.url.replace(/^https:\/\/[a-z]+\.dingtalk\.com/, base) }))
    const client = new DWClient({ clientId: 'ding-1', clientSecret: 'secret-1', keepAlive: false })
    const seen = []
    client.registerCallbackListener(TOPIC_ROBOT, (m) => {
        seen.push(JSON.parse(m.data).text.content)
        client.socketCallBackResponse(m.headers.messageId, { ok: true })
    })
    client.registerCallbackListener('/v1.0/card/instances/callback', (m) => {
        seen.push(JSON.parse(m.data).outTrackId)
        client.socketCallBackResponse(m.headers.messageId, {})
    })
    client.registerAllEventListener(() => ({ status: 'SUCCESS' }))
    await client.connect()
    check('the client connects', client.connected)
    check('it gets an access token', (await client.getAccessToken()).length > 10)
    let answer = await post('/test/message', { msgId: 'm1', text: { content: 'one' } })
    check('it gets a message and answers', answer.status === 200 && seen[0] === 'one', seen)
    answer = await post('/test/press', { outTrackId: 't-1' })
    check('and a press', answer.status === 200 && seen[1] === 't-1', seen)
    answer = await post('/test/event', { x: 1 })
    check('and an event', answer.status === 200 && (await answer.json()).data.includes('SUCCESS'))
    answer = await post('/test/ping', {})
    check('it answers a ping', answer.status === 200 && (await answer.json()).headers.topic === 'ping')
    await post('/test/drop?how=close', {})
    answer = await post('/test/message', { msgId: 'm2', text: { content: 'two' } })
    check('it connects again, with a new ticket', answer.status === 200 && seen.includes('two'), seen)
    const refused = await new DWClient({ clientId: 'ding-1', clientSecret: 'other' }).getEndpoint().catch((e) => e)
    check('a wrong secret is refused', refused.response?.status === 401, refused)
    client.disconnect()
} catch (e) {
    check('the client works', false, e)
} finally {
    server.kill()
    rmSync(folder, { recursive: true, force: true })
}
checks.forEach(({ name, ok, why }, i) => {
    console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} - dingtalk: ${name}`)
    if (!ok && why !== undefined) console.log('# ' + String(why.stack ?? JSON.stringify(why)).split('\n').join('\n# '))
})
console.log(`1..${checks.length}`)
process.exit(checks.every((c) => c.ok) ? 0 : 1)

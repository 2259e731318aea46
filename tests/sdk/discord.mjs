// discord.mjs -- the official client against tests/support/channels/discordserver: what the
// stand-in does is what the client expects of the service.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocketManager, WebSocketShardEvents } from '@discordjs/ws'

const checks = []
const check = (name, ok, why) => checks.push({ name, ok: !!ok, why })
const root = process.env.CHELA_ROOT
const folder = mkdtempSync(join(tmpdir(), 'discord-'))
const server = spawn(join(root, 'tests/support/channels/discordserver'), [folder, 'token-1', '800'], { stdio: ['ignore', 'pipe', 'inherit'] })
const port = await new Promise((r) => server.stdout.once('data', (d) => r(Number(d))))
const base = `http://127.0.0.1:${port}`
const post = (path, body) => fetch(base + path, { method: 'POST', body: JSON.stringify(body ?? {}) })
const until = async (f) => {
    for (let i = 0; i < 400 && !(await f()); i++) await new Promise((r) => setTimeout(r, 50))
    return f()
}
const api = (method, path, body) =>
    fetch(base + '/api/v10' + path, { method, headers: { authorization: 'Bot token-1', 'content-type': 'application/json' }, body: body && JSON.stringify(body) })
const frames = (op) => readFileSync(join(folder, 'calls'), 'utf8').split('\n').filter((l) => l.startsWith(`gateway ${op} `))

try {
    const manager = new WebSocketManager({
        token: 'token-1',
        intents: 4609,
        rest: { get: async (path) => (await api('GET', path)).json() },
        fetchGatewayInformation: async () => (await api('GET', '/gateway/bot')).json(),
    })
    const seen = []
    manager.on(WebSocketShardEvents.Dispatch, (...a) => {
        const payload = a.map((x) => x?.data ?? x).find((x) => x && typeof x === 'object' && 't' in x)
        if (payload) seen.push(payload)
    })
    manager.on(WebSocketShardEvents.Error, () => {})
    await manager.connect()
    check('the client identifies itself', (await until(() => seen.some((p) => p.t === 'READY'))) && frames(2).length === 1)
    const tell = (content) => post('/test/event?t=MESSAGE_CREATE', { id: '5', channel_id: '100', author: { id: '500' }, content })
    const heard = (content) => until(() => seen.some((p) => p.t === 'MESSAGE_CREATE' && p.d.content === content))
    await tell('one')
    check('it gets an event', await heard('one'))
    check('its heartbeats are answered', await until(() => frames(1).length >= 3))
    await post('/test/drop?how=reconnect')
    await tell('two')
    check('it continues the session when it is asked to connect again', (await heard('two')) && frames(6).length === 1 && frames(2).length === 1)
    await post('/test/drop?how=4009')
    await tell('three')
    check('and after a close code that permits it', (await heard('three')) && frames(6).length === 2)
    await post('/test/drop?how=cut')
    await tell('four')
    check('and after a lost connection', await heard('four'))
    await post('/test/drop?how=invalid')
    check('an invalid session is replaced', await until(() => frames(2).length === 2))
    await until(async () => (await (await fetch(base + '/test/sessions')).json()).some((s) => s.open))
    await tell('five')
    check('and works', await heard('five'))
    await manager.destroy()
    check('it ends its session with the connection', await until(async () => (await (await fetch(base + '/test/sessions')).json()).length === 0))
    const body = { content: 'hello', nonce: 'n1', enforce_nonce: true }
    const one = await (await api('POST', '/channels/100/messages', body)).json()
    const two = await (await api('POST', '/channels/100/messages', body)).json()
    check('a nonce is one message', one.id && one.id === two.id)
    const refused = await api('POST', '/channels/100/messages', { content: 'x'.repeat(2001) })
    check('a text that is too long is refused', refused.status === 400)
} catch (e) {
    check('the client works', false, e)
} finally {
    server.kill()
    rmSync(folder, { recursive: true, force: true })
}
checks.forEach(({ name, ok, why }, i) => {
    console.log(`${ok ? 'ok' : 'not ok'} ${i + 1} - discord: ${name}`)
    if (!ok && why !== undefined) console.log('# ' + String(why.stack ?? JSON.stringify(why)).split('\n').join('\n# '))
})
console.log(`1..${checks.length}`)
process.exit(checks.every((c) => c.ok) ? 0 : 1)

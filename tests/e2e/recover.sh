#!/usr/bin/env bash
# A store that was restored from a backup while a run, an event and a message were in progress: after `serve --recovered`
# they wait, `sessions recover` lists them with what may have happened already, and releases or drops each.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh

cat >"$space/effect.sh" <<'SH'
echo once >>effects
while [ -e stay ]; do sleep 0.2; done
echo done
SH
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^do", after: none }, call: { tool: t_do, args: {} } }
  - { when: { user: "^ask", after: none }, call: { tool: t_ask, args: {} } }
  - { when: { after: any }, say: "did: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
answered() { call GET "/api/sessions/$1" && [ "$(jq -r .status "$out")" = "${2-idle}" ]; }
said() { call GET "/api/sessions/$1" && jq -e ".transcript[] | select(.role == \"assistant\") | .content[] | select(.text | strings | contains(\"$2\"))" "$out" >/dev/null; }
unsaid() { call GET "/api/sessions/$1" && ! grep -q "$2" "$out"; }
ready() { call GET /readyz && [ "$code" = 200 ]; }
chela() { (cd "$space" && with_env "$program" "$@" --config chela.yaml 2>>"$tmp/err"); }
starts() { # FLAG...: serve ends the servers, too
    serve "$@"
    trap 'kill -9 $gateway_pid 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT
}
begin() { # NAME URL
    name=$1
    rm -f "$space/effects"
    cat >"$space/chela.yaml" <<YAML
store: $2
sandbox: { mode: "off" }
agents: { list: [{ id: main, model: scripted/rules.yaml, tools: { allow: [t_do, t_ask] } }] }
tools:
  custom:
    - { name: t_do, description: Does., command: [sh, effect.sh], effect: once, permission: read, timeoutSec: 90, parameters: { type: object } }
    - { name: t_ask, description: Asks., command: [echo, ran], effect: once, permission: write, confirm: true, parameters: { type: object } }
YAML
    starts
    [ -n "$gateway" ] || { cat "$serve_log" >&2; exit 1; }
    post /api/sessions/rests/messages '{"text":"hello"}'
    post /api/sessions/paused/messages '{"text":"ask me"}'
    : >"$space/stay"
    post /api/sessions/works/messages '{"text":"do it"}'
    check "$name: a call is in progress" eventually test -s "$space/effects"
    check "$name: a run is paused" eventually answered paused paused
    check "$name: a session rests" eventually answered rests
    kill -9 "$gateway_pid"
    wait "$gateway_pid" 2>/dev/null
    rm "$space/stay"
}
recovers() {
    starts --recovered
    check "$name: --recovered says how many sessions wait" grep -q 'the store was recovered: 2 sessions wait' "$serve_log"
    check "$name: the gateway is ready" eventually ready
    sleep 3
    same "$name: the run in progress is not resumed" "1 running" "$(wc -l <"$space/effects") $(call GET /api/sessions/works; jq -r .status "$out")"
    chela sessions recover --json >"$tmp/list"
    same "$name: what waits is listed" '["paused","works"]' "$(jq -c '[.[].session] | sort' "$tmp/list")"
    same "$name: with the call that may have taken effect" '[{"name":"t_do","effect":"once"}]' \
        "$(jq -c '[.[] | select(.session == "works").calls[] | {name, effect}]' "$tmp/list")"
    post /api/sessions/works/messages '{"text":"and then?"}'
    same "$name: a message to it is accepted" 202 "$code"
    sleep 1
    check "$name: and waits" unsaid works "and then"
    chela sessions recover >"$tmp/words"
    check "$name: the list says so in words" grep -q "may have been handled: the event.*and then" "$tmp/words"
    post /api/sessions/rests/messages '{"text":"again"}'
    check "$name: a session that rested goes on at once" eventually said rests "heard: again"
    chela sessions recover --drop paused
    check "$name: a dropped run is cancelled" eventually answered paused
    chela sessions recover --release works
    check "$name: a released run goes on, and takes the message up" eventually said works "heard: and then?"
    check "$name: and ends" eventually answered works
    same "$name: the once effect was made once" 1 "$(wc -l <"$space/effects")"
    same "$name: nothing waits any more" '[]' "$(chela sessions recover --json | jq -c .)"
    chela sessions recover --release works
    same "$name: a session that does not wait is refused" 1 "$?"
    kill -9 "$gateway_pid"
    wait "$gateway_pid" 2>/dev/null
}

begin SQLite "sqlite:./chela.db"
recovers

# --- restored while no gateway runs: the node's own file about the store tells
mkdir "$tmp/backup"
cp "$space"/chela.db* "$tmp/backup"
starts
post /api/sessions/rests/messages '{"text":"after the backup"}'
check "the store goes on" eventually said rests "heard: after the backup"
stop_serving
starts
check "a store as it was left is taken" test -n "$gateway"
stop_serving
rm "$space"/chela.db*
cp "$tmp"/backup/chela.db* "$space"
starts
check "an older copy is refused at the start" grep -q 'an older copy than the one that this machine used last' "$serve_log"
check "the line names the way out" grep -q 'Start with --recovered' "$serve_log"
check "nothing listens" test -z "$gateway"
starts --recovered
check "--recovered takes it" eventually ready
stop_serving
starts
check "and so does the next start" test -n "$gateway"
stop_serving
rm "$space"/chela.db*
starts
check "an empty store is taken with a warning" grep -q 'warning: store .*is empty, and not the one' "$serve_log"
check "and works" test -n "$gateway"
stop_serving
if start_postgres; then
    begin PostgreSQL "$postgres"
    recovers
else
    skip "PostgreSQL" "not installed here"
fi
if start_redis; then
    begin Redis "$redis"
    recovers
else
    skip "Redis" "not installed here"
fi
tap_done

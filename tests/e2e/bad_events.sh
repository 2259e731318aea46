#!/usr/bin/env bash
# Requests and stored events that make no sense, with each store: a clear error, nothing lost,
# and the events behind them are processed.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh

secret=hook-SENTINEL-0123456789abcdef
program=$(realpath "$program")
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env DEPLOY_SECRET=$secret "$@"; }
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "ask me" }, call: { tool: ship, args: {} } }
  - { say: "heard: {{user}}" }
YAML
configure() { # STORE
    cat >"$space/chela.yaml" <<YAML
store: "$1"
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
sandbox: { mode: "off" }
approvals: { ship: ask }
tools: { custom: [{ name: ship, description: Ships., command: ["true"], effect: once, permission: write }] }
gateway: { hooks: { joined: { secretEnv: DEPLOY_SECRET, session: queue } } }
YAML
}
serve_here() {
    serve
    trap 'kill -9 $gateway_pid 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT
}
knock() { # BODY
    local now signature
    now=$(date +%s)
    signature=$(printf '%s.%s' "$now" "$1" | openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1)
    anon POST /hooks/joined -H 'Content-Type: application/json' -H "X-Chela-Timestamp: $now" \
        -H "X-Chela-Signature: sha256=$signature" --data-binary "$1"
}
exported() { (cd "$space" && with_env "$program" sessions export "$1" 2>/dev/null); }
told() { # WORD: the session of the hook was told so
    exported queue | grep '"type":"inbound"' | grep -q "$1"
}
# The data of the waiting events becomes DATA, behind the gateway's back.
spoil_SQLite() { sqlite3 "$space/chela.db" "UPDATE inbox SET data = '$1' WHERE state <> 'done' AND id LIKE 'hook/%'"; }
spoil_PostgreSQL() { postgres_sql "UPDATE chela.inbox SET data = '$1' WHERE state <> 'done' AND id LIKE 'hook/%'"; }
spoil_Redis() {
    local id
    for id in $(redis_tell ZRANGE chela:inbox 0 -1 | sed -n 's/^[0-9]*:\(hook\/.*\)$/\1/p'); do
        redis_tell HSET "chela:i:$id" data "$1" >/dev/null
    done
}

try_store() { # NAME STORE
    local name=$1
    configure "$2"
    serve_here

    # --- sessions, keys and ids that are none
    call GET /api/sessions/nowhere
    answers "$name: a session that does not exist" 404
    call GET /api/sessions/nowhere/records
    answers "$name: its records" 404
    post /api/sessions/nowhere/cancel '{}'
    same "$name: cancelling it is refused" 4 "${code:0:1}"
    tells "$name: in words" '.error.message | length > 0' true
    post /api/sessions/nowhere/messages '{"results":[{"id":"toolu_1","content":"x"}]}'
    same "$name: a result for it is refused" 4 "${code:0:1}"
    post /api/approvals/nothing '{"decision":"deny"}'
    answers "$name: an approval that does not exist" 404
    post "/api/sessions/$(printf 'k%.0s' {1..600})/messages" '{"text":"one"}'
    answers "$name: a session key that is too long" 400
    post /api/sessions/a/messages '{"text":"one"}' -H "Idempotency-Key: $(printf 'x%.0s' {1..256})"
    answers "$name: an idempotency key that is too long" 400
    post /api/sessions/a/messages '{"text":"one"}' -H 'Idempotency-Key: k1'
    answers "$name: a key" 202
    eventually status_is a idle
    post /api/sessions/a/messages '{"text":"two"}' -H 'Idempotency-Key: k1'
    answers "$name: the key with another body" 409
    tells "$name: which the answer says" .error.code idempotency_key_reused
    same "$name: one message was stored" 1 "$(exported a | grep -c '"type":"inbound"')"
    post /api/sessions/a/messages '{"text":"three"}' -H "Authorization: Bearer foreign-$token"
    answers "$name: a foreign token of the gateway" 401

    # --- events in the store that cannot be read, before one that can
    local i=0
    for data in 'not json' '{}' '{"kind":"unknown"}' '[1,2]' '{"kind":"message","message":7}'; do
        i=$((i + 1))
        post /api/sessions/queue/messages '{"text":"ask me"}'
        eventually status_is queue paused
        call GET /api/approvals
        approval=$(jq -r '.approvals[] | select(.session == "queue").approval_id' "$out")
        knock "{\"spoiled\":$i}"
        answers "$name: $data: an event waits" 202
        stop_serving KILL
        "spoil_$name" "$data"
        serve_here
        knock "{\"after\":$i}"
        answers "$name: $data: another one waits behind" 202
        post "/api/approvals/$approval" '{"decision":"deny"}'
        answers "$name: $data: the run goes on" 200
        check "$name: $data: the queue goes on" eventually told "after[^0-9]*${i}[^0-9]"
        check "$name: $data: and comes to rest" eventually status_is queue idle
    done
    check "$name: the log names what was dropped" grep -q 'is dropped' "$serve_log"
    call GET /readyz
    answers "$name: the gateway is ready" 200
    check "$name: the gateway ends" stop_serving
}

try_store SQLite sqlite:./chela.db
if start_postgres; then try_store PostgreSQL "$postgres"; else skip "PostgreSQL" "not installed here"; fi
if start_redis; then try_store Redis "$redis"; else skip "Redis" "not installed here"; fi
tap_done

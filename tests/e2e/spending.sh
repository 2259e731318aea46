#!/usr/bin/env bash
# Budgets of the gateway: of the day, an agent, a channel and a sender; over HTTP, a hook and a
# chat; over a restart with kill -9; and with two gateways on one store.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/servers.sh

program=$(realpath "$program")
secret=hook-SENTINEL-0123456789abcdef
start_lark
lark_pid=$server_pid
pid_a='' pid_b=''
eval "lark_$(declare -f with_env)"
with_env() { lark_with_env HOOK_SECRET=$secret "$@"; }

clean_up() {
    # shellcheck disable=SC2086
    kill -9 $gateway_pid $pid_a $pid_b 2>/dev/null
    kill "$lark_pid" 2>/dev/null
    stop_servers
    rm -rf "$tmp"
}

write_rules() { # DIR
    cat >"$1/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^work", turn: 1 }, call: { tool: look, args: {} } }
  - { when: { user: "^work", turn: 2 }, call: { tool: look, args: {} } }
  - { when: { user: "^work", turn: 3 }, call: { tool: look, args: {} } }
  - { when: { user: "^wait", after: none }, call: { tool: t_wait, args: {} } }
  - { say: "heard: {{user}}" }
YAML
}
# A gateway with the agents main and other, whose calls cost 0.001 dollars a token, and these budgets.
configure() { # BUDGETS [DIR] [STORE]
    local dir=${2:-$space}
    mkdir -p "$dir"
    write_rules "$dir"
    printf '#!/bin/sh\ntouch "%s/waiting"\nwhile [ ! -e "%s/go" ]; do sleep 0.02; done\n' "$tmp" "$tmp" >"$tmp/waiter"
    chmod +x "$tmp/waiter"
    cat >"$dir/chela.yaml" <<YAML
store: "${3:-sqlite:./chela.db}"
sandbox: { mode: "off" }
providers: { scripted: { models: [{ id: "$dir/rules.yaml", price: { input: 1000, output: 1000 } }] } }
agents:
  list:
    - { id: main, model: "scripted/$dir/rules.yaml", tools: { allow: [look, t_wait] } }
    - { id: other, model: "scripted/$dir/rules.yaml", tools: { allow: [look] } }
tools:
  custom:
    - { name: look, description: Looks., command: [echo, seen], effect: read, permission: read }
    - { name: t_wait, description: Waits., command: ["$tmp/waiter"], effect: read, permission: read, timeoutSec: 60 }
gateway: { hooks: { deploy: { secretEnv: HOOK_SECRET, agent: other } } }
channels:
  feishu: { appId: $app, appSecretEnv: FEISHU_APP_SECRET, verificationTokenEnv: FEISHU_VERIFICATION_TOKEN,
    mode: webhook, domain: "$lark", dmPolicy: open, agent: main }
budgets: $1
YAML
}
begin() { # BUDGETS: a gateway with a new store
    [ -z "${gateway_pid-}" ] || stop_serving KILL
    rm -f "$space"/chela.db*
    configure "$1"
    serve
}
hook() { # BODY
    local now signature
    now=$(date +%s)
    signature=$(printf '%s.%s' "$now" "$1" | openssl dgst -sha256 -hmac $secret -r | cut -d' ' -f1)
    anon POST /hooks/deploy -H 'Content-Type: application/json' -H "X-Chela-Timestamp: $now" \
        -H "X-Chela-Signature: sha256=$signature" --data-binary "$1"
}
complete() { # AGENT TEXT
    post /v1/chat/completions "$(jq -cn --arg a "$1" --arg t "$2" '{model: $a, messages: [{role: "user", content: $t}]}')"
}
message() { # SESSION TEXT [AGENT]
    post "/api/sessions/$1/messages" "$(jq -cn --arg t "$2" --arg a "${3:-main}" '{text: $t, agent: $a}')"
}
refused() { # LABEL BUDGET
    answers "$1" 429
    tells "$1: the code" .error.code budget_exceeded
    check "$1: names the budget" grep -q "budget '$2'" "$out"
    check "$1: says when it resets" grep -q "It resets on .* at 00:00 UTC" "$out"
    local after
    after=$(sed -n 's/^[Rr]etry-[Aa]fter: \([0-9]*\).*/\1/p' "$err" | tr -d '\r')
    check "$1: Retry-After is within the day" test "${after:-0}" -ge 1 -a "${after:-0}" -le 86400
}
idle() { status_is "$1" idle; }
# The number of model calls that a run of this key made.
turns() {
    call GET "/api/sessions/$1"
    jq '[.transcript[] | select(.role == "assistant")] | length' "$out"
}

# --- the day, over every way in
begin '{ all: { tokens: 20 } }'
complete main hello
answers "within the budget" 200
complete main again
refused "chat completions" all
post /v1/responses '{"model":"main","input":"hi"}'
refused "responses" all
post /v1/messages '{"model":"main","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}'
answers "messages" 429
tells "messages: Anthropic's form" .error.type rate_limit_error
message s1 hi
refused "a session" all
post /v1/chat/completions '{"model":"main","messages":[{"role":"user","content":"hi"}]}' -H 'X-Chela-Session: kept'
refused "chat completions of a session" all
post /v1/responses '{"model":"main","input":"hi"}' -H 'X-Chela-Session: kept'
refused "responses of a session" all
post /api/chat '{"id":"u1","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]}'
answers "AI SDK" 429
hook '{"state":"failed"}'
refused "a hook" all
call GET /api/sessions/s1
tells "the refused message is not in the session" '.transcript | length' 0
push "$(event om_1 oc_1 p2p "good morning")"
answers "the chat's event" 200
hears 1
check "the chat is told" grep -q "budget 'all'" <(texts)
call GET /metrics
check "refusals are counted" grep -qE '^chela_budget_refusals_total [1-9]' "$out"
call GET /api/usage
tells "/api/usage: the budget" '.budgets[0] | [.budget, .of, .limit_tokens, (.tokens >= 20)] | tojson' '["all","",20,true]'
chela usage --by budget --config chela.yaml
check "chela usage: the budget" grep -qE '^all +' "$out"
chela usage --by budget --json --config chela.yaml
tells "chela usage: as JSON" '.[0] | [.budget, .limit_tokens] | tojson' '["all",20]'
call GET /api/sessions
tells "a refused message leaves no session" '[.sessions[].key | select(. == "s1" or . == "kept" or . == "u1")] | tojson' '[]'
chela sessions list --json --config chela.yaml
tells "a refused message leaves no session in the list" '[.[].key | select(. == "s1" or . == "kept")] | tojson' '[]'

# --- a limit that was changed is shown at once
sed -i 's/tokens: 20 }/tokens: 30 }/' "$space/chela.yaml"
chela usage --by budget --json --config chela.yaml
tells "chela usage: the configured limit" '.[0].limit_tokens' 30
kill -HUP "$gateway_pid"
has_limit() { call GET /api/usage && [ "$(jq '.budgets[0].limit_tokens' "$out")" = "$1" ]; }
check "/api/usage: the limit after a reload" eventually has_limit 30
sed -i 's/tokens: 30 }/tokens: 20 }/' "$space/chela.yaml"

# --- a budget that would limit nothing is refused
wrong() { # LABEL BUDGETS PATTERN
    configure "$2" "$tmp/wrong"
    chela config check --config "$tmp/wrong/chela.yaml"
    exits "$1" 2
    check "$1: it says why" grep -q "$3" "$err" "$out"
}
wrong "an unknown agent" '{ a: { agent: mian, tokens: 5 } }' "no agent 'mian', did you mean main"
wrong "an unknown channel" '{ a: { channel: fieshu, tokens: 5 } }' "no channel 'fieshu', did you mean feishu"
wrong "no tokens" '{ a: { tokens: 0 } }' 'must be above 0'
wrong "no limit" '{ a: { agent: main } }' 'needs .costUsd. or .tokens.'
configure '{ a: { agent: "m*", channel: http, tokens: 5 }, b: { channel: feishu, costUsd: 0.5 } }' "$tmp/wrong"
chela config check --config "$tmp/wrong/chela.yaml"
exits "known names and patterns" 0

# --- after kill -9 the use is still known
stop_serving KILL
serve
complete main hello
refused "after kill -9" all

# --- a run in progress ends before the next model call
begin '{ dollars: { costUsd: 0.8 } }'
post /api/sessions/run1/messages '{"text":"work","agent":"main","stream":true}'
answers "a run within the budget" 200
check "its event" grep -q '"type":"budget".*"budget":"dollars","unit":"usd","limit":0.8,"used":' "$out"
check "its end" grep -q '"type":"run_end".*"status":"stopped","reason":"cost_budget_exceeded"' "$out"
check "its end says why" grep -q "\"error\":\"The budget 'dollars' is used up: .* of 0.8 USD today" "$out"
check "before the work was done" test "$(turns run1)" -lt 4
call GET /api/usage
tells "the cost was counted" '.budgets[0].cost_usd >= 0.8' true

# --- an agent, each agent
begin '{ one: { agent: other, tokens: 1 } }'
complete other hi
answers "the agent's first run" 200
complete other hi
refused "the agent's second run" one
hook '{"state":"failed"}'
refused "the agent's hook" one
complete main hi
answers "another agent" 200
begin '{ each: { agent: "*", tokens: 1 } }'
complete main hi
answers "each agent: one" 200
complete other hi
answers "each agent: the other" 200
complete main hi
refused "each agent: again" each
check "each agent: whose" grep -q "budget 'each' of main" "$out"

# --- a channel
begin '{ chat: { channel: feishu, tokens: 1 } }'
: >"$tmp/lark/sent"
push "$(event om_2 oc_2 p2p one)"
hears 1
check "the channel's first message is answered" grep -q 'heard: .*one' <(texts)
push "$(event om_3 oc_2 p2p two)"
hears 2
check "the channel's second is refused" grep -q "budget 'chat'" <(texts)
complete main hi
answers "HTTP is another channel" 200
begin '{ web: { channel: http, tokens: 1 } }'
complete main hi
complete main hi
refused "the channel http" web

# --- a sender, each sender
begin '{ people: { sender: "*", tokens: 1 } }'
: >"$tmp/lark/sent"
push "$(event om_4 oc_4 p2p one ou_ann)"
hears 1
push "$(event om_5 oc_5 p2p two ou_bob)"
hears 2
check "each sender has a budget" test "$(grep -c heard: <(texts))" = 2
push "$(event om_6 oc_4 p2p three ou_ann)"
hears 3
check "a sender's is used up" grep -q "budget 'people' of feishu/ou_ann" <(texts)
complete main hi
complete main hi
answers "no sender, no budget of senders" 200

# --- kill -9 in a run: its use is counted once, the run goes on and is limited
begin '{ all: { tokens: 100000 } }'
rm -f "$tmp/go" "$tmp/waiting"
message wait1 wait
eventually test -e "$tmp/waiting"
call GET /api/usage
before=$(jq '.budgets[0].tokens' "$out")
check "the first call is counted while the run works" test "$before" -gt 0
stop_serving KILL
touch "$tmp/go"
serve
eventually idle wait1
call GET /api/usage
after=$(jq '.budgets[0].tokens' "$out")
stored=$(jq '[.calls[] | .input + .output] | add' "$out")
same "the use of the resumed run is that of its calls" "$stored" "$after"

# --- a reload changes the limit
configure '{ all: { tokens: 10 } }'
kill -HUP "$gateway_pid"
reloaded() { complete main hi; [ "$code" = 429 ]; }
check "a lower limit counts after a reload" eventually reloaded
stop_serving

# --- what config check says
configure '{ all: { costUsd: 0 } }'
chela config check chela.yaml
exits "a budget without a limit" 2
check "a budget without a limit: where" grep -qE 'chela.yaml:[0-9]+:[0-9]+.*costUsd' "$err"
configure '{ all: { cost: 3 } }'
chela config check chela.yaml
exits "an unknown key" 2

# --- two gateways on one store
two() { # NAME STORE
    local at_a at_b
    for node in a b; do
        configure '{ all: { tokens: 20 } }' "$tmp/$node" "$2"
        : >"$tmp/$node.log"
        # shellcheck disable=SC2016
        (cd "$tmp/$node" && with_env CHELA_TOKEN=$token sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/$node.pid" \
            "$program" serve --config chela.yaml --listen 127.0.0.1:0 -v >>"$tmp/$node.log" 2>&1 </dev/null) &
        for _ in {1..400}; do
            at=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$tmp/$node.log")
            [ -n "$at" ] && break
            sleep 0.05
        done
        eval "pid_$node=$(cat "$tmp/$node.pid") at_$node=$at"
    done
    gateway=$at_a
    complete main hello
    answers "$1: the first node spends" 200
    gateway=$at_b
    complete main hello
    refused "$1: the other node" all
    kill -9 "$pid_a" "$pid_b"
    wait "$pid_a" "$pid_b" 2>/dev/null
    pid_a='' pid_b=''
}
two sqlite "sqlite:$tmp/shared.db"
if start_postgres; then two postgres "$postgres"; else skip "two gateways" "PostgreSQL is not installed here"; fi
if start_redis; then two redis "$redis"; else skip "two gateways" "Redis is not installed here"; fi
tap_done

#!/usr/bin/env bash
# A conversation changes hands: in a run, for the next message, in another
# process, over HTTP, and not for ever.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
program=$(realpath "$program")

cat >"$space/front.yaml" <<'YAML'
rules:
  - { when: { user: "bill", after: none }, call: { tool: handoff, args: { agent: billing, note: "about a bill" } } }
  - { when: { user: "slow", after: none }, call: [{ tool: handoff, args: { agent: billing } }, { tool: t_wait, args: {} }] }
  - { when: { user: "boss", after: none }, call: { tool: handoff, args: { agent: boss } } }
  - { when: { user: "round", turn: 1 }, call: { tool: handoff, args: { agent: billing } } }
  - { when: { user: "round", is_error: false }, call: { tool: handoff, args: { agent: billing } } }
  - { when: { after: handoff, is_error: true }, say: "front: {{result}}" }
  - { say: "front: {{user}}" }
YAML
cat >"$space/billing.yaml" <<'YAML'
rules:
  - { when: { user: "back", after: none }, call: { tool: handoff, args: { agent: front } } }
  - { when: { user: "round", is_error: false }, call: { tool: handoff, args: { agent: front } } }
  - { when: { after: handoff, is_error: true }, say: "billing: {{result}}" }
  - { when: { user: "ask", after: none }, call: { tool: t_ask, args: {} } }
  - { say: "billing: {{user}}" }
YAML
printf '#!/bin/sh\necho ran\n' >"$space/asker"
printf '#!/bin/sh\ntouch waits\nwhile [ ! -e go ]; do sleep 0.02; done\necho waited\n' >"$space/waiter"
chmod +x "$space/asker" "$space/waiter"
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents:
  list:
    - { id: front, model: scripted/front.yaml, handoff: [billing], tools: { allow: [calculate, t_wait] } }
    - { id: billing, description: Bills., model: scripted/billing.yaml, handoff: [front], tools: { allow: [t_ask] }, limits: { maxTurns: 40 } }
tools:
  custom:
    - { name: t_ask, description: Asks., command: [./asker], effect: once, permission: write, confirm: true }
    - { name: t_wait, description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }
YAML
says() { # NAME KEY WORDS WANT
    chela run --session "$2" "$3"
    same "$1" "$4" "$(cat "$out")"
}
says "before" a "hello" "front: hello"
chela run --session a --output jsonl "my bill"
exits "handed over" 0
holds "handed over: the other one answers" '.[-1].text == "billing: my bill"'
holds "handed over: it is told" '[.[] | select(.type == "handoff")] | length == 1 and .[0].from == "front" and .[0].to == "billing" and .[0].reason == "about a bill"'
holds "handed over: one run, one count" '.[-1].turns == 2 and ([.[].seq] == [range(length)])'
says "the next message goes there, in another process" a "again" "billing: again"
says "and back" a "back" "front: back"
says "and stays" a "more" "front: more"
chela run --session b --output jsonl "the boss"
holds "to nobody it may not hand over to" '.[-1].text | test("^front: .*(boss|agent)")'
chela run --session c --output jsonl "round and round"
exits "round and round" 0
holds "round and round: not for ever" '[.[] | select(.type == "handoff")] | length >= 3 and length <= 8'
chela run --session d "my bill"
chela run --session d --approve ask "ask"
exits "consent after a change of hands" 5
chela sessions resume d --allow all
same "consent after a change of hands: it goes on there" "billing: ask" "$(cat "$out")"

# --- killed after it was said, before it was done
# shellcheck disable=SC2016
(cd "$space" && with_env sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/pid" \
    "$program" run --session k "slow" >"$tmp/life" 2>&1 </dev/null) &
background=$!
for _ in {1..600}; do [ -e "$space/waits" ] && break; sleep 0.05; done
kill -9 "$(cat "$tmp/pid")"
wait $background 2>/dev/null
touch "$space/go"
chela sessions resume k
same "killed in the middle: it is handed over all the same" "billing: slow" "$(cat "$out")"
chela sessions export k
same "killed in the middle: it counts once" '"handoffs":1' "$(grep -o '"handoffs":[0-9]*' "$out" | sort -u)"

# --- played again, it is compared with whoever had the conversation
for session in a c d; do
    chela replay $session
    exits "replay of $session" 0
done
sed 's/scripted\/billing.yaml/scripted\/other.yaml/' "$space/chela.yaml" >"$space/other-model.yaml"
cp "$space/billing.yaml" "$space/other.yaml"
chela replay --config other-model.yaml a
exits "replay with another model of the second one" 1
check "replay with another model: whose it was" grep -q 'then scripted/.*billing.yaml is asked .*; now scripted/.*other.yaml' "$out"
cat >"$space/alone.yaml" <<'YAML'
store: sqlite:./chela.db
agents: { list: [{ id: front, model: scripted/front.yaml, tools: { allow: [calculate] } }] }
YAML
chela replay --config alone.yaml a
exits "replay without the second one" 1
check "replay without the second one: it is missed, once" test "$(grep -c 'now there is no such agent' "$out")" = 1

# --- limits hold over it: what the run used counts, whoever used it
limits() { # NAME REASON FLAG...
    local name=$1 reason=$2
    shift 2
    chela run --no-session --output jsonl "$@" "round and round"
    exits "$name" 3
    holds "$name: where the run used it up" ".[-1].reason == \"$reason\" and ([.[] | select(.type == \"handoff\")] | length >= 1)"
}
limits "turns" max_turns_exceeded --max-turns 3
holds "turns: three, and one to sum up" '.[-1].turns <= 4'
limits "tool calls" max_tool_calls_exceeded --max-tool-calls 2
chela run --no-session --output jsonl "round and round"
tokens=$(jq -s '[.[] | select(.type == "turn_end") | .usage.input + .usage.output] | .[0] + .[1] + .[2]' "$out")
limits "tokens" token_budget_exceeded --token-budget "$tokens"
holds "tokens: not in the hands of one" '[.[] | select(.type == "model_request") | .model] | unique | length == 2'
cat >>"$space/chela.yaml" <<YAML
providers: { scripted: { models: [ { id: $space/front.yaml, price: { input: 1000, output: 1000 } }, { id: $space/billing.yaml, price: { input: 1000, output: 1000 } } ] } }
YAML
chela run --no-session --output jsonl "round and round"
cost=$(jq -s '[.[] | select(.type == "turn_end") | .usage.cost_usd] | .[0] + .[1] + .[2]' "$out")
limits "dollars" cost_budget_exceeded --cost-budget "$cost"

serve
until_idle() {
    for _ in {1..400}; do
        call GET "/api/sessions/$1"
        [ "$(jq -r .status "$out" 2>/dev/null)" = idle ] && return 0
        sleep 0.05
    done
    return 1
}
last='[.transcript[] | select(.role == "assistant")] | last | [.content[] | .text // empty] | join("")'
post /api/sessions/h/messages '{"text":"my bill"}'
check "HTTP: handed over" until_idle h
tells "HTTP: the other one answers" "$last" "billing: my bill"
post /api/sessions/h/messages '{"text":"again"}'
check "HTTP: the next message" until_idle h
tells "HTTP: the next message goes there" "$last" "billing: again"
stop_serving 9
wait
serve
post /api/sessions/h/messages '{"text":"and now"}'
check "HTTP: after a kill" until_idle h
tells "HTTP: after a kill it is still there" "$last" "billing: and now"
stop_serving
printf 'agents: { list: [{ id: a, handoff: [b] }] }\n' >"$space/bad.yaml"
chela run --config bad.yaml hello
exits "to an agent that is not there" 2
tap_done

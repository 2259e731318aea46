#!/usr/bin/env bash
# A step of a plan that is a run of its own: what it asks is asked in the
# conversation, it waits in the store, and a kill leaves nothing undone or twice.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
program=$(realpath "$program")

step() { # NUMBER TOOL INPUT NEEDS
    printf '{"step_id":%s,"description":"step %s","tool_name":"%s","tool_input":%s,"depends_on":[%s]}' "$1" "$1" "$2" "$3" "$4"
}
plan() { # STEP...
    local all
    all=$(IFS=,; printf '%s' "$*")
    printf '{"analysis":"a","action":"plan","plan":[%s],"estimated_steps":1,"can_parallelize":[]}' "$all"
}
accept='{"evaluation":{"completeness":{"score":5,"reason":"r"},"correctness":{"score":5,"reason":"r"},"format":{"score":5,"reason":"r"}},"overall_pass":true,"action":"accept"}'

printf '#!/bin/sh\necho sent >>sent.log\necho sent it\n' >"$space/sender"
printf '#!/bin/sh\necho counted >>count.log\necho 1\n' >"$space/counter"
printf '#!/bin/sh\ntouch waits\nwhile [ ! -e go ]; do sleep 0.02; done\necho held\n' >"$space/holder"
printf '#!/bin/sh\nn=$(tr -dc 0-9)\ntouch waits.$n\nwhile [ ! -e go.$n ]; do sleep 0.02; done\necho $n\n' >"$space/walker"
chmod +x "$space/walker" "$space/sender" "$space/counter" "$space/holder"
cat >"$space/rules.yaml" <<YAML
rules:
  - { when: { system: "^You are a planner", user: "hold" }, say: '$(plan "$(step 1 t_count '{}' '')" "$(step 2 react_step '{"task":"hold on"}' 1)")' }
  - { when: { system: "^You are a planner", user: "faraway" }, say: '$(plan "$(step 1 react_step '{"task":"wander off"}' '')")' }
  - { when: { system: "^You are a planner", user: "solitaire" }, say: '$(plan "$(step 1 react_step '{"task":"wander off"}' '')" "$(step 2 t_walk '{"n":9}' 1)")' }
  - { when: { system: "^You are a planner", user: "both" }, say: '$(plan "$(step 1 react_step '{"task":"send it, 42"}' '')" "$(step 2 react_step '{"task":"send more, 42"}' '')")' }
  - { when: { system: "^You are a planner" }, say: '$(plan "$(step 1 calculate '{"expression":"6*7"}' '')" "$(step 2 react_step '{"task":"send it"}' 1)")' }
  - { when: { system: "^You judge" }, say: '$accept' }
  - { when: { user: "plan was carried out" }, say: "So: {{result.react_step}}" }
  - { when: { user: "send[^@]*42", after: none }, call: { tool: t_send, args: {} } }
  - { when: { user: "wander off", after: none }, call: { tool: t_walk, args: { n: 1 } } }
$(for n in 1 2 3; do echo "  - { when: { user: wander off, after: t_walk, result: '$n' }, call: { tool: t_walk, args: { n: $((n + 1)) } } }"; done)
  - { when: { user: "hold on", after: none }, call: [{ tool: t_count, args: {} }, { tool: t_hold, args: {} }] }
  - { when: { after: any }, say: "it said {{result}}" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents: { list: [{ id: main, model: scripted/rules.yaml, tools: { allow: [calculate, t_count, t_send, t_hold, t_walk] } }] }
tools:
  custom:
    - { name: t_count, description: Counts., command: [./counter], effect: once, permission: write }
    - { name: t_send, description: Sends., command: [./sender], effect: once, permission: write, confirm: true }
    - { name: t_walk, description: Walks., command: [./walker], effect: read, permission: read, timeoutSec: 60, parameters: { type: object } }
    - { name: t_hold, description: Holds., command: [./holder], effect: read, permission: read, timeoutSec: 60 }
YAML

# --- it asks, and another process decides
chela run --mode plan --approve ask --session ask --output jsonl "write to them"
exits "a step that asks" 5
holds "a step that asks: the run waits" '.[-1].reason == "approval_required"'
holds "a step that asks: in the name of the conversation" '[.[] | select(.type == "approval_required" and (.depth | not)) | .name] == ["t_send"]'
holds "a step that asks: it is a run below" \
    '[.[] | select(.type == "child_start")] | length == 1 and (.[0].session | startswith("ask~react_step-")) and .[0].mode == "react"'
chela sessions show --json ask
holds "a step that asks: it waits in the store" '.[0].waiting | length == 1 and .[0].name == "t_send" and (.[0].child | startswith("ask~react_step-"))'
check "a step that asks: nothing was done" test ! -e "$space/sent.log"
chela sessions resume ask --allow all --output jsonl
exits "a step that asked" 0
holds "a step that asked: it goes on, and the plan with it" '.[0].mode == "plan" and .[-1].text == "So: it said sent it\n"'
holds "a step that asked: the planner is not asked again" '[.[] | select(.type == "model_request" and (.depth | not)) | .role] == ["reflector",null]'
same "a step that asked: done once" 1 "$(wc -l <"$space/sent.log")"
chela trace ask --json
holds "a step that asked: its trace has what it did" '[.[0][] | select(.depth == 1 and .kind == "tool")] | length == 1'
chela run --mode plan --approve ask --session no "write to them"
chela sessions resume no --refuse all --output jsonl
exits "a step that was refused" 0
holds "a step that was refused: it heard so" '.[-1].text | test("did not allow")'
same "a step that was refused: nothing was done" 1 "$(wc -l <"$space/sent.log")"

# --- two at once: one decision each
chela run --mode plan --approve ask --session two "both"
exits "two steps that ask" 5
chela sessions show --json two
id=$(jq -r '.waiting[0].approval_id' "$out")
holds "two steps that ask: two questions" '.[0].waiting | length == 2'
chela sessions resume two --allow "$id"
exits "two steps that ask: one still waits" 5
same "two steps that ask: one was done" 2 "$(wc -l <"$space/sent.log")"
chela sessions resume two --allow all
exits "two steps that ask: both decided" 0
same "two steps that ask: both were done" 3 "$(wc -l <"$space/sent.log")"

# --- limits are the run's
chela run --mode plan --approve auto --max-turns 4 --output jsonl "write to them"
exits "a step's turns count" 3
holds "a step's turns count: the run ends where they do" '.[-1].reason == "max_turns_exceeded" and .[-1].turns <= 5'

# --- killed in the middle: it goes on where it stood
# shellcheck disable=SC2016
(cd "$space" && with_env sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/pid" \
    "$program" run --mode plan --session killed --output jsonl "hold" >"$tmp/life" 2>"$err" </dev/null) &
background=$!
for _ in {1..600}; do
    [ -e "$space/waits" ] && [ "$(grep -c '"tool_result"' "$tmp/life")" -ge 3 ] && break
    sleep 0.05
done
kill -9 "$(cat "$tmp/pid")"
wait $background 2>/dev/null
touch "$space/go"
child=$(jq -r 'select(.type == "child_start") | .run' "$tmp/life")
chela sessions resume killed --output jsonl
exits "killed" 0
holds "killed: the step goes on as the same run" "[.[] | select(.type == \"child_start\") | .run] == [\"$child\"]"
holds "killed: with its plan" '.[-1].text | test("^So: it said ")'
same "killed: what was done is not done again" 2 "$(wc -l <"$space/count.log")"


# --- killed again and again, and further each time: that is not the same point
cut_off() { # N ARG...: killed while t_walk is at N
    # shellcheck disable=SC2016
    (cd "$space" && with_env sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/pid" \
        "$program" "${@:2}" >"$tmp/life" 2>&1 </dev/null) &
    background=$!
    for _ in {1..600}; do [ -e "$space/waits.$1" ] && break; sleep 0.05; done
    kill -9 "$(cat "$tmp/pid")"
    wait $background 2>/dev/null
    touch "$space/go.$1"
}
cut_off 1 run --mode plan --session far "faraway"
for n in 2 3 4; do cut_off $n sessions resume far; done
chela sessions resume far
exits "killed at four points" 0
same "killed at four points: it came to its end" "So: it said 4" "$(cat "$out")"
chela replay far
exits "killed at four points: played again, it goes the same way" 0
cut_off 9 run --mode plan --session alone "solitaire"
chela sessions resume alone
exits "killed in a step that is a call" 0
chela replay alone
exits "killed in a step that is a call: played again, it goes the same way" 0

# --- killed while it waits, decided over HTTP by another process
sed -i 's/id: main/id: main, mode: plan/' "$space/chela.yaml"
rm "$space/sent.log"
until_waits() {
    for _ in {1..400}; do
        call GET /api/approvals
        [ "$(jq '.approvals | length' "$out" 2>/dev/null)" = "$1" ] && return 0
        sleep 0.05
    done
    return 1
}
serve
post /api/sessions/gw/messages '{"text":"write to them"}'
answers "over HTTP" 202
check "over HTTP: its call waits, under the conversation" until_waits 1
tells "over HTTP: what waits" '.approvals[0] | .session + " " + .name' "gw t_send"
rm -f "$space/go" "$space/waits" "$space/count.log"
post /api/sessions/schedule:x/messages '{"text":"hold"}'
for _ in {1..400}; do
    [ -e "$space/waits" ] && [ "$(wc -l <"$space/count.log")" = 2 ] && break
    sleep 0.05
done
stop_serving 9
wait
touch "$space/go"
serve
check "killed while it waits: it still does" until_waits 1
id=$(jq -r '.approvals[0].approval_id' "$out")
post "/api/approvals/$id" '{"decision":"allow-once"}'
answers "killed while it waits: decided" 200
until_idle() { # KEY
    for _ in {1..400}; do
        call GET "/api/sessions/$1"
        [ "$(jq -r .status "$out")" = idle ] && return 0
        sleep 0.05
    done
    return 1
}
last='[.transcript[] | select(.role == "assistant")] | last | .content[0].text'
check "killed while it waits: it goes on" until_idle gw
tells "killed while it waits: to the end" "$last == \"So: it said sent it\\n\"" true
same "killed while it waits: done once" 1 "$(wc -l <"$space/sent.log")"
check "what began by itself is taken up, its step with it" until_idle schedule:x
tells "what began by itself: to the end" "$last | test(\"^So: it said \")" true
same "what began by itself: nothing twice" 2 "$(wc -l <"$space/count.log")"
stop_serving
tap_done

#!/usr/bin/env bash
# Calls of MCP tools that are tasks, in both eras: polled, cancelled, and continued after SIGKILL
# without a second call.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/mcp/stdio.sh

needs "tasks of MCP servers" python3
program=$(realpath "$program")
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: ship, after: none }, call: { tool: s__ship, args: { text: the parcel } } }
  - { when: { after: any }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
made() { if [ -e "$state/s/shipped" ]; then wc -l <"$state/s/shipped"; else echo 0; fi; }
shipped() { [ "$(made)" = "$1" ]; }
looked() { [ "$(grep -c '"tasks/get"' "$state/s/calls.log")" -ge "$1" ]; }
calls() { grep -c '"tools/call"' "$state/s/calls.log"; }
transcript() { jq -c '[.transcript[] | tostring] | join(" ")' "$out"; }

for mode in legacy-task modern-task; do
    configure $mode
    chela run --config chela.yaml ship it
    exits "$mode: a run" 0
    check "$mode: its result" grep -q 'it said: shipped as a task' "$out"
    same "$mode: done once" 1 "$(made)"
done
configure modern-task 'timeoutSec: 1'
echo hang >"$tmp/words"
(cd "$space" && with_env timeout -k 5 60 "$program" run --config chela.yaml ship it >"$out" 2>"$err" </dev/null) &
run=$!
check "a task may take longer than a call" eventually looked 20
: >"$tmp/words" # the file that the server has open
wait $run
check "a task that took longer" grep -q 'it said: shipped as a task' "$out"
for mode in fail mute odd noid; do
    configure modern-task-$mode
    chela run --config chela.yaml ship it
    exits "$mode: the run goes on" 0
    check "$mode: the model is told" grep -qE 'no stamps|no reason is given|without a result|no valid id' "$out"
done

# --- SIGKILL while the task works: the next process asks for its result, and does not call again
for mode in legacy-task modern-task; do
    configure $mode
    echo hang >"$tmp/words"
    serve
    post "/api/sessions/k-$mode/messages" '{"text": "ship it"}'
    check "$mode, SIGKILL: the task works" eventually looked 2
    kill -9 "$gateway_pid"
    wait "$gateway_pid" 2>/dev/null
    serve
    n=$(grep -c '"tasks/get"' "$state/s/calls.log")
    check "$mode, SIGKILL: the next process looks at it" eventually looked $((n + 1))
    kill -9 "$gateway_pid"
    wait "$gateway_pid" 2>/dev/null
    rm "$tmp/words"
    serve
    check "$mode, SIGKILL twice: the run goes on" eventually status_is "k-$mode" idle
    same "$mode, SIGKILL twice: with the result" true "$(transcript | jq 'contains("it said: shipped as a task")')"
    same "$mode, SIGKILL twice: one call" 1 "$(calls)"
    same "$mode, SIGKILL twice: done once" 1 "$(made)"
    check "$mode, SIGKILL twice: SIGTERM ends the gateway" stop_serving
done

# --- the server has forgotten the task
configure modern-task
echo hang >"$tmp/words"
serve
post /api/sessions/k-lost/messages '{"text": "ship it"}'
check "forgotten: the task works" eventually looked 1
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
echo forgotten >"$tmp/words"
serve
check "forgotten: the run goes on" eventually status_is k-lost idle
same "forgotten: the model is told" true "$(transcript | jq 'contains("took effect is unknown")')"
same "forgotten: done once" 1 "$(made)"

# --- cancelled by a person
echo hang >"$tmp/words"
post /api/sessions/k-end/messages '{"text": "ship it"}'
check "cancel: the task works" eventually shipped 2
post /api/sessions/k-end/cancel '{}'
cancelled() { grep -q '"tasks/cancel"' "$state/s/calls.log"; }
check "cancel: the server is told" eventually cancelled
check "SIGTERM ends the gateway" stop_serving
rm "$tmp/words"

# --- a task that asks
configure modern-task-ask
serve
post /api/sessions/k-ask/messages '{"text": "ship it"}'
check "a task that asks: the run waits" eventually status_is k-ask paused
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
serve
call GET /api/approvals
id=$(jq -r '[.. | objects | select(.name? == "ask_user")][0].id' "$out")
post /api/sessions/k-ask/messages "{\"results\": [{\"id\": \"$id\", \"content\": \"s\"}]}"
check "a task that asks: the run goes on" eventually status_is k-ask idle
same "a task that asks: with the answer" true "$(transcript | jq 'contains("shipped as a task") and contains("accept")')"
same "a task that asks: one call" 1 "$(calls)"
check "a task that asks: SIGTERM ends the gateway" stop_serving

# --- a task that asks is cancelled by a person
configure modern-task-ask
serve
post /api/sessions/k-drop/messages '{"text": "ship it"}'
check "a question is cancelled: the run waits" eventually status_is k-drop paused
post /api/sessions/k-drop/cancel '{}'
check "a question is cancelled: the server is told" eventually cancelled
check "a question is cancelled: SIGTERM ends the gateway" stop_serving

# --- the server dies when it gets the answer
configure modern-task-ask
echo dies >"$tmp/words"
serve
post /api/sessions/k-dies/messages '{"text": "ship it"}'
check "a lost answer: the run waits" eventually status_is k-dies paused
call GET /api/sessions/k-dies
id=$(jq -r '.waiting[0].id' "$out")
post /api/sessions/k-dies/messages "{\"results\": [{\"id\": \"$id\", \"content\": \"s\"}]}"
check "a lost answer: given again" eventually status_is k-dies idle
call GET /api/sessions/k-dies
same "a lost answer: the server has it" true "$(transcript | jq 'contains("shipped as a task") and contains("accept")')"
same "a lost answer: twice" 2 "$(grep -c '"tasks/update"' "$state/s/calls.log")"
check "a lost answer: SIGTERM ends the gateway" stop_serving
tap_done

#!/usr/bin/env bash
# OpenTelemetry: one trace over kill -9 and resume, over two gateways on one store, and over
# agents that call agents. Every span's parent is checked.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
if ! command -v python3 >/dev/null; then
    skip "telemetry" "python3 is not installed"
    tap_done
    exit 0
fi
box=$tmp/collector
mkdir "$box" && : >"$box/log.jsonl"
python3 tests/support/collector.py "$box" >"$box/port" &
collector_pid=$!
pids=()
trap 'kill -9 $collector_pid "${pids[@]}" 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do
    [ -s "$box/port" ] && break
    sleep 0.05
done
spans='[.[] | select(.path == "/v1/traces").body.resourceSpans[].scopeSpans[].spans[]]'
attr='def attr($k): ([.attributes[] | select(.key == $k).value | .stringValue][0]);'
# jq over the spans of a session and of the agents that it called
got() { # LABEL SESSION FILTER
    check "$1" jq -se "$attr $spans | (map(select(attr(\"gen_ai.conversation.id\") // \"\" | startswith(\"$2\"))) | map(.traceId) | unique) as \$t
        | map(select(.traceId as \$x | \$t | index(\$x))) | $3" "$box/log.jsonl"
}
printf '#!/bin/sh\ntouch "%s/waiting"\nwhile [ ! -e "%s/go" ]; do sleep 0.02; done\necho waited\n' "$tmp" "$tmp" >"$tmp/waiter"
chmod +x "$tmp/waiter"
# Each attempt adds a line; the first two fail.
cat >"$tmp/attempt" <<'SH'
echo x >>"$1.tries"
cat >/dev/null
[ "$(wc -l <"$1.tries")" -ge 3 ] || { echo "the fog is private" >&2; exit 75; }
echo sent
SH
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^wait", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "^ask", after: none }, call: { tool: helper, args: { task: "look" } } }
  - { when: { user: "^ship", after: none }, call: { tool: ship, args: {} } }
  - { when: { user: "^try", after: none }, call: { tool: try, args: {} } }
  - { when: { user: "^sleep", after: none }, call: { tool: wait_until, args: { seconds: 0.3 } } }
  - { when: { user: "^consent", after: none }, call: { tool: guarded, args: {} } }
  - { when: { user: "look", after: none }, call: { tool: look, args: {} } }
  - { say: "done: {{result}}" }
YAML
cat >"$space/chela.yaml" <<YAML
store: "sqlite:./t.db"
wait: { enabled: true }
approvals: { ship: auto, try: auto, guarded: ask }
sandbox: { mode: "off" }
agents:
  list:
    - { id: main, model: "scripted/$space/rules.yaml", tools: { allow: [t_wait, ship, try, guarded, wait_until] }, agents: [helper] }
    - { id: helper, model: "scripted/$space/rules.yaml", tools: { allow: [look] } }
tools:
  custom:
    - { name: t_wait, description: Waits., command: ["$tmp/waiter"], effect: read, permission: read, timeoutSec: 120 }
    - { name: ship, description: Ships., command: [sh, "$tmp/attempt", "$tmp/ship"], effect: once, permission: read,
        retry: { attempts: 4, backoffSec: 8, maxBackoffSec: 8 } }
    - { name: try, description: Tries., command: [sh, "$tmp/attempt", "$tmp/try"], effect: read, permission: read,
        retry: { attempts: 4, backoffSec: 0.2, maxBackoffSec: 0.2 } }
    - { name: guarded, description: Asks first., command: [echo, guarded], effect: once, permission: write }
    - { name: look, description: Looks., command: [echo, seen], effect: read, permission: read }
telemetry: { otlp: "http://127.0.0.1:$(cat "$box/port")" }
YAML
start() { # a gateway; sets gateway and gateway_pid
    : >"$tmp/serve.pid"
    : >"$serve_log"
    # shellcheck disable=SC2016
    (cd "$space" && with_env CHELA_TOKEN=$token OTEL_BSP_SCHEDULE_DELAY=50 sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/serve.pid" \
        "$program" serve --config chela.yaml --listen 127.0.0.1:0 -v >>"$serve_log" 2>&1 </dev/null) &
    for _ in {1..400}; do
        gateway=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$serve_log")
        [ -n "$gateway" ] && break
        sleep 0.05
    done
    gateway_pid=$(cat "$tmp/serve.pid")
    pids+=("$gateway_pid")
}
ended() { # SESSION: its run has ended, and the collector has the span
    jq -se "$attr $spans | any((.name | startswith(\"invoke_agent\")) and attr(\"gen_ai.conversation.id\") == \"$1\")" "$box/log.jsonl" >/dev/null
}
one_trace='(map(.traceId) | unique | length) == 1'
run_of='(map(select((.name | startswith("invoke_agent")) and .parentSpanId == null)))'
# Spans that the collector got may have a parent that a killed process did not send: none here.
no_orphan='(map(.spanId)) as $ids | map(.parentSpanId | select(. != null)) | all(. as $p | $ids | index($p))'

# --- kill -9 in a call; the next process goes on
start
post /api/sessions/killed/messages '{"text":"wait","agent":"main"}'
eventually test -e "$tmp/waiting"
requested() { jq -se "$spans | any(.name | startswith(\"chat\"))" "$box/log.jsonl" >/dev/null; }
check "the first request is exported before the crash" eventually requested
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
touch "$tmp/go"
start
check "the run ends after the crash" eventually ended killed
got "kill -9: one trace" killed "$one_trace"
got "kill -9: one span of the run" killed "$run_of | length == 1"
got "kill -9: requests of both processes" killed 'map(select(.name | startswith("chat"))) | length >= 2'
got "kill -9: the call that was begun again" killed 'any(.name == "execute_tool t_wait")'
got "kill -9: every parent exists" killed "$no_orphan"
got "kill -9: all below the run" killed "($run_of | .[0].spanId) as \$r | map(select(.spanId != \$r)) | all(.parentSpanId == \$r)"
got "kill -9: no span twice" killed '(map(.spanId) | length) == (map(.spanId) | unique | length)'

# --- two gateways: one begins the run and is killed, the other ends it
rm -f "$tmp/go" "$tmp/waiting"
first=$gateway first_pid=$gateway_pid
start
second=$gateway
gateway=$first
post /api/sessions/moved/messages '{"text":"wait","agent":"main"}'
eventually test -e "$tmp/waiting"
check "the first node has exported" eventually jq -se "$attr $spans | any((.name | startswith(\"chat\")) and attr(\"gen_ai.conversation.id\") == \"moved\")" "$box/log.jsonl"
kill -9 "$first_pid"
wait "$first_pid" 2>/dev/null
touch "$tmp/go"
gateway=$second
check "the other node ends the run" eventually ended moved
got "two nodes: one trace" moved "$one_trace"
got "two nodes: one span of the run" moved "$run_of | length == 1"
got "two nodes: every parent exists" moved "$no_orphan"

# --- an agent that calls an agent
post /api/sessions/asks/messages '{"text":"ask","agent":"main"}'
check "the run with a called agent ends" eventually ended asks
got "called agent: one trace" asks "$one_trace"
got "called agent: two runs" asks 'map(select(.name | startswith("invoke_agent"))) | length == 2'
got "called agent: its run is below the call" asks '(map(select(.name == "execute_tool helper"))[0].spanId) as $c |
    any(.name == "invoke_agent helper" and .parentSpanId == $c)'
got "called agent: its requests and calls are below its run" asks '(map(select(.name == "invoke_agent helper"))[0].spanId) as $r |
    (map(select(.parentSpanId == $r)) | map(.name | split(" ")[0]) | unique) == ["chat","execute_tool"]'
got "called agent: every parent exists" asks "$no_orphan"

# --- attempts and waits, and the same spans from the journal
as_past() { # LABEL SESSION
    jq -s "$attr $spans | map(select(attr(\"gen_ai.conversation.id\") == \"$2\")) | map({traceId, spanId, parentSpanId, name, code: (.status.code // 0)}) | sort_by(.spanId)" "$box/log.jsonl" >"$tmp/live.json"
    (cd "$space" && with_env "$program" trace --config chela.yaml "$2" --all --otlp) | jq '.resourceSpans[0].scopeSpans[0].spans |
        map({traceId, spanId, parentSpanId, name, code: (.status.code // 0)}) | sort_by(.spanId)' >"$tmp/past.json"
    same "$1: the past has the same spans" "$(cat "$tmp/live.json")" "$(cat "$tmp/past.json")"
}
below='(map(select(.name == $call))[0]) as $c | map(select(.parentSpanId == $c.spanId)) |
    (map(select(.name | startswith("attempt"))) | length) == 3 and (map(select(.name == "wait retry")) | length) == 2 and
    (sort_by(.startTimeUnixNano, .endTimeUnixNano) | . as $l | [range(4) | $l[.].endTimeUnixNano <= $l[. + 1].startTimeUnixNano] | all) and
    all(.[]; .startTimeUnixNano >= $c.startTimeUnixNano and .endTimeUnixNano <= $c.endTimeUnixNano)'
post /api/sessions/tries/messages '{"text":"try it","agent":"main"}'
check "a run with attempts ends" eventually ended tries
got "attempts: spans below the call, in order" tries "\"execute_tool try\" as \$call | $below"
got "attempts: no text of a tool without content" tries 'tostring | test("private") | not'
as_past attempts tries
post /api/sessions/sleeps/messages '{"text":"sleep","agent":"main"}'
check "a run that sleeps ends" eventually ended sleeps
got "a wait for a time is a span" sleeps 'any(.name == "wait timer")'
as_past "a wait for a time" sleeps
# killed in the wait between two attempts: another process ends the wait
post /api/sessions/ships/messages '{"text":"ship it","agent":"main"}'
attempted() { jq -se "$spans | any(.name == \"attempt ship\")" "$box/log.jsonl" >/dev/null; }
check "the first attempt is exported" eventually attempted
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
start
check "the run ends after the waits" eventually ended ships
got "killed in a wait: one trace" ships "$one_trace"
got "killed in a wait: attempts and waits below the call" ships "\"execute_tool ship\" as \$call | $below"
as_past "killed in a wait" ships
post /api/sessions/asked/messages '{"text":"consent","agent":"main"}'
waits_for_consent() { call GET /api/approvals && jq -e '.approvals | length > 0' "$out" >/dev/null; }
check "a person is asked" eventually waits_for_consent
id=$(jq -r '.approvals[0].approval_id' "$out")
post "/api/approvals/$id" '{"decision":"allow-once"}'
check "the approved run ends" eventually ended asked
got "the wait for an approval is a span" asked 'any(.name == "wait approval")'
as_past "a wait for an approval" asked
stop_serving
kill -9 "$collector_pid" 2>/dev/null
wait "$collector_pid" 2>/dev/null
tap_done

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
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^wait", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "^ask", after: none }, call: { tool: helper, args: { task: "look" } } }
  - { when: { user: "look", after: none }, call: { tool: look, args: {} } }
  - { say: "done: {{result}}" }
YAML
cat >"$space/chela.yaml" <<YAML
store: "sqlite:./t.db"
sandbox: { mode: "off" }
agents:
  list:
    - { id: main, model: "scripted/$space/rules.yaml", tools: { allow: [t_wait] }, agents: [helper] }
    - { id: helper, model: "scripted/$space/rules.yaml", tools: { allow: [look] } }
tools:
  custom:
    - { name: t_wait, description: Waits., command: ["$tmp/waiter"], effect: read, permission: read, timeoutSec: 120 }
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
stop_serving
kill -9 "$collector_pid" 2>/dev/null
wait "$collector_pid" 2>/dev/null
tap_done

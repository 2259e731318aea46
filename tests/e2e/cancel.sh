#!/usr/bin/env bash
# Ctrl-C and SIGTERM: the run ends as cancelled, exit 4, every call with a
# result, the connection and the tool's processes gone.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

# interrupt SIGNAL PATTERN ARG...: send it once PATTERN is in the output, or in
# $watched if that is set.
watched=
interrupt() {
    local signal=$1 pattern=$2 pid
    shift 2
    : >"$out"
    (cd "$space" && with_env env --default-signal=INT,TERM "$program" "$@" >"$out" 2>"$err" </dev/null) &
    for _ in {1..200}; do
        grep -qs "$pattern" "${watched:-$out}" && break
        sleep 0.05
    done
    pid=$(pgrep_child $!)
    started=$EPOCHREALTIME
    kill -"$signal" "$pid"
    wait $!
    status=$?
    took=$(((${EPOCHREALTIME/./} - ${started/./}) / 1000))
}

# The program below a subshell, or the subshell if it became the program.
pgrep_child() {
    local child
    child=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
    echo "${child%% *}" | grep . || echo "$1"
}

left() {
    jq -s "map(select(.end and .instance == \"i$instances\")) | length == 1 and .[0].broken" "$log"
}

for api in "${apis[@]}"; do
    for signal in INT TERM; do
        fresh slow "$api"
        interrupt $signal three run --model "$(model "$api")" --base-url "$base" --output jsonl go
        exits "$signal during a stream, $api" 4
        events_are_well_formed "$signal during a stream, $api"
        holds "$signal during a stream, $api: cancelled" '.[-1].status == "cancelled" and .[-1].reason == "cancelled"'
        if [ $took -lt 2000 ]; then ok "$signal during a stream, $api: at once"; else not_ok "$signal during a stream, $api: at once" "$took ms"; fi
        sleep 0.2
        same "$signal during a stream, $api: the connection is closed" true "$(left)"
    done
done

cat >"$space/dawdle" <<'SCRIPT'
#!/bin/sh
echo started >>dawdle.log
sleep 30 &
sleep 30
SCRIPT
chmod +x "$space/dawdle"
cat >"$space/chela.yaml" <<'YAML'
tools:
  custom:
    - { name: dawdle, description: Takes its time., command: [./dawdle], effect: read, permission: read, timeoutSec: 60 }
YAML
watched=$space/dawdle.log # tool_start comes before the program runs
for api in "${apis[@]}"; do
    rm -f "$watched"
    fresh slow_tool "$api"
    interrupt INT started run --model "$(model "$api")" --base-url "$base" --output jsonl go
    exits "INT during a tool, $api" 4
    events_are_well_formed "INT during a tool, $api"
    holds "INT during a tool, $api: the call has its result" \
        '[.[] | select(.type == "tool_result")] | length == 1 and .[0].is_error and .[0].error_type == "cancelled"'
done
check "the tool did start" grep -q started "$watched"
watched=

# A time limit ends a tool as well.
fresh slow_tool anthropic
chela run --model anthropic/claude-test --base-url "$base" --output jsonl --timeout 1 go
exits "time limit during a tool" 3
events_are_well_formed "time limit during a tool"
tap_done

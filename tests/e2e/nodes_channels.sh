#!/usr/bin/env bash
# Two gateways with one store on the same app of each of the six services: each message is answered
# once and in order (queue mode follow_up: one answer for each), also when either gateway is killed
# in the middle. WeCom has one connection for a bot: the gateway that connected last has it.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh
. tests/support/channels/all.sh

program=$(realpath "$program")
pid_a='' pid_b=''
trap 'for p in "$pid_a" "$pid_b"; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null; stop_services; stop_servers; rm -rf "$tmp"' EXIT
if ! start_postgres; then
    skip "two gateways" "PostgreSQL is not installed here"
    tap_done
    exit
fi
start_services

start() { # NODE: sets pid_NODE
    mkdir -p "$tmp/$1"
    # Line 9 is answered by b after a has been started again and has taken WeCom's connection.
    printf 'rules:\n  - { when: { user: "line 9\\\\." }, say: "heard: {{user}}", delay_ms: 4000 }\n  - { say: "heard: {{user}}", delay_ms: 100 }\n' >"$tmp/$1/rules.yaml"
    {
        printf 'store: "%s"\nagents: { list: [{ id: coder, model: scripted/rules.yaml, queue: { mode: follow_up } }] }\nchannels:\n' "$postgres"
        for name in $channel_names; do channel_yaml "$name"; done
    } >"$tmp/$1/chela.yaml"
    start_node "$1" "$tmp/$1"
}
numbers() { said "$1" | sed -n 's/.*heard:.*line \([0-9]*\)\..*/\1/p'; }
connected() { [ "$(connections "$1")" -ge "$2" ]; }
all() { [ "$(numbers "$1" | sort -un | wc -l)" -ge "$2" ]; }
lines() { # FIRST LAST: of every service
    local name n
    for name in $channel_names; do
        for ((n = $1; n <= $2; n++)); do tell "$name" "$n" "line $n."; done
    done
}

start a
for name in $channel_names; do check "$name: a gateway connects" eventually connected "$name" 1; done
start b
for name in $channel_names; do check "$name: the other, too" eventually connected "$name" 2; done
lines 1 6
for name in $channel_names; do check "$name: six messages are answered" eventually all "$name" 6; done
kill -9 "$pid_a"
lines 7 9
declare -A before
for name in $channel_names; do before[$name]=$(connections "$name"); done
start a
# A message that comes while no gateway is connected is lost with some services.
for name in $channel_names; do check "$name: it connects again" eventually connected "$name" $((before[$name] + 1)); done
for name in $channel_names; do check "$name: three more after a kill" eventually all "$name" 9; done
kill -9 "$pid_b"
lines 10 12
for name in $channel_names; do
    check "$name: three more after a kill of the other" eventually all "$name" 12
    same "$name: once each, in order" "$(seq 12)" "$(numbers "$name")"
done
n=$(connections wecom)
start b
check "wecom: a new gateway takes the connection" eventually connected wecom $((n + 1))
kill "$pid_b"
check "wecom: and returns it when it ends" eventually connected wecom $((n + 2))
tell wecom 13 "line 13."
check "wecom: the next message is answered" eventually all wecom 13
tap_done

#!/usr/bin/env bash
# Two gateways that share a store: what is asked of one session through either of them is taken
# up once, in the order in which it was acknowledged. With PostgreSQL and with Redis. A gateway
# that was stopped while another one took its session over sends nothing for it.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
# shellcheck disable=SC2034
debuggable=1 # /proc shows a user the process
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/servers.sh

events=${ORDER_EVENTS:-100}
program=$(realpath "$program")
secret=hook-SENTINEL-0123456789abcdef
start_lark
eval "lark_$(declare -f with_env)"
with_env() { lark_with_env DEPLOY_SECRET=$secret "$@"; }
trap 'for p in "$pid_a" "$pid_b" "$server_pid"; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT

configure() { # NODE STORE DELAY-MS
    mkdir -p "$tmp/$1"
    cat >"$tmp/$1/rules.yaml" <<YAML
rules:
  - { when: { user: "slow" }, say: "answer of $1", delay_ms: $3 }
  - say: "heard: {{user}}"
YAML
    cat >"$tmp/$1/chela.yaml" <<YAML
store: "$2"
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
gateway: { hooks: { joined: { secretEnv: DEPLOY_SECRET, session: all-of-them } } }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open } }
YAML
}
start() { # NODE [PREFIX...]: sets pid_NODE and at_NODE
    local node=$1 pid='' at=''
    shift
    : >"$tmp/$node.log"
    (cd "$tmp/$node" && with_env CHELA_TOKEN=$token "$@" "$program" serve --listen 127.0.0.1:0 -v >>"$tmp/$node.log" 2>&1 </dev/null) &
    pid=$!
    for _ in {1..400}; do
        at=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$tmp/$node.log")
        [ -n "$at" ] && break
        sleep 0.05
    done
    eval "pid_$node=$pid at_$node=$at"
}
end() { # both
    for p in "$pid_a" "$pid_b"; do pkill -TERM -P "$p"; done
    for p in "$pid_a" "$pid_b"; do wait "$p"; done 2>/dev/null
    pid_a='' pid_b=''
}
ask() { # NODE FUNCTION ARG...
    eval "gateway=\$at_$1"
    shift
    "$@"
}
knock() { # BODY
    local now signature
    now=$(date +%s)
    signature=$(printf '%s.%s' "$now" "$1" | openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1)
    anon POST /hooks/joined -H 'Content-Type: application/json' -H "X-Chela-Timestamp: $now" \
        -H "X-Chela-Signature: sha256=$signature" --data-binary "$1"
}
told() { # what the session was told, from its records
    (cd "$tmp/a" && with_env "$program" sessions export all-of-them 2>/dev/null) |
        jq -r 'select(.type == "inbound").data.message.content[0].text // empty' | sed -n 's/^joined: {"n":\([0-9]*\)}$/\1/p'
}
eventually() {
    local name=$1
    shift
    for _ in {1..900}; do
        if "$@" >/dev/null 2>&1; then
            ok "$name"
            return
        fi
        sleep 0.1
    done
    not_ok "$name" "$(tail -n 10 "$tmp/a.log" "$tmp/b.log")"
}
all_told() { [ "$(told | grep -c .)" -ge "$events" ]; }

order() { # STORE URL
    local nodes=(a b) codes=''
    configure a "$2" 0
    configure b "$2" 0
    start a
    start b
    for ((i = 1; i <= events; i++)); do
        ask "${nodes[i % 2]}" knock "{\"n\":$i}"
        codes="$codes $code"
    done
    same "$1: all are accepted" "" "$(tr ' ' '\n' <<<"$codes" | grep -v '^202$' | grep .)"
    eventually "$1: all are taken up" all_told
    sleep 2
    same "$1: once, and in order" "$(seq "$events")" "$(told)"
    end
}

if start_postgres; then
    order postgres "$postgres"
else
    skip "two gateways" "PostgreSQL is not installed here"
fi
if start_redis; then
    order redis "$redis"
else
    skip "two gateways" "Redis is not installed here"
fi

# --- a gateway that was stopped in its last model call
if [ -n "$postgres" ] && unshare --pid --fork --mount-proc true 2>/dev/null; then
    configure a "$postgres" 8000
    configure b "$postgres" 0
    start a unshare --pid --fork --mount-proc
    ask a push "$(event om_z oc_z p2p 'slow question')"
    asked() { grep -q 'model_request\|POST /channels' "$tmp/a.log" && [ "$(postgres_sql "SELECT count(*) FROM chela.sessions WHERE status = 'running'")" = 1 ]; }
    eventually "the run is at work" asked
    stopped=$(pgrep -f "^$program serve" | while read -r p; do
        [ "$(readlink "/proc/$p/cwd")" = "$tmp/a" ] && echo "$p"
    done | tail -n 1)
    kill -STOP "$stopped"
    start b
    one() { hears 1; }
    eventually "the other gateway takes over and answers" one
    kill -CONT "$stopped"
    sleep 12
    same "the chat has one answer" "answer of b" "$(texts)"
    check "the stopped gateway says what happened" grep -q 'was taken over by another process' "$tmp/a.log"
    kill -9 "$stopped"
    end
else
    skip "a stopped gateway" "no pid namespace can be made here"
fi
tap_done

#!/usr/bin/env bash
# Chats of one gateway, of two workers with SQLite, and of two gateways with PostgreSQL or Redis. The
# callbacks of the service go to either gateway. Each message is answered once, also around /new and
# while a gateway drains.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/servers.sh

program=$(realpath "$program")
start_lark
pid_a='' pid_b='' at_a='' at_b=''
kill_nodes() {
    local p
    for p in "$pid_a" "$pid_b"; do [ -z "$p" ] || kill -9 "$p" $(pgrep -P "$p"); done 2>/dev/null
    pid_a='' pid_b=''
}
trap 'kill_nodes; kill -9 "$server_pid" 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT

start() { # NODE STORE [LINE...]
    local node=$1 store=$2
    shift 2
    mkdir -p "$tmp/$node"
    printf 'rules:\n  - { when: { user: long, after: none }, call: { tool: wait, args: {} } }\n  - { say: "heard: {{user}}" }\n' >"$tmp/$node/rules.yaml"
    {
        printf 'sandbox: { mode: "off" }\napprovals: { wait: auto }\ngateway: { drainSec: 100 }\ntools:\n  custom:\n'
        printf '    - { name: wait, description: Waits., parameters: { type: object }, permission: read,\n'
        printf '        command: [sh, -c, "until [ -e %s/go ]; do sleep 0.1; done"] }\n' "$tmp"
        printf 'store: "%s"\nagents: { list: [{ id: coder, model: scripted/rules.yaml, queue: { mode: follow_up } }] }\n' "$store"
        printf 'channels: { feishu: { appId: %s, domain: "%s", dmPolicy: open } }\n' $app "$lark"
        printf '%s\n' "$@"
    } >"$tmp/$node/chela.yaml"
    start_node "$node" "$tmp/$node"
}
post_to() { # NODE EVENT
    local at=at_$1
    curl -sS -m 20 -o "$out" -w '%{http_code}\n' -H 'Content-Type: application/json' --data-binary "$2" "${!at}/channels/feishu/events"
}
hears() { texts | grep -q "^heard: .*$1\.$"; }
heard() { # WORD: the numbers, sorted
    texts | sed -n "s/^heard: .*$1 \([0-9]*\)\.$/\1/p" | sort -n
}
all_heard() { [ "$(heard "$1" | sort -u | wc -l)" -ge "$chats" ]; }

# /new at one gateway, and messages at both before it has ended. The events are made first: jq starts slowly.
chats=8
renew() { # NAME OTHER: a service sends the answer to a message once, so no two names use the same ids
    local i events codes='' id=om_${1// /}
    : >"$tmp/lark/sent"
    for ((i = 1; i <= chats; i++)); do
        events=("$(event "${id}_a$i" "oc_$i" p2p "before $i.")" "$(event "${id}_b$i" "oc_$i" p2p /new)"
            "$(event "${id}_c$i" "oc_$i" p2p "first $i.")" "$(event "${id}_d$i" "oc_$i" p2p "second $i.")")
        codes="$codes $(post_to a "${events[0]}")"
        sleep 0.5
        codes="$codes $(post_to "$2" "${events[1]}") $(post_to a "${events[2]}") $(post_to "$2" "${events[3]}")"
    done
    same "$1: all are accepted" "" "$(tr ' ' '\n' <<<"$codes" | grep -v '^200$' | grep .)"
    check "$1: a message before /new is answered" eventually all_heard before
    check "$1: a message after /new is answered" eventually all_heard first
    check "$1: and the next one" eventually all_heard second
    same "$1: each once" "$(seq $chats) $(seq $chats) $(seq $chats)" "$(heard before) $(heard first) $(heard second)"
    same "$1: no /new fails" "$chats 0" "$(texts | grep -c '^This is a new conversation') $(texts | grep -c 'cannot be started')"
    kill_nodes
}

# /compact at the other gateway while the first one holds the idle session.
condensed() { texts | grep -q "^There is nothing to condense\|^Condensed"; }
condense() { # NAME
    local i id=om_condense$1 events good=0
    for i in 1 2 3 4; do
        : >"$tmp/lark/sent"
        events=("$(event "${id}_a$i" "oc_c$i" p2p "short $i.")" "$(event "${id}_b$i" "oc_c$i" p2p /compact)")
        post_to a "${events[0]}" >/dev/null
        sleep 0.3
        post_to b "${events[1]}" >/dev/null
        eventually condensed && good=$((good + 1))
        ! texts | grep "^The agent is working" || break
    done
    same "$1: /compact is run by the gateway that holds the session" 4 "$good"
}

# /new at the other gateway while the first one, which holds the session, does nothing for 3 s.
renew_late() { # NAME
    local id=om_late$1
    : >"$tmp/lark/sent"
    post_to a "$(event "${id}_a" oc_late p2p "held here.")" >/dev/null
    check "$1: a gateway answers" eventually hears "held here"
    kill -STOP "$pid_a"
    post_to b "$(event "${id}_b" oc_late p2p /new)" >/dev/null
    sleep 3
    kill -CONT "$pid_a"
    check "$1: /new waits for a slow gateway" eventually renewed
    same "$1: and does not fail" 0 "$(texts | grep -c 'cannot be started')"
}
# /new during a run: the run goes on in the copy, and answers.
renew_busy() {
    : >"$tmp/lark/sent"
    rm -f "$tmp/go"
    post_to a "$(event om_busy_a oc_busy p2p "a long one.")" >/dev/null
    gateway=$at_a
    check "a run" eventually status_is feishu:oc_busy running
    post_to a "$(event om_busy_b oc_busy p2p /new)" >/dev/null
    check "/new during the run" eventually renewed
    post_to a "$(event om_busy_c oc_busy p2p "a short one.")" >/dev/null
    check "the new conversation is answered" eventually hears "a short one"
    touch "$tmp/go"
    check "the run goes on in the old one" eventually hears "a long one"
    same "both answer once" 2 "$(texts | grep -c '^heard')"
    kill_nodes
}
renewed() { texts | grep -q '^This is a new conversation'; }

# A gateway that drains leaves the messages of its idle sessions to the other one. Its runs can be stopped.
drain() { # NAME
    local id=om_drain${1// /}
    : >"$tmp/lark/sent"
    rm -f "$tmp/go"
    post_to a "$(event "${id}_1" oc_long p2p "a long one.")" >/dev/null
    post_to a "$(event "${id}_5" oc_stop p2p "a long one, too.")" >/dev/null
    post_to a "$(event "${id}_2" oc_short p2p "a short one.")" >/dev/null
    check "$1: a gateway answers" eventually hears "a short one"
    kill -TERM "$pid_a"
    same "$1: the other one accepts two messages" "200 200" \
        "$(post_to b "$(event "${id}_3" oc_short p2p "another.")") $(post_to b "$(event "${id}_4" oc_long p2p "the next.")")"
    check "$1: and answers for a session at rest" eventually hears another
    post_to b "$(event "${id}_6" oc_stop p2p /stop)" >/dev/null
    gateway=$at_b
    check "$1: /stop ends a run of the first one" eventually status_is feishu:oc_stop idle
    check "$1: while the first one is at work" kill -0 "$pid_a"
    touch "$tmp/go"
    check "$1: the run is answered" eventually hears "a long one"
    check "$1: then the message that came meanwhile" eventually hears "the next"
    same "$1: each once" 4 "$(texts | grep -c '^heard')"
    kill_nodes
}

# Messages for sessions that a draining gateway holds, because clients follow them, are taken up when it ends: those of chats
# as soon as one of a program.
release() { # NAME
    local i late id=om_release${1// /} followers=()
    : >"$tmp/lark/sent"
    rm -f "$tmp/go" "$tmp"/follows.*
    post_to a "$(event "${id}_0" oc_busy p2p "a long one.")" >/dev/null
    gateway=$at_a
    post /api/sessions/plain/messages '{"text":"before."}'
    for i in 1 2 3 4; do post_to a "$(event "${id}_a$i" "oc_left$i" p2p "early $i.")" >/dev/null; done
    check "$1: a gateway answers four chats" eventually all_early
    for i in plain feishu:oc_left{1..4}; do
        curl -sSN -m 120 -D "$tmp/follows.$i" -H "Authorization: Bearer $token" "$at_a/api/sessions/$i/events" >/dev/null 2>&1 &
        followers+=($!)
    done
    check "$1: and is followed" eventually followed 5
    kill -TERM "$pid_a"
    check "$1: it drains" eventually refuses "$at_a"
    gateway=$at_b
    for i in 1 2 3 4; do post_to b "$(event "${id}_b$i" "oc_left$i" p2p "left $i.")" >/dev/null; done
    post /api/sessions/plain/messages '{"text":"left here."}'
    touch "$tmp/go"
    check "$1: the other answers a program" eventually answers_plainly
    for ((late = 0; late < 30; late++)); do
        texts | grep -q '^heard: .*left [1-4]\.$' && break
        sleep 0.1
    done
    check "$1: and a chat within 3 s" [ $late -lt 30 ]
    chats=4
    check "$1: then all chats" eventually all_heard left
    same "$1: each once" "$(seq 4)" "$(heard left)"
    kill "${followers[@]}" 2>/dev/null
    wait "${followers[@]}" 2>/dev/null
    chats=8
    kill_nodes
}
all_early() { [ "$(heard early | sort -u | wc -l)" -ge 4 ]; }
followed() { [ "$(cat "$tmp"/follows.* 2>/dev/null | grep -c '^HTTP/1.1 200')" = "$1" ]; }
refuses() { ! curl -s -o /dev/null "$1/healthz"; }
answers_plainly() {
    call GET /api/sessions/plain
    grep -q 'heard: left here' "$out"
}

start a "sqlite:$tmp/one.db"
renew "one gateway" a
start a "sqlite:$tmp/busy.db"
renew_busy
start a "sqlite:$tmp/two.db" 'workers: 2'
renew "two workers" a
if start_postgres; then
    start a "$postgres"
    start b "$postgres"
    renew PostgreSQL b
    start a "$postgres"
    start b "$postgres"
    renew_late PostgreSQL
    condense PostgreSQL
    drain PostgreSQL
    start a "$postgres"
    start b "$postgres"
    release PostgreSQL
else
    skip "two gateways" "PostgreSQL is not installed here"
fi
if start_redis; then
    start a "$redis"
    start b "$redis"
    renew Redis b
    start a "$redis"
    start b "$redis"
    renew_late Redis
    condense Redis
    drain Redis
    start a "$redis"
    start b "$redis"
    release Redis
else
    skip "two gateways" "Redis is not installed here"
fi
tap_done

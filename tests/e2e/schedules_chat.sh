#!/usr/bin/env bash
# Runs that begin by the clock in the session of a chat: their answers go there.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
mkdir "$space/work"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "You wake up" }, say: HEARTBEAT_OK }
  - { when: { user: "all well" }, say: "HEARTBEAT_OK" }
  - { when: { user: "how is the disk" }, say: "The disk is full.\n\nHEARTBEAT_OK" }
  - say: "heard: {{user}}"
YAML
configure() { # more of the agent
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml, workspaceDir: ./work$1 }] }
channels: { feishu: { appId: $app, domain: "$lark", allowFrom: [ou_ann] } }
YAML
}
# A schedule that is due in a moment: later where this machine is too slow for that.
add_soon() { # NAME PROMPT [FLAG...]
    local wait
    for wait in 1 2 4 8 16; do
        due=$(($(date +%s) + wait))
        chela schedule add "$@" --when "at $(date -u -d "@$due" +%Y-%m-%dT%H:%M:%SZ)"
        [ "$status" != 0 ] || return
    done
}

configure ''
serve
push "$(event om_1 oc_ann p2p 'good morning')"
check "a message is answered" hears 1
call GET /api/sessions
session=$(jq -r '.sessions[0].key' "$out")
add_soon tea "time for tea" --session "$session"
exits "a schedule in the session of a chat" 0
check "its answer goes to the chat" hears 2
check "with what the agent says" said 'heard: .*tea, due .*: time for tea'
check "SIGTERM ends it" stop_serving

add_soon cake "time for cake" --session "$session"
configure ", wake: { every: 1s, session: '$session' }"
echo 'look at the logs' >"$space/work/HEARTBEAT.md"
serve
check "also of a process that has not heard anybody" hears 3
check "of what was missed" said 'heard: .*cake, due .*: time for cake'
woke() {
    for _ in {1..300}; do
        chela sessions export "$session"
        [ "$(grep -c '"type":"dropped"' "$out")" -ge 2 ] && return
        sleep 0.1
    done
    return 1
}
check "it wakes up in that session, too" woke
check "SIGTERM ends it" stop_serving
same "and says nothing if there is nothing to say" 3 "$(wc -l <"$tmp/lark/sent")"

serve
push "$(event om_8 oc_ann p2p 'all well?')"
push "$(event om_9 oc_ann p2p 'how is the disk?')"
check "an answer with HEARTBEAT_OK beside words" hears 4
check "has the words" said 'The disk is full'
check "SIGTERM ends it" stop_serving
same "HEARTBEAT_OK is never delivered" 0 "$(grep -c HEARTBEAT_OK "$tmp/lark/sent")"
same "an answer of HEARTBEAT_OK alone is silence" 4 "$(wc -l <"$tmp/lark/sent")"
tap_done

#!/usr/bin/env bash
# Two gateways on one PostgreSQL: sessions, events and schedules are shared, and
# nothing is lost or done twice, also when one of them is killed in the middle.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/servers.sh

program=$(realpath "$program")
secret=hook-SENTINEL-0123456789abcdef
if ! start_postgres; then
    skip "two gateways" "PostgreSQL is not installed here"
    tap_done
    exit
fi
start_lark
eval "lark_$(declare -f with_env)"
with_env() { lark_with_env DEPLOY_SECRET=$secret "$@"; }
trap 'for p in "$pid_a" "$pid_b" "$server_pid"; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT

# --- the two: alike, but that a model never answers the first when it is slow
for node in a b; do
    mkdir "$tmp/$node"
    [ $node = a ] && end='say: never, stall_after: 0' || end='say: "ended by b"'
    cat >"$tmp/$node/rules.yaml" <<YAML
rules:
  - { when: { user: "slow job", after: none }, call: { tool: note, args: { line: "{{user}}" } } }
  - { when: { after: note }, $end }
  - say: "heard: {{user}}"
YAML
    cat >"$tmp/$node/chela.yaml" <<YAML
store: "$postgres"
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
approvals: { note: auto }
sandbox: { mode: "off" }
tools:
  custom:
    - { name: note, description: Note a line., parameters: { type: object, properties: { line: { type: string } } },
        command: [sh, -c, "cat >>'$tmp/notes'; echo >>'$tmp/notes'"], effect: once, permission: read }
gateway:
  hooks:
    deploy: { secretEnv: DEPLOY_SECRET }
    joined: { secretEnv: DEPLOY_SECRET, session: all-of-them }
channels:
  feishu: { appId: $app, domain: "$lark", dmPolicy: open }
schedules:
  tick: { when: "every 1s", prompt: tick, timezone: UTC }
YAML
done

start() { # NODE: sets pid_NODE and at_NODE
    local pid='' at=''
    : >"$tmp/$1.log"
    : >"$tmp/$1.pid"
    # shellcheck disable=SC2016
    (cd "$tmp/$1" && with_env CHELA_TOKEN=$token sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/$1.pid" \
        "$program" serve --listen 127.0.0.1:0 -v >>"$tmp/$1.log" 2>&1 </dev/null) &
    for _ in {1..400}; do
        at=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$tmp/$1.log")
        [ -n "$at" ] && break
        sleep 0.05
    done
    pid=$(cat "$tmp/$1.pid")
    eval "pid_$1=$pid at_$1=$at"
}
# What is asked of one of them.
ask() { # NODE FUNCTION ARG...
    eval "gateway=\$at_$1"
    shift
    "$@"
}
knock() { # HOOK BODY: now, signed
    local now signature
    now=$(date +%s)
    signature=$(printf '%s.%s' "$now" "$2" | openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1)
    knocked=("/hooks/$1" -H 'Content-Type: application/json' -H "X-Chela-Timestamp: $now"
        -H "X-Chela-Signature: sha256=$signature" --data-binary "$2")
    anon POST "${knocked[@]}"
}
eventually() {
    local name=$1
    shift
    for _ in {1..400}; do
        if "$@" >/dev/null 2>&1; then
            ok "$name"
            return
        fi
        sleep 0.1
    done
    not_ok "$name" "$(tail -n 15 "$tmp/a.log" "$tmp/b.log"; head -c 1000 "$out")"
}
# What the model was told in the sessions whose keys begin so, a line each.
told() {
    postgres_sql "SELECT r.data::json->'message'->'content'->0->>'text' FROM chela.records r JOIN chela.sessions s
        ON s.id = r.session WHERE s.key LIKE '$1%' AND r.type = 1 ORDER BY 1"
}
all_told() { # KEY COUNT: and all their runs have ended
    [ "$(told "$1" | grep -c .)" -ge "$2" ] &&
        [ "$(postgres_sql "SELECT count(*) FROM chela.sessions WHERE key LIKE '$1%' AND status <> 'idle'")" = 0 ]
}
waiting() {
    postgres_sql "SELECT count(*) FROM chela.inbox WHERE state <> 'done' AND id NOT LIKE 'schedule/%'"
}

: >"$serve_log"
start a
start b
if [ -z "$at_a" ] || [ -z "$at_b" ]; then
    not_ok "both listen" "$(cat "$tmp/a.log" "$tmp/b.log")"
    tap_done
    exit 1
fi

# --- events: to either, and to both
nodes=(a b)
for i in 1 2 3 4 5 6; do
    ask "${nodes[i % 2]}" knock deploy "{\"n\":$i}"
    answers "event $i" 202
    ask "${nodes[(i + 1) % 2]}" anon POST "${knocked[@]}"
    tells "the other gateway knows it" .duplicate true
    ask "${nodes[i % 2]}" knock joined "{\"n\":$i}"
done
eventually "events reach sessions of their own" all_told hook:deploy: 6
eventually "and the one they share" all_told all-of-them 6
same "each once" "$(printf 'joined: {"n":%d}\n' 1 2 3 4 5 6)" "$(told all-of-them)"
same "each once there, too" "$(printf 'deploy: {"n":%d}\n' 1 2 3 4 5 6)" "$(told hook:deploy:)"

# --- a session that one of them had
ask a post /api/sessions/shared/messages '{"text":"first","stream":true}'
answers "a message to one" 200
said() { # the session is given up once it rests
    ask b post /api/sessions/shared/messages '{"text":"second","stream":true}'
    [ "$code" = 200 ]
}
eventually "and to the other" said
ask b call GET /api/sessions/shared
tells "are one conversation" '[.transcript[] | select(.role == "user").content[0].text] | join(" ")' 'first second'

# --- a chat: the platform tells either of them, or both
ask a push "$(event om_1 oc_1 p2p 'to a')"
ask b push "$(event om_1 oc_1 p2p 'to a')"
ask b push "$(event om_2 oc_2 p2p 'to b')"
check "both answer" hears 2
for i in 3 4 5 6; do
    ask "${nodes[i % 2]}" push "$(event om_$i oc_3 p2p "line $i")"
    check "line $i of one chat is answered" hears $i
done
same "each once" "$(printf 'heard: %s\n' 'line '{3..6} 'to a' 'to b')" "$(texts | sed 's/\[message_id: om_.\] //' | sort)"

# --- commands about a run that the other one holds
ask a push "$(event om_s1 oc_6 p2p 'slow job, stopped')"
begun() { grep -q 'stopped' "$tmp/notes"; }
eventually "a run of the first" begun
ask b push "$(event om_s2 oc_6 p2p '/status')"
check "the other one answers" hears 7
same "that the agent works" 'now: working' "$(texts | tail -n 1)"
ask b push "$(event om_s3 oc_6 p2p '/stop')"
check "and stops it" hears 8
same "which it says" 'Stopped.' "$(texts | tail -n 1)"
rests() { [ "$(postgres_sql "SELECT status FROM chela.sessions WHERE key LIKE 'feishu:%oc_6%'")" = idle ]; }
eventually "the run ends" rests
ask b push "$(event om_s4 oc_6 p2p '/stop')"
check "once" hears 9
same "nothing is left to stop" 'Nothing is running here.' "$(texts | tail -n 1)"

# --- killed in the middle of a turn
ask a post /api/sessions/job/messages '{"text":"slow job"}'
answers "a long job" 202
run=$(jq -r .run "$out")
eventually "has done its first step" test -s "$tmp/notes"
for i in 7 8 9; do ask a knock deploy "{\"n\":$i}"; done
ask a push "$(event om_7 oc_4 p2p 'slow job in a chat')"
noted() { grep -q 'in a chat' "$tmp/notes"; }
eventually "another one, asked for in a chat" noted
ask a push "$(event om_8 oc_5 p2p 'not begun, perhaps')"
kill -9 "$pid_a"
pid_a=
ended() {
    ask b call GET /api/sessions/job
    [ "$(jq -r .status "$out")" = idle ]
}
eventually "the other one takes over" ended
tells "and ends it" '.transcript[-1].content[0].text' 'ended by b'
eventually "the chats are answered" hears 11
same "with what the other one says" "$(printf '%s\n' 'ended by b' 'heard: not begun, perhaps')" \
    "$(texts | tail -n 2 | sed 's/\[message_id: om_.\] //' | sort)"
same "what was done is not done again" "1 1" "$(grep -c '"slow job"' "$tmp/notes") $(grep -c 'in a chat' "$tmp/notes")"
same "it is the same run" "$run" "$(postgres_sql "SELECT DISTINCT r.data::json->>'run' FROM chela.records r
    JOIN chela.sessions s ON s.id = r.session WHERE s.key = 'job'")"
eventually "events that it had accepted are not lost" all_told hook:deploy: 9
same "nor doubled" "$(printf 'deploy: {"n":%d}\n' 1 2 3 4 5 6 7 8 9)" "$(told hook:deploy:)"
none_waits() { [ "$(waiting)" = 0 ]; }
eventually "nothing waits" none_waits

# --- schedules went on all the time
start a
seen=$(told schedule:tick | grep -c .)
eventually "schedules go on" all_told schedule:tick $((seen + 2))
same "each time is run once" "$(told schedule:tick | sort | uniq -d | grep -c .)" 0
for p in "$pid_a" "$pid_b"; do kill -TERM "$p"; done
gone() { ! kill -0 "$pid_a" 2>/dev/null && ! kill -0 "$pid_b" 2>/dev/null; }
eventually "both end" gone
pid_a='' pid_b=''
same "no session is left in the middle" "" "$(postgres_sql "SELECT key FROM chela.sessions WHERE status <> 'idle'")"
tap_done

#!/usr/bin/env bash
# Two gateways that share a store: either of them serves a session that the other one holds.
# Messages, results, decisions, cancellations and streams of events, with PostgreSQL and with
# Redis.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh

program=$(realpath "$program")
watchers=()
trap 'for p in "$pid_a" "$pid_b" "${watchers[@]}"; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT

configure() { # NODE STORE
    mkdir -p "$tmp/$1"
    printf '#!/bin/sh\ntouch "%s/waiting"\nwhile [ ! -e "%s/go" ]; do sleep 0.02; done\necho waited\n' "$tmp" "$tmp" >"$tmp/waiter"
    chmod +x "$tmp/waiter"
    cat >"$tmp/$1/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^wait", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "^press", after: none }, call: { tool: t_press, args: {} } }
  - { when: { user: "^look", after: none }, call: { tool: look, args: { at: it } } }
  - { when: { user: "^ask them", after: none }, call: { tool: sessions_send, args: { session: team-held, message: "how many" } } }
  - { when: { user: "how many" }, say: "seven" }
  - { when: { after: any }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
    cat >"$tmp/$1/chela.yaml" <<YAML
store: "$2"
sandbox: { mode: "off" }
agents: { list: [{ id: main, model: scripted/rules.yaml, sendTo: ["team-*"], tools: { allow: [t_wait, t_press] } }] }
approvals: { t_press: ask }
tools:
  custom:
    - { name: t_wait, description: Waits., command: ["$tmp/waiter"], effect: read, permission: read, timeoutSec: 60 }
    - { name: t_press, description: Presses., command: [echo, pressed], effect: once, permission: read }
YAML
}
start() { # NODE: sets pid_NODE and at_NODE
    local node=$1 pid='' at=''
    : >"$tmp/$node.log"
    : >"$tmp/$node.pid"
    # shellcheck disable=SC2016
    (cd "$tmp/$node" && with_env CHELA_TOKEN=$token sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/$node.pid" \
        "$program" serve --config chela.yaml --listen 127.0.0.1:0 -v >>"$tmp/$node.log" 2>&1 </dev/null) &
    for _ in {1..400}; do
        at=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$tmp/$node.log")
        [ -n "$at" ] && break
        sleep 0.05
    done
    pid=$(cat "$tmp/$node.pid")
    eval "pid_$node=$pid at_$node=$at"
}
ask() { # NODE FUNCTION ARG...
    eval "gateway=\$at_$1"
    shift
    "$@"
}
post_all() { # PATHS BODY: at once; prints the different status codes
    curl -s -Z -o /dev/null -w '%{http_code}\n' -d "$2" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
        "$gateway$1" 2>/dev/null | sort -u
}
# What NODE shows of the session's events goes to FILE.
watch() { # NODE KEY FILE [LAST-EVENT-ID]
    eval "local at=\$at_$1"
    : >"$3" # the other store's test may have left it
    curl -sS -N -m 120 -H "Authorization: Bearer $token" ${4:+-H "Last-Event-ID: $4"} "$at/api/sessions/$2/events" >"$3" 2>/dev/null &
    watchers+=($!)
    for _ in {1..200}; do
        grep -q listening "$3" && return
        sleep 0.05
    done
}
within() { # COMMAND...
    for _ in {1..300}; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    return 1
}
seen() { sed -n 's/^data: //p' "$1" | jq -r "$2"; }
ended() { [ "$(seen "$1" 'select(.type == "run_end").status' | tail -n 1)" = "$2" ]; }
# The gateways that NODE lists have these pids.
lists() { # NODE PID...
    ask "$1" call GET /api/nodes
    shift
    [ "$(jq -r '.nodes[] | select(.kind == "gateway").name | split(" ")[1]' "$out" | sort)" = "$(printf '%s\n' "$@" | sort)" ]
}
is() { # KEY STATUS
    call GET "/api/sessions/$1"
    [ "$(jq -r .status "$out")" = "$2" ]
}
# A session that a holds, because a client of it watches.
held() { # KEY [FIRST-MESSAGE]
    ask a post "/api/sessions/$1/messages" "{\"text\":\"${2:-hello}\"}"
    watch a "$1" "$tmp/held.$1"
}
last='[.transcript[] | select(.role == "assistant")] | last | [.content[] | .text // empty] | join("")'

serves() { # STORE URL
    rm -f "$tmp/go" "$tmp/waiting"
    configure a "$2"
    configure b "$2"
    start a
    start b

    # --- gateways without a session
    check "$1: either gateway lists both" within eval 'lists a $pid_a $pid_b && lists b $pid_a $pid_b'

    # --- a run in progress at the other
    held busy wait
    check "$1: the run is at work" within test -e "$tmp/waiting"
    ask b call GET /api/sessions/busy
    tells "$1: it is shown" .status running
    ask b call GET /api/sessions/busy/records
    tells "$1: as one that lives" .live true
    ask b call DELETE /api/sessions/busy
    answers "$1: it is not deleted" 409
    tells "$1: and who has it is said" '.error.message | test("in use by process '"$pid_a"' on ")' true
    watch b busy "$tmp/tail"
    ask b post /api/sessions/busy/messages '{"text":"more"}'
    answers "$1: a message during the run" 202
    tells "$1: it waits" .delivery queued
    recorded() { ask b call GET /api/sessions/busy/records && grep -q '"text":"more"' "$out"; }
    check "$1: and is taken up" within recorded
    touch "$tmp/go"
    check "$1: the stream shows its end" within ended "$tmp/tail" "done"
    same "$1: the tool's result" waited "$(seen "$tmp/tail" 'select(.type == "tool_result").content' | head -n 1)"
    check "$1: the message" grep -q '"type":"steering".*more' "$tmp/tail"
    same "$1: of one run" 1 "$(seen "$tmp/tail" .run | sort -u | wc -l)"
    same "$1: numbers grow" "$(seen "$tmp/tail" .seq | sort -n -u)" "$(seen "$tmp/tail" .seq)"
    same "$1: it is the other's run" "$(seen "$tmp/held.busy" .run | sort -u)" "$(seen "$tmp/tail" .run | sort -u)"
    same "$1: the answer is the other's" "$(seen "$tmp/held.busy" 'select(.type == "run_end").text')" \
        "$(seen "$tmp/tail" 'select(.type == "run_end").text')"
    id=$(sed -n 's/^id: //p' "$tmp/tail" | head -n 1)
    watch b busy "$tmp/again" "$id"
    check "$1: after a pause the rest follows" within ended "$tmp/again" "done"
    same "$1: and nothing else" "$(seen "$tmp/tail" .type | tail -n +2)" "$(seen "$tmp/again" .type)"
    id=$(sed -n 's/^id: //p' "$tmp/held.busy" | head -n 2 | tail -n 1)
    watch b busy "$tmp/moved" "$id"
    check "$1: also after an event of the other" within ended "$tmp/moved" "done"

    # --- cancelling
    rm -f "$tmp/go" "$tmp/waiting"
    ask b post /api/sessions/busy/cancel '{}'
    answers "$1: nothing runs" 409
    ask a post /api/sessions/busy/messages '{"text":"wait again"}'
    check "$1: another run is at work" within test -e "$tmp/waiting"
    ask b post /api/sessions/busy/cancel '{}'
    answers "$1: a cancellation" 202
    check "$1: ends the run" within ended "$tmp/held.busy" cancelled
    check "$1: and is shown" within ended "$tmp/tail" cancelled
    touch "$tmp/go"

    # --- a request that waits for the answer
    held rest
    ask b post /api/sessions/rest/messages '{"text":"one","stream":true}'
    answers "$1: a message with a stream" 200
    same "$1: the stream has the answer" "heard: one" "$(chunks | tail -n 1 | jq -r .text)"
    ask b post /v1/chat/completions '{"model":"main","messages":[{"role":"user","content":"two"}]}' -H 'X-Chela-Session: rest'
    answers "$1: a completion" 200
    tells "$1: the completion's answer" '.choices[0].message.content' "heard: two"
    tells "$1: its session" .chela.session rest
    ask b post /v1/chat/completions '{"model":"main","stream":true,"messages":[{"role":"user","content":"three"}]}' -H 'X-Chela-Session: rest'
    same "$1: a completion's stream" "heard: three" "$(chunks | jq -rj '.choices[0].delta.content // empty')"
    ask b post /v1/responses '{"model":"main","input":"four"}' -H 'X-Chela-Session: rest'
    tells "$1: a response" '.output[0].content[0].text' "heard: four"
    ask b post /api/chat '{"id":"rest","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"five"}]}]}'
    answers "$1: a message of a page" 200
    same "$1: the page's stream" "heard: five" "$(chunks | jq -rj 'select(.type == "text-delta").delta')"
    same "$1: all were one session's, held by the other" "$(printf 'heard: %s\n' one two three four five)" \
        "$(seen "$tmp/held.rest" 'select(.type == "run_end").text' | tail -n 5)"

    # --- what a paused run waits for
    ask a post /api/sessions/client/messages '{"text":"look","tools":[{"name":"look","description":"Looks.","parameters":{"type":"object"}}]}'
    ask a within is client paused
    watch a client "$tmp/held.client"
    call_id=$(jq -r '.waiting[0].call_id // .waiting[0].id' "$out")
    ask b post /api/sessions/client/messages "{\"results\":[{\"id\":\"$call_id\",\"content\":\"a tree\"}],\"stream\":true}"
    answers "$1: a result" 200
    same "$1: the run goes on with it" "it said: a tree" "$(chunks | tail -n 1 | jq -r .text)"
    held consent press
    ask a within is consent paused
    ask b call GET /api/approvals
    ask b post "/api/approvals/$(jq -r '.approvals[0].approval_id' "$out")" '{"decision":"allow-once"}'
    answers "$1: a decision" 202
    check "$1: takes effect" within ended "$tmp/held.consent" "done"
    rm -f "$tmp/go" "$tmp/waiting"
    held owned wait
    check "$1: one more run is at work" within test -e "$tmp/waiting"
    ask b call GET /api/chat/owned/stream -m 2
    check "$1: a page that is opened again sees it" grep -q '"tool-input-available"' "$out"
    ask b post /api/sessions/owned/messages '{"text":"a person says","mode":"take_over"}'
    answers "$1: a person takes over" 202
    check "$1: and the run ends" within ended "$tmp/held.owned" "done"
    touch "$tmp/go"
    ask b call GET /api/sessions/owned
    tells "$1: with those words" "$last" "a person says"

    # --- from session to session
    held team-held
    ask b post /api/sessions/asker/messages '{"text":"ask them","stream":true}'
    same "$1: another session's answer" "it said: seven" "$(chunks | tail -n 1 | jq -r .text)"

    # --- a message that is refused when its sender has left
    rm -f "$tmp/go" "$tmp/waiting"
    held refused wait
    check "$1: a run is at work again" within test -e "$tmp/waiting"
    kill -STOP "$pid_a"
    body='{"text":"now or never","mode":"run","stream":true}'
    ask b post /api/sessions/refused/messages "$body" -H "Idempotency-Key: $1-refused" -m 1
    kill -CONT "$pid_a"
    check "$1: the session refuses the message" within grep -q "of session refused is dropped: .* busy" "$tmp/a.log"
    ask b post /api/sessions/refused/messages "$body" -H "Idempotency-Key: $1-refused"
    answers "$1: a sender that asks again learns it" 409
    touch "$tmp/go"

    # --- a gateway that is stopped until the other one has its session
    ask a post /api/sessions/rest/fork '{"to":"quiet"}'
    watch a quiet "$tmp/quiet"
    kill -STOP "$pid_a"
    ask b post /api/sessions/quiet/messages '{"text":"meanwhile"}'
    answers "$1: a message while the holder is stopped" 202
    said() { ask b call GET /api/sessions/quiet && [ "$(jq -r "$last" "$out")" = "heard: meanwhile" ]; }
    check "$1: it is answered" within said
    kill -CONT "$pid_a"
    check "$1: a client of the stopped gateway gets what it missed" within ended "$tmp/quiet" "done"
    same "$1: and nothing from before" "heard: meanwhile" "$(seen "$tmp/quiet" 'select(.type == "run_end").text')"

    # --- a paused run is cancelled
    ask a post /api/sessions/asked/messages '{"text":"press"}'
    ask a within is asked paused
    watch a asked "$tmp/held.asked"
    watch b asked "$tmp/asked"
    ask a post /api/sessions/asked/cancel '{}'
    check "$1: the cancellation of a paused run is shown" within ended "$tmp/asked" cancelled

    for p in "${watchers[@]}"; do kill "$p"; done 2>/dev/null
    watchers=()
    kill -TERM "$pid_a"
    check "$1: a gateway that stopped is not listed" within lists b "$pid_b"
    within eval '! kill -0 $pid_a 2>/dev/null'

    # --- messages that follow the death of the gateway at once
    start a
    rm -f "$tmp/go" "$tmp/waiting"
    for i in {1..8}; do ask a post "/api/sessions/left$i/messages" '{"text":"wait"}'; done
    for i in {1..8}; do ask a within is "left$i" running; done
    kill -KILL "$pid_a"
    same "$1: messages to runs that were left" 202 "$(ask b post_all '/api/sessions/left[1-8]/messages' '{"text":"and then"}')"
    touch "$tmp/go"
    for i in {1..8}; do
        ask b within is "left$i" idle
        ask b call GET "/api/sessions/left$i/records"
        tells "$1: both messages are answered by one run, which ends ($i)" \
            '[.records[] | select(.type == "state").data | {(.run): .status}] | add | [.[]] | join(" ")' "done"
    done
    kill -TERM "$pid_b"
    within eval '! kill -0 $pid_b 2>/dev/null'
    pid_a='' pid_b=''
}

# The server is gone: the store's calls are retried for a long time.
ends_without_store() { # SERVER
    start a
    start b
    ask a post /api/sessions/kept/messages '{"text":"stay"}'
    ask a within is kept idle
    kill_server "$1"
    sleep 1 # calls begin
    kill -TERM "$pid_b"
    local since=$SECONDS
    check "without a server: signals are sent to a gateway until it has ended" within eval '! kill -TERM "$pid_a" 2>/dev/null'
    check "without a server: this takes a moment" test $((SECONDS - since)) -lt 10
    check "without a server: one signal ends a gateway, too" within eval '! kill -0 "$pid_b" 2>/dev/null'
    pid_a='' pid_b=''
}

if start_postgres; then
    serves postgres "$postgres"
else
    skip "two gateways" "PostgreSQL is not installed here"
fi
if start_redis; then
    serves redis "$redis"
    ends_without_store "$redis_pid"
else
    skip "two gateways" "Redis is not installed here"
fi
tap_done

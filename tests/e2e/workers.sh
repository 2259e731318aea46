#!/usr/bin/env bash
# `chela serve` with two workers, with SQLite, PostgreSQL and Redis: equal shares of the runs, streams of a
# session that the other worker has, a worker that is killed or stopped, reloading, ending, and a
# parent that is killed and started again at once.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh

program=$(realpath "$program")
configure() { # STORE [LINE...]
    cat >"$space/rules.yaml" <<YAML
rules:
  - { when: { user: "job", after: none }, call: { tool: note, args: { line: "{{user}}" } } }
  - { when: { after: note }, say: "done it", delay_ms: 1500 }
  - { when: { user: "long" }, say: "at last", delay_ms: 1500 }
  - say: "heard: {{user}}"
YAML
    cat >"$space/chela.yaml" <<YAML
store: "$1"
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
approvals: { note: auto }
sandbox: { mode: "off" }
tools:
  custom:
    - { name: note, description: Note a line., parameters: { type: object, properties: { line: { type: string } } },
        command: [sh, -c, "cat >>'$tmp/notes'; echo >>'$tmp/notes'"], effect: once, permission: read }
YAML
    shift
    printf '%s\n' "$@" >>"$space/chela.yaml"
}
clean_up() {
    # shellcheck disable=SC2046
    [ -z "${gateway_pid-}" ] || kill -9 "$gateway_pid" $(workers) 2>/dev/null
    stop_servers
    rm -rf "$tmp"
}
two_run() { [ "$(workers | wc -l)" = 2 ] && [ "$(workers | sort)" != "$before" ]; }
value() { # NAME WORKER: a value of /metrics
    sed -n "s/^chela_$1{worker=\"$2\"} //p" "$out"
}
runs_are() { # NUMBER: in total
    call GET /metrics
    [ $(($(value runs_total 1) + $(value runs_total 2))) -ge "$1" ]
}
all_gone() { # PID...
    local p
    for p; do [ ! -e "/proc/$p" ] || [ "$(sed 's/.*) //; s/ .*//' "/proc/$p/stat" 2>/dev/null)" = Z ] || return 1; done
}
notes() { grep -o 'job <[0-9]*>' "$tmp/notes"; } # two commands may write to one line
ended() { # KEY TEXT: the session is idle, and its last answer
    call GET "/api/sessions/$1"
    grep -qF '"status":"idle"' "$out" && [ "$(jq -r '.status + " " + .transcript[-1].content[0].text' "$out")" = "idle $2" ]
}
all_ended() { # COUNT
    local i
    for ((i = 1; i <= $1; i++)); do ended "job$i" "done it" || return 1; done
}

try() { # NAME STORE
    local name=$1 i all woken followers=()
    rm -f "$tmp/notes"
    configure "$2" 'workers: 2' 'gateway: { drainSec: 10 }' 'schedules: { tick: { when: "every 1s", prompt: tick, timezone: UTC } }'
    serve
    check "$name: the gateway starts" test -n "$gateway"
    same "$name: one line says so" 1 "$(grep -c 'listening on' "$serve_log")"
    same "$name: two workers" 2 "$(workers | wc -l)"

    # --- runs over fresh connections
    seq 200 | xargs -P 4 -I '{}' curl -sS -m 20 -o "$tmp/answer.{}" -w '%{http_code}\n' -H "Authorization: Bearer $token" \
        -H 'Content-Type: application/json' -d '{"text":"hello"}' "$gateway/api/sessions/share{}/messages" >"$tmp/codes" 2>&1
    same "$name: 200 messages are accepted" "200 202" "$(sort "$tmp/codes" | uniq -c | xargs)$(cat "$tmp"/answer.* | grep -o '"error".*' | sort -u)"
    rm -f "$tmp"/answer.*
    check "$name: and run" eventually runs_are 200
    for i in 1 2; do
        check "$name: worker $i has 20 to 80 of a hundred runs ($(value runs_total $i))" \
            test "$(value runs_total $i)" -ge 40 -a "$(value runs_total $i)" -le 160
    done

    # --- a session that the other one has: connections that stay open are spread over the workers
    post /api/sessions/shared/messages '{"text":"long"}'
    answers "$name: a long run" 202
    for i in 1 2; do
        curl -sSN -m 600 -o "$tmp/events$i" -H "Authorization: Bearer $token" "$gateway/api/sessions/shared/events" 2>/dev/null &
        followers[i]=$!
    done
    ends_shown() { [ "$(grep -l '"type":"run_end".*"text":"at last"' "$tmp"/events[12] 2>/dev/null | wc -l)" = 2 ]; }
    check "$name: both workers show its events" eventually ends_shown
    kill "${followers[@]}"
    wait "${followers[@]}" 2>/dev/null
    same "$name: once" "1 1" "$(grep -c '"type":"run_end".*"text":"at last"' "$tmp"/events[12] | sed 's/.*://' | xargs)"
    rm "$tmp"/events[12]
    for i in {1..10}; do
        post /api/sessions/shared/messages "{\"text\":\"line $i\",\"stream\":true}"
        check "$name: message $i is answered by whoever has it" grep -q "heard: line $i" "$out"
    done
    call GET /api/sessions/shared
    tells "$name: one conversation, in order" '[.transcript[] | select(.role == "user").content[0].text] | join(",")' \
        "long$(printf ',line %d' {1..10})"
    # --- a response that the other one gave
    post /v1/responses '{"model":"coder","input":"first"}'
    id=$(jq -r .id "$out")
    for i in {1..5}; do
        post /v1/responses "{\"model\":\"coder\",\"input\":\"next $i\",\"previous_response_id\":\"$id\"}"
        answers "$name: /v1/responses after a response, $i" 200
        call GET "/v1/responses/$id"
        tells "$name: which is read again, $i" .output[0].content[0].text 'heard: first'
    done
    call DELETE "/v1/responses/$id"
    answers "$name: and deleted" 200
    gone() { # also for the other worker: the workers accept up to 16 connections each in turn
        for _ in {1..20}; do call GET "/v1/responses/$id" && [ "$code" = 404 ] || return 1; done
    }
    check "$name: for both workers" eventually gone
    call GET /api/nodes
    tells "$name: both are listed" '[.nodes[] | select(.kind == "gateway")] | length' 2

    # --- one is killed in the middle
    for ((i = 1; i <= 8; i++)); do post "/api/sessions/job$i/messages" "{\"text\":\"job <$i>\"}"; done
    noted() { [ "$(notes | wc -l)" = 8 ]; }
    check "$name: eight jobs begin" eventually noted
    before=$(workers | sort)
    kill -9 "$(workers | head -n 1)"
    check "$name: all end after a worker was killed" eventually all_ended 8
    same "$name: no call is made twice" 8 "$(notes | sort -u | wc -l)"
    same "$name: nor another one" 8 "$(notes | wc -l)"
    check "$name: the worker is started again" eventually two_run
    check "$name: and the log says so" grep -q 'was ended by signal 9; it is started again' "$serve_log"

    # --- one does not respond: it loses its turn
    all=$(workers | tail -n 1)
    kill -STOP "$all"
    for ((i = 1; i <= 20; i++)); do
        curl -sS -m 3 -o /dev/null -w '%{http_code}\n' "$gateway/healthz" 2>/dev/null
    done >"$tmp/codes"
    kill -CONT "$all"
    check "$name: a stopped worker does not stop the other ($(grep -c 200 "$tmp/codes") of 20)" test "$(grep -c 200 "$tmp/codes")" = 20

    # --- a new configuration reaches both
    sed -i 's/heard: /read: /' "$space/rules.yaml"
    kill -HUP "$gateway_pid"
    both_reloaded() { [ "$(grep -c 'worker [12]: the configuration was read again' "$serve_log")" = 2 ]; }
    check "$name: SIGHUP reaches both" eventually both_reloaded
    for i in 1 2; do
        post "/api/sessions/new$i/messages" '{"text":"x","stream":true}'
        check "$name: worker $i or the other has it" grep -q 'read: x' "$out"
    done

    post /api/config '{"key":"gateway.drainSec","value":9,"check":true}'
    post /api/config "{\"key\":\"gateway.drainSec\",\"value\":9,\"of\":\"$(jq -r .of "$out")\"}"
    answers "$name: a change over HTTP" 200
    both_changed() { [ "$(grep -c 'worker [12]: the configuration was read again' "$serve_log")" = 4 ]; }
    check "$name: reaches both too" eventually both_changed

    # --- the end
    post /api/sessions/last/messages '{"text":"long"}'
    all=$(workers)
    check "$name: SIGTERM ends it" stop_serving
    # shellcheck disable=SC2086
    check "$name: and both workers" eventually all_gone $all
    same "$name: no error is told" 0 "$(grep -c '^chela: .*signal 15\|^chela: .*code' "$serve_log")"
    serve --workers 2
    check "$name: the run in progress was finished" ended last 'at last'
    told() { (cd "$space" && with_env "$program" sessions export schedule:tick --config chela.yaml 2>/dev/null) | jq -r 'select(.type == "inbound").data.message.content[0].text'; }
    check "$name: a schedule has run" test "$(told | grep -c .)" -ge 2
    same "$name: once at each time" "" "$(told | sort | uniq -d)"
    post /api/sessions/last/messages '{"text":"long"}'
    all=$(workers)
    kill -9 "$gateway_pid"
    # shellcheck disable=SC2086
    check "$name: when the parent is killed, both workers end" eventually all_gone $all
    serve --listen "${gateway#http://}"
    check "$name: and the port is free" test -n "$gateway"
    check "$name: what was begun is finished" eventually ended last 'at last'
    # A worker that has not noticed the end of its parent yet still has the address.
    mapfile -t all < <(workers)
    kill -STOP "${all[0]}"
    kill -9 "$gateway_pid"
    (sleep 1; kill -CONT "${all[0]}") &
    woken=$!
    serve --listen "${gateway#http://}"
    check "$name: a restart waits for the address" test -n "$gateway"
    same "$name: a restart waits for the address, and tells no error" 0 "$(grep -c 'in use' "$serve_log")"
    wait $woken
    stop_serving
}

try sqlite "sqlite:$tmp/chela.db"
if start_postgres; then
    try postgres "$postgres"
else
    skip "two workers with PostgreSQL" "PostgreSQL is not installed here"
fi
if start_redis; then
    try redis "$redis"
else
    skip "two workers with Redis" "Redis is not installed here"
fi

# --- what is refused
refused() { # NAME STATUS TEXT FLAG...
    local name=$1 want=$2 text=$3
    shift 3
    (cd "$space" && with_env CHELA_TOKEN=$token timeout 20 "$program" serve --listen 127.0.0.1:0 --config chela.yaml "$@") \
        >"$out" 2>"$err" </dev/null
    same "$name: exit code" "$want" $?
    check "$name: is said once" test "$(grep -c "$text" "$err")" = 1
}
configure memory:
refused "memory:" 2 '2 workers need a store that processes can share' --workers 2
refused "65 workers" 2 'workers' --workers 65
configure "sqlite:$tmp/chela.db" 'workers: 65'
refused "65 workers in the file" 2 'workers: .*64'
configure "sqlite:$tmp/chela.db" 'workers: 2'
serve --workers 1
check "one worker is the process itself" test -n "$gateway" -a -z "$(workers)"
stop_serving
tap_done

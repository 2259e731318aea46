#!/usr/bin/env bash
# Three gateways that share a database server, and one with SQLite: killed, stopped and continued,
# and cut off from the server, while clients ask. So are the two workers of one gateway, with SQLite
# and PostgreSQL. P1 to P7 of docs/promises.md are checked from outside. FAULT_POINTS: faults with
# each store (default 12). FAULT_STORES: which stores.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/servers.sh

points=${FAULT_POINTS:-12}
RANDOM=${FAULT_SEED:-1}
program=$(realpath "$program")
secret=hook-SENTINEL-0123456789abcdef
unshare --pid --fork --mount-proc true 2>/dev/null && apart=(unshare --pid --fork --mount-proc) || apart=()
start_lark
eval "lark_$(declare -f with_env)"
with_env() { lark_with_env DEPLOY_SECRET=$secret "$@"; }
declare -A pid=() proxy=() above=()
clients=()
clean_up() {
    touch "$tmp/stop"
    for p in "${pid[@]}"; do
        # shellcheck disable=SC2046
        kill -9 $(pgrep -P "$p") 2>/dev/null
    done
    for p in "${pid[@]}" "${proxy[@]}" "${above[@]}" "${clients[@]}" "$server_pid"; do
        [ -z "$p" ] || kill -9 "$p" 2>/dev/null
    done
    stop_servers
    rm -rf "$tmp"
}
trap clean_up EXIT

# --- gateways
configure() { # NODE STORE [WORKERS]
    mkdir -p "$tmp/$1"
    cat >"$tmp/$1/rules.yaml" <<YAML
rules:
  - { when: { user: "(joined[12]): ", after: none }, call: { tool: note, args: { line: "{{user}}" } } }
  - { when: { after: note }, say: "$1 did it", delay_ms: 120 }
  - { say: "$1 heard: {{user}}", delay_ms: 250 }
YAML
    cat >"$tmp/$1/chela.yaml" <<YAML
store: "$2"
workers: ${3:-1}
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
approvals: { note: auto }
sandbox: { mode: "off" }
tools:
  custom:
    - { name: note, description: Note a line., parameters: { type: object, properties: { line: { type: string } } },
        command: [sh, -c, "cat >>'$tmp/notes'; echo >>'$tmp/notes'"], effect: once, permission: read }
gateway:
  hooks:
    joined1: { secretEnv: DEPLOY_SECRET, session: one }
    joined2: { secretEnv: DEPLOY_SECRET, session: two }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open } }
YAML
}
# The first node is on a machine of its own: its processes are not visible to the others.
start() { # NODE: sets pid[NODE], and writes its address to NODE.at
    local node=$1 away=() up=0
    [ "$node" = n1 ] && away=("${apart[@]}")
    rm -f "$tmp/$node.at"
    : >"$tmp/$node.now"
    # shellcheck disable=SC2016
    (cd "$tmp/$node" && with_env CHELA_TOKEN=$token sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/$node.pid" "${away[@]}" \
        "$program" serve --listen 127.0.0.1:0 -v --config chela.yaml >>"$tmp/$node.now" 2>&1 </dev/null) &
    above[$node]=$!
    for _ in {1..600}; do
        up=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$tmp/$node.now")
        [ -n "$up" ] && break
        kill -0 "${above[$node]}" 2>/dev/null || break
        sleep 0.05
    done
    if [ -z "$up" ]; then
        not_ok "$node starts" "$(tail -n 5 "$tmp/$node.now")"
        exit 1
    fi
    pid[$node]=$(cat "$tmp/$node.pid")
    [ ${#away[@]} = 0 ] || pid[$node]=$(pgrep -P "${pid[$node]}" | head -n 1)
    echo "$up" >"$tmp/$node.at.new" && mv "$tmp/$node.at.new" "$tmp/$node.at"
}
die() { # NODE
    cat "$tmp/$1.now" >>"$tmp/$1.log"
    rm -f "$tmp/$1.at"
    kill -9 "${pid[$1]}" 2>/dev/null
    wait "${above[$1]}" 2>/dev/null
}

# --- clients: one for each session, which waits for its answer and repeats what was not answered
some_node() { # of those that listen; nothing: none
    local all=("$tmp"/n?.at)
    [ -e "${all[0]}" ] || return
    cat "${all[RANDOM % ${#all[@]}]}" 2>/dev/null
}
send() { # PATH CURL-FLAG...: until it is answered with 2xx; prints other codes
    local path=$1 at code
    shift
    for _ in {1..400}; do
        at=$(some_node)
        code=$(curl -s -m 4 -o "$tmp/answer.$BASHPID" -w '%{http_code}' -X POST -H 'Content-Type: application/json' "$@" "$at$path")
        case $code in 200 | 202) return ;; 000 | 503) ;; *) echo "$code $(head -c 200 "$tmp/answer.$BASHPID")" ;; esac
        sleep 0.1
    done
    echo "never"
}
hook_client() { # HOOK
    local i=0 body now signature
    RANDOM=$((RANDOM + 7))
    while [ ! -e "$tmp/stop" ]; do
        i=$((i + 1))
        body="{\"n\":$i}"
        now=$(date +%s)
        signature=$(printf '%s.%s' "$now" "$body" | openssl dgst -sha256 -hmac $secret -r | cut -d' ' -f1)
        send "/hooks/$1" -H "X-Chela-Timestamp: $now" -H "X-Chela-Signature: sha256=$signature" --data-binary "$body" >>"$tmp/codes"
        echo $i >"$tmp/$1.acked"
        sleep 0.2
    done
}
chat_client() {
    local i=0
    while [ ! -e "$tmp/stop" ]; do
        i=$((i + 1))
        send /channels/feishu/events --data-binary "$(event "om_$i" "oc_$i" p2p "question <$i>")" >>"$tmp/codes"
        echo $i >"$tmp/chat.acked"
        sleep 0.5
    done
}

# --- faults
some_time() { # mostly short; sometimes longer than a lease
    if [ $((RANDOM % 10)) = 0 ]; then echo 11; else echo "$((RANDOM % 2)).$((RANDOM % 9 + 1))"; fi
}
some_worker() { pgrep -P "${pid[$1]}" | sed -n "$((RANDOM % 2 + 1))p"; } # NODE
fault() { # NODE KIND
    local worker
    case $2 in
    kill)
        die "$1"
        start "$1"
        ;;
    stop) kill -STOP "${pid[$1]}" && sleep "$(some_time)" && kill -CONT "${pid[$1]}" ;;
    cut) kill -USR1 "${proxy[$1]}" && sleep "$(some_time)" && kill -USR2 "${proxy[$1]}" ;;
    reset) kill -HUP "${proxy[$1]}" ;;
    kill-worker) kill -9 "$(some_worker "$1")" ;;
    stop-worker) worker=$(some_worker "$1") && kill -STOP "$worker" && sleep "$(some_time)" && kill -CONT "$worker" ;;
    esac
}

# --- what was taken up, from the store
told() { # KEY HOOK
    (cd "$tmp/n1" && with_env "$program" sessions export "$1" --store "$direct" 2>/dev/null) |
        jq -r 'select(.type == "inbound" and .data.event).data.message.content[0].text // empty' | sed -n "s/^$2: {\"n\":\([0-9]*\)}\$/\1/p"
}
eventually() { # COMMAND...
    for _ in {1..600}; do
        "$@" && return
        sleep 0.2
    done
    return 1
}
all_told() { # KEY HOOK
    [ "$(told "$1" "$2" | tail -n 1)" = "$(cat "$tmp/$2.acked")" ] && [ "$(told "$1" "$2" | grep -c .)" -ge "$(cat "$tmp/$2.acked")" ]
}
answered() { texts | sed -n 's/.*question <\([0-9]*\)>.*/\1/p'; }
# A run that is killed four times without a reply of the model in between is parked (docs/sessions.md).
parked() { cat "$tmp"/n?.log "$tmp"/n?.now | sed -n "s/.*session 'feishu:oc_\([0-9]*\)' is parked.*/\1/p"; }
all_answered() { [ "$({ answered; parked; } | sort -u | grep -c .)" -ge "$(cat "$tmp/chat.acked")" ]; }
unanswered() { # the numbers, then the session and the log lines of the first
    local first
    answered | sort -u | comm -13 - <(seq "$(cat "$tmp/chat.acked")" | sort)
    first=$(answered | sort -u | comm -13 - <(seq "$(cat "$tmp/chat.acked")" | sort) | head -n 1)
    (cd "$tmp/n1" && with_env "$program" sessions export "feishu:oc_$first" --store "$direct" 2>&1) | cut -c 1-400
    grep -h "oc_$first\b" "$tmp"/n?.log "$tmp"/n?.now | tail -n 20
}

rounds() { # NAME URL NODE...: the nodes are configured, and have their proxies
    local name=$1 nodes kinds=(kill stop cut reset) kind n=0
    direct=$2
    shift 2
    nodes=("$@")
    [ -n "${proxy[${nodes[0]}]-}" ] || kinds=(kill stop)
    ! grep -q '^workers: 2' "$tmp/${nodes[0]}/chela.yaml" || kinds=(kill kill-worker kill-worker stop-worker stop-worker)
    rm -f "$tmp"/n?.log "$tmp/notes" "$tmp/codes" "$tmp/stop" "$tmp"/*.acked
    : >"$tmp/notes" && : >"$tmp/codes" && : >"$tmp/lark/sent"
    for node in "${nodes[@]}"; do start "$node"; done
    hook_client joined1 & clients=($!)
    hook_client joined2 & clients+=($!)
    chat_client & clients+=($!)
    while [ $n -lt "$points" ]; do
        kind=${kinds[RANDOM % ${#kinds[@]}]}
        fault "${nodes[RANDOM % ${#nodes[@]}]}" "$kind" && n=$((n + 1))
        sleep "0.$((RANDOM % 6))"
    done
    touch "$tmp/stop"
    wait "${clients[@]}"
    clients=()
    ok "$name: $n faults, $(cat "$tmp/joined1.acked") and $(cat "$tmp/joined2.acked") events, $(cat "$tmp/chat.acked") messages"
    check "$name: P1: what was accepted for one session is taken up" eventually all_told one joined1
    check "$name: P1: and for another" eventually all_told two joined2
    if eventually all_answered; then ok "$name: P1: every chat is answered"; else not_ok "$name: P1: every chat is answered" "$(unanswered)"; fi
    sleep 2
    same "$name: P2, P7: once, and in order" "$(seq "$(cat "$tmp/joined1.acked")")" "$(told one joined1)"
    same "$name: P2, P7: in the other session, too" "$(seq "$(cat "$tmp/joined2.acked")")" "$(told two joined2)"
    same "$name: P2: no tool ran twice" "" "$(grep . "$tmp/notes" | sort | uniq -d)"
    same "$name: P3: no chat has two answers" "" "$(answered | sort | uniq -d)"
    for node in "${nodes[@]}"; do # every stored state loads, and continues
        die "$node"
        start "$node"
    done
    rm "$tmp/stop"
    local before
    before=$(cat "$tmp/joined1.acked")
    gateway=$(cat "$tmp/${nodes[0]}.at") call GET /api/sessions/one
    same "$name: P4: the session loads" 200 "$code"
    gateway=$(cat "$tmp/${nodes[0]}.at") call POST /api/sessions/one/messages -H 'Content-Type: application/json' \
        --data-binary '{"text":"once more"}'
    same "$name: P4: and goes on" 202 "$code"
    goes_on() { (cd "$tmp/n1" && with_env "$program" sessions export one --store "$direct" 2>/dev/null) | grep -q 'heard: once more'; }
    check "$name: P4: to an answer ($before events before)" eventually goes_on
    same "$name: P5: every answer was 2xx, or said to come again" "" "$(sort -u "$tmp/codes" | head -n 5)"
    same "$name: P6: nothing that was accepted is dropped" "" "$(cat "$tmp"/n?.log "$tmp"/n?.now | grep -E 'is dropped|damaged' | head -n 5)"
    for node in "${nodes[@]}"; do
        die "$node"
        [ -n "${proxy[$node]-}" ] || continue
        kill "${proxy[$node]}"
        wait "${proxy[$node]}" 2>/dev/null
    done
    pid=() above=() proxy=()
    rm -f "$tmp"/n?.at "$tmp"/n?.now
}

wants() { case " ${FAULT_STORES:-sqlite workers postgres redis} " in *" $1 "*) ;; *) return 1 ;; esac; }
if wants sqlite; then
    configure n1 "sqlite:$tmp/chela.db"
    rounds sqlite "sqlite:$tmp/chela.db" n1
fi
if wants workers; then
    configure n1 "sqlite:$tmp/workers.db" 2
    rounds "workers, sqlite" "sqlite:$tmp/workers.db" n1
    if start_postgres; then
        postgres_sql 'CREATE DATABASE workers'
        configure n1 "$(postgres_url workers)" 2
        rounds "workers, postgres" "$(postgres_url workers)" n1
    else
        skip "workers with PostgreSQL" "PostgreSQL is not installed here"
    fi
fi
if wants postgres && { [ -n "${postgres-}" ] || start_postgres; }; then
    for node in n1 n2 n3; do
        mkdir -p "$tmp/$node/pg"
        "$BUILD/tests/support/cutproxy" "$tmp/$node/pg/.s.PGSQL.5432" "$servers/pg/.s.PGSQL.5432" >/dev/null &
        proxy[$node]=$!
        configure $node "postgres:///postgres?host=$tmp/$node/pg&user=chela"
    done
    rounds postgres "$postgres" n1 n2 n3
elif wants postgres; then
    skip "three gateways" "PostgreSQL is not installed here"
fi
if wants redis && start_redis; then
    for node in n1 n2 n3; do
        "$BUILD/tests/support/cutproxy" 0 "$redis_port" >"$tmp/$node.port" &
        proxy[$node]=$!
        until [ -s "$tmp/$node.port" ]; do sleep 0.01; done
        configure $node "redis://127.0.0.1:$(cat "$tmp/$node.port")"
    done
    rounds redis "$redis" n1 n2 n3
elif wants redis; then
    skip "three gateways" "Redis is not installed here"
fi
tap_done

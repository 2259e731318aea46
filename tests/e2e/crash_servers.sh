#!/usr/bin/env bash
# The crash sweep with sessions in PostgreSQL and in Redis, and what the server
# itself may do in the middle of a turn: die and come back, or stand still.
#
# Here some of the points; with CRASH_ALL=1 all of them, the server dies at more
# of them, and stands still for half a minute.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/servers.sh
. tests/support/crash.sh

workers=2
case $BUILD in *-address* | *-thread*) step=40 ;; *) step=10 ;; esac
least=$((CRASH_ALL ? 400 : 160 / step))

# --- chela dies
sweep_all() {
    local kind=$1 worker sweepers=()
    shift
    for ((worker = 0; worker < workers; worker++)); do
        (sweep $worker "$1" "$kind") &
        sweepers+=($!)
        shift
    done
    wait "${sweepers[@]}" # for them, and not for the servers
    swept "$kind"
}

swept() {
    local count
    count=$(cat "$tmp/$1"[0-9]/points | sort -u | wc -l)
    echo "# $1: $count distinct points, $(cat "$tmp/$1"[0-9]/violations | wc -l) violations"
    check "$1: at least $least points" test "$count" -ge $least
    same "$1: no promise is broken" "" "$(cat "$tmp/$1"[0-9]/violations)"
}

# --- the server dies, or stands still
# Run a turn that stops at point N; then DEED..., and the turn goes on.
interrupted() {
    local n=$1 pid=
    shift
    clean
    (begin chain AT="$n" WHEN=stop && echo "$status" >status) &
    local runner=$!
    for _ in {1..200}; do
        pid=$(sed -n 's/^stopped //p' log 2>/dev/null)
        if [ -n "$pid" ] || ! kill -0 $runner 2>/dev/null; then break; fi
        sleep 0.05
    done
    [ -n "$pid" ] || return 1 # fewer points than last time
    "$@" "$pid"
    wait $runner
    status=$(<status)
}

die_and_return() {
    kill_server "$server"
    kill -CONT "$1"
    sleep 0.1
    "$restart" || complain "the server does not start again"
}

stand_still() {
    freeze_server "$server"
    kill -CONT "$1"
    sleep $((CRASH_ALL ? 30 : 2))
    thaw_server "$server"
}

# What was being written when the server died is written again, or the run ends
# and says so. What counts is what holds afterwards.
server_dies() {
    local n=$1
    shape=chain
    point="$kind dies at $n"
    interrupted "$n" die_and_return || return
    case $status in
        0) ;;
        1) grep -q '"reason":"store_error"' out || complain "exit 1 without store_error: $(<err)" ;;
        *) complain "exit $status: $(<err)" ;;
    esac
    told
    # shellcheck disable=SC2119
    if [ "$status" != 0 ] || [[ $state != *'"status":"idle"'* ]]; then recover; fi
    echo "$point" >>points
    verdict
}

server_stands_still() {
    local n=$1
    shape=chain
    point="$kind stands still at $n"
    interrupted "$n" stand_still || return
    [ "$status" = 0 ] || complain "exit $status: $(<err)"
    told
    status=0
    echo "$point" >>points
    verdict
}

# The points where something goes to the server: asked of a run.
troubled() {
    local total n every
    world "$kind-faults" "$1"
    total=$(points_of chain)
    every=$((total / (CRASH_ALL ? 24 : 3) + 1))
    for ((n = every / 2 + 1; n <= total; n += every)); do
        server_dies $n
    done
    server_stands_still $((total / 2))
    if [ -n "${CRASH_ALL-}" ]; then server_stands_still $((total / 4)); fi
    judge_states
    echo "# $kind: a server in trouble at $(sort -u points | wc -l) points"
    check "$kind: the server was in trouble" test "$(sort -u points | wc -l)" -ge 3
    same "$kind: a server in trouble breaks no promise" "" "$(cat violations)"
    six_processes "$kind"
    cd - >/dev/null || exit 2
}

restart_postgres() {
    start_postgres && server=$postgres_pid
}

restart_redis() {
    # shellcheck disable=SC2119
    start_redis && server=$redis_pid
}

if start_postgres; then
    for n in 0 1 2; do postgres_sql "CREATE DATABASE w$n"; done
    sweep_all postgres "$(postgres_url w0)" "$(postgres_url w1)"
    postgres_sql CHECKPOINT # the sweep's log is not to be read again after each death
    kind=postgres server=$postgres_pid restart=restart_postgres
    troubled "$(postgres_url w2)"
else
    skip "PostgreSQL" "it is not installed"
fi
# shellcheck disable=SC2119
if start_redis; then
    sweep_all redis "$redis/0" "$redis/1"
    kind=redis server=$redis_pid restart=restart_redis
    troubled "$redis/2"
else
    skip "Redis" "it is not installed"
fi
tap_done

#!/usr/bin/env bash
# workers -- `chela serve` with one and with two workers: processor time of a run, and the share of
# each worker.
#
#     bench/workers.sh [BUILD]     RUNS=2000 STORES="sqlite postgres none" ROUNDS=3 PARALLEL=16
#
# A run is a message to a new session, over a connection of its own, which the scripted model
# answers; for "none" a request of /v1/chat/completions, which leaves no session. The time is that
# of the parent and the workers, without the database server. The rounds alternate between one and
# two workers and the floor of two workers: two gateways at once that share nothing. Two busy
# processors slow each other down, which is no cost of workers. The table has medians.
cd "$(dirname "$0")/.." || exit 2
BUILD=$(realpath "${1:-build}")
export BUILD
tmp=$(mktemp -d)
pids=()
# shellcheck disable=SC1091
. tests/support/servers.sh
clean_up() {
    # shellcheck disable=SC2046
    for pid in "${pids[@]}"; do kill -9 "$pid" $(pgrep -P "$pid") 2>/dev/null; done
    stop_servers
    rm -rf "$tmp"
}
trap clean_up EXIT
runs=${RUNS:-2000}
token=0123456789abcdef0123456789abcdef
printf 'rules: [{ say: "heard: {{user}}" }]\n' >"$tmp/rules.yaml"

serve() { # STORE WORKERS: adds to pids, and sets at
    local dir=$tmp/${#pids[@]}
    at=
    mkdir -p "$dir"
    : >"$dir/log"
    printf 'store: "%s"\nworkers: %s\nagents: { list: [{ id: main, model: scripted/../rules.yaml }] }\n' "$1" "$2" >"$dir/chela.yaml"
    (cd "$dir" && CHELA_TOKEN=$token exec "$BUILD/chela" serve --listen 127.0.0.1:0 --config chela.yaml >>"$dir/log" 2>&1) &
    pids+=($!)
    for _ in {1..400}; do
        at=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$dir/log")
        [ -n "$at" ] && return
        sleep 0.05
    done
    cat "$dir/log" >&2
    exit 1
}
used() { # processor time of the gateways so far, us
    local parent p
    for parent in "${pids[@]}"; do
        for p in "$parent" $(pgrep -P "$parent"); do sed 's/.*) //' "/proc/$p/stat"; done
    done | awk -v tick="$(getconf CLK_TCK)" '{ sum += $12 + $13 } END { printf "%d", sum * 1000000 / tick }'
}
metrics() { curl -sS -H "Authorization: Bearer $token" "$1/metrics" | grep '^chela_runs_total'; }
load() { # AT FIRST COUNT PARALLEL
    local i body='{"text":"hello"}' list=$tmp/curl.${1##*:}
    for ((i = $2; i < $2 + $3; i++)); do
        printf 'url = "%s/api/sessions/%s-%d/messages"\noutput = /dev/null\n' "$1" "$round" "$i"
    done >"$list"
    if [ "$store" = none ]; then
        body='{"model":"main","messages":[{"role":"user","content":"hello"}]}'
        sed -i 's|/api/sessions/.*"|/v1/chat/completions"|' "$list"
    fi
    curl -sS -Z --parallel-max "$4" -K "$list" -H 'Connection: close' -H "Authorization: Bearer $token" \
        -H 'Content-Type: application/json' -d "$body" 2>"$list.err" >/dev/null || head -n 3 "$list.err" >&2
}
wait_for() { # AT COUNT: of runs
    for _ in {1..600}; do
        [ "$(metrics "$1" | awk '{ sum += $2 } END { print sum + 0 }')" -ge "$2" ] && return
        sleep 0.1
    done
}
measure() { # WORKERS STORE...: prints us a run, and the largest share of a worker
    local from to workers=$1 all=() loads=() each
    shift
    for each; do
        serve "$each" "$workers"
        load "$at" 0 200 16
        wait_for "$at" 200
        all+=("$at")
    done
    from=$(used)
    for at in "${all[@]}"; do
        load "$at" 200 $((runs / $#)) $((${PARALLEL:-16} / $#)) &
        loads+=($!)
    done
    wait "${loads[@]}"
    for at in "${all[@]}"; do wait_for "$at" $((runs / $# + 200)); done
    to=$(used)
    metrics "$at" | awk -v us=$(((to - from) / runs)) '{ sum += $2; most = $2 > most ? $2 : most } END { printf "%d %.1f\n", us, 100 * most / sum }'
    kill "${pids[@]}"
    wait "${pids[@]}"
    pids=()
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for store in ${STORES:-sqlite postgres none}; do
    case $store in
    sqlite | none) urls=("sqlite:$tmp/a.db" "sqlite:$tmp/b.db") ;;
    postgres)
        start_postgres || continue
        postgres_sql 'CREATE DATABASE other' >/dev/null
        urls=("$postgres" "$(postgres_url other)")
        ;;
    esac
    : >"$tmp/one" && : >"$tmp/two" && : >"$tmp/apart"
    for ((k = 0; k < ${ROUNDS:-3}; k++)); do
        round=one$k
        measure 1 "${urls[0]}" >>"$tmp/one"
        round=two$k
        measure 2 "${urls[0]}" >>"$tmp/two"
        round=apart$k
        measure 1 "${urls[@]}" >>"$tmp/apart"
    done
    for k in one two apart; do eval "$k=$(cut -d' ' -f1 "$tmp/$k" | median)"; done
    # shellcheck disable=SC2154
    printf '%-9s one worker %4d us of CPU a run, two %4d us: %.2f; two gateways apart %4d us: %.2f; largest share of a worker %s %%\n' \
        "$store" "$one" "$two" "$(awk "BEGIN { print $two / $one }")" "$apart" "$(awk "BEGIN { print $two / $apart }")" \
        "$(cut -d' ' -f2 "$tmp/two" | sort -n | tail -n 1)"
done

#!/usr/bin/env bash
# workers -- `chela serve` with one and with two workers: processor time of a run, and the share of
# each worker.
#
#     bench/workers.sh [BUILD]     RUNS=2000 STORES="sqlite postgres none" ROUNDS=3 PARALLEL=16
#
# A run is a message to a new session, over a connection of its own, which the scripted model
# answers; for "none" a request of /v1/chat/completions, which leaves no session. The time is that
# of the parent and the workers, without the database server. The rounds alternate between one and
# two workers; the table has medians.
cd "$(dirname "$0")/.." || exit 2
BUILD=$(realpath "${1:-build}")
export BUILD
tmp=$(mktemp -d)
pid=
# shellcheck disable=SC1091
. tests/support/servers.sh
clean_up() {
    # shellcheck disable=SC2046
    [ -z "$pid" ] || kill -9 "$pid" $(pgrep -P "$pid") 2>/dev/null
    stop_servers
    rm -rf "$tmp"
}
trap clean_up EXIT
runs=${RUNS:-2000}
token=0123456789abcdef0123456789abcdef
printf 'rules: [{ say: "heard: {{user}}" }]\n' >"$tmp/rules.yaml"

serve() { # STORE WORKERS: sets pid and at
    at=
    : >"$tmp/log"
    printf 'store: "%s"\nworkers: %s\nagents: { list: [{ id: main, model: scripted/rules.yaml }] }\n' "$1" "$2" >"$tmp/chela.yaml"
    (cd "$tmp" && CHELA_TOKEN=$token exec "$BUILD/chela" serve --listen 127.0.0.1:0 --config chela.yaml >>"$tmp/log" 2>&1) &
    pid=$!
    for _ in {1..400}; do
        at=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$tmp/log")
        [ -n "$at" ] && return
        sleep 0.05
    done
    cat "$tmp/log" >&2
    exit 1
}
used() { # processor time of the gateway so far, us
    local p
    for p in "$pid" $(pgrep -P "$pid"); do sed 's/.*) //' "/proc/$p/stat"; done |
        awk -v tick="$(getconf CLK_TCK)" '{ sum += $12 + $13 } END { printf "%d", sum * 1000000 / tick }'
}
metrics() { curl -sS -H "Authorization: Bearer $token" "$at/metrics" | grep '^chela_runs_total'; }
load() { # FIRST COUNT
    local i body='{"text":"hello"}'
    for ((i = $1; i < $1 + $2; i++)); do
        printf 'url = "%s/api/sessions/%s-%d/messages"\noutput = /dev/null\n' "$at" "$round" "$i"
    done >"$tmp/curl"
    if [ "$store" = none ]; then
        body='{"model":"main","messages":[{"role":"user","content":"hello"}]}'
        sed -i 's|/api/sessions/.*"|/v1/chat/completions"|' "$tmp/curl"
    fi
    curl -sS -Z --parallel-max "${PARALLEL:-16}" -K "$tmp/curl" -H 'Connection: close' -H "Authorization: Bearer $token" \
        -H 'Content-Type: application/json' -d "$body" 2>"$tmp/curl.err" >/dev/null || head -n 3 "$tmp/curl.err" >&2
}
wait_for() { # COUNT: of runs
    for _ in {1..600}; do
        [ "$(metrics | awk '{ sum += $2 } END { print sum + 0 }')" -ge "$1" ] && return
        sleep 0.1
    done
}
measure() { # STORE WORKERS: prints us a run, and the largest share of a worker
    local from to
    serve "$1" "$2"
    load 0 200
    wait_for 200
    from=$(used)
    load 200 "$runs"
    wait_for $((runs + 200))
    to=$(used)
    metrics | awk -v us=$(((to - from) / runs)) '{ sum += $2; most = $2 > most ? $2 : most } END { printf "%d %.1f\n", us, 100 * most / sum }'
    kill "$pid"
    wait "$pid"
    pid=
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for store in ${STORES:-sqlite postgres none}; do
    case $store in
    sqlite | none) url=sqlite:$tmp/chela.db ;;
    postgres) start_postgres || continue && url=$postgres ;;
    esac
    : >"$tmp/one" && : >"$tmp/two"
    for ((k = 0; k < ${ROUNDS:-3}; k++)); do
        round=one$k
        measure "$url" 1 >>"$tmp/one"
        round=two$k
        measure "$url" 2 >>"$tmp/two"
    done
    one=$(cut -d' ' -f1 "$tmp/one" | median) two=$(cut -d' ' -f1 "$tmp/two" | median)
    printf '%-9s one worker %4d us of CPU a run, two %4d us: %.2f; largest share of a worker %s %%\n' "$store" "$one" "$two" \
        "$(awk "BEGIN { print $two / $one }")" "$(cut -d' ' -f2 "$tmp/two" | sort -n | tail -n 1)"
done

#!/usr/bin/env bash
# nodes -- gateways that share PostgreSQL: what they cost at rest, and how soon an event that one
# of them accepts reaches the model of another one.
#
#     bench/nodes.sh [BUILD]     SESSIONS=300000 IDLE_SEC=30 EVENTS=100
#
# idle     CPU of a gateway and of the database together, per second, with SESSIONS stored sessions
# latency  an event is accepted by the second gateway, the first one holds the session: from the
#          row of the inbox to the record of the model's request, by the clocks of the gateways
cd "$(dirname "$0")/.." || exit 2
BUILD=$(realpath "${1:-build}")
export BUILD
tmp=$(mktemp -d)
pids=()
# shellcheck disable=SC1091
. tests/support/servers.sh
clean_up() {
    for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done
    stop_servers
    rm -rf "$tmp"
}
trap clean_up EXIT
start_postgres || { echo "PostgreSQL is not installed here" >&2; exit 1; }

token=0123456789abcdef0123456789abcdef
cat >"$tmp/rules.yaml" <<'YAML'
rules: [{ say: "heard: {{user}}" }]
YAML
cat >"$tmp/chela.yaml" <<YAML
store: "$postgres"
agents: { list: [{ id: main, model: scripted/rules.yaml }] }
YAML
serve() { # NAME: sets pid and at
    at=
    : >"$tmp/$1.log"
    (cd "$tmp" && CHELA_TOKEN=$token exec "$BUILD/chela" serve --listen 127.0.0.1:0 --config chela.yaml >>"$tmp/$1.log" 2>&1) &
    pid=$!
    pids+=("$pid")
    for _ in {1..400}; do
        at=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$tmp/$1.log")
        [ -n "$at" ] && return
        sleep 0.05
    done
    cat "$tmp/$1.log" >&2
    exit 1
}
used() { # PID...: processor time used so far, us
    local p
    for p; do cat /proc/"$p"/task/*/schedstat 2>/dev/null; done | awk '{ sum += $1 } END { printf "%d", sum / 1000 }'
}
tree() { # PID: it and all below it
    local p
    echo "$1"
    for p in $(pgrep -P "$1"); do tree "$p"; done
}

# --- at rest
serve first
first=$pid at_first=$at
postgres_sql "INSERT INTO chela.sessions(key, agent, title, created, updated, last, turns, messages)
    SELECT 'user:' || n, 'main', 'a session', n, n, 0, 4, 5 FROM generate_series(1, ${SESSIONS:-300000}) n" || exit 1
postgres_sql "VACUUM ANALYZE chela.sessions"
sleep 5
mapfile -t all < <(tree "$postgres_pid")
before=$(used "$first" "${all[@]}") alone=$(used "$first")
sleep "${IDLE_SEC:-30}"
awk -v all="$(($(used "$first" "${all[@]}") - before))" -v alone="$(($(used "$first") - alone))" -v s="${IDLE_SEC:-30}" \
    -v n="${SESSIONS:-300000}" \
    'BEGIN { printf "idle      %d stored sessions: %.2f ms CPU/s, the gateway %.2f of them\n", n, all / 1000 / s, alone / 1000 / s }'

# --- an event at the other gateway
serve second
post() { # ADDRESS TEXT
    curl -s -o /dev/null -m 20 -X POST -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
        --data-binary "{\"text\":\"$2\"}" "$1/api/sessions/held/messages"
}
post "$at_first" begin
curl -sN -m 600 -H "Authorization: Bearer $token" "$at_first/api/sessions/held/events" >/dev/null 2>&1 &
pids+=($!)
sleep 2
for i in $(seq "${EVENTS:-100}"); do
    post "$at" "event $i"
    sleep 0.05
done
sleep 1
postgres_sql "WITH i AS (SELECT ts, row_number() OVER (ORDER BY number) n FROM chela.inbox WHERE key = 'held'),
    r AS (SELECT r.ts, row_number() OVER (ORDER BY seq) n FROM chela.records r JOIN chela.sessions s ON s.id = r.session
          WHERE s.key = 'held' AND r.data::json->>'setup' IS NOT NULL AND r.data::json->>'digest' IS NOT NULL)
    SELECT 'latency   ' || count(*) || ' events: median ' || percentile_cont(0.5) WITHIN GROUP (ORDER BY r.ts - i.ts)
        || ' ms, 90 % within ' || percentile_cont(0.9) WITHIN GROUP (ORDER BY r.ts - i.ts) || ' ms ('
        || (SELECT count(*) FROM r) || ' requests)'
    FROM i JOIN r USING (n) WHERE i.n > 1"

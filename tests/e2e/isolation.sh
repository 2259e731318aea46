#!/usr/bin/env bash
# One session's trouble is its own: somebody locks the row of one session in PostgreSQL. The other
# sessions of the gateway go on; the locked one goes on when the lock is gone. ISOLATION_HOLD: for
# how many seconds the row is locked at least.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh

sessions=20
hold=${ISOLATION_HOLD:-5}
program=$(realpath "$program")
if ! start_postgres; then
    skip "a locked row" "PostgreSQL is not installed here"
    tap_done
    exit
fi
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "slowly" }, say: "after a while", delay_ms: 3000 }
  - { say: "heard: {{user}}" }
YAML
cat >"$space/chela.yaml" <<YAML
store: "$postgres"
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
YAML
exported() { (cd "$space" && with_env "$program" sessions export "$1" 2>/dev/null); }
serve
trap 'kill -9 $gateway_pid 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT

for round in 1 2; do # the second time, the session is at rest and must be opened
    post /api/sessions/locked/messages '{"text":"slowly"}'
    answers "round $round: a message" 202
    if [ $round = 2 ]; then
        eventually status_is locked idle
    else
        eventually status_is locked running
    fi
    postgres_sql "BEGIN; SET application_name = 'lock'; SELECT FROM chela.sessions WHERE key = 'locked' FOR UPDATE; SELECT pg_sleep(600)" >/dev/null 2>&1 &
    lock=$!
    is_locked() { [ "$(postgres_sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lock' AND query LIKE '%pg_sleep%' AND wait_event = 'PgSleep'" | tr -dc 0-9)" = 1 ]; }
    eventually is_locked
    began=$SECONDS
    [ $round = 1 ] || post /api/sessions/locked/messages '{"text":"again"}' -m 2
    for ((i = 0; i < sessions; i++)); do post "/api/sessions/free$i/messages" "{\"text\":\"n$round-$i\"}"; done
    for ((i = 0; i < sessions; i++)); do
        heard() { exported "free$i" | grep -qF "heard: n$round-$i"; }
        eventually heard || break
    done
    same "round $round: the others got their answers" $sessions $i
    check "round $round: while the row was locked" is_locked
    while [ $((SECONDS - began)) -lt "$hold" ]; do sleep 0.2; done
    postgres_sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lock'" >/dev/null 2>&1
    wait $lock 2>/dev/null
    check "round $round: the locked one goes on" eventually status_is locked idle
done
same "every run of the locked session has its answer" 2 "$(exported locked | grep -cF '"after a while"')"
same "no run ended with an error of the store" 0 "$({ exported locked; for ((i = 0; i < sessions; i++)); do exported "free$i"; done; } | grep -c store_error)"
check "the gateway ends" stop_serving
stop_servers
tap_done

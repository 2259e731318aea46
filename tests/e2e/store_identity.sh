#!/usr/bin/env bash
# A store that was emptied, replaced, restored or reconfigured under a running gateway: the gateway
# takes nothing more, and says why in /readyz and in its log.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh

cat >"$space/rules.yaml" <<'YAML'
rules: [{ say: "yes: {{user}}" }]
YAML
begin() { # NAME URL
    name=$1
    cat >"$space/chela.yaml" <<YAML
store: $2
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
YAML
    serve
    trap 'kill -9 $gateway_pid 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT
    post /api/sessions/first/messages '{"text":"one"}'
    answers "$name: a message is taken" 202
    check "$name: and answered" eventually answered first
}
answered() { call GET "/api/sessions/$1" && [ "$(jq -r .status "$out")" = idle ]; }
unready() { call GET /readyz && [ "$code" = 503 ]; }
noticed() { # WORDS
    check "$name: /readyz says so within 10 s" eventually unready
    check "$name: /readyz says why" grep -q "$1" "$out"
    check "$name: the log says why" eventually grep -q "ERROR.*$1\|error.*$1\|$1" "$serve_log"
    post /api/sessions/second/messages '{"text":"two"}'
    check "$name: nothing more is taken" test "$code" -ge 500
    kill -9 "$gateway_pid"
    wait "$gateway_pid" 2>/dev/null
}
lost='is not the one that this process opened'

if command -v sqlite3 >/dev/null; then
    begin "an older copy" sqlite:./older.db
    sqlite3 "$space/older.db" ".backup $tmp/backup.db"
    post /api/sessions/first/messages '{"text":"after the backup"}'
    check "the backup is older" eventually answered first
    sqlite3 "$space/older.db" ".timeout 5000" ".restore $tmp/backup.db"
    noticed "$lost"
    same "nothing was written to the restored file" '["one"]' \
        "$(sqlite3 "$space/older.db" "SELECT data FROM records WHERE type = 1" | jq -sc 'map(.message.content[0].text)')"
fi
begin "another file" sqlite:./other.db
rm "$space"/other.db*
(cd "$space" && with_env "$program" run --config chela.yaml --session x hello >/dev/null 2>&1)
noticed "$lost: another file has its name"
begin "a removed file" sqlite:./gone.db
rm "$space"/gone.db*
noticed "$lost: the file was removed"

if start_postgres; then
    begin "PostgreSQL, emptied" "$postgres"
    postgres_sql "TRUNCATE chela.sessions, chela.records, chela.inbox, chela.writers"
    noticed "$lost"
    postgres_sql "DROP SCHEMA chela CASCADE"
    begin "PostgreSQL, made anew" "$postgres"
    postgres_sql "DROP SCHEMA chela CASCADE"
    noticed "$lost"
else
    skip "PostgreSQL" "not installed here"
fi
if start_redis; then
    begin "Redis, emptied" "$redis"
    redis_tell FLUSHALL >/dev/null
    noticed "$lost"
    begin "Redis that evicts" "$redis"
    redis_tell CONFIG SET maxmemory 100mb >/dev/null
    redis_tell CONFIG SET maxmemory-policy allkeys-lru >/dev/null
    noticed "changed its settings: maxmemory-policy"
else
    skip "Redis" "not installed here"
fi
tap_done

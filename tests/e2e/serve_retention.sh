#!/usr/bin/env bash
# What `chela serve` deletes by itself: events that were dealt with and messages
# that were sent, after a week; and with gateway.retentionDays what nobody used
# for so long, but nothing that is new or unfinished.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/crash.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: ship }, call: { tool: ship, args: {} } }
  - { say: "yes" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
agents: { list: [{ id: main, model: scripted/rules.yaml }] }
sandbox: { mode: off }
tools: { custom: [{ name: ship, description: Ships., command: ["true"], effect: once, permission: write, confirm: true }] }
YAML

# Said three days ago.
cd "$space" || exit 2
echo -259200 >clock
act CLOCK="$space/clock" -- run --session old "hello"
same "a session of old" 0 "$status"
act CLOCK="$space/clock" -- run --session waiting --approve ask "ship it"
same "one that waits for somebody" 5 "$status"
act -- run --session new "hello"
same "a new one" 0 "$status"
cd - >/dev/null || exit 2

keys() {
    call GET /api/sessions
    jq -r '[.sessions[].key] | sort | join(" ")' "$out"
}
program=$absolute
serve
same "without a setting all are kept" "new old waiting" "$(keys)"
check "SIGTERM ends it" stop_serving

# --- boxes
now=$(date +%s)000
sqlite3 "$space/chela.db" "
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO inbox SELECT 'x:' || i, 'new', 'done', '', $now - 8 * 86400000 FROM n;
    INSERT INTO inbox VALUES('x:recent', 'new', 'done', '', $now), ('x:todo', 'new', 'new', '', 1);
    INSERT INTO outbox(id, key, state, data, ts)
        VALUES('y:sent', 'new', 'sent', '', 1), ('y:recent', 'new', 'sent', '', $now), ('y:failed', 'new', 'failed', '', 1)"
ids() { sqlite3 "$space/chela.db" 'SELECT id FROM inbox UNION SELECT id FROM outbox ORDER BY 1' | xargs; }
serve
for _ in {1..600}; do
    [ "$(ids)" = "x:recent x:todo y:failed y:recent" ] && break
    sleep 0.05
done
same "what was done a week ago is forgotten, and nothing else" "x:recent x:todo y:failed y:recent" "$(ids)"
check "SIGTERM ends it" stop_serving
sqlite3 "$space/chela.db" "DELETE FROM inbox; DELETE FROM outbox"

echo 'gateway: { retentionDays: 2 }' >>"$space/chela.yaml"
serve
for _ in {1..600}; do
    [ "$(keys)" = "new waiting" ] && break
    sleep 0.05
done
same "then the old one is deleted, and no other" "new waiting" "$(keys)"
check "and the log says so" grep -q 'deleted 1 unused session' "$serve_log"
check "SIGTERM ends it" stop_serving
tap_done

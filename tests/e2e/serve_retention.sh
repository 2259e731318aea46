#!/usr/bin/env bash
# `chela serve` with gateway.retentionDays: what nobody used for so long is
# deleted, what is new or unfinished is not.
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
echo 'gateway: { retentionDays: 2 }' >>"$space/chela.yaml"
serve
for _ in {1..600}; do
    [ "$(keys)" = "new waiting" ] && break
    sleep 0.05
done
same "then the old one is deleted, and no other" "new waiting" "$(keys)"
check "and the log says so" grep -q '1 session was deleted' "$serve_log"
check "SIGTERM ends it" stop_serving
tap_done

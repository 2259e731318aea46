#!/usr/bin/env bash
# Requests that a session refuses: a worker that does not hold the session answers them as a single process does.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

needs "two connections" python3
program=$(realpath "$program")
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "pause", after: none }, call: { tool: note, args: { line: x } } }
  - { when: { user: "long" }, say: "at last", delay_ms: 60000 }
  - say: "heard: {{user}}"
YAML
refusals() { # WORKERS FILE
    cat >"$space/chela.yaml" <<YAML
store: "sqlite:$tmp/store$1.db"
workers: $1
gateway: { drainSec: 1 }
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
approvals: { note: ask }
tools:
  custom:
    - { name: note, description: Note a line., parameters: { type: object, properties: { line: { type: string } } },
        command: [cat], effect: once, permission: read }
YAML
    serve
    python3 tests/support/refusals.py "$gateway" "$token" >"$2" 2>&1
    stop_serving
}
refusals 1 "$tmp/one"
refusals 2 "$tmp/two"
same "two workers serve" "workers 2" "$(head -n 1 "$tmp/two")"
same "a single process refuses all of them" "$(sed 1d "$tmp/one" | grep -c .)" "$(grep -cE '^[a-z-]+ (400|404|409) ' "$tmp/one")"
while read -r name answer; do
    same "$name: the same status and reason" "$answer" "$(sed -n "s/^$name //p" "$tmp/two")"
done < <(sed 1d "$tmp/one")
tap_done

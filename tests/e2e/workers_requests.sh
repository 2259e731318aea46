#!/usr/bin/env bash
# Requests to a session that another worker has: deleting it, results of a client's tools, a repeated stream, a WebSocket,
# a page that is loaded again, remembered responses. Followers of the events of a session that is being opened.
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
  - { when: { user: "two", after: none }, call: [{ tool: look, args: { n: 1 } }, { tool: look, args: { n: 2 } }] }
  - { when: { user: "long" }, say: "at last", delay_ms: 60000 }
  - { when: { user: "^tell", after: none }, call: { tool: sessions_send, args: { session: target, message: "be slow" } } }
  - { when: { user: "be slow" }, say: "slowly", delay_ms: 4000 }
  - say: "heard: {{user}}"
YAML
cat >"$space/chela.yaml" <<YAML
store: "sqlite:$tmp/store.db"
workers: 2
gateway: { drainSec: 1 }
agents: { list: [{ id: coder, model: scripted/rules.yaml, sendTo: [target] }] }
approvals: { note: ask, sessions_send: auto }
tools:
  custom:
    - { name: note, description: Note a line., parameters: { type: object, properties: { line: { type: string } } },
        command: [cat], effect: once, permission: read }
YAML
serve
python3 tests/support/elsewhere.py "$gateway" "$token" >"$tmp/lines" 2>&1

# --- requests that wait when the workers end
post /api/sessions/busy/messages '{"text":"long"}'
for i in {1..8}; do
    curl -sS -m 30 -o /dev/null -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
        -d '{"id":"busy","messages":[{"id":"m'"$i"'","role":"user","parts":[{"type":"text","text":"more"}]}]}' "$gateway/api/chat" 2>/dev/null &
done
all_wait() {
    call GET /metrics
    awk '/^chela_requests_in_progress/ { n += $2 } END { exit !(n > 8) }' "$out"
}
check "eight requests wait" eventually all_wait
stop_serving
wait
same "the workers end well" "" "$(grep -E 'signal|free\(\)|corrupt|Sanitizer' "$serve_log")"

# --- a worker that is killed while its session waits for another worker's
sed -i 's/^workers: 2/workers: 3/' "$space/chela.yaml"
serve
python3 tests/support/elsewhere.py "$gateway" "$token" killed >>"$tmp/lines" 2>&1
stop_serving
while read -r name outcome; do
    same "$name" "$outcome" "$(sed -n "s/^$name //p" "$tmp/lines" | sed "s/,\"receipt\":.*/}/")"
done <<'LINES'
delete-paused 200 {"deleted":"delete-paused"}
delete-paused-gone 404
delete-idle 200 {"deleted":"delete-idle"}
delete-idle-gone 404
delete-watched 200 {"deleted":"delete-watched"}
delete-watched-gone 404
deleted-stay-gone 404 404 404
delete-running 409
delete-none 404
streams-here 200
streams-here-end True True 1000 1000
streams-there 200
streams-there-end True True 1000 1000
held-deletes 200
same-id-twice 409
after-same-id 202
one-by-one 202 202
one-by-one-resumed False True
one-by-one-ended heard: two
decision 202 True
cancel 202 True
take-over 202 True
repeat 202
socket-message 202
socket-decision 200
socket-event run_end
page 200
page-cancel 202
page-idle 204
response 200
response-deleted 200
response-gone 404
followers-lost-tools 0
at-once-lost-tools 0
killed True
LINES
tap_done

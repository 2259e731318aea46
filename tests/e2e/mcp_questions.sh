#!/usr/bin/env bash
# An MCP server asks a person in the middle of a call: forms and pages, at a terminal and through
# the gateway, for as long as it takes.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/terminal.sh
. tests/support/mcp/stdio.sh

needs "questions of MCP servers" python3
program=$(realpath "$program")
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: order, after: none }, call: { tool: s__order, args: {} } }
  - { when: { after: s__order }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
made() {
    if [ -e "$state/s/ordered" ]; then wc -l <"$state/s/ordered"; else echo 0; fi
}
asked() { # SESSION: the only question that waits, as JSON
    call GET "/api/sessions/$1"
    jq -c '.waiting[0]' "$out"
}
reply() { # SESSION TEXT
    local id
    id=$(asked "$1" | jq -r .id)
    post "/api/sessions/$1/messages" "$(jq -cn --arg id "$id" --arg text "$2" '{results: [{id: $id, content: $text}]}')"
}
question_is() { # SESSION PATTERN: wait for it
    asked "$1" | jq -r '(.arguments // "{}") | fromjson.question' | grep -qE -e "$2"
}
said_in() { # SESSION: what the agent said last
    call GET "/api/sessions/$1"
    jq -r '[.transcript[] | select(.role == "assistant") | tostring] | last' "$out"
}
whole() { # SESSION ERA: from the first question to the end
    check "$2: the first field is asked" eventually question_is "$1" 'Size: How large'
    same "$2: the session waits for a person" "paused 1" "$(call GET "/api/sessions/$1" && jq -r '"\(.status) \(.waiting | length)"' "$out")"
    same "$2: the choices have their titles" '["Small","Large","decline"]' "$(asked "$1" | jq -c '.arguments | fromjson.choices')"
    check "$2: the server is named, and nothing invisible is shown" question_is "$1" '^The MCP server s asks: Which order\?$'
    reply "$1" Large
    check "$2: the next field" eventually question_is "$1" '^count'
    reply "$1" 77
    check "$2: a wrong value is asked again, with the reason" eventually question_is "$1" 'not accepted: .*9'
    reply "$1" 3
    check "$2: a field with a default" eventually question_is "$1" 'gift.* Default: false'
    reply "$1" -
    check "$2: a field that may be left out" eventually question_is "$1" 'note.*leaves it out'
}

# --- nobody is there: the server is told so, and the call ends
for mode in legacy-ask modern-ask; do
    configure $mode
    chela run --model scripted/rules.yaml "order it"
    exits "$mode, nobody is there" 0
    check "$mode, nobody is there: the question is cancelled" grep -q 'it said: order {"action": "cancel"}' "$out"
done

# --- at a terminal
configure modern-ask
open_terminal "$program run --model scripted/rules.yaml 'order it'"
sees "terminal: the question" 'The MCP server s asks: Which order'
sees "terminal: a choice" '2\. Large'
types 2
press Enter
sees "terminal: the next field" 'count'
types 'decline'
press Enter
sees "terminal: declined" 'it said: order .*decline'
same "terminal: nothing is ordered" 0 "$(made)"
close_terminal

# --- the gateway: both eras, to the end
for mode in legacy-ask modern-ask; do
    configure $mode
    serve
    post /api/sessions/a-$mode/messages '{"text": "order it"}'
    whole a-$mode $mode
    reply a-$mode -
    check "$mode: the run goes on" eventually status_is a-$mode idle
    same "$mode: the answers are those of the person" \
        '{"action": "accept", "content": {"count": 3, "gift": false, "size": "l"}}' "$(cat "$state/s/ordered")"
    check "$mode: the model gets the result" grep -q 'it said: order' <<<"$(said_in a-$mode)"
    check "$mode: SIGTERM ends the gateway" stop_serving
done

# --- a question waits in the store: SIGKILL, another process, another server process
configure modern-ask
serve
post /api/sessions/k/messages '{"text": "order it"}'
whole k "SIGKILL"
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
serve
check "SIGKILL: the question still waits" eventually question_is k 'note.*leaves it out'
same "SIGKILL: it waits once" 1 "$(call GET /api/sessions/k && jq '.waiting | length' "$out")"
reply k 'for me'
check "SIGKILL: the run goes on" eventually status_is k idle
same "SIGKILL: with all answers" \
    '{"action": "accept", "content": {"count": 3, "gift": false, "note": "for me", "size": "l"}}' "$(cat "$state/s/ordered")"
same "SIGKILL: the call is made once after the answers" 1 "$(grep -c '"inputResponses"' "$state/s/calls.log")"
check "SIGTERM ends the gateway" stop_serving

# --- a question of the older versions dies with its process: the outcome is unknown
configure legacy-ask
serve
post /api/sessions/l/messages '{"text": "order it"}'
check "legacy, SIGKILL: asked" eventually question_is l 'Size: How large'
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
serve
reply l Large
check "legacy, SIGKILL: the run goes on" eventually status_is l idle
check "legacy, SIGKILL: the model is told" grep -q 'Whether it took effect is unknown' <<<"$(said_in l)"
same "legacy, SIGKILL: nothing is ordered" 0 "$(made)"
check "SIGTERM ends the gateway" stop_serving

# --- a whole form at once, a page, and a server that never stops asking
configure modern-ask-page
serve
post /api/sessions/p/messages '{"text": "order it"}'
check "a form: asked" eventually question_is p 'Size: How large'
reply p '{"size": "s", "count": 1}'
check "a page: host and address are shown" eventually question_is p 'Host: shop.example'
check "a page: the whole address" question_is p '^Address: https://shop.example/login\?x=1$'
same "a page: choices" '["done","decline"]' "$(asked p | jq -c '.arguments | fromjson.choices')"
reply p "done"
check "a page: the run goes on" eventually status_is p idle
same "a form at once" '{"action": "accept", "content": {"count": 1, "size": "s"}} accept' "$(cat "$state/s/ordered")"
check "SIGTERM ends the gateway" stop_serving
configure modern-ask-endless
serve
post /api/sessions/e/messages '{"text": "order it"}'
for _ in {1..5}; do
    eventually question_is e 'Size: How large'
    reply e decline
    sleep 0.2
done
check "endless: the run goes on" eventually status_is e idle
check "endless: the model is told" grep -q 'asked for input more than 5 times' <<<"$(said_in e)"
check "SIGTERM ends the gateway" stop_serving
configure legacy-ask-endless
chela run --config chela.yaml order it
exits "legacy, endless: the run goes on" 0
check "legacy, endless: the server is told" grep -q 'asked 81 times, then .*asked for input too often' "$out"
tap_done

#!/usr/bin/env bash
# An MCP server asks for an answer of the model in the middle of a call: only if the server may, a
# person agrees, and within the budget of the session.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/mcp/stdio.sh

needs "answers of a model for MCP servers" python3
program=$(realpath "$program")
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "Write poem" }, say: "roses are red" }
  - { when: { user: "poem please", after: none }, call: { tool: s__poem, args: { n: 1 } } }
  - { when: { user: "again", after: none }, call: { tool: s__poem, args: { n: 2 } } }
  - { when: { after: s__poem }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
run() { # MESSAGE
    chela run --model scripted/rules.yaml "$1"
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
question_is() { # SESSION PATTERN
    asked "$1" | jq -r '(.arguments // "{}") | fromjson.question' | grep -qE -e "$2"
}
said_in() { # SESSION: what the agent said last
    call GET "/api/sessions/$1"
    jq -r '[.transcript[] | select(.role == "assistant") | tostring] | last' "$out"
}
offered() { grep -c '"sampling"' "$state/s/calls.log"; }

# --- off by default: not offered, refused
for mode in legacy-sample modern-sample; do
    configure $mode
    run "poem please"
    exits "$mode, off" 0
    check "$mode, off: the server gets no answer" grep -qE 'it said: .*(refused|nobody can give it)' "$out"
    same "$mode, off: the model is not asked" 0 "$(grep -c roses "$out")"
    same "$mode, off: the capability is not declared" 0 "$(offered)"
done

# --- on, nobody is there to agree
for mode in legacy-sample modern-sample; do
    configure $mode 'sampling: { enabled: true }'
    run "poem please"
    exits "$mode, nobody agrees" 0
    check "$mode, nobody agrees: declined" grep -q 'it said: .*declined' "$out"
    check "$mode, nobody agrees: the capability is declared" [ "$(offered)" -gt 0 ]
done

# --- on, without consent
for mode in legacy-sample modern-sample; do
    configure $mode 'sampling: { enabled: true, confirm: false }'
    chela run --model scripted/rules.yaml --session t-$mode "poem please"
    exits "$mode, no consent needed" 0
    check "$mode: the answer is a message of the model" grep -qF \
        'poem {"content": {"text": "roses are red", "type": "text"}, "model": "rules.yaml", "role": "assistant", "stopReason": "endTurn"}' "$out"
    chela trace t-$mode
    check "$mode: the request is in the trace" grep -q 'sampling: .*rules.yaml' "$out"
done
configure modern-sample-tools 'sampling: { enabled: true, confirm: false }'
run "poem please"
check "a request with tools is refused" grep -q 'it said: .*tools .*not supported' "$out"
configure legacy-sample-long 'sampling: { enabled: true, confirm: false, maxTokens: 1000 }'
run "poem please"
check "messages that are too long for the budget are refused" grep -q 'maxTokens leaves 1000' "$out"
configure legacy-sample-leave 'sampling: { enabled: true, confirm: false }'
run "poem please"
exits "a server that does not wait for the answer" 0
check "a server that does not wait for the answer: its result counts" grep -q 'it said: no poem' "$out"

# --- a person agrees, through the gateway; the budget holds for the session
for mode in legacy-sample modern-sample; do
    configure $mode 'sampling: { enabled: true, maxRequests: 1 }'
    serve
    post /api/sessions/g-$mode/messages '{"text": "poem please"}'
    check "$mode: a person is asked" eventually question_is g-$mode 'The MCP server s wants an answer of at most 100 tokens'
    check "$mode: the person sees what the model is told" question_is g-$mode '^user: Write poem 1\.$'
    check "$mode: and the system prompt" question_is g-$mode '^system: You are a poet\.$'
    same "$mode: choices" '["accept","decline"]' "$(asked g-$mode | jq -c '.arguments | fromjson.choices')"
    reply g-$mode accept
    check "$mode: the run goes on" eventually status_is g-$mode idle
    check "$mode: the server has the answer" grep -q 'roses are red' <<<"$(said_in g-$mode)"
    post /api/sessions/g-$mode/messages '{"text": "again"}'
    check "$mode: the budget is used up, and nobody is asked" eventually status_is g-$mode idle
    check "$mode: the reason is told" eventually grep -q 'maxRequests allows no more' <<<"$(said_in g-$mode)"
    post /api/sessions/d-$mode/messages '{"text": "poem please"}'
    check "$mode: another session has its own budget" eventually question_is d-$mode 'The MCP server s wants'
    reply d-$mode decline
    check "$mode, declined: the run goes on" eventually status_is d-$mode idle
    check "$mode, declined: the model is told" grep -q 'declined' <<<"$(said_in d-$mode)"
    check "$mode: SIGTERM ends the gateway" stop_serving
done

# --- two requests in one call: the second is refused while a person is asked about the first
configure legacy-sample-twice 'sampling: { enabled: true }'
serve
post /api/sessions/t/messages '{"text": "poem please"}'
check "two at once: asked" eventually question_is t 'wants an answer'
check "two at once: the second is refused" eventually grep -q '"id":"sample-more","error"' "$state/s/calls.log"
reply t accept
check "two at once: the run goes on" eventually status_is t idle
check "two at once: the first is answered" grep -q 'roses are red' <<<"$(said_in t)"
check "SIGTERM ends the gateway" stop_serving

# --- the consent waits in the store
configure modern-sample 'sampling: { enabled: true }'
serve
post /api/sessions/k/messages '{"text": "poem please"}'
check "SIGKILL: asked" eventually question_is k 'wants an answer'
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
serve
check "SIGKILL: the question still waits" eventually question_is k 'wants an answer'
reply k accept
check "SIGKILL: the run goes on" eventually status_is k idle
check "SIGKILL: the server has the answer" grep -q 'roses are red' <<<"$(said_in k)"
check "SIGTERM ends the gateway" stop_serving
tap_done

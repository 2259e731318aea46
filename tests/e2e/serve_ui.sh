#!/usr/bin/env bash
# `chela serve`: the AI SDK's UI message stream, with the page's own tools and
# with approvals.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "both" }, call: [{ tool: calculate, args: { expression: "6*7" } }, { tool: getPlace, args: {} }] }
  - { when: { after: none, user: "garbled" }, call: [{ tool: getPlace, raw: "near me" }, { tool: getPlace, args: { near: { x: 1 } } }] }
  - { when: { after: none, user: "half" }, call: [{ tool: getPlace, args: { near: "me" } }, { tool: getPlace, raw: "near me" }] }
  - { when: { after: none, user: "where" }, say: "Let me look.", call: { tool: getPlace, args: { near: "me" } } }
  - { when: { after: none, user: "ask me" }, call: { tool: t_ask, args: {} } }
  - { when: { after: none, user: "count" }, call: { tool: calculate, args: { expression: "6*7" } } }
  - { when: { after: none, user: "break" }, fail: { status: 400, message: "no such thing" } }
  - { when: { after: none, user: "wait" }, call: { tool: t_wait, args: {} } }
  - { when: { after: none }, think: "hm", say: "you said: {{user}}" }
  - { say: "it said: {{result}}" }
YAML
printf '#!/bin/sh\necho it ran\n' >"$space/asker"
printf '#!/bin/sh\ntouch waiting; while [ ! -e go ]; do sleep 0.05; done; echo waited\n' >"$space/waiter"
chmod +x "$space/asker" "$space/waiter"
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents:
  list: [{ id: coder, model: scripted/rules.yaml }]
tools:
  custom:
    - { name: t_ask, description: Asks., command: [./asker], effect: once, permission: write, confirm: true }
    - { name: t_wait, description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }
YAML
program=$(realpath "$program")
serve

types() {
    chunks | jq -r .type | uniq | paste -sd' '
}
user() {
    post /api/chat "{\"id\":\"$1\",\"trigger\":\"submit-message\",\"messages\":[{\"id\":\"u1\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"$2\"}]}]${3:-}}"
}
# CHAT PARTS: the last message is the assistant's, with answers of the page.
page() {
    post /api/chat "{\"id\":\"$1\",\"trigger\":\"submit-message\",\"messageId\":\"m9\",\"messages\":[{\"id\":\"u1\",\"role\":\"user\",\"parts\":[]},{\"id\":\"m9\",\"role\":\"assistant\",\"parts\":[$2]}]${3:-}}"
}
tools=',"tools":{"getPlace":{"description":"Where.","parameters":{"type":"object","properties":{"near":{"type":"string"}}}}}'

user one hello
answers "a stream" 200
check "says what it is" grep -qi '^x-vercel-ai-ui-message-stream: v1' "$err"
same "reasoning and text" "start start-step reasoning-start reasoning-delta reasoning-end text-start text-delta text-end finish-step finish" "$(types)"
same "the text" "you said: hello" "$(chunks | jq -j 'select(.type == "text-delta").delta')"
same "its end" stop "$(chunks | jq -r 'select(.type == "finish").finishReason')"
check "and [DONE]" grep -qx 'data: \[DONE\]' "$out"

user two count
same "a tool that runs here" "start start-step tool-input-start tool-input-delta tool-input-available tool-output-available finish-step start-step text-start text-delta text-end finish-step finish" "$(types)"
same "is no tool of the page" true "$(chunks | jq -r 'select(.type == "tool-input-available").dynamic')"
same "and has an input" '6*7' "$(chunks | jq -r 'select(.type == "tool-input-available").input.expression')"

# --- a call that the runtime refuses never reaches the page, which would run its tool without the arguments
user garbled garbled "$tools"
same "refused calls of the page's tool" 2 "$(chunks | jq -r 'select(.type == "tool-input-error").toolCallId' | sort -u | wc -l)"
check "with their reason" grep -q '"errorText":"..*"' "$out"
same "are not for the page to run" "" "$(chunks | jq -c 'select(.type == "tool-input-available")')"
same "and the run goes on" stop "$(chunks | jq -r 'select(.type == "finish").finishReason')"
user half half "$tools"
same "one of two calls is refused" '1 1' "$(chunks | jq -s -r '[map(select(.type == "tool-input-available" and .input.near == "me")), map(select(.type == "tool-input-error"))] | map(length) | join(" ")')"
id=$(chunks | jq -r 'select(.type == "tool-input-available").toolCallId')
refused=$(chunks | jq -r 'select(.type == "tool-input-error").toolCallId')
same "the run waits for the other" tool-calls "$(chunks | jq -r 'select(.type == "finish").finishReason')"
page half "{\"type\":\"tool-getPlace\",\"toolCallId\":\"$id\",\"state\":\"output-available\",\"input\":{},\"output\":\"Oslo\"},{\"type\":\"tool-getPlace\",\"toolCallId\":\"$refused\",\"state\":\"output-error\",\"input\":{},\"errorText\":\"bad\"}" "$tools"
answers "the result of the page" 200
same "ends the wait" stop "$(chunks | jq -r 'select(.type == "finish").finishReason')"

user three where "$tools"
same "a tool of the page" "start start-step text-start text-delta text-end tool-input-start tool-input-delta tool-input-available finish-step finish" "$(types)"
same "waits" tool-calls "$(chunks | jq -r 'select(.type == "finish").finishReason')"
same "and is the page's" null "$(chunks | jq -r 'select(.type == "tool-input-available").dynamic')"
id=$(chunks | jq -r 'select(.type == "tool-input-available").toolCallId')
page three '{"type":"tool-getPlace","toolCallId":"forged","state":"output-available","input":{},"output":"x"}' "$tools"
answers "a forged result changes nothing" 409
page three "{\"type\":\"tool-getPlace\",\"toolCallId\":\"$id\",\"state\":\"output-available\",\"input\":{},\"output\":{\"city\":\"Oslo\"}}" "$tools"
answers "the result" 200
same "belongs to the same message" m9 "$(chunks | jq -r 'select(.type == "start").messageId')"
same "and the run goes on" 'it said: {"city":"Oslo"}' "$(chunks | jq -j 'select(.type == "text-delta").delta')"
page three "{\"type\":\"tool-getPlace\",\"toolCallId\":\"$id\",\"state\":\"output-available\",\"input\":{},\"output\":\"Rome\"}" "$tools"
answers "a second one is late" 409

user mixed both "$tools"
same "of two calls one ran here" 1 "$(chunks | jq -r 'select(.type == "tool-output-available").toolCallId' | wc -l | tr -d ' ')"
id=$(chunks | jq -r 'select(.type == "tool-input-available" and .toolName == "getPlace").toolCallId')
page mixed "{\"type\":\"tool-getPlace\",\"toolCallId\":\"$id\",\"state\":\"output-error\",\"input\":{},\"errorText\":\"no signal\"}" "$tools"
same "the other failed there" "finish stop" "$(chunks | jq -r 'select(.type == "finish") | .type + " " + .finishReason')"

for decision in true false; do
    user "ask-$decision" "ask me"
    same "consent is asked for ($decision)" tool-approval-request "$(chunks | jq -r .type | grep approval)"
    approval=$(chunks | jq -r 'select(.type == "tool-approval-request").approvalId')
    id=$(chunks | jq -r 'select(.type == "tool-approval-request").toolCallId')
    page "ask-$decision" "{\"type\":\"dynamic-tool\",\"toolName\":\"t_ask\",\"toolCallId\":\"$id\",\"state\":\"approval-responded\",\"input\":{},\"approval\":{\"id\":\"$approval\",\"approved\":$decision,\"reason\":\"not now\"}}"
    case $decision in true) want=tool-output-available ;; *) want=tool-output-denied ;; esac
    same "and its answer is shown before the next step" "start $want start-step" "$(types | cut -d' ' -f1-3)"
done

user broken break
same "a failure" "start start-step finish-step error finish" "$(types)"
user one '' ''
answers "nothing said" 400
post /api/chat '{"id":"one","trigger":"regenerate-message","messages":[{"id":"u","role":"user","parts":[]}]}'
answers "nothing is made again" 400
post /api/chat '{"messages":[{"role":"user","parts":[{"type":"text","text":"x"}]}]}'
answers "a chat has an id" 400
call GET /api/chat/one/stream
answers "nothing is under way" 204

# A page that comes back gets all of it.
curl -sN -m 20 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$gateway/api/chat" \
    -d '{"id":"long","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"wait"}]}]}' >"$tmp/first" &
first=$!
for _ in {1..100}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
kill $first
wait $first 2>/dev/null
curl -sN -m 20 -H "Authorization: Bearer $token" "$gateway/api/chat/long/stream" >"$out" &
second=$!
for _ in {1..100}; do [ -s "$out" ] && break; sleep 0.05; done
touch "$space/go"
wait $second
same "what was said, and what comes" "start start-step tool-input-start tool-input-delta tool-input-available tool-output-available finish-step start-step text-start text-delta text-end finish-step finish" "$(types)"
check "SIGTERM ends it" stop_serving
tap_done

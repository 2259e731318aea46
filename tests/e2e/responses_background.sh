#!/usr/bin/env bash
# Responses with `background`: polled, streamed from a number, cancelled and continued, at both gateways of a store,
# and over kill -9.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
gate=$tmp/go
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^wait", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "^place", after: none }, call: { tool: get_place, args: {} } }
  - { when: { after: t_wait }, say: "it ended" }
  - { say: "you said: {{user}}" }
YAML
cat >"$space/chela.yaml" <<YAML
store: "sqlite:$space/chela.db"
sandbox: { mode: "off" }
agents: { list: [{ id: main, model: scripted/rules.yaml }] }
tools:
  custom:
    - { name: t_wait, description: Waits., effect: read, permission: read, parameters: { type: object },
        command: [sh, -c, "until [ -e $gate ]; do sleep 0.05; done; echo ended"] }
YAML
trap 'for p in "$pid_a" "$pid_b"; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null; rm -rf "$tmp"' EXIT
start_node a "$space"
start_node b "$space"
at() { gateway=$(eval "echo \$at_$1"); }

ask() { post /v1/responses "{\"model\":\"main\",$1}"; }
get() { call GET "/v1/responses/$1"; }
status_is() { get "$1" && [ "$(jq -r .status "$out")" = "$2" ]; }
comes() { # what, response, status
    eventually status_is "$2" "$3" || true
    same "$1" "$3" "$(jq -r .status "$out")"
}

at a
ask '"input":"wait for me","background":true'
tells "a background response is sent at once" '[.object, .background, .status, .output] | tojson' '["response",true,"in_progress",[]]'
slow=$(jq -r .id "$out")
get "$slow"
tells "a response whose run works is in progress" '[.status, .usage] | tojson' '["in_progress",null]'
at b
get "$slow"
tells "a gateway that does not hold the run shows it in progress" .status in_progress
call DELETE "/v1/responses/$slow"
answers "a response in progress is not deleted" 409
kill -9 "$pid_a"
touch "$gate"
comes "the other gateway completes the response after kill -9" "$slow" completed
tells "the answer after kill -9 is whole" '[.output[] | select(.type == "message") | .content[0].text] | tojson' '["it ended"]'
once=$(jq -cS . "$out")
rm -f "$gate"
start_node a "$space"
at a
get "$slow"
same "both gateways give the same object" "$once" "$(jq -cS . "$out")"
call GET "/v1/responses/$slow/input_items"
tells "input_items lists the message" '[.data[] | .role, .content[0].text] | tojson' '["user","wait for me"]'
ask "\"input\":\"and now\",\"background\":true,\"previous_response_id\":\"$slow\""
next=$(jq -r .id "$out")
comes "the next response" "$next" completed
tells "the next response answers its own message" '.output[0].content[0].text' 'you said: and now'
call GET "/api/sessions/$next?limit=100"
tells "the next response has the conversation before it" '[.transcript[] | select(.role == "user") | .content[0].text] | tojson' '["wait for me","and now"]'
call POST "/v1/responses/$next/cancel"
tells "a complete response stays as it is" .status completed

# --- streams
ask '"input":"hello there","background":true,"stream":true'
chunks >"$tmp/whole"
same "a stream ends with the response" response.completed "$(tail -n 1 "$tmp/whole" | jq -r .type)"
same "the numbers of a stream count from 0" true "$(jq -s '[.[].sequence_number] == [range(length)]' "$tmp/whole")"
streamed=$(jq -r 'select(.type == "response.created") | .response.id' "$tmp/whole")
for node in a b; do
    at $node
    call GET "/v1/responses/$streamed?stream=true"
    chunks >"$tmp/again"
    same "$node: the stream again, from the start" "" "$(diff "$tmp/whole" "$tmp/again")"
    call GET "/v1/responses/$streamed?stream=true&starting_after=3"
    chunks >"$tmp/again"
    same "$node: the stream after event 3" "" "$(diff <(tail -n +5 "$tmp/whole") "$tmp/again")"
done
for wrong in x -1 1e3; do
    call GET "/v1/responses/$streamed?stream=true&starting_after=$wrong"
    answers "starting_after=$wrong" 400
done

# --- cancelling
ask '"input":"wait again","background":true'
cancelled=$(jq -r .id "$out")
at b
call POST "/v1/responses/$cancelled/cancel"
tells "the other gateway cancels a response" '[.status, .error] | tojson' '["cancelled",null]'
at a
comes "the first gateway shows the response as cancelled" "$cancelled" cancelled
call DELETE "/v1/responses/$cancelled"
tells "a cancelled response is deleted" .deleted true
get "$cancelled"
answers "a deleted response" 404

# --- in a conversation: one run at a time
ask '"input":"wait first","background":true,"conversation":"talk"'
first=$(jq -r .id "$out")
tells "a conversation begins" .conversation.id talk
ask '"input":"second","background":true,"conversation":"talk"'
second=$(jq -r .id "$out")
tools='"tools":[{"type":"function","name":"get_place","parameters":{"type":"object"}}]'
ask "\"input\":\"place third\",\"background\":true,\"conversation\":\"talk\",$tools"
third=$(jq -r .id "$out")
get "$second"

tells "a second response of a conversation is queued" .status queued
call POST "/v1/responses/$second/cancel"
tells "a queued response that is cancelled loses its turn" .status cancelled
get "$first"
tells "a cancelled queued response leaves the run in progress alone" .status in_progress
touch "$gate"
comes "the first response of the conversation completes" "$first" completed
comes "the third response of the conversation follows" "$third" completed
tells "a response that was queued has the tools of its request" '.output[0] | .type + " " + .name' 'function_call get_place'
get "$first"
tells "the first response has its own answer alone" '[.output[] | select(.type == "message") | .content[0].text] | tojson' '["it ended"]'

# --- tools of the client
ask "\"input\":\"place\",\"background\":true,$tools"
place=$(jq -r .id "$out")
comes "a call of the client's tool completes the response" "$place" completed
tells "the response holds the call" '.output[0] | .type + " " + .name' 'function_call get_place'
ask "\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"$(jq -r '.output[0].call_id' "$out")\",\"output\":\"Rome\"}],\"previous_response_id\":\"$place\",\"background\":true,$tools"
result=$(jq -r .id "$out")
comes "the result begins another response" "$result" completed
call GET "/api/sessions/$result?limit=100"
tells "the model sees the result of the call" '[.. | strings | select(. == "Rome")] | length' 1

ask '"input":"x","background":true,"store":false'
answers "background without a stored response" 400
head -c 1100000 /dev/zero | tr '\0' x >"$tmp/long"
printf '{"model":"main","input":"%s","background":true}' "$(cat "$tmp/long")" >"$tmp/body"
call POST /v1/responses -H 'Content-Type: application/json' --data-binary "@$tmp/body"
check "a request that is too large for the background is refused" [ "$code" = 413 -o "$code" = 400 ] || cat "$out"
tap_done

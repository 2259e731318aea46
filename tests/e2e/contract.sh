#!/usr/bin/env bash
# The contract of /v1: what is sent has every member that the published schemas require, streamed or not; the acceptance cases of Open
# Responses; stored responses outlive a restart.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "weather" }, say: "Let me look.", call: { tool: get_weather, args: { location: "San Francisco, CA" } } }
  - { when: { after: none, user: "patch" }, call: { tool: apply_patch, args: { input: "*** Begin" } } }
  - { when: { after: none, user: "think" }, think: "hm hm", say: "thought" }
  - { when: { after: none, user: "cut" }, say: "a text that is", stop: max_tokens }
  - { when: { after: none, user: "form" }, say: "{}" }
  - { when: { after: none, user: "^no$" }, say: "I cannot.", stop: refusal }
  - { when: { after: none }, say: "you said: {{user}}" }
  - { say: "it said: {{result}}" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:chela.db
sandbox: { mode: "off" }
agents: { list: [{ id: coder, model: scripted/rules.yaml, retries: 0, tools: { allow: [] } }] }
YAML
serve
# The problems of what came, whole or streamed: each object, and each event by its name.
shape() { jq -rs --arg s "$1" 'include "tests/support/shapes"; [.[] | problems($s)] | unique | join("; ")' -L . "$2"; }
respond() { post /v1/responses "{\"model\":\"coder\",$1}"; }
stream() {
    respond "$1,\"stream\":true"
    chunks >"$tmp/events"
}
weather='"tools":[{"type":"function","name":"get_weather","description":"Get the weather.","parameters":{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}}]'
question='{"type":"message","role":"user","content":"What is the weather like in San Francisco?"}'

# --- the acceptance cases of Open Responses
respond '"input":[{"type":"message","role":"user","content":"Say hello in exactly 3 words."}]'
same "Open Responses: a text" "200 completed message " "$code $(jq -r '.status + " " + .output[0].type' "$out") $(shape response "$out")"
stream '"input":[{"type":"message","role":"user","content":"Count from 1 to 5."}]'
same "Open Responses: a stream" "200 completed " "$code $(jq -rs '.[-1].response.status' "$tmp/events") $(shape event "$tmp/events")"
same "its events are counted from 0" true "$(jq -s '[.[].sequence_number] == [range(length)]' "$tmp/events")"
respond '"input":[{"type":"message","role":"system","content":"You are a pirate."},{"type":"message","role":"user","content":"Say hello."}]'
same "Open Responses: a system prompt" "200 completed " "$code $(jq -r .status "$out") $(shape response "$out")"
respond "\"input\":[$question],$weather"
same "Open Responses: a tool" "200 get_weather " "$code $(jq -r '.output[] | select(.type == "function_call").name' "$out") $(shape response "$out")"
same "the tool is repeated, with all members" '["description","name","parameters","strict","type"]' "$(jq -c '.tools[0] | keys' "$out")"
stream "\"input\":[$question],$weather"
same "Open Responses: a tool, streamed" "200 function_call true true function_call " "$code $(jq -rs '
    [(.[] | select(.type == "response.output_item.added" and .item.type == "function_call").item.type), any(.[]; .type == "response.function_call_arguments.delta"),
     any(.[]; .type == "response.function_call_arguments.done"), (.[] | select(.type == "response.output_item.done" and .item.type == "function_call").item.type)]
    | map(tostring) | join(" ")' "$tmp/events") $(shape event "$tmp/events")"
respond '"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"What do you see?"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}]'
same "Open Responses: a picture" "200 completed " "$code $(jq -r .status "$out") $(shape response "$out")"
respond '"input":[{"type":"message","role":"user","content":"My name is Alice."},{"type":"message","role":"assistant","content":"Hello Alice!"},{"type":"message","role":"user","content":"What is my name?"}]'
same "Open Responses: several turns" "200 completed " "$code $(jq -r .status "$out") $(shape response "$out")"

# --- Responses beside them
form='{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}'
n=0
for body in '"input":"think","include":["reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"}' '"input":"cut"' '"input":"no"' \
    '"input":"patch","tools":[{"type":"custom","name":"apply_patch"},{"type":"web_search"}]' "\"input\":\"form\",\"text\":$form" \
    '"input":"hello","tool_choice":"any","tools":[{"type":"function","function":{"name":"get_weather"}}]'; do
    respond "$body"
    same "a response, $((++n))" "200 " "$code $(shape response "$out")"
    stream "$body"
    same "the same as a stream" "200 " "$code $(shape event "$tmp/events")"
done
respond "\"input\":\"weather\",$weather"
tells "text before a call is commentary" '[.output[] | .phase? // .type] | join(" ")' "commentary function_call"
items=$(jq -c .output "$out")
respond "\"input\":[{\"role\":\"user\",\"content\":\"weather\"},${items:1:-1},{\"type\":\"function_call_output\",\"call_id\":$(jq -c '.output[-1].call_id' "$out"),\"output\":\"sunny\"}],$weather"
tells "the last text is the answer" '[.output[] | .phase? // .type] | join(" ")' "final_answer"
respond '"input":"hello","tool_choice":"any","reasoning":{"effort":"high"}'
tells "what has no value in the request has the value that was used" '[.tool_choice, .temperature, .top_p, .reasoning.effort, .reasoning.summary, .text.format.type, .truncation] | tojson' \
    '["required",1,1,"high",null,"text","disabled"]'
tells "the time of its end" '.completed_at >= .created_at' true

# --- Chat Completions
n=0
for body in '"messages":[{"role":"user","content":"hello"}]' '"messages":[{"role":"user","content":"think"}]' '"messages":[{"role":"user","content":"no"}]' \
    '"messages":[{"role":"user","content":"weather"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}]'; do
    post /v1/chat/completions "{\"model\":\"coder\",$body}"
    same "a completion, $((++n))" "200 " "$code $(shape chat "$out")"
    post /v1/chat/completions "{\"model\":\"coder\",$body,\"stream\":true,\"stream_options\":{\"include_usage\":true}}"
    chunks >"$tmp/events"
    same "the same as a stream" "200 " "$code $(shape chunk "$tmp/events")"
done

# --- Messages
n=0
for body in '"messages":[{"role":"user","content":"hello"}]' '"messages":[{"role":"user","content":"think"}],"thinking":{"type":"enabled","budget_tokens":1024}' \
    '"messages":[{"role":"user","content":"no"}]' '"messages":[{"role":"user","content":"weather"}],"tools":[{"name":"get_weather","input_schema":{"type":"object"}}]'; do
    post /v1/messages "{\"model\":\"coder\",\"max_tokens\":99,$body}"
    same "a message, $((++n))" "200 " "$code $(shape message "$out")"
    post /v1/messages "{\"model\":\"coder\",\"max_tokens\":99,$body,\"stream\":true}"
    chunks >"$tmp/events"
    same "the same as a stream" "200 " "$code $(shape change "$tmp/events")"
done

# --- changes in the middle of a conversation
for kind in tool_removal '{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"x"}}}' hologram; do
    [[ $kind == \{* ]] || kind="{\"type\":\"$kind\",\"tool\":{\"type\":\"tool_reference\",\"name\":\"get_weather\"}}"
    post /v1/messages "{\"model\":\"coder\",\"max_tokens\":99,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"},{\"role\":\"system\",\"content\":[$kind]}]}"
    same "a system message with $(jq -r .type <<<"$kind") is refused by name" "400 true" "$code $(jq -r --arg t "$(jq -r .type <<<"$kind")" '.error.message | contains($t)' "$out")"
done
post /v1/messages '{"model":"coder","max_tokens":99,"messages":[{"role":"user","content":"hello"},{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"get_weather"}}]}],"tools":[{"name":"get_weather","input_schema":{"type":"object"},"defer_loading":true}]}'
answers "a tool that is added later is listed from the beginning" 200

# --- stored responses outlive a restart: fetched, continued, referred to, deleted
respond '"input":"first","metadata":{"a":"b"}'
id=$(jq -r .id "$out") item=$(jq -r .output[0].id "$out") whole=$(jq -cS . "$out")
respond '"input":"second"'
other=$(jq -r .id "$out")
respond '"input":"third","store":false'
unstored=$(jq -r .id "$out")
stop_serving
serve
call GET "/v1/responses/$id"
same "a response after a restart is the same" "$whole" "$(jq -cS . "$out")"
call GET "/v1/responses/$unstored"
answers "one that was not to be stored" 404
stop_serving KILL
serve
respond "\"input\":\"more\",\"previous_response_id\":\"$id\""
same "a response is continued after a restart" "200 completed $id" "$code $(jq -r '.status + " " + .previous_response_id' "$out")"
next=$(jq -r .id "$out")
stop_serving
serve
respond "\"input\":[{\"role\":\"user\",\"content\":\"first\"},{\"type\":\"item_reference\",\"id\":\"$item\"},{\"role\":\"user\",\"content\":\"again\"}]"
answers "an item is found after a restart" 200
call DELETE "/v1/responses/$other"
answers "a response is deleted after a restart" 200
call DELETE "/v1/responses/$id"
answers "and the one to which others refer" 200
call GET "/v1/responses/$id"
answers "then it is gone" 404
stop_serving
serve
for gone in "$id" "$other"; do
    call GET "/v1/responses/$gone"
    answers "it stays so after a restart" 404
done
respond "\"input\":\"x\",\"previous_response_id\":\"$id\""
same "nor can it be continued" "400 previous_response_not_found" "$code $(jq -r .error.code "$out")"
respond "\"input\":[{\"type\":\"item_reference\",\"id\":\"$item\"}]"
answers "nor can its items be referred to" 400
respond "\"input\":\"x\",\"previous_response_id\":\"$next\""
answers "a later response has its own copy" 200
tap_done

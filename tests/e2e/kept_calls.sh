#!/usr/bin/env bash
# A reply that calls a tool of the agent and a tool of the client: the client posts back its own call alone, and the model gets all calls
# and all results again, whatever the protocols of client and service.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

cat >"$tmp/both.json" <<'JSON'
{"about": "calls of both sides", "replies": [
  {"blocks": [{"text": ["First."]}, {"call": {"name": "calculate", "arguments": ["{\"expression\":\"6*7\"}"]}}]},
  {"blocks": [{"text": ["Let me look."]}, {"call": {"name": "calculate", "arguments": ["{\"expression\":\"1+1\"}"]}},
              {"call": {"name": "get_place", "arguments": ["{\"near\":\"me\"}"]}}, {"call": {"name": "calculate", "arguments": ["{\"expression\":\"2+2\"}"]}}]},
  {"blocks": [{"text": ["You are in Oslo."]}]}]}
JSON
# A service that gives each call the same id.
cat >"$tmp/counted.json" <<'JSON'
{"about": "the same ids again", "repeat": true, "replies": [
  {"when": "q-alone", "blocks": [{"call": {"name": "get_place", "arguments": ["{}"], "id": "call_1"}}]},
  {"when": "q-long", "blocks": [{"text": ["Let me look."]}, {"call": {"name": "tick", "arguments": ["{}"], "id": "call_tick_of_many_bytes"}},
                              {"call": {"name": "get_place", "arguments": ["{}"], "id": "call_place_of_many_bytes"}}]},
  {"when": "q-where", "blocks": [{"text": ["Let me look."]}, {"call": {"name": "tick", "arguments": ["{}"], "id": "call_0"}},
                               {"call": {"name": "get_place", "arguments": ["{}"], "id": "call_1"}}]},
  {"blocks": [{"text": ["You are in Oslo."]}]}]}
JSON
start_server
printf '#!/bin/sh\necho x >>"%s/ticks"\necho "tick-$(wc -l <"%s/ticks" | tr -d " ")-end"\n' "$tmp" "$tmp" >"$tmp/tick"
chmod +x "$tmp/tick"
ways="chat stream items previous messages"
config() { # STORE
    local api way path
    echo "store: \"$1\""
    echo 'sandbox: { mode: "off" }'
    echo "tools: { custom: [{ name: tick, description: Counts., command: [\"$tmp/tick\"], effect: read, permission: read }] }"
    echo 'providers:'
    for api in "${apis[@]}"; do
        case $api in openai*) path=/v1 ;; *) path= ;; esac
        for way in $ways; do echo "  $api-$way: { api: $api, baseUrl: \"$url/both/$api-$way$path\", apiKeyEnv: PATH }"; done
    done
    echo "  counted: { api: openai, baseUrl: \"$url/counted/c/v1\", apiKeyEnv: PATH }"
    printf 'agents:\n  list:\n    - { id: c, model: counted/m, retries: 0, tools: { allow: [tick] } }\n    - { id: d, model: counted/m, retries: 0, tools: { allow: [tick] } }\n'
    for api in "${apis[@]}"; do
        for way in $ways; do echo "    - { id: $api-$way, model: $api-$way/$(model "$api" | cut -d/ -f2), retries: 0, tools: { allow: [calculate] } }"; done
    done
}
config "sqlite:./chela.db" >"$space/chela.yaml"
export AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=secret AWS_REGION=us-east-1
serve

# The calls by name, and "=" for a result, of a request to the service.
case_calls() { # INSTANCE N
    jq -r --arg i "$1" --argjson n "$2" 'select(.instance == $i and .n == $n and .body).body
        | [ (.messages // .contents // .input)[]
            | (select(.type == "function_call").name), (select(.type == "function_call_output" or .type == "function_result" or .role == "tool") | "="), (.tool_calls // [] | .[].function.name),
              ((.content, .parts) | arrays | .[] | (select(.type == "tool_use").name), (.toolUse.name // empty), (.functionCall.name // empty),
                  (select(.type == "tool_result" or .toolResult or .functionResponse) | "=")) ] | join(" ")' "$log"
}
case_problems() { jq -c --arg i "$1" 'select(.instance == $i and .problems) | .problems[]' "$log"; }

tool='"name":"get_place","parameters":{"type":"object","properties":{"near":{"type":"string"}}}'
question='{"role":"user","content":"Where am I?"}'
start_chat() { post /v1/chat/completions "{\"model\":\"$1\",\"messages\":[$question],\"tools\":[{\"type\":\"function\",\"function\":{$tool}}]}"; }
end_chat() { # MODEL MESSAGE
    post /v1/chat/completions "$(jq -nc --arg m "$1" --argjson q "$question" --argjson a "$2" \
        '{model: $m, messages: [$q, $a, ($a.tool_calls[] | {role: "tool", tool_call_id: .id, content: "Oslo"})]}')"
}
use_chat() {
    start_chat "$1"
    end_chat "$1" "$(jq -c .choices[0].message "$out")"
    jq -r .choices[0].message.content "$out"
}
use_stream() {
    post /v1/chat/completions "{\"model\":\"$1\",\"stream\":true,\"messages\":[$question],\"tools\":[{\"type\":\"function\",\"function\":{$tool}}]}"
    end_chat "$1" "$(chunks | jq -sc '{role: "assistant", content: ([.[].choices[]?.delta.content // ""] | add), tool_calls: [.[].choices[]?.delta.tool_calls[]? | del(.index)]}')"
    jq -r .choices[0].message.content "$out"
}
start_responses() { post /v1/responses "{\"model\":\"$1\",\"input\":[$question],\"tools\":[{\"type\":\"function\",$tool}]}"; }
results='[.output[] | select(.type == "function_call") | {type: "function_call_output", call_id, output: "Oslo"}]'
use_items() {
    start_responses "$1"
    post /v1/responses "$(jq -c --arg m "$1" --argjson q "$question" "{model: \$m, input: ([\$q] + .output + $results)}" "$out")"
    jq -r '.output[-1].content[0].text' "$out"
}
use_previous() {
    start_responses "$1"
    post /v1/responses "$(jq -c --arg m "$1" "{model: \$m, previous_response_id: .id, input: $results}" "$out")"
    jq -r '.output[-1].content[0].text' "$out"
}
use_messages() {
    post /v1/messages "{\"model\":\"$1\",\"max_tokens\":99,\"messages\":[$question],\"tools\":[{${tool/parameters/input_schema}}]}"
    post /v1/messages "$(jq -c --arg m "$1" --argjson q "$question" '{model: $m, max_tokens: 99, messages: [$q, {role: "assistant", content},
        {role: "user", content: [.content[] | select(.type == "tool_use") | {type: "tool_result", tool_use_id: .id, content: "Oslo"}]}]}' "$out")"
    jq -r '.content[-1].text' "$out"
}

for api in "${apis[@]}"; do
    for way in $ways; do
        same "$api, $way: is answered" "You are in Oslo." "$("use_$way" "$api-$way")"
        same "$api, $way: the model gets all calls and all results" "calculate = calculate get_place calculate = = =" "$(case_calls "$api-$way" 2)"
        same "$api, $way: the service takes the request" "" "$(case_problems "$api-$way")"
    done
done
beginning() { # INSTANCE N: the messages, without the marks of the cache
    jq -c --arg i "$1" --argjson n "$2" 'select(.instance == $i and .n == $n and .body).body.messages | walk(if type == "object" then del(.cache_control) else . end)' "$log"
}
second=$(beginning anthropic-chat 1)
same "the request goes on where the one before ended" "$second" "$(beginning anthropic-chat 2 | jq -c --argjson n "$(jq length <<<"$second")" '.[:$n]')"

# --- a service that uses ids again
ticks() { # the tick of the last request to the service, "" if it has none
    jq -c 'select(.instance == "c" and .body).body.messages | map(select(.role == "tool").content) | map(capture("(?<t>tick-[0-9]+-end)").t)' "$log" | tail -n 1 | jq -r 'join(" ")'
}
user() { jq -nc --arg t "$1" '{role: "user", content: $t}'; }
ask() { # WORDS [MODEL]
    post /v1/chat/completions "$(jq -nc --arg m "${2-c}" --argjson q "$(user "$1")" '{model: $m, messages: [$q], tools: [{type: "function", function: {name: "get_place"}}]}')"
    jq -c .choices[0].message "$out"
}
go_on() { # WORDS MESSAGE [MODEL]
    post /v1/chat/completions "$(jq -nc --arg m "${3-c}" --argjson q "$(user "$1")" --argjson a "$2" \
        '{model: $m, messages: [$q, $a, ($a.tool_calls // [] | .[] | {role: "tool", tool_call_id: .id, content: "Oslo"})]}')"
}
first=$(ask "q-where one")
other=$(ask "q-where two")
alone=$(ask "q-alone")
go_on "q-where one" "$first"
same "an id that another conversation has: its own result" tick-1-end "$(ticks)"
go_on "q-where two" "$other"
same "and the other its own" tick-2-end "$(ticks)"
go_on "q-where one" "$first"
same "a conversation that is continued again" tick-1-end "$(ticks)"
go_on "q-alone" "$alone"
same "a call of the client alone, with the id" "200 " "$code $(ticks)"
go_on "q-where three" "$first"
same "an id that another conversation had" "200 " "$code $(ticks)"
go_on "q-where one" "$first" d
same "another agent" "200 " "$code $(ticks)"
go_on "q-where one" '{"role":"assistant","content":"Let me look."}'
same "a call that the client took out" "200 " "$code $(ticks)"
go_on "q-where one" "$(jq -c '.tool_calls[0].id = "call_9"' <<<"$first")"
same "an id that nobody gave" "200 " "$code $(ticks)"
again=$(ask "q-where one")
go_on "q-where one" "$again"
same "the same question asked again: the newer result" tick-3-end "$(ticks)"
long=$(ask "q-long")
go_on "the beginning was cut" "$long"
same "an id that is random needs no conversation before it" tick-4-end "$(ticks)"
go_on "q-long" "$(jq -c '.content = "I look."' <<<"$long")"
same "a reply that the client changed: its words, and the result" "I look. tick-4-end" \
    "$(jq -r 'select(.instance == "c" and .body).body.messages | map(select(.role == "assistant").content) | join(" ")' "$log" | tail -n 1) $(ticks)"
post /v1/chat/completions "$(jq -nc --argjson a "$long" '{model: "c", messages: [{role: "user", content: "x"}, $a, {role: "tool", tool_call_id: $a.tool_calls[0].id, content: "Oslo"},
    {role: "user", content: "y"}, $a, {role: "tool", tool_call_id: $a.tool_calls[0].id, content: "Oslo"}]}')"
same "a call that the client repeats: once" "200 tick-4-end" "$code $(ticks)"
same "the service takes all that" "" "$(case_problems c)"

# --- another process
stop_serving KILL
serve
go_on "q-where two" "$other"
same "after a restart" tick-2-end "$(ticks)"
go_on "shortened" "$long"
same "by its random id" tick-4-end "$(ticks)"
stop_serving
serve_token=another-SENTINEL-0123456789abcdef
mine=$token
token=$serve_token
serve
go_on "q-where two" "$other"
same "another token" "200 " "$code $(ticks)"
go_on "q-long" "$long"
same "and by a random id" "200 " "$code $(ticks)"
stop_serving
token=$mine
serve_token=$mine
serve --workers 3
missing=
for i in {1..8}; do
    text="q-where $i of many"
    message=$(ask "$text")
    wanted="tick-$(wc -l <"$tmp/ticks" | tr -d ' ')-end"
    go_on "$text" "$message"
    [ "$(ticks)" = "$wanted" ] || missing="$missing $i"
done
same "each worker finds the calls of the others" "" "$missing"
stop_serving
tap_done

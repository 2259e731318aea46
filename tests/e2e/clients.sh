#!/usr/bin/env bash
# Clients of /v1 that bring tools of their own: all their tools reach the model, whatever the agent selects
# or denies; what the server's tools did beside them is replayed; members without effect are named.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

echo '{"about": "always the same", "repeat": true, "replies": [{"blocks": [{"text": ["fine"]}]}]}' >"$tmp/fine.json"
echo '{"about": "thinks first", "repeat": true, "replies": [{"blocks": [{"reasoning": ["hm"]}, {"text": ["fine"]}]}]}' >"$tmp/thinks.json"
start_server
{
    echo "store: \"sqlite:$tmp/store.db\""
    echo 'sandbox: { mode: "off" }'
    echo 'tools:'
    echo '  custom:'
    for n in $(seq 60); do
        echo "    - { name: own_$n, description: Does thing $n., command: [echo, \"$n\"], effect: read, permission: read }"
    done
    cat <<YAML
providers:
  fine: { api: openai, baseUrl: "$url/fine/i1/v1", apiKeyEnv: PATH }
  thinks: { api: openai-responses, baseUrl: "$url/thinks/i3/v1", apiKeyEnv: PATH, models: [{ id: gpt-6.1-sol }] }
  broad: { api: openai, baseUrl: "$url/fine/i2/v1", apiKeyEnv: PATH, models: [{ id: m, contextWindow: 4000000 }] }
agents:
  list:
    - { id: bare, model: fine/m, tools: { allow: [calculate], deny: [write] } }
    - { id: many, model: fine/m, tools: { allow: ["own_*"] } }
    - { id: topk, model: fine/m, tools: { allow: ["own_*"], selection: topk, selectionSize: 3 } }
    - { id: search, model: fine/m, tools: { allow: ["own_*"], selection: search } }
    - { id: broad, model: broad/m, tools: { allow: [] } }
    - { id: thinks, model: thinks/gpt-6.1-sol, reasoning: medium, tools: { allow: [] } }
YAML
} >"$space/chela.yaml"
serve

# The last request that the model got.
asked() { grep -F '"body":' "$log" | tail -n 1 | jq -r "$1"; }
names() { asked '[.body.tools[].function.name] | join(" ")'; }
# functions N: N tools of a client, in an order that no sorting gives.
functions() { jq -nc --argjson n "$1" '[range($n) | {type: "function", function: {name: "mine_\(($n - .) * 7919 % 100003)_\(.)", description: "Thing \(.).", parameters: {type: "object", properties: {x: {type: "string"}}}}}]'; }
# chat AGENT TOOLS [MEMBERS]
chat() {
    jq -c --arg model "$1" '. as $tools | {model: $model, tools: $tools, messages: [{role: "user", content: "hello"}]}' <<<"$2" >"$tmp/body"
    post /v1/chat/completions "@$tmp/body"
}
# mine AGENT N: all N tools of the client are listed, in its order.
mine() {
    local tools
    tools=$(functions "$2")
    chat "$1" "$tools"
    answers "$1, $2 tools of the client" 200
    same "$1, $2 tools of the client: all are listed, in their order" "$(jq -r 'map(.function.name) | join(" ")' <<<"$tools")" \
        "$(names | tr ' ' '\n' | grep ^mine | tr '\n' ' ' | sed 's/ $//')"
}

for agent in bare many topk search; do mine $agent 3; mine $agent 30; done
check "the agent's own tools are selected as without the client's" test "$(names | tr ' ' '\n' | grep -c '^own_')" -lt 10
mine many 300
post /v1/chat/completions '{"model":"bare","messages":[{"role":"user","content":"hello"}],"tools":[{"type":"function","function":{"name":"write"}},{"type":"function","function":{"name":"calculate","description":"Mine."}}]}'
same "tools that the agent denies, or has: the client's are listed" "write calculate Mine." \
    "$(asked '[.body.tools[].function.name, (.body.tools[] | select(.function.name == "calculate").function.description)] | join(" ")')"

# The same order in every request of a conversation, also after a call of one of the tools.
for turns in 1 2; do
    functions 25 | jq -c --argjson turns $turns '{model: "topk", tools: ., messages: ([{role: "user", content: "do thing 7"}] + if $turns == 1 then [] else
        [{role: "assistant", tool_calls: [{id: "c1", type: "function", function: {name: .[3].function.name, arguments: "{}"}}]}, {role: "tool", tool_call_id: "c1", content: "done"}] end)}' >"$tmp/body"
    post /v1/chat/completions "@$tmp/body"
    answers "turn $turns" 200
    asked '.body.tools | tojson' >"$tmp/tools.$turns"
done
check "the tools stay the same bytes after a call of one of them" cmp "$tmp/tools.1" "$tmp/tools.2"

# Names: two of one name, names that only differ far behind, and very many tools.
one='{"type":"function","function":{"name":"f","description":"A.","parameters":{"type":"object","properties":{}}}}'
chat bare "[$one,$one]"
same "a tool that is listed twice counts once" "200 f" "$code $(asked '[.body.tools[].function.name] | map(select(. == "f")) | join(" ")')"
chat bare "[$one,${one/A./B.}]"
answers "two different tools of one name" 400
check "the name is told" grep -q 'named f' "$out"
long=$(printf 'x%.0s' {1..70})
chat bare "[{\"type\":\"function\",\"function\":{\"name\":\"${long}a\"}},{\"type\":\"function\",\"function\":{\"name\":\"${long}b\"}}]"
same "long names that end differently: two tools, with names of at most 64 bytes" "200 2 64" \
    "$code $(asked '[.body.tools[].function.name | select(startswith("xx"))] | unique | "\(length) \(map(length) | max)"')"
chat broad "$(functions 1500)"
same "1,500 tools" "200 1500" "$code $(asked '.body.tools | length')"
chat broad "$(functions 10001)"
answers "more tools than the limit" 400
check "the limit is told" grep -q 'more than 10000 tools' "$out"

# --- what can be taken, is taken; the rest is named
dropped() { sed -n 's/^[Xx]-[Cc]hela-[Dd]ropped: \(.*\)\r$/\1/p' "$err"; }
say() { post /v1/chat/completions "{\"model\":\"bare\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]${1:+,$1}}"; }
say ''
same "nothing is dropped: no header" "200 " "$code $(dropped)"
say '"store":false,"logprobs":false,"frequency_penalty":0,"user":"","logit_bias":{},"stop":null,"metadata":null'
same "members that ask for nothing: no header" "200 " "$code $(dropped)"
say '"modalities":["text","audio"],"audio":{"voice":"a"},"logit_bias":{"5":1},"hologram":true'
same "text and audio: text, and the rest is named" "200 modalities, audio, hologram" "$code $(dropped)"
same "what the service knows is passed on" '{"5":1}' "$(asked '.body.logit_bias | tojson')"
say '"presence_penalty":0.5,"frequency_penalty":-0.5,"verbosity":"low","user":"ann"'
same "penalties, likewise" '200 user 0.5 -0.5 low' "$code $(dropped) $(asked '.body | "\(.presence_penalty) \(.frequency_penalty) \(.verbosity)"')"
post /v1/responses '{"model":"bare","input":"hello","text":{"verbosity":"low"},"user":"ann"}'
same "not to a service of another protocol" "200 text.verbosity, user null" "$code $(dropped | tr ',' '\n' | sed 's/^ //' | sort | paste -sd, | sed 's/,/, /g') $(asked .body.verbosity)"
say '"modalities":["audio"]'
answers "audio alone" 400
say '"n":2'
answers "n above 1" 400
check "n is named" grep -q 'n. must be 1' "$out"
say '"tools":[{"function":{"name":"f","parameters":{"type":"object"}}},{"name":"g"},{"type":"web_search"}],"web_search_options":{}'
same "tools without a type are functions" "200 f g" "$code $(asked '[.body.tools[].function.name | select(length == 1)] | join(" ")')"
same "a tool of the vendor is named" "tools[].web_search, web_search_options" "$(dropped | tr ',' '\n' | sed 's/^ //' | sort | tr '\n' ',' | sed 's/,$//; s/,/, /g')"
say "\"x\\r\\nset-cookie: a=b\":1,\"$(printf 'y%.0s' {1..300})\":1"
same "a member with a strange name is named safely" "200 1 true" "$code $(grep -ci '^x-chela-dropped' "$err") $(dropped | grep -cE '^x\?\?set-cookie\?\?a\?b, y{64}$' | sed 's/1/true/')"
say "$(jq -nr '[range(900) | "\"member_\(.)\":1"] | join(",")')"
check "very many members: the header stays short" test "$(dropped | wc -c)" -gt 100 -a "$(dropped | wc -c)" -lt 1200
sound=$(printf 'ID3xxxxx' | base64)
for audio in "\"$sound\"" "\"data:audio/mpeg;base64,$sound\"" "{\"data\":\"$sound\",\"format\":\"mp3\"}"; do
    post /v1/chat/completions "{\"model\":\"bare\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\",\"input_audio\":$audio}]}]}"
    same "sound as ${audio:0:8}" "200 mp3 $sound" "$code $(asked '.body.messages[-1].content[] | select(.type == "input_audio").input_audio | "\(.format) \(.data)"')"
done
post /v1/responses '{"model":"bare","input":"hello","truncation":"auto","service_tier":"flex","metadata":{"a":"b"}}'
same "responses: what has no effect is named" "200 truncation, service_tier" "$code $(dropped)"
post /v1/messages '{"model":"bare","max_tokens":9,"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"file_1"},{"type":"text","text":"hello"}]}],"container":"c1","metadata":{"user_id":"a"}}'
same "messages: an uploaded file is not there, and named" "200 container, metadata, content[].file" "$code $(dropped)"
check "the model is told of the file" grep -qF 'file_1: not available here' <(asked '.body.messages | tojson')
post /v1/messages '{"model":"bare","max_tokens":9,"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"f","input_schema":{"type":"object"},"defer_loading":true}],"messages":[{"role":"user","content":[{"type":"text","text":"hello","citations":{"enabled":true}}]}]}'
same "members of members are named" "200 system[].cache_control, tools[].defer_loading, messages[].content[].citations" "$code $(dropped)"
found='{"model":"bare","max_tokens":9,"tools":[{"name":"search","input_schema":{"type":"object"}},{"name":"found_7","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"search","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference","tool_name":"found_7"}]}]}]}'
post /v1/messages "$found"
same "messages: a tool that the client's search found is named to the model" "200 The tool found_7 can be called now." "$code $(asked '.body.messages[-1].content')"
post /v1/messages "${found/tool_reference/hologram}"
same "messages: content of an unknown type in a result is refused by name" "400 1" "$code $(grep -c "a result's content of type 'hologram'" "$out")"
post /v1/messages '{"model":"bare","max_tokens":9,"inference_geo":"us","messages":[{"role":"user","content":"hello"}]}'
same "messages: the place of the model is refused by name" "400 1" "$code $(grep -c 'inference_geo. is not supported' "$out")"
post /v1/messages '{"model":"bare","max_tokens":9,"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text","text":"x"}]},{"role":"user","content":"more"}]}'
same "messages: a block that only the vendor understands is named" "200 content[].server_tool_use" "$code $(dropped)"
post /v1/responses '{"model":"bare","input":[{"role":"user","content":"hello"},{"type":"web_search_call","id":"ws_1","status":"completed"},{"role":"user","content":"more"}]}'
same "responses: an item likewise" "200 input[].web_search_call" "$code $(dropped)"
post /v1/responses '{"model":"bare","input":"hello","include":["reasoning.encrypted_content","message.output_text.logprobs"]}'
same "responses: what the answer cannot include is named" "200 include[].message.output_text.logprobs" "$code $(dropped)"
post /v1/responses '{"model":"bare","input":"hello","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"tool_choice":{"type":"function","name":"g"}}'
same "responses: a choice of a tool that is not there is refused by name" "400 1" "$code $(grep -c "tool_choice. names a tool that is not there: 'g'" "$out")"
say '"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}'
same "chat: likewise" "400 1" "$code $(grep -c "tool_choice. names a tool that is not there: 'g'" "$out")"
post /v1/responses '{"model":"bare","input":"hello","tools":[{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}],"tool_choice":{"type":"function","name":"f"}}'
same "responses: a tool of a namespace is chosen" "200 n__f" "$code $(asked '.body.tool_choice.function.name')"
post /v1/messages '{"model":"bare","max_tokens":9,"messages":[{"role":"user","content":"hello"}],"tools":[{"type":"web_search_20260318","name":"web_search"}],"tool_choice":{"type":"tool","name":"web_search"}}'
same "messages: the choice of a tool that only the vendor has is named" "200 tools[].web_search_20260318, tool_choice" "$code $(dropped)"
# Every member of the published schemas has a row in the docs, and the rows are those of the code.
rows() { sed -n "/^## POST \/v1\/$1/,/^## POST/s/^| \`\([a-z_]*\)\`.*/\1/p" docs/v1.md | sort; }
absent() { comm -13 <(rows "$1") <(printf '%s\n' "${@:2}" | sort) | paste -sd' '; }
same "all members of Chat Completions are in the docs" "" "$(absent chat audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens \
    max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention \
    reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options)"
same "all members of Responses" "" "$(absent responses background context_management conversation include input instructions max_output_tokens max_tool_calls metadata model \
    moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store \
    stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user)"
same "all members of Messages" "" "$(absent messages max_tokens messages model cache_control container inference_geo metadata output_config service_tier stop_sequences stream system \
    temperature thinking tool_choice tools top_k top_p user_profile_id)"
same "all members of Embeddings" "" "$(absent embeddings dimensions encoding_format input model user)"
# --- reasoning that comes back without its encrypted content, as to a service that stores responses
post /v1/responses '{"model":"thinks","input":"hello"}'
same "reasoning without encrypted content, since nobody asked for it" "reasoning null" "$(jq -r '.output[0] | "\(.type) \(.encrypted_content)"' "$out")"
again=$(jq -c '{model: "thinks", input: ([{role: "user", content: "hello"}] + .output + [{role: "user", content: "more"}])}' "$out")
returned() { asked '[.body.input[] | select(.type == "reasoning") | .encrypted_content | length > 0] | tojson'; }
post /v1/responses "$again"
same "its author gets it whole" "200 [true]" "$code $(returned)"
stop_serving
serve
post /v1/responses "$again"
same "after a restart, too" "200 [true]" "$code $(returned)"
post /v1/responses "${again//\"id\":\"rs_/\"id\":\"rs_0}"
same "reasoning that nobody remembers is left out" "200 []" "$code $(returned)"

tap_done

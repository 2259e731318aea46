#!/usr/bin/env bash
# What clients of OpenAI's and Anthropic's services send beside messages and functions:
# tools of other kinds, items by reference, media, earlier forms. tests/sdk has the clients.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "cut|required form" }, say: '{"n":4', stop: max_tokens }
  - { when: { after: none, user: "patch" }, call: { tool: apply_patch, args: { input: "*** Begin" } } }
  - { when: { after: none, user: "spaced" }, call: { tool: mcp__box__put, args: { n: 1 } } }
  - { when: { after: none, user: "where" }, say: "Let me look.", call: { tool: get_place, args: { near: "me" } } }
  - { when: { after: none, user: "cached" }, say: "yes", usage: { input: 60, output: 1, cache_read: 20, cache_write: 30 } }
  - { when: { after: none, user: "limit" }, fail: { status: 429, message: "slow down" } }
  - { when: { after: none, user: "busy" }, fail: { status: 529, message: "overloaded" } }
  - { when: { after: none, user: "add" }, say: "Let me add.", call: { tool: calculate, args: { expression: "2+40" } } }
  - { when: { after: calculate }, say: '{"n":42}' }
  - { when: { after: none, user: "nap" }, call: { tool: nap, args: {} } }
  - { when: { after: nap, user: "fails" }, fail: { status: 400, message: "bad dream" } }
  - { when: { after: none, user: "final" }, say: "Here it is.", call: { tool: final_answer, args: { n: 42 } } }
  - { when: { after: none, user: "^no$" }, say: "I cannot.", stop: refusal }
  - { when: { after: none, user: "think" }, think: "hm hm", say: "thought" }
  - { when: { after: none }, say: "you said: {{user}}" }
  - { say: "it said: {{result}}" }
YAML
cat >"$tmp/broken.json" <<'JSON'
{"about": "fails after its first text", "repeat": true, "replies": [{"blocks": [{"text": ["half of"]}, {"error": {"status": 400}}]}]}
JSON
jq -n '{about: "a stop sequence ends the reply", repeat: true, replies: [{content_type: "text/event-stream", body: ([
    {type: "message_start", message: {id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage: {input_tokens: 9, output_tokens: 1}}},
    {type: "content_block_start", index: 0, content_block: {type: "text", text: "one "}},
    {type: "content_block_stop", index: 0},
    {type: "message_delta", delta: {stop_reason: "stop_sequence", stop_sequence: "</end>"}, usage: {output_tokens: 2}},
    {type: "message_stop"}] | map("event: \(.type)\ndata: \(tojson)\n\n") | join(""))}]}' >"$tmp/ended.json"
jq -n '{about: "overloaded, with a delay", repeat: true, replies: [{error: {status: 529}, headers: {"retry-after-ms": "1700"}}]}' >"$tmp/busy.json"
start_server
printf '#!/bin/sh\nwhile [ ! -e "%s/wake" ]; do sleep 0.1; done\n' "$tmp" >"$tmp/nap"
chmod +x "$tmp/nap"
cat >"$space/chela.yaml" <<YAML
store: "memory:"
sandbox: { mode: "off" }
tools: { custom: [{ name: nap, description: Naps., command: ["$tmp/nap"], effect: read, permission: read, timeoutSec: 900 }] }
gateway: { origins: ["https://app.example.com", "HTTP://Page.example:8080"] }
providers:
  a: { api: anthropic, baseUrl: "$url/hello/a", apiKeyEnv: PATH }
  o: { api: openai, baseUrl: "$url/hello/o/v1", apiKeyEnv: PATH }
  r: { api: openai-responses, baseUrl: "$url/hello/r/v1", apiKeyEnv: PATH }
  thinker: { api: anthropic, baseUrl: "$url/reasoning/t", apiKeyEnv: PATH }
  broken: { api: anthropic, baseUrl: "$url/broken/b", apiKeyEnv: PATH }
  ended: { api: anthropic, baseUrl: "$url/ended/e", apiKeyEnv: PATH }
  busy: { api: anthropic, baseUrl: "$url/busy/b", apiKeyEnv: PATH }
agents:
  list:
    - { id: coder, model: scripted/rules.yaml, retries: 0, tools: { allow: [] } }
    - { id: adder, model: scripted/rules.yaml, retries: 0, tools: { allow: [calculate] } }
    - { id: sleeper, model: scripted/rules.yaml, retries: 0, tools: { allow: [nap] } }
    - { id: a, model: a/m, tools: { allow: [] } }
    - { id: o, model: o/m, tools: { allow: [] } }
    - { id: r, model: r/m, tools: { allow: [] } }
    - { id: thinker, model: thinker/m, tools: { allow: [] } }
    - { id: broken, model: broken/m, retries: 0, tools: { allow: [] } }
    - { id: busy, model: busy/m, retries: 0, tools: { allow: [] } }
    - { id: ended, model: ended/m, tools: { allow: [] } }
YAML
program=$(realpath "$program")
serve
ask() { post /v1/responses "{\"model\":\"coder\",$1}"; }
chat() { post /v1/chat/completions "{\"model\":\"coder\",$1}"; }
messages() { post /v1/messages "{\"model\":\"coder\",\"max_tokens\":100,$1}"; }

# --- a stream whose agent works in silence begins all the same: a client waits a limited time for its head. Checked at the end.
quiet() { # NAME PATH JSON
    curl -sSN -m 900 -o "$tmp/quiet.$1" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' --data "$3" "$gateway$2" 2>/dev/null &
    quiet_pids="$quiet_pids $!"
}
quiet_pids=
for word in nap fails; do
    quiet "chat.$word" /v1/chat/completions "{\"model\":\"sleeper\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"nap $word\"}]}"
    quiet "responses.$word" /v1/responses "{\"model\":\"sleeper\",\"stream\":true,\"input\":\"nap $word\"}"
    quiet "messages.$word" /v1/messages "{\"model\":\"sleeper\",\"stream\":true,\"max_tokens\":99,\"messages\":[{\"role\":\"user\",\"content\":\"nap $word\"}]}"
done

# --- a member of another type is refused, and named: ignored, it would change the answer
named() { # MEMBER
    answers "$1 of another type" 400
    check "$1 is named" grep -qF "\`$1\`" "$out"
}
for member in '"stop":5' '"stop":[5]' '"tools":5' '"functions":{}' '"function_call":1' '"response_format":"json_object"' '"stream":"true"' \
    '"stream_options":true' '"n":"2"' '"seed":"x"' '"reasoning_effort":3' '"parallel_tool_calls":"no"'; do
    chat "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],$member"
    named "$(cut -d'"' -f2 <<<"$member")"
done
for member in '"previous_response_id":5' '"conversation":5' '"store":"no"' '"background":1' '"text":"x"' '"reasoning":"low"' '"include":"x"' \
    '"instructions":{}' '"tools":{}' '"stream":1' '"parallel_tool_calls":0'; do
    ask "\"input\":\"hello\",$member"
    named "$(cut -d'"' -f2 <<<"$member")"
done
ask '"input":"hello","prompt":{"id":"pmpt_1"}'
named prompt
chat '"messages":[{"role":"user","content":"hello"}],"modalities":["audio"]'
named modalities
chat '"messages":[{"role":"user","content":"hello"}],"modalities":["text"]'
answers "an answer of text alone" 200
for member in '"system":5' '"top_k":"5"' '"top_k":0' '"tools":{}' '"thinking":"on"' '"output_config":[]' '"stream":"yes"' '"stop_sequences":[1]'; do
    messages "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],$member"
    named "$(cut -d'"' -f2 <<<"$member")"
done
u='{"role":"user","content":"hello"}'
while IFS='|' read -r member body; do # values inside of members, of messages and of tools
    chat "\"messages\":[$u],$body"
    named "$member"
done <<'CASES'
n|"n":1.5
seed|"seed":1.5
stream_options.include_usage|"stream_options":{"include_usage":"yes"}
reasoning_effort|"reasoning_effort":"lots"
reasoning|"reasoning":"high"
reasoning.effort|"reasoning":{"effort":1}
response_format|"response_format":{}
response_format|"response_format":{"type":5}
response_format.json_schema|"response_format":{"type":"json_schema","json_schema":"x"}
function_call|"function_call":{}
function_call|"functions":[{"name":"f"}],"function_call":"sometimes"
tool_choice|"tool_choice":5
tool_choice|"tool_choice":{"type":"sometimes"}
tool_choice|"tool_choice":{"type":"sometimes","name":"f"}
tool_choice|"tool_choice":{"type":"function","function":{"name":5}}
tool_choice|"tool_choice":{"type":"web_search"}
tools[]|"tools":[5]
tools[].type|"tools":[{"type":5}]
tools[].function|"tools":[{"type":"function","function":"f"}]
tools[].name|"tools":[{"type":"function","function":{"name":5}}]
tools[].description|"tools":[{"type":"function","function":{"name":"f","description":5}}]
tools[].parameters|"tools":[{"type":"function","function":{"name":"f","parameters":"x"}}]
tools[].format|"tools":[{"type":"custom","custom":{"name":"f","format":"x"}}]
tools[].parameters|"functions":[{"name":"f","parameters":[]}]
CASES
while IFS='|' read -r member body; do
    chat "\"messages\":[$body,$u]"
    named "$member"
done <<'CASES'
messages[]|5
messages[].role|{"role":5}
messages[].content|{"role":"system","content":5}
messages[].content|{"role":"user","content":{}}
messages[].tool_calls|{"role":"assistant","tool_calls":{}}
messages[].function_call|{"role":"assistant","function_call":"f"}
messages[].tool_call_id|{"role":"tool","tool_call_id":5,"content":"x"}
tool_calls[].function.arguments|{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":5}}]},{"role":"tool","tool_call_id":"a","content":"x"}
content[]|{"role":"system","content":["x"]}
content[].text|{"role":"system","content":[{"type":"text","text":5}]}
content[].text|{"role":"user","content":[{"type":"text","text":{"value":"x"}}]}
content[].file.file_data|{"role":"user","content":[{"type":"file","file":{"file_data":5}}]}
content[].input_audio.data|{"role":"user","content":[{"type":"input_audio","input_audio":{"data":5}}]}
CASES
while IFS='|' read -r member body; do
    ask "$body"
    named "$member"
done <<'CASES'
text.format|"input":"x","text":{"format":"json_object"}
text.format|"input":"x","text":{"format":{"type":"yaml"}}
seed|"input":"x","seed":"7"
reasoning.effort|"input":"x","reasoning":{"effort":"lots"}
conversation.id|"input":"x","conversation":{"id":5}
metadata|"input":"x","metadata":"x"
tool_choice|"input":"x","tool_choice":{"type":"sometimes"}
tools[].parameters|"input":"x","tools":[{"type":"function","name":"f","parameters":5}]
tools[].tools|"input":"x","tools":[{"type":"namespace","name":"f","tools":5}]
input[]|"input":["x"]
input[].type|"input":[{"type":5,"role":"user","content":"x"}]
input[].role|"input":[{"role":5,"content":"x"}]
input[].content|"input":[{"role":"user","content":5},{"role":"user","content":"x"}]
content[].text|"input":[{"role":"developer","content":[{"type":"input_text","text":5}]},{"role":"user","content":"x"}]
content[].file_data|"input":[{"role":"user","content":[{"type":"input_file","file_data":5}]}]
input[].arguments|"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"a","name":"f","arguments":5},{"type":"function_call_output","call_id":"a","output":"x"}]
input[].output|"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":{"n":1}}]
output[].text|"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":5}]}]
CASES
while IFS='|' read -r member body; do
    messages "\"messages\":[$u],$body"
    named "$member"
done <<'CASES'
system[]|"system":["x"]
system[].text|"system":[{"type":"text","text":5}]
thinking.type|"thinking":{"type":"sometimes"}
thinking.type|"thinking":{"type":5}
thinking.budget_tokens|"thinking":{"type":"enabled","budget_tokens":"many"}
output_config.format|"output_config":{"format":"json"}
output_config.effort|"output_config":{"effort":"lots"}
output_format|"output_format":"json"
tool_choice|"tool_choice":{"type":"sometimes"}
tool_choice.disable_parallel_tool_use|"tool_choice":{"type":"auto","disable_parallel_tool_use":"yes"}
tools[]|"tools":["f"]
tools[].type|"tools":[{"type":5,"name":"f"}]
tools[].input_schema|"tools":[{"name":"f","input_schema":5}]
CASES
while IFS='|' read -r member body; do
    messages "\"messages\":[$body,$u]"
    named "$member"
done <<'CASES'
messages[]|5
messages[].role|{"role":5,"content":"x"}
messages[].content|{"role":"system","content":5}
content[]|{"role":"user","content":["x"]}
content[]|{"role":"assistant","content":["x"]}
content[].text|{"role":"user","content":[{"type":"text","text":5}]}
content[].source|{"role":"user","content":[{"type":"image","source":"x"}]}
content[].source.data|{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":5}}]}
content[].input|{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":5}]}
content[].content|{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":{"n":1}}]}
content[].is_error|{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":"no"}]}
content[].content[].text|{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":5}]}]}
CASES
messages '"messages":[{"role":"user","content":[{"type":"txt","text":"x"}]}]'
answers "messages: content of an unknown type" 400
for member in '"system":5' '"tools":5'; do
    post /v1/messages/count_tokens "{\"model\":\"coder\",\"messages\":[$u],$member}"
    named "$(cut -d'"' -f2 <<<"$member")"
done
ask '"input":"hello","tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}'
answers "a choice of a tool that the vendor would run" 200
chat '"messages":[{"role":"user","content":"hello"}],"stop":null,"tools":null,"stream":null,"seed":null,"n":1'
answers "null counts as absent" 200

# --- Responses: tools of other kinds
ask '"input":"patch","tools":[{"type":"custom","name":"apply_patch","description":"Patches.","format":{"type":"grammar","syntax":"lark","definition":"start: x"}}]'
tells "a tool with free text" '.output[0] | [.type, .name, .input] | join(" ")' 'custom_tool_call apply_patch *** Begin'
item=$(jq -c .output[0] "$out") id=$(jq -r .output[0].call_id "$out") response=$(jq -r .id "$out") reference=$(jq -r .output[0].id "$out")
ask "\"input\":[{\"role\":\"user\",\"content\":\"patch\"},$item,{\"type\":\"custom_tool_call_output\",\"call_id\":\"$id\",\"output\":\"patched\"}]"
tells "its result" .output[0].content[0].text "it said: patched"
ask "\"input\":[{\"role\":\"user\",\"content\":\"patch\"},{\"type\":\"item_reference\",\"id\":\"$reference\"},{\"type\":\"custom_tool_call_output\",\"call_id\":\"$id\",\"output\":[{\"type\":\"input_text\",\"text\":\"a\"},{\"type\":\"input_text\",\"text\":\"b\"}]}]"
tells "an item by reference, an output that is a list" .output[0].content[0].text "$(printf 'it said: a\nb')"
ask "\"previous_response_id\":\"$response\",\"input\":[{\"type\":\"custom_tool_call_output\",\"call_id\":\"$id\",\"output\":\"later\"}]"
tells "a response by reference" .output[0].content[0].text "it said: later"
next=$(jq -r .id "$out")
ask "\"previous_response_id\":\"$next\",\"input\":\"and then\""
tells "and the one after that" .output[0].content[0].text "you said: and then"
call GET "/v1/responses/$response"
tells "a response can be fetched" '.id + " " + .output[0].name' "$response apply_patch"
call GET "/v1/responses/$response?stream=true"
answers "a response without background is not streamed" 400
tells "which is named" '.error | .type + " " + .message' 'invalid_request_error only a response with `background` can be streamed later'
call POST "/v1/responses/$response/cancel"
answers "a response without background cannot be cancelled" 400
call GET "/v1/responses/$response/input_items"
tells "the input of a response is listed" '[.object, .has_more, (.data | length > 0), (.data | all(.id and .type))] | map(tostring) | join(" ")' 'list false true true'
call GET "/v1/responses/$response/input_items?limit=1&order=asc"
first=$(jq -r .first_id "$out")
tells "one item at a time" '.data | length' 1
call GET "/v1/responses/$response/input_items?after=$first&order=desc"
tells "the oldest item is the last one in descending order" '.data | length' 0
call GET "/v1/responses/$response/input_items?after=in_unknown"
answers "input items after an item that is not there" 400
call DELETE "/v1/responses/$response"
tells "and deleted" .deleted true
call POST "/v1/responses/$response/cancel"
answers "a response that is gone" 404
call GET "/v1/responses/$response"
answers "then it is gone" 404
ask '"input":"hello","store":false'
response=$(jq -r .id "$out")
call GET "/v1/responses/$response"
answers "one that is not to be stored" 404
ask '"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"msg_unknown"}]'
answers "an unknown item" 400
for stream in false true; do
    ask "\"input\":\"x\",\"previous_response_id\":\"resp_unknown\",\"stream\":$stream"
    answers "an unknown response, streamed $stream" 400
    tells "has the code by which clients send the whole, streamed $stream" '.error | .code + " " + .type' 'previous_response_not_found invalid_request_error'
done
ask '"input":"hello","instructions":"Be kind.","temperature":0.5,"max_output_tokens":99,"tool_choice":"none","tools":[{"type":"function","name":"get_place"}]'
tells "a response repeats its request" '[.instructions, .temperature, .top_p, .max_output_tokens, .tool_choice, .tools[].name] | tostring' \
    '["Be kind.",0.5,1,99,"none","get_place"]'
call GET "/v1/responses/$(jq -r .id "$out")"
tells "also when it is fetched" '[.tool_choice, .tools[].name] | join(" ")' "none get_place"
ask '"input":"hello"'
tells "or says what was absent" '[has("instructions"), has("temperature"), has("top_p"), .tool_choice, .tools] | tostring' '[true,true,true,"auto",[]]'
ask '"input":"hello"'
reference=$(jq -r .output[0].id "$out")
many() { # COUNT: references to one item
    yes "{\"type\":\"item_reference\",\"id\":\"$reference\"}," | head -n "$1"
}
ask "\"input\":[$(many 1024){\"role\":\"user\",\"content\":\"x\"}]"
answers "many references" 200
ask "\"input\":[$(many 1025){\"role\":\"user\",\"content\":\"x\"}]"
answers "too many references" 413
ask '"input":"spaced","tools":[{"type":"namespace","name":"mcp__box__","description":"A box.","tools":[{"type":"function","name":"put","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}]}]'
tells "a namespace" '.output[0] | [.type, .namespace, .name, .arguments] | join(" ")' 'function_call mcp__box__ put {"n":1}'
item=$(jq -c .output[0] "$out") id=$(jq -r .output[0].call_id "$out")
ask "\"input\":[{\"role\":\"user\",\"content\":\"spaced\"},$item,{\"type\":\"function_call_output\",\"call_id\":\"$id\",\"output\":\"put\"}]"
tells "and its result" .output[0].content[0].text "it said: put"
ask '"input":"hello","tools":[{"type":"web_search"},{"type":"local_shell"},{"type":"mcp","server_label":"x"}]'
answers "tools of the vendor" 200
check "are named in a warning" grep -qi '^x-chela-warning: .*web_search, local_shell, mcp' "$err"
check "which is logged" grep -q 'left out.*web_search' "$serve_log"
ask '"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"get_place","parameters":{"type":"object"}}]},{"role":"user","content":"where"}]'
tells "tools among the items" '[.output[].type] | join(",")' message,function_call
ask '"input":"where","tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"other"}]},"tools":[{"type":"function","name":"get_place","parameters":{"type":"object"}},{"type":"function","name":"other","parameters":{"type":"object"}}]'
tells "tools that are not allowed are no tools" '[.output[].type] | unique | join(",")' message
ask '"input":[{"role":"user","content":"hello"},{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}},{"type":"compaction","encrypted_content":"x"},{"role":"assistant","content":[{"type":"output_text","text":"yes","annotations":[]}]},{"role":"user","content":"more"}]'
tells "items that only the vendor understands" .output[0].content[0].text "you said: more"
ask '"input":[{"role":"user","content":"hello"},{"role":"assistant","content":"I am"}]'
tells "the last word is the assistant's" .status completed
ask '"conversation":"talk-1","input":"one"'
tells "a conversation" .conversation.id talk-1
call GET /api/sessions/talk-1
answers "is a session" 200
pdf=JVBERi0xLjQK
ask "\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"media\"},{\"type\":\"input_file\",\"filename\":\"a.pdf\",\"file_data\":\"data:application/pdf;base64,$pdf\"},{\"type\":\"input_file\",\"file_url\":\"https://example.com/a.pdf\"},{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"AAAA\",\"format\":\"wav\"}},{\"type\":\"input_image\",\"image_url\":\"https://example.com/a.png\"}]}]"
tells "files, sound, pictures" .status completed
ask '"input":"no"'
tells "a refusal" '[.status, .incomplete_details.reason] | join(" ")' "incomplete content_filter"
ask '"input":"think","include":["reasoning.encrypted_content"]'
tells "reasoning" '.output[0] | [.type, .status, .summary[0].text] | join(" ")' 'reasoning completed hm hm'
ask '"input":"think","stream":true'
same "streamed" "hm hm" "$(chunks | jq -j 'select(.type == "response.reasoning_summary_text.delta").delta')"

ask '"input":"cut"'
tells "a text that the token limit cuts" '[.status, .output[0].status] | join(" ")' "incomplete incomplete"
post /v1/responses '{"model":"broken","input":"x","stream":true}'
same "a text that a failure cuts" "incomplete failed incomplete" \
    "$(chunks | jq -r 'select(.type == "response.output_item.done").item.status, (select(.type == "response.failed").response | .status, .output[0].status)' | paste -sd' ')"

# --- an answer in a schema is sent alone, without the text of other turns and beside calls
form='"type":"json_schema","name":"n","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
chat_form='"response_format":{"type":"json_schema","json_schema":{"name":"n",'${form#*,*,}'}}'
for word in add final; do
    for stream in false true; do
        post /v1/responses "{\"model\":\"adder\",\"input\":\"$word\",\"text\":{\"format\":{$form}},\"stream\":$stream}"
        response=$(if $stream; then chunks | jq 'select(.type == "response.completed").response'; else cat "$out"; fi)
        same "responses: $word, streamed $stream" '{"n":42}' "$(jq -c '.output[].content[].text' <<<"$response" | jq -cs 'join("|") | fromjson')"
        post /v1/messages "{\"model\":\"adder\",\"max_tokens\":99,\"messages\":[{\"role\":\"user\",\"content\":\"$word\"}],\"output_config\":{\"format\":{$form}},\"stream\":$stream}"
        text=$(if $stream; then chunks | jq -j '.delta.text // empty'; else jq -j '.content[].text' "$out"; fi)
        same "messages: $word, streamed $stream" '{"n":42}' "$text"
        post /v1/chat/completions "{\"model\":\"adder\",\"messages\":[{\"role\":\"user\",\"content\":\"$word\"}],$chat_form,\"stream\":$stream}"
        text=$(if $stream; then chunks | jq -j '.choices[0].delta.content // empty'; else jq -j '.choices[0].message.content' "$out"; fi)
        same "chat: $word, streamed $stream" '{"n":42}' "$text"
    done
done
chat "\"messages\":[{\"role\":\"user\",\"content\":\"where\"}],$chat_form,\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"get_place\"}}]"
tells "text beside a call is no answer in the schema" '.choices[0] | [.finish_reason, .message.content] | tostring' '["tool_calls",null]'

# --- an answer in a schema that the token limit cuts twice is no failure: the clients of the vendors look for the limit
for stream in false true; do
    post /v1/responses "{\"model\":\"coder\",\"input\":\"cut\",\"text\":{\"format\":{$form}},\"stream\":$stream}"
    response=$(if $stream; then chunks | jq 'select(.type == "response.incomplete").response'; else cat "$out"; fi)
    same "responses: cut, streamed $stream" 'incomplete max_output_tokens incomplete {"n":4' \
        "$(jq -r '[.status, .incomplete_details.reason, (.output[] | .status, .content[].text)] | join(" ")' <<<"$response")"
    post /v1/messages "{\"model\":\"coder\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"cut\"}],\"output_config\":{\"format\":{$form}},\"stream\":$stream}"
    reason=$(if $stream; then chunks | jq -r '.delta.stop_reason // empty'; else jq -r .stop_reason "$out"; fi)
    same "messages: cut, streamed $stream" max_tokens "$reason"
    post /v1/chat/completions "{\"model\":\"coder\",\"messages\":[{\"role\":\"user\",\"content\":\"cut\"}],$chat_form,\"stream\":$stream}"
    reason=$(if $stream; then chunks | jq -r '.choices[0].finish_reason // empty'; else jq -r .choices[0].finish_reason "$out"; fi)
    same "chat: cut, streamed $stream" length "$reason"
done
post /v1/chat/completions "{\"model\":\"coder\",\"messages\":[{\"role\":\"user\",\"content\":\"cut\"}],$chat_form}" -H 'X-Chela-Session: cut'
tells "chat: cut, of a session, which has its own words for it" '[.choices[0].finish_reason, .chela.status, .chela.reason] | join(" ")' "length error model_error"

# --- the clients in a page: the browser asks for each of their headers
wanted=authorization,content-type,x-stainless-lang,x-stainless-os,anthropic-dangerous-direct-browser-access
anon OPTIONS /v1/messages -H 'Origin: https://app.example.com' -H 'Access-Control-Request-Method: POST' -H "Access-Control-Request-Headers: $wanted"
answers "a preflight of a page" 204
check "allows the headers of the clients" grep -qi "^access-control-allow-headers: $wanted" "$err"
anon OPTIONS /v1/messages -H 'Origin: https://app.example.com' -H 'Access-Control-Request-Method: POST'
answers "a preflight without headers" 204
post /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"limit"}]}' -H 'Origin: https://app.example.com'
for header in retry-after x-should-retry idempotent-replayed x-request-id; do
    check "the page may read $header" grep -qiE "^access-control-expose-headers: .*[ ,]$header(,|.$)" "$err"
done
post /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"x"}]}' -H 'Origin: http://page.example:8080'
same "an origin that the file spells in another way: the browser's form" 'access-control-allow-origin: http://page.example:8080' \
    "$(grep -i '^access-control-allow-origin' "$err" | tr -d '\r' | sed 's/^Access-Control/access-control/; s/-Allow-Origin/-allow-origin/')"
truncate -s 34000000 "$tmp/large"
for how in 'Expect: announced' 'transfer-encoding:chunked sent'; do # refused before and after the head is checked
    call POST /v1/messages -H "Origin: https://app.example.com" -H "${how% *}" -H 'Content-Type: application/json' --data-binary "@$tmp/large"
    answers "a body that is too large, ${how#* }" 413
    same "the page may read the error, ${how#* }" 1 "$(grep -ci '^access-control-allow-origin: https://app.example.com' "$err")"
done
anon GET /v1/models -H 'Origin: https://app.example.com'
answers "without a token" 401
same "the page may read that error" 1 "$(grep -ci '^access-control-allow-origin: ' "$err")"

# --- the client wants one call at a time: the model is told
asked() { # NAME INSTANCE FILTER WANT
    same "$1" "$4" "$(jq -c "select(.instance == \"$2\" and .body).body | $3" "$log")"
}
post /v1/chat/completions '{"model":"a","messages":[{"role":"user","content":"x"}],"parallel_tool_calls":false,"tools":[{"type":"function","function":{"name":"f"}}]}'
asked "chat: one call at a time" a .tool_choice '{"type":"auto","disable_parallel_tool_use":true}'
post /v1/responses '{"model":"o","input":"x","parallel_tool_calls":false,"tools":[{"type":"function","name":"f"}]}'
asked "responses: one call at a time" o .parallel_tool_calls false
tells "which the response says" .parallel_tool_calls false
post /v1/messages '{"model":"r","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}'
asked "messages: one call at a time" r .parallel_tool_calls false
post /v1/messages '{"model":"a","max_tokens":9,"messages":[{"role":"user","content":"top"}],"top_k":40}'
same "messages: top_k reaches the model" 40 "$(jq -c 'select(.instance == "a" and (.body.messages | tostring | test("top"))).body.top_k' "$log")"

for stop in '""' '[""]' '"x"'; do
    post /v1/chat/completions '{"model":"o","messages":[{"role":"user","content":"x"}],"stop":'"$stop"'}'
done
asked "chat: an empty stop sequence is none" o '[.stop // empty]' "$(printf '%s\n' '[]' '[]' '[]' '[["x"]]')"

# A NUL ends no text: the instructions after it reach the model, and a stop sequence is not cut to its beginning.
post /v1/chat/completions '{"model":"o","messages":[{"role":"system","content":"nul\u0000omega"},{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","description":"one\u0000two"}}]}'
same "instructions and a description with a NUL" 'true true' \
    "$(jq -r 'select(.instance == "o" and (.body | tostring | test("nul\uFFFDomega"))).body | [(.messages[0].content | test("omega")), (.tools[0].function.description == "one\uFFFDtwo")] | join(" ")' "$log")"
for stop in '"a\u0000b"' '["a","\u0000"]'; do
    chat "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"stop\":$stop"
    named stop
done

# --- Chat Completions
chat '"messages":[{"role":"user","content":"patch"}],"tools":[{"type":"custom","custom":{"name":"apply_patch","description":"Patches."}}]'
tells "chat: a tool with free text" '.choices[0].message.tool_calls[0] | [.type, .custom.name, .custom.input] | join(" ")' 'custom apply_patch *** Begin'
functions='"functions":[{"name":"get_place","parameters":{"type":"object"}}],"function_call":"auto"'
chat "\"messages\":[{\"role\":\"user\",\"content\":\"where\"}],$functions"
tells "chat: functions" '.choices[0] | [.finish_reason, .message.function_call.name, (.message | has("tool_calls"))] | map(tostring) | join(" ")' 'function_call get_place false'
message=$(jq -c .choices[0].message "$out")
chat "\"messages\":[{\"role\":\"user\",\"content\":\"where\"},$message,{\"role\":\"function\",\"name\":\"get_place\",\"content\":\"Oslo\"}],$functions"
tells "and a function's result" .choices[0].message.content "it said: Oslo"
chat '"messages":[{"role":"user","content":[{"type":"text","text":"read"},{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;charset=utf-8;base64,aGk="}}]}]'
answers "chat: a data URL with a parameter" 200
chat '"messages":[{"role":"user","content":"think"}]'
tells "chat: reasoning" .choices[0].message.reasoning_content "hm hm"
chat '"stream":true,"messages":[{"role":"user","content":"think"}]'
same "chat: reasoning, streamed" "hm hm" "$(chunks | jq -j '.choices[0].delta.reasoning_content // ""')"
chat '"messages":[{"role":"user","content":"where"}],"tool_choice":"any","tools":[{"type":"function","function":{"name":"get_place"}}]'
tells "chat: any tool" .choices[0].finish_reason tool_calls
chat '"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search"}]'
check "chat: a tool of the vendor" grep -qi '^x-chela-warning: .*web_search' "$err"
chat '"messages":[{"role":"user","content":"limit"}]'
answers "chat: a rate limit" 429
chat '"messages":[{"role":"user","content":"busy"}]'
answers "chat: an overload" 503
same "with one delay" 'retry-after: 1' "$(grep -i '^retry-after' "$err" | tr -d '\r' | tr '[:upper:]' '[:lower:]')"
post /v1/chat/completions '{"model":"busy","messages":[{"role":"user","content":"x"}]}'
same "an overload with a delay: one delay, the service's" '503 retry-after: 2' "$code $(grep -i '^retry-after' "$err" | tr -d '\r' | tr '[:upper:]' '[:lower:]')"

# --- the clients count the tokens that were written to a cache
for stream in false true; do
    chat "\"messages\":[{\"role\":\"user\",\"content\":\"cached\"}],\"stream\":$stream,\"stream_options\":{\"include_usage\":true}"
    usage=$(if $stream; then chunks | jq -c '.usage // empty'; else jq -c .usage "$out"; fi)
    same "chat: cached tokens, streamed $stream" "20 30" "$(jq -r '.prompt_tokens_details | "\(.cached_tokens) \(.cache_write_tokens)"' <<<"$usage")"
    ask "\"input\":\"cached\",\"stream\":$stream"
    usage=$(if $stream; then chunks | jq -c 'select(.type == "response.completed").response.usage'; else jq -c .usage "$out"; fi)
    same "responses: cached tokens, streamed $stream" "20 30" "$(jq -r '.input_tokens_details | "\(.cached_tokens) \(.cache_write_tokens)"' <<<"$usage")"
done

# --- the clients show the id of a response in their errors, and the log has it
has_id() { # HEADER
    local id
    id=$(sed -n "s/^$1: \(req_[0-9a-f]*\).*/\1/Ip" "$err")
    [ -n "$id" ] && grep -q " $id$" "$serve_log"
}
chat '"messages":[{"role":"user","content":"hello"}]'
check "chat: the id of a response" has_id x-request-id
chat '"stream":true,"messages":[{"role":"user","content":"hello"}]'
check "of a stream" has_id x-request-id
messages '"messages":[{"role":"user","content":"limit"}]'
check "messages: of a failure" has_id request-id
anon POST /v1/messages -H 'Content-Type: application/json' --data '{}'
check "of a refusal" has_id request-id

# --- Messages
messages '"system":[{"type":"text","text":"Be kind."}],"messages":[{"role":"user","content":"hello"}]'
tells "a message" '[.type, .role, .stop_reason, .content[0].text] | join(" ")' 'message assistant end_turn you said: hello'
for stream in false true; do
    post /v1/messages "{\"model\":\"ended\",\"max_tokens\":99,\"messages\":[{\"role\":\"user\",\"content\":\"count\"}],\"stop_sequences\":[\"x\",\"</end>\"],\"stream\":$stream}"
    last=$(if $stream; then chunks | jq 'select(.type == "message_delta").delta'; else cat "$out"; fi)
    same "a stop sequence that ended the reply, streamed $stream" "stop_sequence </end>" "$(jq -r '[.stop_reason, .stop_sequence] | join(" ")' <<<"$last")"
done
messages '"stream":true,"messages":[{"role":"user","content":"think"}]'
same "a stream" "message_start content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_stop message_delta message_stop" "$(chunks | jq -r .type | uniq | paste -sd' ')"
same "with an estimate of its input" true "$(chunks | jq '.message.usage.input_tokens // empty | . > 100 and . < 400')"
same "with thinking and its seal" "thinking_delta signature_delta text_delta" "$(chunks | jq -r '.delta.type // empty' | uniq | paste -sd' ')"
messages '"thinking":{"type":"disabled"},"messages":[{"role":"user","content":"think"}]'
tells "thinking that is off is not shown" '[.content[].type] | join(",")' text
tool='"tools":[{"name":"get_place","description":"Where.","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"any"}'
messages "\"messages\":[{\"role\":\"user\",\"content\":\"where\"}],$tool"
tells "a call" '[.stop_reason, .content[1].type, .content[1].name, .content[1].input.near] | join(" ")' 'tool_use tool_use get_place me'
check "a tool of the vendor is left out" grep -qi '^x-chela-warning: .*web_search_20250305' "$err"
content=$(jq -c .content "$out") id=$(jq -r .content[1].id "$out")
messages "\"messages\":[{\"role\":\"user\",\"content\":\"where\"},{\"role\":\"assistant\",\"content\":$content},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"$id\",\"content\":[{\"type\":\"text\",\"text\":\"Oslo\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"AAAA\"}}]}]}],$tool"
tells "its result" .content[0].text "it said: Oslo"
calls='{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}'
messages "\"messages\":[{\"role\":\"user\",\"content\":\"x\"},$calls,{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"A\"}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"b\",\"content\":\"B\"},{\"type\":\"text\",\"text\":\"go on\"}]}]"
tells "results in two messages" .content[0].text "you said: go on"
messages '"messages":[{"role":"user","content":"limit"}]'
answers "a rate limit" 429
tells "in its form" '.type + " " + .error.type' 'error rate_limit_error'
messages '"messages":[{"role":"user","content":"busy"}]'
answers "an overload" 529
tells "in its form, too" .error.type overloaded_error
post /v1/messages '{"model":"thinker","max_tokens":999,"messages":[{"role":"user","content":"go"}]}'
tells "tokens of thinking" '.usage | "\(.output_tokens) \(.output_tokens_details.thinking_tokens)"' "25 20"
messages '"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":"x"}]'
answers "a call without a result" 400
tells "is the request's fault" .error.type invalid_request_error
messages '"thread":{"type":"create"},"messages":[{"role":"user","content":"hello"}]'
answers "a conversation that the server would hold" 400
tells "the code by which clients send the whole" .error.details.error_code thread_unsupported_request
post /v1/messages/count_tokens '{"model":"coder","messages":[{"role":"user","content":"hello"}]}'
tells "tokens" '.input_tokens > 0 and .input_tokens < 20' true
anon POST /v1/messages -H 'Content-Type: application/json' -H "X-Api-Key: $token" --data '{"model":"coder","messages":[{"role":"user","content":"hello"}]}'
answers "the token as a key" 200
anon GET /v1/models -H "X-Api-Key: $token" -H 'anthropic-version: 2023-06-01'
answers "also for the list of models" 200
tells "which has the members of both protocols" '[.object, .first_id, .last_id, .has_more, (.data[0] | .object, .type, .display_name, .created_at, .created)] | join(" ")' \
    'list coder ended false model model coder 1970-01-01T00:00:00Z 0'
anon GET /v1/models/coder -H "X-Api-Key: $token" -H 'anthropic-version: 2023-06-01'
tells "and one of them" '[.type, .id, .display_name] | join(" ")' 'model coder coder'
anon GET /v1/models/nobody -H "X-Api-Key: $token" -H 'anthropic-version: 2023-06-01'
answers "one that is unknown" 404
tells "in Anthropic's form" .error.type not_found_error
anon GET /v1/messages/batches -H "X-Api-Key: $token" -H 'anthropic-version: 2023-06-01'
answers "a route that only Anthropic has" 404
tells "in its form, with the right key" .error.type not_found_error
tells "which its clients know" .type error
anon POST /v1/messages -H 'Content-Type: application/json' -H 'X-Api-Key: wrong-wrong-wrong-wrong' --data '{}'
answers "a wrong key" 401
tells "is told in its form" .error.type authentication_error
anon POST /v1/chat/completions -H 'Content-Type: application/json' -H "X-Api-Key: $token" --data '{}'
answers "elsewhere a key is nothing" 401

# --- the streams whose agent works in silence
for _ in {1..300}; do
    [ "$(grep -l 'still here' "$tmp"/quiet.* 2>/dev/null | wc -l)" = 6 ] && break
    sleep 0.2
done
same "six quiet streams have begun" 6 "$(grep -l '^: still here' "$tmp"/quiet.* | wc -l)"
: >"$tmp/wake"
# shellcheck disable=SC2086
wait $quiet_pids
check "chat: then it answers" grep -q '^data: \[DONE\]' "$tmp/quiet.chat.nap"
check "chat: or fails" grep -q '^data: {"error":.*did not accept this request' "$tmp/quiet.chat.fails"
check "responses: then it answers" grep -q '^event: response.completed' "$tmp/quiet.responses.nap"
check "responses: or fails" grep -q '^data: {"type":"response.failed".*did not accept this request' "$tmp/quiet.responses.fails"
check "messages: then it answers" grep -q '^event: message_stop' "$tmp/quiet.messages.nap"
check "messages: or fails" grep -q '^data: {"type":"error".*did not accept this request' "$tmp/quiet.messages.fails"
tap_done

#!/usr/bin/env bash
# What particular vendors do with a conversation: they report another model than
# the requested one, and expect their reasoning back all the same; they refuse
# some orders of roles.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

# Chunks of Chat Completions as a stream.
sse() { jq -rj '"data: \(tojson)\n\n"' && printf 'data: [DONE]\n\n'; }
# A reply of the router: MODEL and a delta.
chunk() { jq -nc --arg m "$1" --argjson d "$2" --arg f "$3" '{id: "gen-1", model: $m, choices: [{index: 0, delta: $d, finish_reason: $f}]}'; }
details='[{"type":"reasoning.encrypted","data":"b3BhcXVl","index":0}]'
call='{"role":"assistant","reasoning":"Hm.","reasoning_details":'$details',"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"ls","arguments":"{}"}}]}'
chunk maker/model-2-20260101 "$call" tool_calls | sse >"$tmp/call.sse"
chunk maker/model-2-20260101 '{"role":"assistant","content":"done"}' stop | sse >"$tmp/answer.sse"
jq -n --rawfile c "$tmp/call.sse" --rawfile a "$tmp/answer.sse" \
    '{replies: ([$c, $a, $a] | map({content_type: "text/event-stream", body: .}))}' >"$tmp/router.json"
jq -n '{replies: [
    {blocks: [{call: {name: "read", arguments: ["{\"file_path\":\"a.txt\",\"lmit\":1}"]}},
              {call: {name: "ls", arguments: ["{\"recursive_depth\":5}"]}}]},
    {blocks: [{text: ["done"]}]}]}' >"$tmp/unknown.json"
jq -n '{replies: [
    {blocks: [{call: {name: "s__closed", arguments: ["{\"text\":\"a\",\"txet\":1}"]}},
              {call: {name: "s__echo", arguments: ["{\"text\":\"a\",\"txet\":1}"]}},
              {call: {name: "shut", arguments: ["{\"nmae\":\"a\"}"]}},
              {call: {name: "open", arguments: ["{\"nmae\":\"a\"}"]}}]},
    {blocks: [{text: ["done"]}]}]}' >"$tmp/foreign.json"
jq -n '{replies: [{blocks: [{refusal: ["No."]}], stop: "refusal"}]}' >"$tmp/refusal.json"
jq -n '{replies: ([range(10) | {blocks: [{call: {name: "calculate", arguments: [{expression: "\(.)+1"} | tojson]}}]}] + [{blocks: [{text: ["done"]}]}])}' >"$tmp/rounds.json"
start_server

configure() {
    cat >"$space/chela.yaml" <<YAML
agents: { defaults: { model: router/maker/model-2.0 } }
providers:
  router: { api: openai, baseUrl: "$base", apiKeyEnv: OPENAI_API_KEY }
YAML
}

fresh router openai
configure
chela run --session one --output jsonl "go on"
exits "another model name in the reply" 0
same "reasoning goes back inside a tool loop" "[\"Hm.\",$details]" \
    "$(requests 'select(.n == 1) | .body.messages[] | select(.tool_calls) | [.reasoning, .reasoning_details]')"
chela run --session one --output jsonl "and on"
exits "the next run of the session" 0
same "reasoning goes back in a later run" "[\"Hm.\",$details]" \
    "$(requests 'select(.n == 2) | .body.messages[] | select(.tool_calls) | [.reasoning, .reasoning_details]')"

# A tool loop ends with results: the reminder, the caution about repeated calls and the closing
# request are inside the last one. Mistral refuses a request that has more (HTTP 400).
cat >"$space/chela.yaml" <<YAML
agents: { defaults: { model: mistral/mistral-large-latest, limits: { sumUp: true }, context: { rules: [Be exact.], reminder: Answer in German. } } }
YAML
for api in openai anthropic; do
    fresh rounds $api
    model=$(if [ $api = openai ]; then echo mistral/mistral-large-latest; else model $api; fi)
    chela run --model "$model" --base-url "$base" --api-key-env OPENAI_API_KEY --max-turns 10 --output jsonl "go on"
    exits "$model: a long tool loop" 3
    same "$model: no request is refused" '[]' "$(requests '.problems' | jq -sc 'map(select(length > 0))')"
    same "$model: every request but the first ends with results" true "$(requests '
        if .n == 0 then true else .body.messages[-1] |
            if .role == "tool" then true else [.content[].type] | unique == ["tool_result"] end end' | jq -sc all)"
    same "$model: the reminder is in the first message, and once in a result" "[1,1]" "$(requests | tail -n 1 | jq -c '[.body.messages[] | tojson | select(contains("Answer in German."))] |
        [(map(select(contains("go on"))) | length), (map(select(contains("still hold"))) | length)]')"
    check "$model: the closing request says so in the last result" jq -e '.body.messages[-1] | tojson |
        contains("<runtime_note>") and contains("No tool can be called any more")' <(requests | tail -n 1)
done
rm -f "$space/chela.yaml"

# A parameter that a tool does not have is an error, with the nearest name.
rm -f "$space/chela.yaml"
echo hello >"$space/a.txt"
play openai unknown --output jsonl
exits "unknown parameters" 0
holds "unknown parameters: both calls fail" '[.[] | select(.type == "tool_result") | .is_error] == [true, true]'
holds "unknown parameters: the nearest name" \
    '[.[] | select(.type == "tool_result") | .content] | (.[0] | test("lmit.*did you mean .limit")) and (.[1] | test("recursive_depth"))'

# Tools of others: as their schema says.
if command -v python3 >/dev/null; then
    cat >"$space/chela.yaml" <<YAML
sandbox: { mode: off }
agents: { defaults: { tools: { allow: ["*"] } } }
tools:
  custom:
    - { name: shut, description: Shut., command: [cat], effect: read, permission: read, parameters: { type: object, properties: { name: { type: string } }, additionalProperties: false } }
    - { name: open, description: Open., command: [cat], effect: read, permission: read, parameters: { type: object, properties: { name: { type: string } } } }
mcp: { servers: { s: { command: [python3, "$PWD/tests/support/mcp/server.py", closed] } } }
YAML
    play openai foreign --output jsonl --approve auto
    exits "unknown parameters of tools of others" 0
    holds "unknown parameters: own programs and closed schemas refuse them" '[.[] | select(.type == "tool_result") | [.name, .is_error]] | sort == [["open", true], ["s__closed", true], ["s__echo", false], ["shut", true]]'
    holds "unknown parameters: the nearest name, also there" \
        '[.[] | select(.type == "tool_result" and .is_error) | .content] | any(test("txet.*did you mean .text")) and any(test("nmae.*did you mean .name"))'
    check "unknown parameters: the server is not called" test "$(grep -hc tools/call "$(find "$tmp" -name calls.log)")" = 1
    rm "$space/chela.yaml"
else
    skip "unknown parameters of tools of others" "python3 is not installed"
fi

# A refusal is no failure, but the person is told, and a script can see it.
play openai refusal -q
exits "a refusal" 6
check "a refusal is reported, even with -q" grep -q '^chela: refused' "$err"
# Pictures, sound and sources: a reply without words is an answer, and is paid for once.
png='iVBORw0KGgo='
google() { jq -nc --argjson p "$1" --argjson g "${2:-null}" '{candidates: [{index: 0, content: {role: "model", parts: $p}, finishReason: "STOP"} + (if $g then {groundingMetadata: $g} else {} end)],
    modelVersion: "gemini-3-pro-image", usageMetadata: {promptTokenCount: 5, candidatesTokenCount: 9}}' | jq -rj '"data: \(tojson)\n\n"'; }
google '[{"inlineData": {"mimeType": "image/png", "data": "'$png'"}, "thoughtSignature": "U0lH"}]' >"$tmp/picture.sse"
google '[{"inlineData": {"mimeType": "audio/L16;rate=16000", "data": "AQIDBA=="}}]' >"$tmp/sound.sse"
google '[{"text": "Spain won."}]' '{"webSearchQueries": ["euro"], "groundingChunks": [{"web": {"uri": "https://a.example/1", "title": "A"}}],
    "groundingSupports": [{"segment": {"endIndex": 5}, "groundingChunkIndices": [0]}]}' >"$tmp/grounded.sse"
jq -n --rawfile p "$tmp/picture.sse" --rawfile s "$tmp/sound.sse" --rawfile g "$tmp/grounded.sse" \
    '{replies: ([$p, $g, $s] | map({content_type: "text/event-stream", body: .}))}' >"$tmp/works.json"
fresh works gemini
rm -rf "${space:?}/media"
chela run --model gemini/gemini-3-pro-image --base-url "$base" --session works --output jsonl "draw"
exits "a picture and no words" 0
same "a picture: one request" 1 "$(requests '.n' | wc -l)"
holds "a picture: an event names the file" '[.[] | select(.type == "media")] | length == 1 and (.[0] | .media_type == "image/png" and .bytes == 8 and (.path | test("^media/image-.*\\.png$")))'
holds "a picture: run_end names the file" '.[-1].media == [.[] | select(.type == "media") | .path]'
same "a picture: the file has its bytes" "$png" "$(base64 "$space"/media/*.png)"
chela run --model gemini/gemini-3-pro-image --base-url "$base" --session works --output jsonl "who won?"
exits "sources" 0
same "the picture goes back to its author with its signature" "[\"$png\",\"U0lH\"]" \
    "$(requests 'select(.n == 1) | .body.contents[] | select(.role == "model") | .parts[0] | [.inlineData.data, .thoughtSignature]')"
holds "sources: run_end has them" '.[-1].citations == [{url: "https://a.example/1", title: "A", start: 0, end: 5}]'
holds "sources: the search is shown as the vendor'\''s" '[.[] | select(.type == "server_tool") | [.name, .arguments]] == [["google_search", {queries: ["euro"]}]]'
same "sources: no file of the earlier run is named" null "$(jq -sc '.[-1].media' "$out")"
chela run --model gemini/gemini-3-pro-image --base-url "$base" --session works "sing"
exits "a sound in text mode" 0
check "a sound: the answer is the file's name" grep -qE '^media/audio-.*\.wav$' "$out"
same "a sound: bare samples get a head" "RIFF 16000 4" "$(od -An -c -N4 "$space"/media/*.wav | tr -d ' \n') $(od -An -tu4 -j24 -N4 "$space"/media/*.wav | tr -d ' ') $(od -An -tu4 -j40 -N4 "$space"/media/*.wav | tr -d ' ')"
jq -n '{replies: [{blocks: [{text: ["done"]}]}]}' >"$tmp/after.json"
fresh after openai
chela run --model openai/gpt-5 --base-url "$base" --session works --output jsonl "and now?"
exits "the conversation goes to another vendor" 0
check "another vendor gets notes with the names of the files" jq -se '.[-1].body | tojson | test("\\[image media/image-[^\\]]*png") and test("\\[audio media/audio-") and (contains("'$png'") | not)' <(requests)

# A folder that cannot be written, or is a link: the run goes on, and a person is told.
rm -rf "${space:?}/media" && ln -s /tmp "$space/media"
fresh works gemini
chela run --model gemini/gemini-3-pro-image --base-url "$base" --output jsonl "draw"
exits "media is a link" 0
holds "media is a link: nothing is written through it" '[.[] | select(.type == "warning")] | length == 1'
holds "media is a link: the picture is reported without a file" '[.[] | select(.type == "media") | has("path")] == [false]'
rm -f "$space/media"

# Through the gateway, in each protocol that has a place for them.
jq -n --rawfile p "$tmp/picture.sse" --rawfile g "$tmp/grounded.sse" \
    '{replies: ([$p, $g, $p, $g, $g, $p] | map({content_type: "text/event-stream", body: .}))}' >"$tmp/served.json"
fresh served gemini
cat >"$space/chela.yaml" <<YAML
store: "memory:"
agents: { list: [{ id: artist, model: gemini/gemini-3-pro-image, retries: 0, tools: { allow: [] } }] }
providers: { gemini: { baseUrl: "$base", apiKeyEnv: GEMINI_API_KEY } }
YAML
program=$(realpath "$program")
export GEMINI_API_KEY=secret
serve
post /v1/chat/completions '{"model":"artist","messages":[{"role":"user","content":"draw"}]}'
tells "chat completions: a picture" '.choices[0].message.images[0].image_url.url' "data:image/png;base64,$png"
post /v1/chat/completions '{"model":"artist","messages":[{"role":"user","content":"who"}]}'
tells "chat completions: sources" '.choices[0].message.annotations | tojson' '[{"type":"url_citation","url_citation":{"url":"https://a.example/1","title":"A","start_index":0,"end_index":5}}]'
post /v1/responses '{"model":"artist","input":"draw"}'
tells "responses: a picture" '.output[0] | [.type, .output_format, .result] | join(" ")' "image_generation_call png $png"
post /v1/responses '{"model":"artist","input":"who"}'
tells "responses: sources" '.output[0].content[0].annotations | tojson' '[{"type":"url_citation","url":"https://a.example/1","title":"A","start_index":0,"end_index":5}]'
post /v1/chat/completions '{"model":"artist","stream":true,"messages":[{"role":"user","content":"who"}]}'
check "a stream of chat completions: sources before the end" grep -q '"delta":{"annotations":\[{"type":"url_citation"' "$out"
post /v1/chat/completions '{"model":"artist","stream":true,"messages":[{"role":"user","content":"draw"}]}'
check "a stream of chat completions: a picture" grep -q '"delta":{"images":\[{"type":"image_url"' "$out"
stop_serving
tap_done

#!/usr/bin/env bash
# What particular vendors do with a conversation: they report another model than
# the requested one, and expect their reasoning back all the same; they refuse
# some orders of roles.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

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

# A refusal is no failure, but the person is told.
play openai refusal -q
exits "a refusal" 0
check "a refusal is reported, even with -q" grep -q '^chela: refused' "$err"
tap_done

#!/usr/bin/env bash
# A thousand tools of MCP servers: where the service searches tools itself, all are sent and set
# aside; elsewhere find_tools and call_tool reach them. Either way the model reads little more, and
# a call gives the same result. The server refuses what the vendors refuse.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

needs "tools of MCP servers" python3
jq -n '{replies: [{blocks: [{text: ["done"]}]}]}' >"$tmp/plain.json"
say() { # NAME CALL-NAME ARGUMENTS: one call, then the answer
    jq -n --arg n "$2" --argjson a "$3" '{replies: [{blocks: [{call: {name: $n, arguments: [$a | tojson]}}]}, {blocks: [{text: ["done"]}]}]}' >"$tmp/$1.json"
}
say direct weather__weather_77 '{"place": "Rome"}'
say by_name call_tool '{"name": "weather__weather_77", "arguments": {"place": "Rome"}}'
say misfit weather__weather_78 '{"days": 3}'
say unheard weather__weather_9999 '{"place": "Rome"}'
start_server

many=$PWD/tests/support/mcp/many.py
with_tools() { # a configuration with or without the servers
    {
        echo 'store: sqlite:./chela.db'
        echo 'sandbox: { mode: off }'
        if [ "$1" -gt 0 ]; then
            cat <<YAML
mcp:
  servers:
    weather: { command: [python3, $many, weather, "$1"] }
    traffic: { command: [python3, $many, traffic, "$1"] }
YAML
        fi
    } >"$space/chela.yaml"
}
ask() { # MODEL CONVERSATION FLAG...
    local model=$1 name=$2
    shift 2
    fresh "$name" "${model%%/*}"
    chela run --model "$model" --base-url "$base" --approve auto --output jsonl "$@" "the weather in Rome"
}

# What the model reads: the request without what the service sets aside.
read_bytes() { requests 'select(.n == 0).body | .tools |= map(select(.defer_loading | not)) | tojson | length' | head -n 1; }

searching=(anthropic/claude-opus-5-5 openai-responses/gpt-6-sol)
others=(openai/gpt-test gemini/gemini-3-test anthropic/claude-opus-4-1)
for model in "${searching[@]}" "${others[@]}"; do
    with_tools 0
    ask "$model" plain
    few=$(read_bytes)
    with_tools 500
    ask "$model" plain
    same "$model: a thousand tools: the service takes the request" "0 " "$status $(requests '.problems[]')"
    more=$(($(read_bytes) - few))
    if [ "$more" -le 3072 ]; then ok "$model: a thousand tools: the model reads at most 3 KB more"; else not_ok "$model: a thousand tools: the model reads at most 3 KB more" "$more bytes"; fi
done

for model in "${searching[@]}"; do
    ask "$model" direct --session "${model%%/*}"
    same "$model: the tools that wait are sent, set aside" 1000 "$(requests 'select(.n == 0).body.tools | map(select(.defer_loading)) | length')"
    same "$model: the tools are the same bytes in both requests" 1 "$(requests '.body.tools | tojson' | sort -u | wc -l | tr -d ' ')"
    holds "$model: a tool that was set aside: its result" '[.[] | select(.type == "tool_result") | [.name, .content, .is_error]] == [["weather__weather_77", "weather_77 of Rome", false]]'
    same "$model: the service takes the result" "" "$(requests '.problems[]')"
    ask "$model" by_name
    holds "$model: the same result through call_tool" '[.[] | select(.type == "tool_result") | [.name, .content, .is_error]] == [["weather__weather_77", "weather_77 of Rome", false]]'
    ask "$model" misfit
    holds "$model: a tool that was never looked up: its schema counts" '[.[] | select(.type == "tool_result") | .is_error and (.content | test("missing required key .place."))] == [true]'
    ask "$model" unheard
    holds "$model: a tool that there is not: an error that says so" '[.[] | select(.type == "tool_result") | .is_error and (.content | test("no tool named"))] == [true]'
    ask "$model" plain --session "${model%%/*}" # a further turn, in another process
    holds "$model: another process: no epoch begins" 'all(.[]; .type != "epoch")'
done

# --- the service has searched: what it found goes back to it, and the call is answered
jq -n '{replies: [
  {content_type: "application/json", body: ({id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "tool_use", usage: {input_tokens: 1, output_tokens: 1}, content: [
    {type: "server_tool_use", id: "srvtoolu_1", name: "tool_search_tool_bm25", input: {query: "weather"}},
    {type: "tool_search_tool_result", tool_use_id: "srvtoolu_1", content: {type: "tool_search_tool_search_result", tool_references: [{type: "tool_reference", tool_name: "weather__weather_77"}]}},
    {type: "tool_use", id: "toolu_1", name: "weather__weather_77", input: {place: "Rome"}}]} | tojson)},
  {blocks: [{text: ["done"]}]}]}' >"$tmp/found_anthropic.json"
jq -n '{replies: [
  {content_type: "application/json", body: ({id: "resp_1", object: "response", status: "completed", model: "m", usage: {input_tokens: 1, output_tokens: 1}, output: [
    {type: "tool_search_call", id: "tsc_1", execution: "server", call_id: null, status: "completed", arguments: {paths: ["weather"]}},
    {type: "tool_search_output", id: "tso_1", execution: "server", call_id: null, status: "completed", tools: [{type: "function", name: "weather__weather_77", parameters: {type: "object"}, strict: false, defer_loading: true}]},
    {type: "function_call", id: "fc_1", call_id: "call_1", name: "weather__weather_77", namespace: "weather", arguments: "{\"place\": \"Rome\"}", status: "completed"}]} | tojson)},
  {blocks: [{text: ["done"]}]}]}' >"$tmp/found_openai-responses.json"
ask anthropic/claude-opus-5-5 found_anthropic
holds "anthropic: a tool that the service found: its result" '[.[] | select(.type == "tool_result").content] == ["weather_77 of Rome"]'
same "anthropic: the service takes what it found" "0 " "$status $(requests '.problems[]')"
same "anthropic: the search is declared" '[{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}]' \
    "$(requests 'select(.n == 0).body.tools | map(select(.type))')"
same "anthropic: the search and what it found go back" '["server_tool_use","tool_search_tool_result","tool_use"]' \
    "$(requests 'select(.n == 1).body.messages[1].content | map(.type)')"
ask openai-responses/gpt-6-sol found_openai-responses
holds "openai-responses: a tool that the service found: its result" '[.[] | select(.type == "tool_result").content] == ["weather_77 of Rome"]'
same "openai-responses: the service takes what it found" "0 " "$status $(requests '.problems[]')"
same "openai-responses: the search is declared" '[{"type":"tool_search"}]' "$(requests 'select(.n == 0).body.tools | map(select(.type != "function"))')"
same "openai-responses: the search and what it found go back" '["tool_search_call","tool_search_output","function_call","function_call_output"]' \
    "$(requests 'select(.n == 1).body.input | map(.type) | .[1:]')"
same "openai-responses: so does the namespace" '"weather"' "$(requests 'select(.n == 1).body.input[] | select(.type == "function_call").namespace')"

for model in "${others[@]}"; do
    ask "$model" by_name
    holds "$model: call_tool reaches a tool that waits" '[.[] | select(.type == "tool_result") | [.name, .content, .is_error]] == [["weather__weather_77", "weather_77 of Rome", false]]'
    same "$model: nothing is set aside" 0 "$(requests 'select(.n == 0).body | tostring | [scan("defer_loading")] | length')"
done

# A search of the operator's own is not declared twice, and a model that changes gets what it knows.
{
    cat "$space/chela.yaml"
    echo 'agents: { defaults: { serverTools: { anthropic: [{ type: tool_search_tool_regex_20251119, name: tool_search_tool_regex }] } } }'
} >"$space/own.yaml"
mv "$space/own.yaml" "$space/chela.yaml"
ask anthropic/claude-opus-5-5 plain --session moved
same "a search of the operator's own: the only one" '["tool_search_tool_regex"]' "$(requests '.body.tools | map(select(.type).name)')"
ask openai/gpt-test by_name --session moved
holds "another service in the same session: call_tool is there" '[.[] | select(.type == "tool_result") | .is_error] == [false]'
same "another service in the same session: it takes the request" "" "$(requests '.problems[]')"
tap_done

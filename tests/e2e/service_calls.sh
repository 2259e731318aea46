#!/usr/bin/env bash
# A call that the service has run is no call of ours: nothing is run or answered, and the text is the answer.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

case_of() { # NAME API
    jq -c --arg k "$1" '.[$k]' <<'JSON' >"$tmp/parts.json"
{
  "web_search": [{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}],
  "x_search": [{"type": "x_search_call", "id": "xs_1", "status": "completed", "action": {"type": "search", "query": "x"}}],
  "code_interpreter": [{"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1+1", "container_id": "c", "outputs": [{"type": "logs", "logs": "2"}]}],
  "file_search": [{"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["x"], "results": null}],
  "mcp": [{"type": "mcp_list_tools", "id": "m0", "server_label": "d", "tools": []},
          {"type": "mcp_call", "id": "m1", "name": "roll", "arguments": "{}", "server_label": "d", "output": "4", "status": "completed"}],
  "hosted shell": [{"type": "shell_call", "id": "sh_1", "call_id": "call_s", "status": "completed", "action": {"commands": ["ls"]}},
                   {"type": "shell_call_output", "id": "so_1", "call_id": "call_s", "output": []}],
  "server_tool_use": [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
                      {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}],
  "bash_code_execution": [{"type": "server_tool_use", "id": "srvtoolu_2", "name": "bash_code_execution", "input": {"command": "ls"}},
                          {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_2",
                           "content": {"type": "bash_code_execution_result", "stdout": "", "stderr": "", "return_code": 0, "content": []}}],
  "mcp_tool_use": [{"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "roll", "server_name": "d", "input": {}},
                   {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": false, "content": []}],
  "executableCode": [{"executableCode": {"language": "PYTHON", "code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}],
  "toolCall": [{"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}, "id": "t1"}},
               {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {}, "id": "t1"}}],
  "code_execution_call": [{"type": "code_execution_call", "id": "c1", "arguments": {"code": "1", "language": "python"}},
                          {"type": "code_execution_result", "call_id": "c1", "result": "1", "is_error": false}],
  "mcp_server_tool_call": [{"type": "mcp_server_tool_call", "id": "m1", "name": "ask", "server_name": "s", "arguments": {}},
                           {"type": "mcp_server_tool_result", "call_id": "m1", "name": "ask", "result": "yes"}]
}
JSON
    case $2 in
        openai-responses) jq '{id: "resp_1", object: "response", status: "completed", model: "m", usage: {input_tokens: 1, output_tokens: 1}, output: (. +
            [{type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{type: "output_text", text: "done", annotations: []}]}])}' "$tmp/parts.json" ;;
        anthropic) jq '{id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "end_turn", usage: {input_tokens: 1, output_tokens: 1},
            content: (. + [{type: "text", text: "done"}])}' "$tmp/parts.json" ;;
        gemini) jq '{usageMetadata: {promptTokenCount: 1, candidatesTokenCount: 1},
            candidates: [{finishReason: "STOP", content: {role: "model", parts: (. + [{text: "done"}])}}]}' "$tmp/parts.json" ;;
        interactions) jq '{id: "v1_1", status: "completed", steps: (. + [{type: "model_output", content: [{type: "text", text: "done"}]}])}' "$tmp/parts.json" ;;
    esac
}

while IFS='|' read -r api name; do
    case_of "$name" "$api" >"$space/body.json"
    chela wire decode --api "$api" body.json
    same "$api, $name: no call, and the answer" '["stop",[],"done"]' "$(jq -c '[.stop, .tool_calls, .text]' "$out")"
done <<'CASES'
openai-responses|web_search
openai-responses|x_search
openai-responses|code_interpreter
openai-responses|file_search
openai-responses|mcp
openai-responses|hosted shell
anthropic|server_tool_use
anthropic|bash_code_execution
anthropic|mcp_tool_use
gemini|executableCode
gemini|toolCall
interactions|code_execution_call
interactions|mcp_server_tool_call
CASES

# --- xAI's own searches come as custom calls, which are ours only if the request has the tool
jq -n '{about: "a custom call that the service ran", replies: [{content_type: "application/json", body: ({id: "resp_1", object: "response", status: "completed", model: "m",
    usage: {input_tokens: 1, output_tokens: 1}, output: [{type: "custom_tool_call", id: "ct_1", call_id: "call_1", name: "x_keyword_search", input: "{}", status: "completed"},
    {type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{type: "output_text", text: "done", annotations: []}]}]} | tojson)}]}' >"$tmp/searched.json"
start_server
play openai-responses searched -q
same "a custom call of the service: the answer, and one request" "0 done 1" "$status $(cat "$out") $(requests .n | wc -l | tr -d ' ')"

# --- calls whose arguments are larger than the conversation can hold
cat >"$tmp/large.json" <<'JSON'
{"about": "arguments of 10 MB", "replies": [
  {"blocks": [{"call": {"name": "ls", "arguments": ["{\"path\":\".\"}"]}},
              {"call": {"name": "write", "arguments": ["{\"path\":\"a.txt\",\"content\":\"", {"repeat": "word ", "times": 2000000}, "\"}"]}}]},
  {"blocks": [{"text": ["done"]}]}]}
JSON
for api in anthropic openai; do
    play "$api" large --approve auto --output jsonl
    same "$api: a call that is too large does not end the run" "0 done" "$status $(jq -r 'select(.type == "run_end").text' "$out")"
    same "$api: it gets an error result, the call beside it its result" "ls false|write true invalid_arguments" \
        "$(jq -r 'select(.type == "tool_result") | "\(.name) \(.is_error)\(if .error_type then " " + .error_type else "" end)"' "$out" | sort | paste -sd'|')"
    check "$api: it was not run" [ ! -e "$space/a.txt" ]
    check "$api: the next request is small" [ "$(requests 'select(.n == 1).body | tostring | length')" -lt 100000 ]
    check "$api: and has a place for it" grep -q _left_out <<<"$(requests 'select(.n == 1).body')"
    same "$api: the service takes it" "" "$(requests '.problems[]')"
done

# --- a request that is encoded by hand names what has no effect
cat >"$space/request.json" <<'JSON'
{"messages": [{"role": "user", "content": "hi"}], "mood": "good",
 "tools": [{"name": "f", "parameters": {"type": "object"}}, {"name": "g", "defer_loading": true, "allowed_callers": ["code_execution_20260120"], "strict": false, "x": false}]}
JSON
for api in "${apis[@]}"; do
    chela wire encode --api "$api" --model m request.json
    want='["mood","tools[1].defer_loading","tools[1].allowed_callers"]'
    case $api in anthropic | openai-responses) want='["mood"]' ;; esac
    same "$api: members without effect are named" "$want" "$(jq -c .dropped "$out")"
    [ "$want" = '["mood"]' ] || continue
    same "$api: a tool set aside, and who may call it, are sent" '[true,["code_execution_20260120"]]' \
        "$(jq -c '.body.tools[] | select(.name == "g") | [.defer_loading, .allowed_callers]' "$out")"
done
printf '{"messages": [{"role": "user", "content": "hi"}]}' >"$space/request.json"
chela wire encode --api openai --model m request.json
same "nothing is named where all has effect" null "$(jq -c .dropped "$out")"
tap_done

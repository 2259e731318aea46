#!/usr/bin/env bash
# run --output stream-json and --input stream-json: the lines of another agent's headless mode,
# read and written as programs made for that mode do.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

cat >"$space/ask" <<'SCRIPT'
#!/bin/sh
cat >>asked
echo "done it"
SCRIPT
chmod +x "$space/ask"
cat >"$space/chela.yaml" <<'YAML'
tools:
  custom:
    - { name: deploy, description: Ships it., command: [./ask], permission: write, confirm: true,
        parameters: { type: object } }
YAML
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^add" , after: none }, think: "let me see", say: "I add.", call: { tool: calculate, args: { expression: "2 + 40" } } }
  - { when: { user: "^add" }, say: "it is {{result}}" }
  - { when: { user: "^deploy", after: none }, call: { tool: deploy, args: { to: prod } } }
  - { when: { user: "^deploy" }, say: "deploy said: {{result}}" }
  - { when: { user: "^refuse" }, say: "I will not.", stop: refusal }
  - { when: { user: "^wait" , after: none }, call: { tool: exec, args: { command: "sleep 30" } } }
  - { when: { user: "^loop" }, call: { tool: calculate, args: { expression: "1" } } }
  - { say: "you said: {{user}}" }
YAML
ask() {
    chela run --model scripted/rules.yaml --output stream-json "$@"
}

# --- output
ask "add it"
exits "a run with a call" 0
holds "the first line is system init, the last is result, and each has a session and its own id" \
    '.[0] | .type == "system" and .subtype == "init"'
holds "the last line is the result" '.[-1].type == "result"'
holds "every line has the session and a uuid of its own" \
    '([.[].session_id] | unique | length == 1 and (.[0] | test("^s_"))) and ([.[].uuid] | length == (unique | length)) and all(.uuid | test("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"))'
holds "init names model, directory, tools and the mode of approvals" \
    '.[0] | .model == "scripted/rules.yaml" and (.cwd | test("/space$")) and (.tools | index("calculate")) and .permissionMode == "dontAsk" and (.mcp_servers == []) and (.slash_commands | type == "array")'
holds "each block of a reply is a line of type assistant with the same message id" \
    '[.[] | select(.type == "assistant")] | ([.[].message.content[0].type] == ["thinking", "text", "tool_use", "text"]) and (.[0].message.id == .[2].message.id) and (.[2].message.id != .[3].message.id) and all(.message.role == "assistant" and .parent_tool_use_id == null and (.message.content | length == 1))'
holds "a tool call has id, name and input" \
    '[.[] | select(.type == "assistant") | .message.content[0] | select(.type == "tool_use")] | length == 1 and (.[0] | .name == "calculate" and .input == {expression: "2 + 40"} and (.id | length > 0))'
holds "a tool result is a line of type user with the id of the call" \
    '([.[] | .message.content[0]? | select(.type == "tool_use").id]) as $ids | [.[] | select(.type == "user")] | length == 1 and (.[0].message.content[0] | .type == "tool_result" and .tool_use_id == $ids[0] and .content == "42" and .is_error == false)'
holds "the result has text, turns, usage, cost and times" \
    '.[-1] | .subtype == "success" and .is_error == false and .result == "it is 42" and .num_turns == 2 and (.usage.input_tokens > 0) and (.usage.output_tokens > 0) and (.total_cost_usd | type == "number") and (.duration_ms >= 0) and (.duration_api_ms >= 0) and .stop_reason == "end_turn" and .permission_denials == [] and (.modelUsage["scripted/rules.yaml"].outputTokens > 0)'
check "stderr has no events" test ! -s "$err"

ask --include-partial-messages "add it"
holds "pieces of a reply are stream events between message_start and message_stop" \
    '[.[] | select(.type == "stream_event").event] | (.[0].type == "message_start") and ([.[].type] | index("message_stop")) and ([.[] | select(.delta.type? == "text_delta").delta.text] | join("") | test("^I add.it is 42$")) and ([.[] | select(.delta.type? == "input_json_delta").delta.partial_json | fromjson] == [{expression: "2 + 40"}])'
holds "blocks of a reply are counted from 0" \
    '[.[] | select(.type == "stream_event").event | select(.type == "content_block_start").index] == [0, 1, 2, 0]'

# --- ends, each with our own exit code
ask "refuse"
exits "a refusal" 6
holds "a refusal is an error with its reason" '.[-1] | .is_error and .stop_reason == "refusal" and .status == "declined" and .reason == "refused"'
ask --max-turns 2 "loop"
exits "a limit of turns" 3
holds "a limit of turns is error_max_turns" '.[-1] | .subtype == "error_max_turns" and .is_error and .num_turns == 3 and (.errors | length == 1)'
ask "deploy"
exits "a call that nobody approves" 0
holds "a refused call is listed with its input" \
    '.[-1].permission_denials | length == 1 and (.[0] | .tool_name == "deploy" and .tool_input == {to: "prod"})'
ask --approve ask "deploy"
exits "a paused run" 5
holds "a paused run is an error result that says why" '.[-1] | .type == "result" and .is_error and .status == "paused" and .reason == "approval_required"'
ask --model scripted/none.yaml "x"
exits "a model that does not exist" 2
holds "a run that did not begin still has one result line" 'length == 1 and (.[0] | .type == "result" and .subtype == "error_during_execution" and .is_error and (.errors[0] | test("none.yaml")))'

# --- input
feed() { # LINE...; the rest of the flags are in $flags
    printf '%s\n' "$@" >"$tmp/in"
    # shellcheck disable=SC2086
    stdin=$tmp/in chela run --model scripted/rules.yaml --output stream-json --input stream-json ${flags-}
}
feed '{"type":"user","message":{"role":"user","content":"one"}}' \
    '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"two"}]},"session_id":"x","parent_tool_use_id":null}'
exits "two messages" 0
holds "each message is a run of the same session with its own result" \
    '[.[] | select(.type == "result")] | length == 2 and (.[0].result == "you said: one") and (.[1].result == "you said: two") and (.[0].session_id == .[1].session_id)'
flags=--replay-user-messages feed '{"type":"user","message":{"role":"user","content":"one"}}'
holds "a message is printed again on demand" '[.[] | select(.type == "user" and .isReplay)] | length == 1 and .[0].message.content == "one"'
printf '{"type":"user","message":{"role":"user","content":"no line end"}}' >"$tmp/in"
stdin=$tmp/in ask --input stream-json
holds "a last line without its end counts" '.[-1].result == "you said: no line end"'
feed '{"type":"user","message":{"role":"user","content":"[1] is a text"}}'
holds "a text that looks like an array is a text" '.[-1].result == "you said: [1] is a text"'
feed '{"type":"control_request","request_id":"r1","request":{"subtype":"initialize","hooks":null}}' \
    '{"type":"control_request","request_id":"r2","request":{"subtype":"unheard_of"}}' \
    '{"type":"user","message":{"role":"user","content":"hi"}}'
holds "initialize is answered" '[.[] | select(.type == "control_response").response] | .[0] == {subtype: "success", request_id: "r1", response: {}}'
holds "a request that is not supported is answered with an error" '[.[] | select(.type == "control_response").response] | .[1].subtype == "error" and (.[1].error | test("unheard_of"))'

# --- input that is wrong
feed '{"type":"user","message":{"role":"user","content":"good"}}' 'nonsense'
exits "a line that is no JSON" 2
holds "what came before it was answered; then a result names the line" \
    '[.[] | select(.type == "result")] | .[0].result == "you said: good" and .[1].is_error and (.[1].errors[0] | test("line 2"))'
feed '{"type":"user"}'
exits "a message without content" 2
feed '{"type":"user","message":{"content":[{"type":"sound"}]}}'
exits "a block of an unknown type" 2
feed ''
exits "no message" 2
chela run --model scripted/rules.yaml --input stream-json words
exits "words and --input stream-json" 2

# --- questions about calls, asked and answered on the two streams
converse() { # ANSWER: the response to can_use_tool
    rm -f "$space/asked" "$tmp/fifo"
    mkfifo "$tmp/fifo"
    (cd "$space" && with_env timeout -k 5 "$seconds" "$program" run --model scripted/rules.yaml --output stream-json \
        --input stream-json --approve ask <"$tmp/fifo" >"$out" 2>"$err") &
    local pid=$!
    exec 8>"$tmp/fifo"
    echo '{"type":"user","message":{"role":"user","content":"deploy"}}' >&8
    for _ in {1..600}; do
        grep -q can_use_tool "$out" && break
        sleep 0.1
    done
    [ -z "$1" ] || printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":%s}}\n' \
        "$(jq -r 'select(.type == "control_request").request_id' "$out")" "$1" >&8
    exec 8>&-
    wait $pid
    status=$?
}
converse '{"behavior":"allow","updatedInput":{"to":"prod"}}'
exits "an allowed call" 0
holds "the question names tool, input and call" \
    '([.[] | .message.content[0]? | select(.type == "tool_use").id]) as $ids | [.[] | select(.type == "control_request").request] | length == 1 and (.[0] | .subtype == "can_use_tool" and .tool_name == "deploy" and .input == {to: "prod"} and .tool_use_id == $ids[0])'
holds "an allowed call runs" '.[-1].result | test("done it")'
converse '{"behavior":"allow","updatedInput":{"to":"test"}}'
same "changed input replaces the arguments" '{"to":"test"}' "$(cat "$space/asked")"
converse '{"behavior":"deny","message":"not today"}'
exits "a denied call" 0
check "a denied call does not run" test ! -e "$space/asked"
holds "the model gets the reason" '.[-1].result | test("not today")'
converse '{"behavior":"deny","message":"stop","interrupt":true}'
exits "a denial that interrupts" 4
converse ''
exits "no answer before the end of the input" 5

# --- interrupt
rm -f "$tmp/fifo"
mkfifo "$tmp/fifo"
(cd "$space" && with_env timeout -k 5 "$seconds" "$program" run --model scripted/rules.yaml --output stream-json \
    --input stream-json --approve auto <"$tmp/fifo" >"$out" 2>"$err") &
pid=$!
exec 8>"$tmp/fifo"
echo '{"type":"user","message":{"role":"user","content":"wait"}}' >&8
for _ in {1..600}; do
    grep -q '"name":"exec"' "$out" && break
    sleep 0.1
done
echo '{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt"}}' >&8
for _ in {1..600}; do
    grep -q '"type":"result"' "$out" && break
    sleep 0.1
done
echo '{"type":"user","message":{"role":"user","content":"and now"}}' >&8
exec 8>&-
wait $pid
status=$?
exits "a message after an interrupt" 0
holds "an interrupt ends the run, and the session goes on" \
    '[.[] | select(.type == "result")] | length == 2 and .[0].status == "cancelled" and .[1].result == "you said: and now"'
tap_done

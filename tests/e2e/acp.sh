#!/usr/bin/env bash
# `chela acp`: what an editor may send, in order and out of order. The client is
# a few lines of shell; tests/sdk/acp.mjs has the official one.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/acp.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^many", turn: 31 }, say: thirty }
  - { when: { user: "^many" }, call: { tool: calculate, args: { expression: "{{turn}}+1" } } }
  - { when: { user: "^fix", after: none }, call: { tool: exec, args: { command: "cat note" } } }
  - { when: { user: "^two", after: none }, call: { tool: exec, args: { command: "echo one" } } }
  - { when: { user: "^wait", after: none }, call: { tool: exec, args: { command: "sleep 300" } } }
  - { when: { user: "^job", after: none }, call: { tool: exec, args: { command: "sleep 300", background: true } } }
  - { when: { user: "^broken" }, fail: { status: 400 } }
  - { when: { after: any }, say: "seen: {{result}}" }
  - say: hello
YAML
echo 'the note' >"$space/note"
store=sqlite:$tmp/acp.db

# --- before anything else
begin
request 5 session/new "{\"cwd\":\"$space\",\"mcpServers\":[]}"
is "initialize comes first" "$(answer 5 | code)" -32600
request 6 initialize '{"protocolVersion":99}'
is "a newer version gets ours" "$(answer 6 | jq .result.protocolVersion)" 1
say 'no json'
say '[]'
say '{"jsonrpc":"2.0","id":7}'
is "a line that is no JSON" "$(see '.error.code == -32700' | jq -c .id)" null
is "a request without a method" "$(answer 7 | code)" -32600
request 8 no/such '{}'
is "a method that does not exist" "$(answer 8 | code)" -32601
say '{"jsonrpc":"2.0","method":"$/progress","params":{}}'
request 9 session/new '{"cwd":"relative","mcpServers":[]}'
is "a directory must be absolute" "$(answer 9 | jq -c .error)" '{"code":-32602,"message":"cwd must be an absolute path"}'
request 10 session/new '{"cwd":"/does/not/exist","mcpServers":[]}'
is "a directory must exist" "$(answer 10 | code)" -32602
request 11 session/prompt '{"sessionId":"nobody","prompt":[{"type":"text","text":"x"}]}'
is "a session that is not open" "$(answer 11 | code)" -32002
request 12 session/load "{\"sessionId\":\"nobody\",\"cwd\":\"$space\",\"mcpServers\":[]}"
is "a session that does not exist" "$(answer 12 | code)" -32002
finish
is "the end of the input ends the program" "$ended" 0

# --- prompts
begin
hello
open 2
request 3 session/prompt "{\"sessionId\":\"$id\",\"prompt\":\"text\"}"
is "a prompt is a list" "$(answer 3 | code)" -32602
request 4 session/prompt "{\"sessionId\":\"$id\",\"prompt\":[{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/wav\"}]}"
is "sound is not offered" "$(answer 4 | code)" -32602
prompt 5 broken
is "a model that fails is an error of the prompt" "$(answer 5 | code)" -32603
prompt 61 many
is "a conversation has no limit of turns" "$(answer 61 | jq -r .result.stopReason)" end_turn
prompt 6 hi
is "the session goes on" "$(answer 6 | jq -r .result.stopReason)" end_turn
request 7 session/prompt "{\"sessionId\":\"$id\",\"prompt\":[{\"type\":\"text\",\"text\":\"look \"},{\"type\":\"resource_link\",\"uri\":\"file://$space/note\",\"name\":\"note\"},{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///x\",\"text\":\"unsaved\"}}]}"
answer 7 >/dev/null
chela sessions show "$id" --store "$store" --json
is "links and embedded files are told" "$(jq -r '.transcript[-2].content[0].text' "$out")" "look [note]($space/note)
<file uri=\"file:///x\">
unsaved
</file>"
prompt 8 fix
permission 1 >"$tmp/asked"
is "a call that needs consent is asked about" "$(jq -r .params.toolCall.title "$tmp/asked")" "cat note"
prompt 9 hurry
is "a second prompt while a call waits" "$(answer 9 | code)" -32600
decide 1 allow
is "allowed" "$(answer 8 | jq -r .result.stopReason)" end_turn
check "the answer has the result" told "the note"
prompt 10 wait
permission 2 >/dev/null
decide 2 allow
see '.params.update.status? == "in_progress" and .params.update.toolCallId != null' >/dev/null
dot=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
request 11 session/prompt "{\"sessionId\":\"$id\",\"prompt\":[{\"type\":\"text\",\"text\":\"never mind\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"$dot\"}]}"
for ((i = 20; i < 27; i++)); do prompt $i "word-$i"; done
is "a prompt too many is refused" "$(answer 26 | code)" -32600
say "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"$id\"}}"
is "cancel answers the prompt" "$(answer 10 | jq -r .result.stopReason)" cancelled
is "and the one that steered" "$(answer 11 | jq -r .result.stopReason)" cancelled
chela sessions export "$id" --store "$store"
check "a prompt that was accepted is stored" grep -q word-25 "$out"
check "with its image" grep -q "$dot" "$out"
is "one that was refused is not" "$(grep -c word-26 "$out")" 0
request 12 session/load "{\"sessionId\":\"$id\",\"cwd\":\"$tmp\",\"mcpServers\":[]}"
is "a session of another directory" "$(answer 12 | code)" -32602
prompt 13 hi
is "a failed load leaves the session open" "$(answer 13 | jq -r .result.stopReason)" end_turn
prompt 14 wait
permission 3 >/dev/null
decide 3 allow
see '.params.update.status? == "in_progress" and .params.update.toolCallId == "toolu_0003"' >/dev/null
request 15 session/close "{\"sessionId\":\"$id\"}"
is "closing a session cancels its run" "$(answer 14 | jq -r .result.stopReason)" cancelled
is "and is answered then" "$(answer 15 | jq -c .result)" '{}'
chela sessions list --store "$store" --json
is "nothing is left to be resumed" "$(jq -r --arg id "$id" '.[] | select(.key == $id).status' "$out")" idle
open 16
request 17 session/set_config_option "{\"sessionId\":\"$id\",\"configId\":\"approval\",\"value\":\"auto\"}"
answer 17 >/dev/null
prompt 18 wait
see '.params.update.status? == "in_progress" and .params.sessionId == "'"$id"'"' >/dev/null
request 19 session/set_config_option "{\"sessionId\":\"$id\",\"configId\":\"approval\",\"value\":\"ask\"}"
answer 19 >/dev/null
say "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"$id\"}}"
is "an automatic call does not ask" "$(answer 18 | jq -r .result.stopReason)" cancelled
prompt 30 two
is "an option that changed during a run holds for the next one" "$(permission 4 | jq -r .params.toolCall.title)" "echo one"
decide 4 allow
answer 30 >/dev/null
open 31
request 32 session/set_config_option "{\"sessionId\":\"$id\",\"configId\":\"approval\",\"value\":\"auto\"}"
prompt 33 job
is "a program in the background" "$(answer 33 | jq -r .result.stopReason)" end_turn
request 50 session/set_config_option "{\"sessionId\":\"$id\",\"configId\":\"reasoning\",\"value\":\"low\"}"
prompt 51 hi
is "keeps the other old choices, and the user is told" "$(see '.params.update.title? // "" | test("in the background")' | jq -r .params.update.severity)" warning
answer 51 >/dev/null
request 34 session/set_config_option "{\"sessionId\":\"$id\",\"configId\":\"approval\",\"value\":\"ask\"}"
prompt 35 two
is "does not keep the old choice about consent" "$(permission 5 | jq -r .params.toolCall.title)" "echo one"
decide 5 allow
answer 35 >/dev/null
open 36
request 37 session/set_config_option "{\"sessionId\":\"$id\",\"configId\":\"mode\",\"value\":\"plan\"}"
prompt 38 hi
is "a planner without a plan" "$(see '.params.update.title? // "" | test("gave no answer")' | jq -r .params.update.severity)" warning
is "does not end the prompt" "$(answer 38 | jq -r .result.stopReason)" end_turn
finish
is "no error was printed" "$(cat "$err")" ""
begin
hello
open 2
finish
begin
hello
request 3 session/load "{\"sessionId\":\"$id\",\"cwd\":\"$space\",\"mcpServers\":[]}"
is "a session without a prompt can be loaded" "$(answer 3 | jq -r '.result | has("modes")')" true
prompt 4 hi
is "and used" "$(answer 4 | jq -r .result.stopReason)" end_turn
open 5
request 6 session/delete "{\"sessionId\":\"$id\"}"
is "and deleted" "$(answer 6 | jq -c .result)" '{}'
request 7 session/load "{\"sessionId\":\"$id\",\"cwd\":\"$space\",\"mcpServers\":[]}"
is "and is gone then" "$(answer 7 | code)" -32002
finish

# --- other processes
begin
hello
open 2
prompt 3 fix
permission 1 >/dev/null
chela sessions resume "$id" --allow all --store "$store" --model scripted/rules.yaml
is "another process approves and goes on" "$status" 0
is "the prompt ends with that run" "$(answer 3 | jq -r .result.stopReason)" end_turn
check "its answer is shown" told "the note"
see '.method == "$/cancel_request"' >"$tmp/withdrawn"
is "the question is withdrawn" "$(jq .params.requestId "$tmp/withdrawn")" 1
chela run --session "$id" --store "$store" --model scripted/rules.yaml hi
is "another process says something" "$status" 0
has "the editor is shown it" "$(see '.params.update.sessionUpdate? == "user_message_chunk"')" '"hi"'
prompt 4 hi
is "and goes on" "$(answer 4 | jq -r .result.stopReason)" end_turn
prompt 5 fix
permission 2 >/dev/null
say '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}'
is "a prompt that the editor withdraws is answered" "$(answer 5 | jq -r .result.stopReason)" cancelled
finish

# --- an editor that cannot ask its user
begin
hello
open 2
prompt 3 fix
permission 1 >/dev/null
say '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no window"}}'
is "a question that fails ends the prompt" "$(answer 3 | code)" -32603
prompt 4 hi
is "the next prompt asks it again" "$(permission 2 | jq -r .params.toolCall.title)" "cat note"
say '{"jsonrpc":"2.0","id":2,"result":{"outcome":{"outcome":"selected","optionId":"allow"}},"error":null}'
is "and is answered" "$(answer 4 | jq -r .result.stopReason)" end_turn
check "after the call" told "the note"
prompt 5 fix
permission 3 >/dev/null
say '{"jsonrpc":"2.0","id":3}'
is "an answer that cannot be read ends the prompt" "$(answer 5 | code)" -32603
request 6 session/list null
is "parameters may be null" "$(answer 6 | jq '.result | has("sessions")')" true
finish

# --- a list of several pages, with many sessions that changed in the same millisecond
sqlite3 "$tmp/acp.db" "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 170)
    INSERT INTO sessions(key, created, updated) SELECT 'same' || i, 1000, 1000 + i / 120 FROM n"
begin
hello
cursor=
: >"$tmp/listed"
for ((i = 20; i < 30; i++)); do
    request "$i" session/list "{\"cwd\":\"$space\"$cursor}"
    answer "$i" | jq -r '.result.sessions[].sessionId' >>"$tmp/listed"
    cursor=$(answer "$i" | jq -r '.result.nextCursor // empty | ",\"cursor\":" + tojson')
    [ -n "$cursor" ] || break
done
is "every session is listed" "$(grep -c '^same' "$tmp/listed")" 170
is "no session is listed twice" "$(sort "$tmp/listed" | uniq -d)" ""
request 40 session/list '{"cursor":"1000 none"}'
is "the session of a cursor may be gone" "$(answer 40 | jq '.result.sessions | length')" 50
request 41 session/list '{"cursor":"1000"}'
is "no cursor" "$(answer 41 | code)" -32602
finish

# --- death
begin
hello
open 2
prompt 3 fix
permission 1 >/dev/null
stop KILL
begin
hello
request 2 session/load "{\"sessionId\":\"$id\",\"cwd\":\"$space\",\"mcpServers\":[]}"
answer 2 >/dev/null
is "after kill -9 the call is asked about again" "$(permission 1 | jq -r .params.toolCall.title)" "cat note"
decide 1 reject
check "a rejection reaches the model" told "rejected"
finish
begin
hello
open 2
prompt 3 wait
permission 1 >/dev/null
decide 1 allow
see '.params.update.status? == "in_progress"' >/dev/null
stop KILL
begin
hello
request 2 session/resume "{\"sessionId\":\"$id\",\"cwd\":\"$space\"}"
answer 2 >/dev/null
prompt 3 hi
is "an interrupted run continues with the next prompt" "$(answer 3 | jq -r .result.stopReason)" end_turn
finish
begin
hello
open 2
prompt 3 wait
permission 1 >/dev/null
decide 1 allow
see '.params.update.status? == "in_progress"' >/dev/null
stop KILL
begin
hello
request 2 session/resume "{\"sessionId\":\"$id\",\"cwd\":\"$space\"}"
answer 2 >/dev/null
request 3 session/prompt "{\"sessionId\":\"$id\",\"prompt\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"?\"}]}"
is "a prompt that cannot follow an interrupted run" "$(answer 3 | code)" -32603
check "the run goes on without it" told seen
prompt 4 hi
is "and the session, too" "$(answer 4 | jq -r .result.stopReason)" end_turn
finish
is "and nothing crashed" "$ended" 0
begin
hello
open 2
prompt 3 wait
permission 1 >/dev/null
decide 1 allow
see '.params.update.status? == "in_progress"' >/dev/null
stop TERM
is "SIGTERM leaves the run" "$ended" 143
chela sessions list --store "$store" --json
is "which can be resumed" "$(jq -r --arg id "$id" '.[] | select(.key == $id).status' "$out")" running

# --- a stranger's directory
where=$tmp/cloned
mkdir "$where"
printf 'approvals: { exec: auto }\n' >"$where/chela.yaml"
untrusted=1 begin
hello
open 2
is "its configuration is asked about" "$(permission 1 | jq -r .params.toolCall.title)" "Trust $where/chela.yaml?"
prompt 3 two
decide 1 ignore
is "without trust a command asks" "$(permission 2 | jq -r .params.toolCall.title)" "echo one"
decide 2 reject
answer 3 >/dev/null
finish
untrusted=1 begin
hello
open 2
permission 1 >/dev/null
decide 1 ignore
prompt 3 two
permission 2 >/dev/null
stop KILL
untrusted=1 begin
hello
request 2 session/load "{\"sessionId\":\"$id\",\"cwd\":\"$where\",\"mcpServers\":[]}"
permission 1 >/dev/null
say "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"$id\"}}"
request 3 session/set_mode "{\"sessionId\":\"$id\",\"modeId\":\"plan\"}"
answer 3 >/dev/null
is "a stored call is not asked about before the configuration" "$(grep -c request_permission "$tmp/lines")" 1
decide 1 ignore
is "but after it" "$(permission 2 | jq -r .params.toolCall.title)" "echo one"
finish
untrusted=1 begin
hello
open 2
prompt 3 two
permission 1 >/dev/null
decide 1 trust
is "with trust it does not" "$(answer 3 | jq -r .result.stopReason)" end_turn
is "and nothing more is asked" "$(grep -c request_permission "$tmp/lines")" 1
finish
unset where

# --- servers of the editor
if command -v python3 >/dev/null; then
    sed -i '1a\  - { when: { user: "^echo", after: none }, call: { tool: my-server__echo, args: { text: hi } } }' "$space/rules.yaml"
    sed -i '1a\  - { when: { user: "^other", after: none }, call: { tool: my-server-2__echo, args: { text: hi } } }' "$space/rules.yaml"
    begin
    hello
    server="{\"name\":\"my server\",\"command\":\"python3\",\"args\":[\"$PWD/tests/support/mcp/server.py\",\"modern\"],\"env\":[]}"
    request 2 session/new "{\"cwd\":\"$space\",\"mcpServers\":[$server,{\"type\":\"sse\",\"name\":\"old\",\"url\":\"http://127.0.0.1:1/\",\"headers\":[]}]}"
    id=$(answer 2 | jq -r .result.sessionId)
    has "a transport that is not supported" "$(see '.params.update.sessionUpdate? == "notice"')" "The MCP server old is not used"
    known() { [ -s "$tmp/.local/state/chela/mcp/editor/my-server.json" ]; }
    for _ in {1..200}; do known && break; sleep 0.05; done
    prompt 3 echo
    is "a tool of the editor's server asks" "$(permission 1 | jq -r .params.toolCall.title)" "my-server__echo"
    decide 1 allow
    answer 3 >/dev/null
    check "and runs" told "echo: hi"
    request 4 session/new "{\"cwd\":\"$space\",\"mcpServers\":[${server/modern/legacy}]}"
    id=$(answer 4 | jq -r .result.sessionId)
    for _ in {1..200}; do [ -s "$tmp/.local/state/chela/mcp/editor/my-server-2.json" ] && break; sleep 0.05; done
    prompt 5 other
    is "another server of the same name is another one" "$(permission 2 | jq -r .params.toolCall.title)" "my-server-2__echo"
    decide 2 allow
    answer 5 >/dev/null
    request 6 session/new "{\"cwd\":\"$space\",\"mcpServers\":[$server,${server/modern/legacy}]}"
    answer 6 >/dev/null
    is "both are used again" "$(find "$tmp/.local/state/chela/mcp/editor" -name '*.json' | wc -l)" 2
    finish
else
    skip "servers of the editor" "python3 is not installed"
fi
tap_done

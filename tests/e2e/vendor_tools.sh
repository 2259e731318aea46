#!/usr/bin/env bash
# Tools that a vendor defined and clients run: a shell, an editor, patches, a memory, free text.
# Their calls run as exec, read, write, edit and apply_patch, behind the same gates; their items go
# back as the vendor has them, after a restart and after a visit to another vendor, too. The server
# refuses what the vendors refuse.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

calls() { # NAME [TOOL ARGUMENTS]...: a call in each reply, then the answer
    local name=$1 list='[]'
    shift
    while [ $# -gt 0 ]; do
        list=$(jq -c --arg n "$1" --argjson a "$2" '. + [{blocks: [{call: {name: $n, arguments: [$a | tojson]}}]}]' <<<"$list")
        shift 2
    done
    jq -n --argjson l "$list" '{replies: ($l + [{blocks: [{text: ["done"]}]}])}' >"$tmp/$name.json"
}
items() { # NAME ITEM...: a whole reply of items, then the answer
    local name=$1
    shift
    printf '%s\n' "$@" | jq -s '{replies: ([.[] | if type == "array" then . else [.] end] | [to_entries[] | {content_type: "application/json", body: ({id: "resp_\(.key)",
        object: "response", status: "completed", model: "gpt-6-sol", usage: {input_tokens: 1, output_tokens: 1}, output: .value} | tojson)}] + [{blocks: [{text: ["done"]}]}])}' >"$tmp/$name.json"
}
ask() { # MODEL CONVERSATION FLAG...
    local model=$1 name=$2
    shift 2
    fresh "$name" "${model%%/*}"
    chela run --model "$model" --base-url "$base" --output jsonl "$@" "go on"
}
ran='[.[] | select(.type == "tool_result") | "\(.name) \(.is_error)"]'
claude=anthropic/claude-opus-5-5
gpt=openai-responses/gpt-6-sol

cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents:
  defaults:
    serverTools:
      anthropic: [{ type: bash_20250124, name: bash }, { type: text_editor_20250728, name: str_replace_based_edit_tool }, { type: memory_20250818, name: memory }]
      openai-responses:
        - { type: shell, environment: { type: local } }
        - { type: local_shell }
        - { type: apply_patch }
        - { type: custom, name: note, description: Takes a note., format: { type: grammar, syntax: regex, definition: "[a-z ]+" } }
tools:
  custom:
    - { name: note, description: Takes a note., command: [./note], effect: once, permission: write, parameters: { type: object, properties: { input: { type: string } }, required: [input] } }
YAML
printf '#!/bin/sh\ncat >>notes.log\necho >>notes.log\necho noted\n' >"$space/note"
chmod +x "$space/note"

calls editing bash '{"command": "printf \"one\\ntwo\\n\" > a.txt; echo made; exit 3"}' \
    str_replace_based_edit_tool '{"command": "view", "path": "a.txt", "view_range": [2, -1]}' \
    str_replace_based_edit_tool '{"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "2"}' \
    str_replace_based_edit_tool '{"command": "insert", "path": "a.txt", "insert_line": 1, "insert_text": "between"}' \
    str_replace_based_edit_tool '{"command": "create", "path": "b.txt", "file_text": "new\n"}' \
    bash '{"restart": true}' \
    str_replace_based_edit_tool '{"command": "fly", "path": "a.txt"}'
calls memory memory '{"command": "create", "path": "/memories/plan.md", "file_text": "step one\n"}' \
    memory '{"command": "insert", "path": "/memories/plan.md", "insert_line": 1, "insert_text": "step two\n"}' \
    memory '{"command": "rename", "old_path": "/memories/plan.md", "new_path": "/memories/done.md"}' \
    memory '{"command": "view", "path": "/memories"}' \
    memory '{"command": "delete", "path": "/memories/done.md"}'
calls shell bash '{"command": "echo once >> ran.log; cat ran.log"}'
calls look memory '{"command": "view", "path": "/memories"}'
calls plain
start_server

# --- Anthropic
ask "$claude" editing --approve auto
exits "anthropic: shell and editor" 0
holds "anthropic: they run as the tools here" "$ran"' == ["exec false", "read false", "edit false", "edit false", "write false", "exec false", "edit true"]'
same "anthropic: what they did" 'one|between|2|new' "$(paste -sd '|' "$space/a.txt" "$space/b.txt" | paste -sd '|')"
same "anthropic: the service takes every request" "" "$(requests '.problems[]')"
same "anthropic: the vendor's tools stand for ours" '["bash_20250124","memory_20250818","text_editor_20250728"] []' \
    "$(requests 'select(.n == 0).body.tools | ([.[].type | values] | sort), [.[].name | select(. == "exec" or . == "edit" or . == "memory_write")]' | paste -sd ' ')"
same "anthropic: the history keeps what the model wrote" bash "$(requests 'select(.n == 1).body.messages[1].content[0].name' | jq -r .)"
ask "$claude" memory --approve auto
holds "anthropic: the memory" "$ran"' == ["write false", "edit false", "apply_patch false", "ls false", "apply_patch false"]'
holds "anthropic: the memory is the folder of notes" '[.[] | select(.type == "tool_result" and .name == "ls").content | test("done.md")] == [true]'
check "anthropic: what was deleted is gone" test ! -e "$space/memory/done.md"
ask "$claude" shell --approve auto --deny exec
holds "a denied tool stays denied by its other name" "$ran"' == ["exec true"]'
check "a denied tool is not run" test ! -e "$space/ran.log"
ask "$claude" shell --approve ask --session waits
exits "a shell of the vendor's needs consent as ours" 5
chela sessions show --json waits
same "the question names the tool here" exec "$(jq -r '.waiting[0].name' "$out")"
chela sessions resume waits --allow all --base-url "$base" --output jsonl
exits "resumed by another process" 0
same "resumed by another process: run once" once "$(cat "$space/ran.log")"
same "resumed by another process: the service takes it" "" "$(requests '.problems[]')"

# A tool of the agent that has the name of the vendor's is not run in its place, early reads included.
printf '#!/bin/sh\ntouch mistaken\n' >"$space/mistake"
chmod +x "$space/mistake"
sed 's/^    - { name: note/    - { name: memory, description: Remembers., command: [.\/mistake], effect: read, permission: read, parameters: { type: object } }\n&/' \
    "$space/chela.yaml" >"$space/named.yaml"
ask "$claude" look --approve auto --config named.yaml
holds "a tool of the vendor's name: the vendor's is meant" "$ran"' == ["ls false"]'
check "a tool of the vendor's name: it is not run" test ! -e "$space/mistaken"

# --- OpenAI
items everything \
    '{"type":"shell_call","id":"sh_1","call_id":"call_1","status":"completed","action":{"commands":["echo first","echo second; exit 4"],"timeout_ms":20000,"max_output_length":5000}}' \
    '{"type":"apply_patch_call","id":"apc_1","call_id":"call_2","status":"completed","operation":{"type":"create_file","path":"c.txt","diff":"+alpha\n+beta\n"}}' \
    '{"type":"apply_patch_call","id":"apc_2","call_id":"call_3","status":"completed","operation":{"type":"update_file","path":"c.txt","diff":"@@\n-alpha\n+gamma\n beta\n"}}' \
    '{"type":"custom_tool_call","id":"ctc_1","call_id":"call_4","status":"completed","name":"note","input":"free \"text\""}' \
    '{"type":"local_shell_call","id":"lsh_1","call_id":"call_5","status":"completed","action":{"type":"exec","command":["echo","local"],"env":{}}}' \
    '{"type":"apply_patch_call","id":"apc_3","call_id":"call_6","status":"completed","operation":{"type":"update_file","path":"missing.txt","diff":"@@\n-x\n+y\n"}}'
ask "$gpt" everything --approve auto --session moves
exits "openai: shell, patches and free text" 0
holds "openai: they run as the tools here" "$ran"' == ["exec false", "apply_patch false", "apply_patch false", "note false", "exec false", "apply_patch true"]'
same "openai: what they did" 'gamma|beta|{"input":"free \"text\""}' "$(cat "$space/c.txt" "$space/notes.log" | paste -sd '|')"
same "openai: the service takes every request" "" "$(requests '.problems[]')"
outputs='[.body.input[] | select(.type // "" | endswith("_output"))]'
same "openai: the output of a shell" '{"stdout":"first\nsecond\n[exit code 4]","stderr":"","outcome":{"type":"exit","exit_code":4}}' "$(requests "select(.n == 1) | ${outputs}[0].output[0]")"
same "openai: its limit goes back" 5000 "$(requests "select(.n == 1) | ${outputs}[0].max_output_length")"
same "openai: patches that fit and that do not" '["completed","completed","failed"]' "$(requests "select(.n == 6) | [${outputs}[] | select(.type == \"apply_patch_call_output\").status]")"
same "openai: the output of free text" '"noted\n"' "$(requests "select(.n == 6) | ${outputs}[3].output")"
same "openai: the vendor's tools stand for ours" '[]' "$(requests 'select(.n == 0).body.tools | [.[] | select(.type == "function").name | select(. == "exec" or . == "apply_patch" or . == "note")]')"
types() { requests '[.body.input[].type // "message"] | map(select(endswith("_call") or endswith("_output")))' | tail -n 1; }
vendors=$(types)
ask "$claude" plain --session moves
same "another vendor takes the history" "0 " "$status $(requests '.problems[]')"
same "another vendor: they are ordinary calls" '["apply_patch","apply_patch","apply_patch","local_shell","note","shell"]' "$(requests '[.body.messages[].content[]? | select(.type == "tool_use").name] | sort')"
ask "$gpt" plain --session moves
same "back again, in another process: the service takes it" "0 " "$status $(requests '.problems[]')"
same "back again: the items are the vendor's" "$vendors" "$(types)"

# a stream, and calls that the service made and ran
sse() { while read -r line; do printf 'event: %s\ndata: %s\n\n' "$(jq -r .type <<<"$line")" "$line"; done; }
sse >"$tmp/stream.sse" <<'EVENTS'
{"type":"response.created","response":{"id":"resp_9","object":"response","status":"in_progress","model":"m","output":[]}}
{"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","id":"ctc_9","call_id":"call_9","name":"note","input":"","status":"in_progress"}}
{"type":"response.custom_tool_call_input.delta","output_index":0,"item_id":"ctc_9","delta":"in "}
{"type":"response.custom_tool_call_input.delta","output_index":0,"item_id":"ctc_9","delta":"pieces"}
{"type":"response.custom_tool_call_input.done","output_index":0,"item_id":"ctc_9","input":"in pieces"}
{"type":"response.output_item.done","output_index":0,"item":{"type":"custom_tool_call","id":"ctc_9","call_id":"call_9","name":"note","input":"in pieces","status":"completed"}}
{"type":"response.output_item.added","output_index":1,"item":{"type":"shell_call","id":"sh_9","call_id":"call_10","status":"in_progress","action":{"commands":[]}}}
{"type":"response.shell_call_command.delta","output_index":1,"command_index":0,"delta":"echo str"}
{"type":"response.shell_call_command.done","output_index":1,"command_index":0,"command":"echo streamed"}
{"type":"response.output_item.done","output_index":1,"item":{"type":"shell_call","id":"sh_9","call_id":"call_10","status":"completed","action":{"commands":["echo streamed"]}}}
{"type":"response.completed","response":{"id":"resp_9","object":"response","status":"completed","model":"m","usage":{"input_tokens":1,"output_tokens":1},"output":[{"type":"custom_tool_call","id":"ctc_9","call_id":"call_9","name":"note","input":"in pieces","status":"completed"},{"type":"shell_call","id":"sh_9","call_id":"call_10","status":"completed","action":{"commands":["echo streamed"]}}]}}
EVENTS
jq -n --rawfile s "$tmp/stream.sse" '{replies: [{content_type: "text/event-stream", body: $s}, {blocks: [{text: ["done"]}]}]}' >"$tmp/streamed.json"
ask "$gpt" streamed --approve auto
holds "openai: streamed calls" '[.[] | select(.type == "tool_result") | [.name, (.content | test("^noted|streamed"))]] | sort == [["exec", true], ["note", true]]'
same "openai: streamed calls: the service takes their results" "0 " "$status $(requests '.problems[]')"
same "openai: streamed free text, whole" '"in pieces"' "$(requests 'select(.n == 1).body.input[] | select(.type == "custom_tool_call").input')"

# --- programs of the service call our tools
items program '[{"type":"program","id":"prog_1","call_id":"call_p","code":"await ls()","fingerprint":"fp"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"ls","arguments":"{}","status":"completed","caller":{"type":"program","caller_id":"call_p"}},
  {"type":"custom_tool_call","id":"ctc_2","call_id":"call_2","name":"note","input":"by program","status":"completed","caller":{"type":"program","caller_id":"call_p"}}]'
ask "$gpt" program --approve auto
same "openai: a program's calls: answered, and the caller goes back" '0 ["program","call_p"] ["program","call_p"] ' \
    "$status $(requests "select(.n == 1) | ${outputs}[] | [.caller.type, .caller.caller_id]" | paste -sd ' ') $(requests '.problems[]')"
same "openai: the program goes back" '"fp"' "$(requests 'select(.n == 1).body.input[] | select(.type == "program").fingerprint')"
jq -n '{replies: [{content_type: "application/json", body: ({id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "tool_use", usage: {input_tokens: 1, output_tokens: 1},
    container: {id: "container_1", expires_at: "2026-12-01T00:00:00Z"}, content: [
    {type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: {code: "await ls()"}},
    {type: "tool_use", id: "toolu_1", name: "ls", input: {}, caller: {type: "code_execution_20260120", tool_id: "srvtoolu_1"}}]} | tojson)}, {blocks: [{text: ["done"]}]}]}' >"$tmp/code.json"
sed -i 's/anthropic: \[/anthropic: [{ type: code_execution_20260521, name: code_execution }, { tools: "ls,read", allowed_callers: [direct, code_execution_20260120] }, /' "$space/chela.yaml"
sed -i 's/^  defaults:/  defaults:\n    tools: { parallel: 1 }/' "$space/chela.yaml"
ask "$claude" code --approve auto
same "anthropic: code's call: answered with container and caller" '0 "container_1" "srvtoolu_1" ["tool_result"] ' \
    "$status $(requests 'select(.n == 1).body | .container, .messages[1].content[1].caller.tool_id, [.messages[2].content[].type]' | paste -sd ' ') $(requests '.problems[]')"
same "anthropic: the tools that code may call say so" '["ls","read"]' "$(requests 'select(.n == 0).body.tools | map(select(.allowed_callers == ["direct", "code_execution_20260120"]).name) | sort')"

# A message that arrives while code waits for a result is heard once the code is done.
printf '#!/bin/sh\nuntil [ -e go ]; do sleep 0.1; done\necho went\n' >"$space/slow"
chmod +x "$space/slow"
sed 's/^    - { name: note/    - { name: slow, description: Waits., command: [.\/slow], effect: read, permission: read, parameters: { type: object } }\n&/' \
    "$space/chela.yaml" >"$space/slow.yaml"
jq '.replies[0].body |= sub("\"name\":\"ls\""; "\"name\":\"slow\"") | .replies += [.replies[1]]' "$tmp/code.json" >"$tmp/steered.json"
fresh steered anthropic
chela run --background --config slow.yaml --model "$claude" --base-url "$base" --approve auto "go on"
session=$(cat "$out")
for _ in {1..100}; do
    [ -z "$(requests .n)" ] || break
    sleep 0.1
done
chela attach --config slow.yaml --say "also this" "$session" &
attached=$!
for _ in {1..100}; do
    (cd "$space" && with_env timeout 20 "$program" sessions export "$session") | grep -q '"steer"' && break
    sleep 0.1
done
touch "$space/go"
wait $attached
same "a message while code waits: heard after its result" '["go on"] ["go on",null] ["go on",null,"also this"] ' \
    "$(requests '[.body.messages[] | select(.role == "user").content | if type == "array" then .[0].text else . end | if . then (if test("also this") then "also this" else "go on" end) else . end]' | paste -sd ' ') $(requests '.problems[]')"

# --- a shell at the service: shown, kept, never answered
items hosted '[{"type":"shell_call","id":"sh_1","call_id":"call_h","status":"completed","action":{"commands":["touch hosted.txt"]},"environment":{"type":"container_reference","container_id":"c1"}},
  {"type":"shell_call_output","id":"sho_1","call_id":"call_h","status":"completed","output":[{"stdout":"","stderr":"","outcome":{"type":"exit","exit_code":0}}]},
  {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"done there","annotations":[]}]}]'
sed -i 's/{ type: local }/{ type: container_auto }/' "$space/chela.yaml"
ask "$gpt" hosted --approve auto --session hosted
holds "a shell at the service: no call of ours" '[.[] | select(.type == "tool_call" or .type == "tool_result")] == []'
holds "a shell at the service: it is shown" '[.[] | select(.type == "server_tool").name] == ["shell"]'
check "a shell at the service: nothing is run here" test ! -e "$space/hosted.txt"
ask "$gpt" plain --session hosted
same "a shell at the service: call and output go back" '0 ["shell_call","shell_call_output"] ' "$status $(requests '[.body.input[].type | values] | map(select(startswith("shell")))') $(requests '.problems[]')"
tap_done

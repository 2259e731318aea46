#!/usr/bin/env bash
# /mcp of the gateway: who may call, both eras, agents as tools over sessions of the store,
# tasks, SIGKILL in the middle of a call, reload.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
state=$tmp/.local/state/chela/mcp
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^ship", after: none }, call: { tool: s__ship, args: { text: the parcel } } }
  - { when: { user: "^write", after: none }, call: { tool: exec, args: { command: "touch made" } } }
  - { when: { user: "^read", after: none }, call: { tool: read, args: { file_path: note } } }
  - { when: { user: "^fail" }, fail: { status: 400 } }
  - { when: { user: "^stall" }, say: "half of an answer", stall_after: 2 }
  - { when: { after: any }, say: "seen: {{result}}" }
  - { when: { user: "again" }, say: "a second time" }
  - { say: "hello" }
YAML
configure() { # MCP [LINES...]
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml, tools: { deny: [web_fetch] } }, { id: writer, model: scripted/rules.yaml }] }
gateway: { $1 }
YAML
    printf '%s\n' "${@:2}" >>"$space/chela.yaml"
}
echo 'the note' >"$space/note"
mkdir -p "$space/skills/greet"
mkdir "$space/skills/greet/more"
printf '\377\376' >"$space/skills/greet/more/a b.bin"
ln -s ../../note "$space/skills/greet/link"
echo hidden >"$space/skills/greet/.hidden"
printf -- '---\nname: greet\ndescription: Greets.\n---\nSay hello.\n' >"$space/skills/greet/SKILL.md"

caps='{}'
# ask METHOD NAME MEMBERS [CURL-FLAG...]: a request of 2026-07-28.
ask() {
    local method=$1 name=$2 members=$3
    shift 3
    local body
    body=$(printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s%s}}}' \
        "$method" "${members:+$members,}" "$caps" "${idem:+,\"chela/idempotencyKey\":\"$idem\"}")
    local flags=(-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $method")
    [ -n "$name" ] && flags+=(-H "Mcp-Name: $name")
    anon POST /mcp "${flags[@]}" --data-binary "$body" -H "Authorization: Bearer ${bearer-$token}" "$@"
    # the answer may be the last event of a stream
    if grep -q '^data: ' "$out"; then sed -n 's/^data: //p' "$out" | tail -n 1 >"$out.last" && mv "$out.last" "$out"; fi
}
tool() { # NAME ARGUMENTS
    ask tools/call "$1" "\"name\":\"$1\",\"arguments\":$2"
}
on_task() { # METHOD ID [MEMBERS]
    caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}' ask "$1" "$2" "\"taskId\":\"$2\"${3:+,$3}"
}
task() { on_task tasks/get "$1"; }
task_is() { task "$1" && [ "$(jq -r .result.status "$out")" = "$2" ]; }
legacy() { # JSON [CURL-FLAG...]
    local body=$1
    shift
    call POST /mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' --data-binary "$body" "$@"
    if grep -q '^data: {' "$out"; then sed -n 's/^data: \({.*\)/\1/p' "$out" | tail -n 1 >"$out.last" && mv "$out.last" "$out"; fi
}

# --- off unless it is configured
configure ''
serve
ask server/discover '' ''
answers "not configured" 404
stop_serving

# --- who may call
configure 'mcp: { enabled: true }'
serve
anon POST /mcp -H 'Content-Type: application/json' --data-binary '{}'
answers "no token" 401
check "the challenge" grep -qi '^www-authenticate: bearer' "$err"
bearer=wrong-0123456789abcdef ask server/discover '' ''
answers "a wrong token" 401
ask server/discover '' '' -H 'Origin: http://evil.example.com'
answers "another origin" 403
ask server/discover '' '' -H 'Host: evil.example.com'
answers "another host" 421
anon GET /.well-known/oauth-protected-resource/mcp
answers "no metadata without an authorization server" 404
ask server/discover '' ''
answers "the token" 200
tells "the server" '.result._meta["io.modelcontextprotocol/serverInfo"].name' chela
call GET /mcp
answers "GET without a session" 405
call POST /mcp -H 'Content-Type: text/plain' --data-binary x
answers "another type" 415
call POST /mcp -H 'Content-Type: application/json' --data-binary nonsense
answers "garbage" 400

# --- what is offered
ask tools/list '' ''
tells "agents and tools" '[.result.tools[].name] | (index("ask_coder") != null) and (index("ask_writer") != null) and (index("read") != null) and (index("web_fetch") == null)' true
ask prompts/list '' ''
tells "skills" '.result.prompts | map(.name) | index("greet") != null' true
ask server/discover '' ''
tells "skills: the extension" '.result.capabilities.extensions["io.modelcontextprotocol/skills"]' '{}'
ask skills/list '' ''
tells "skills: the entry" '.result.skills[] | select(.frontmatter.name == "greet") | .uri + " " + .frontmatter.description' \
    'skill://greet/SKILL.md Greets.'
tells "skills: its files" '.result.skills[] | select(.frontmatter.name == "greet") | [.resources[].uri] | join(" ")' \
    'skill://greet/SKILL.md skill://greet/more/a%20b.bin'
tells "skills: the digest" '.result.skills[] | select(.frontmatter.name == "greet") | .resources[0] | "\(.digest) \(.size)"' \
    "sha256:$(sha256sum <"$space/skills/greet/SKILL.md" | cut -d' ' -f1) $(wc -c <"$space/skills/greet/SKILL.md")"
tells "skills: for how long" '.result | has("ttlMs") and has("cacheScope")' true
ask skills/list '' '"cursor":"9"'
tells "skills: a cursor that nobody gave" .error.code -32602
ask skills/get '' '"uri":"skill://greet/SKILL.md"'
tells "skills: one" '.result.skill.frontmatter.name' greet
for uri in skill://nobody/SKILL.md skill://greet skill://greet/more file:///etc/passwd; do
    ask skills/get '' "\"uri\":\"$uri\""
    tells "skills: none: $uri" .error.code -32602
done
ask resources/read skill://greet/SKILL.md '"uri":"skill://greet/SKILL.md"'
tells "skills: a file" '.result.contents[0].text | contains("Say hello.")' true
ask resources/read 'skill://greet/more/a%20b.bin' '"uri":"skill://greet/more/a%20b.bin"'
tells "skills: bytes" '.result.contents[0].blob' "$(printf '\377\376' | base64)"
for uri in skill://greet/../../note skill://greet/link skill://greet/.hidden skill://greet/more/%2e%2e/%2e%2e/%2e%2e/note skill://greet//etc/passwd skill://nobody/SKILL.md; do
    ask resources/read "$uri" "\"uri\":\"$uri\""
    tells "skills: not a file of it: $uri" .error.code -32602
done
ask resources/list '' ''
tells "skills: listed" '[.result.resources[] | select(.uri == "skill://greet/SKILL.md") | .name + " " + .mimeType] | first' 'greet text/markdown'
tool read '{"file_path":"note"}'
tells "a tool" '.result.content[0].text | contains("the note")' true
tool exec '{"command":"touch made"}'
tells "a call that needs consent" .result.isError true
check "nothing was run" [ ! -e "$space/made" ]
ask resources/read workspace:///note '"uri":"workspace:///note"'
tells "a file" '.result.contents[0].text | contains("the note")' true

# --- an agent: its session is one of the store
tool ask_coder '{"message":"hi","session":"one"}'
tells "the answer" '.result.content[0].text' hello
tells "the session" .result.structuredContent.session one
tool ask_coder '{"message":"once again","session":"one"}'
tells "the session goes on" '.result.content[0].text' 'a second time'
call GET /api/sessions/mcp:one
tells "the gateway has the session" '[.transcript[] | select(.role == "user")] | length' 2
ask resources/read chela://sessions/mcp:one '"uri":"chela://sessions/mcp:one"'
tells "its transcript" '.result.contents[0].text | contains("once again")' true
ask completion/complete '' '"ref":{"type":"ref/resource","uri":"chela://sessions/{+key}"},"argument":{"name":"key","value":"mcp:o"}'
tells "completion of its key" '.result.completion.values[0]' mcp:one
tool ask_coder '{"message":"x","session":"../other"}'
tells "no other session" .result.isError true
tool ask_coder '{"message":"fail"}'
tells "a run that fails" '.result | [.isError, (.content[0].text | contains("The model service failed")), .structuredContent.reason == "model_error"] | all' true
tool ask_coder '{"message":"write it","session":"two"}'
tells "a run that waits for consent" .result.structuredContent.status paused
call GET /api/approvals
tells "a person can decide" '[.. | strings | select(. == "mcp:two")] | length > 0' true

# --- versions with a handshake
legacy '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
tells "initialize" .result.protocolVersion 2025-11-25
sid=$(sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *\([^\r]*\).*/\1/p' "$err")
s=(-H "Mcp-Session-Id: $sid" -H 'MCP-Protocol-Version: 2025-11-25')
legacy '{"jsonrpc":"2.0","method":"notifications/initialized"}' "${s[@]}"
answers "initialized" 202
legacy '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_coder","arguments":{"message":"read it"},"_meta":{"progressToken":7}}}' "${s[@]}"
tells "a call with progress" '.result.content[0].text | contains("the note")' true
legacy '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask_coder","arguments":{"message":"hi","session":"old"},"task":{}}}' "${s[@]}"
tells "a task" .result.task.taskId old
old_task() { # METHOD ID
    legacy "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tasks/$1\",\"params\":{\"taskId\":\"$2\"}}" "${s[@]}"
}
old_task_is() { old_task get "$1" && [ "$(jq -r .result.status "$out")" = "$2" ]; }
old_task result old
tells "the result of the task" '.result.content[0].text' hello
tells "which names its task" '.result._meta["io.modelcontextprotocol/related-task"].taskId' old
old_task get old
tells "its state" .result.status completed
old_task cancel old
tells "a task that has ended cannot be cancelled" .error.code -32602
old_task cancel nobody
tells "nor one that is unknown" .error.code -32602
for how in fail stall; do
    legacy "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_coder\",\"arguments\":{\"message\":\"$how\",\"session\":\"old-$how\"},\"task\":{}}}" "${s[@]}"
    tells "a task, $how" .result.task.status working
done
check "a tool error is a failed task" eventually old_task_is old-fail failed
tells "which says why" '.result.statusMessage | contains("The model service failed")' true
old_task result old-fail
tells "whose result is the error, with its class" '.result | [.isError, (.content[0].text | contains("The model service failed")), .structuredContent.reason == "model_error"] | all' true
old_task cancel old-stall
tells "cancelled" .result.status cancelled
check "it stays cancelled" eventually old_task_is old-stall cancelled
old_task result old-stall
tells "half of an answer is no result" '.result | [.isError, has("structuredContent")] | map(tostring) | join(" ")' 'true false'
call DELETE /mcp "${s[@]}"
answers "the session is ended" 200
legacy '{"jsonrpc":"2.0","id":6,"method":"tools/list"}' "${s[@]}"
answers "and gone" 404

# --- tasks of 2026-07-28
caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}' tool ask_coder '{"message":"hi","session":"three"}'
tells "a task" '.result | .resultType + " " + .taskId + " " + .status' 'task three working'
check "it ends" eventually task_is three completed
tells "with the answer" '.result.result.content[0].text' hello
for method in get update cancel; do
    on_task tasks/$method nobody '"inputResponses":{}'
    tells "$method: an unknown task" .error.code -32602
    ask tasks/$method three '"taskId":"three","inputResponses":{}'
    tells "$method: a client that does not know tasks" '.error | "\(.code) \(.data.requiredCapabilities.extensions | keys[0])"' '-32021 io.modelcontextprotocol/tasks'
done
for method in update cancel; do
    on_task tasks/$method three '"inputResponses":{}'
    tells "$method: a task that has ended" '.result | [.resultType, has("taskId")] | map(tostring) | join(" ")' 'complete false'
done
check "which changes nothing" task_is three completed
caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}' tool ask_coder '{"message":"fail","session":"failed"}'
check "a tool error is a completed task" eventually task_is failed completed
tells "with the error and its class" '.result.result | [.isError, (.content[0].text | contains("The model service failed")), .structuredContent.reason == "model_error"] | all' true
caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}' tool ask_coder '{"message":"write it","session":"four"}'
check "a task that waits for a person" eventually task_is four working
on_task tasks/cancel four
answers "cancel" 200
check "a task that was cancelled" eventually task_is four cancelled
tells "has no result" '.result | has("result")' false
caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}' tool ask_coder '{"message":"stall","session":"stalled"}'
on_task tasks/cancel stalled
check "also one with half of an answer" eventually task_is stalled cancelled
caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}' tool ask_coder '{"message":"write it","session":"five"}'
check "another one" eventually status_is mcp:five paused
lock_store 1.5
on_task tasks/cancel five
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
serve
check "a cancellation that was answered survives SIGKILL" eventually status_is mcp:five idle

# --- a new configuration: the same clients, other agents
configure 'mcp: { enabled: true, agent: writer }'
sed -i 's/, tools: { deny: \[web_fetch\] }//' "$space/chela.yaml"
kill -HUP "$gateway_pid"
offers() { ask tools/list '' '' && [ "$(jq '[.result.tools[].name] | index("web_fetch") != null' "$out")" = true ]; }
check "a reload changes what is offered" eventually offers
configure 'mcp: { enabled: true, agent: nobody }'
kill -HUP "$gateway_pid"
unready() { call GET /readyz; grep -q 'there is no agent' "$out"; }
check "a wrong configuration is refused" eventually unready
ask server/discover '' ''
answers "and the last one served" 200
configure ''
kill -HUP "$gateway_pid"
gone() { ask server/discover '' '' && [ "$code" = 404 ]; }
check "a reload turns it off" eventually gone
check "SIGTERM ends the gateway" stop_serving

# --- SIGKILL in the middle of a call: no second effect
needs "SIGKILL in the middle of a call" python3
made() { if [ -e "$state/s/shipped" ]; then wc -l <"$state/s/shipped"; else echo 0; fi; }
shipped() { [ "$(made)" = "$1" ]; }
configure 'mcp: { enabled: true }' \
    "mcp: { servers: { s: { command: [python3, \"$PWD/tests/support/mcp/server.py\", modern-ship, \"$tmp/words\"], confirm: false } } }"
chela mcp tools --config chela.yaml s
exits "the tools are known" 0
for how in call task; do
    rm -f "$state/s/shipped"
    echo hang >"$tmp/words"
    serve
    if [ $how = task ]; then
        caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}' tool ask_coder "{\"message\":\"ship it\",\"session\":\"$how\"}"
    else
        (idem=k-1 tool ask_coder "{\"message\":\"ship it\",\"session\":\"$how\"}") &
    fi
    check "$how, SIGKILL: the server works on the call" eventually shipped 1
    kill -9 "$gateway_pid"
    wait "$gateway_pid" 2>/dev/null
    rm "$tmp/words"
    serve
    check "$how, SIGKILL: the run goes on" eventually status_is "mcp:$how" idle
    if [ $how = task ]; then
        check "$how, SIGKILL: the task ends" eventually task_is task completed
        tells "$how, SIGKILL: with the answer" '.result.result.content[0].text | contains("unknown")' true
    else
        idem=k-1 tool ask_coder "{\"message\":\"ship it\",\"session\":\"$how\"}"
        tells "$how, SIGKILL: the repeated call gets the answer" '.result.content[0].text | contains("unknown")' true
    fi
    same "$how, SIGKILL: done once" 1 "$(made)"
    check "$how, SIGKILL: SIGTERM ends the gateway" stop_serving
done
tap_done

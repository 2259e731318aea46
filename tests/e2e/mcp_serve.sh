#!/usr/bin/env bash
# `chela mcp serve`: agents, tools, skills, files and transcripts for other programs, over
# standard input and output and over HTTP. tests/sdk/mcp.mjs has the official clients.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^write" }, call: { tool: exec, args: { command: "touch made" } } }
  - { when: { user: "^fail" }, fail: { status: 400, message: "VENDOR said" } }
  - { when: { user: "again" }, say: "a second time" }
  - { when: { after: any }, say: "seen: {{result}}" }
  - say: hello
YAML
cat >"$space/serve.yaml" <<YAML
agents:
  list:
    - { id: coder, model: "scripted/$space/rules.yaml", tools: { deny: [web_fetch] } }
    - { id: writer, model: "scripted/$space/rules.yaml" }
store: sqlite:$tmp/serve.db
prompts: { dir: ./prompts }
YAML
mkdir -p "$space/prompts/review" "$space/prompts/greet"
cat >"$space/prompts/review/v1.0.txt" <<'TXT'
---
description: reviews a file
variables: { file: the file, notes: what somebody wrote }
untrusted: [notes]
---
You review {file}.
=== user ===
Notes: {notes}
TXT
printf 'old' >"$space/prompts/review/v0.9.txt"
printf 'a skill has this name' >"$space/prompts/greet/v1.0.txt"
echo 'the note' >"$space/note"
mkdir -p "$space/skills/greet"
printf -- '---\nname: greet\ndescription: Greets.\n---\nSay hello.\n' >"$space/skills/greet/SKILL.md"

meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
# request ID METHOD [MEMBERS]: a request of 2026-07-28.
request() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s%s}}\n' "$1" "$2" "${3:+$3,}" "$meta"; }
call() { request "$1" tools/call "\"name\":\"$2\",\"arguments\":$3"; }
# offer [FLAGS]: the lines of $tmp/in are the client's.
offer() {
    (cd "$space" && with_env "$program" mcp serve --config serve.yaml "$@" <"$tmp/in" >"$out" 2>"$err")
    code=$?
}
# got ID JQ: a value of the response.
got() { jq -r "select(.id == $1) | $2" "$out"; }

# --- a client that reads after it has written, and gets more than may wait for it
late=$(cd "$space" && yes "$(request 1 tools/list)" | head -n 8000 |
    with_env "$program" mcp serve --config serve.yaml 2>"$err" | { sleep 1; grep -c '"id"'; })
same "a client that reads late gets every answer" 8000 "$late"

# --- what is offered
{ request 1 server/discover; request 2 tools/list; request 3 prompts/list; request 4 resources/templates/list; } >"$tmp/in"
offer
same "the input ends: the command ends" 0 "$code"
same "the server" chela "$(got 1 '.result._meta["io.modelcontextprotocol/serverInfo"].name')"
names=$(got 2 '[.result.tools[].name] | join(" ")')
check "agents are tools" grep -qw 'ask_coder ask_writer\|ask_coder.*ask_writer' <<<"$names"
check "the tools of the first agent" grep -qw read <<<"$names"
check "no tool that the policy denies" bash -c '! grep -qw web_fetch <<<"$1"' _ "$names"
same "skills and prompt files are prompts, chela's own are not" 'greet review' "$(got 3 '[.result.prompts[].name] | join(" ")')"
same "variables are arguments" '[{"name":"file","description":"the file","required":true},{"name":"notes","description":"what somebody wrote","required":true}]' \
    "$(got 3 '.result.prompts[] | select(.name == "review").arguments | tojson')"
same "files and transcripts" 'workspace:///{+path} skill://{name}/{+path} chela://sessions/{+key}' "$(got 4 '[.result.resourceTemplates[].uriTemplate] | join(" ")')"

# --- calls take the path of every call
{
    call 1 read '{"file_path":"note"}'
    call 2 read '{}'
    call 3 web_fetch '{"url":"http://127.0.0.1:1/"}'
    call 4 exec '{"command":"touch made"}'
    call 5 read '{"file_path":"/etc/shadow"}'
    request 6 resources/read '"uri":"workspace:///note"'
    request 7 resources/read '"uri":"workspace:///none"'
    request 8 resources/read '"uri":"workspace:///..%2f..%2fetc/passwd"'
    request 9 prompts/get '"name":"greet","arguments":{"input":"Ada"}'
    request 10 prompts/get '"name":"review","arguments":{"file":"a.c","notes":"{file} \n--- end"}'
    request 11 prompts/get '"name":"review","arguments":{"file":"a.c"}'
    request 12 prompts/get '"name":"review","arguments":{"file":"a.c","notes":"n","more":"x"}'
} >"$tmp/in"
offer
check "a tool" grep -q 'the note' <<<"$(got 1 '.result.content[0].text')"
same "arguments that do not match" true "$(got 2 .result.isError)"
same "a tool that the policy denies" -32602 "$(got 3 .error.code)"
same "a call that needs consent is refused" true "$(got 4 .result.isError)"
check "nothing was run" [ ! -e "$space/made" ]
same "a path outside of the workspace" true "$(got 5 .result.isError)"
check "a file of the workspace" grep -q 'the note' <<<"$(got 6 '.result.contents[0].text')"
check "a file that is missing" [ "$(got 7 '.error.code')" != null ]
check "a path out of the workspace" [ "$(got 8 '.error.code')" != null ]
same "a prompt file: the system prompt" 'You review a.c.' "$(got 10 '.result.messages[0].content.text' | head -n 1)"
check "a prompt file: a value is inserted unchanged" grep -qF '{file}' <<<"$(got 10 '.result.messages[1].content.text')"
same "a prompt file: a value is missing" -32602 "$(got 11 .error.code)"
check "a prompt file: a value too many" [ "$(got 12 .error.code)" != null ]
check "a skill" grep -q '^Ada$' <<<"$(got 9 '.result.messages[0].content.text')"

# --- an agent as a tool: a session that lasts
call 1 ask_coder '{"message":"hi","session":"one"}' >"$tmp/in"
offer
same "the answer" hello "$(got 1 '.result.content[0].text')"
same "the session" one "$(got 1 '.result.structuredContent.session')"
{ call 1 ask_coder '{"message":"once again","session":"one"}'; request 2 resources/read '"uri":"chela://sessions/mcp:one"'; call 3 ask_coder '{"message":"x","session":"../other"}'; call 4 ask_coder '{"message":"fail"}'; call 5 ask_coder '{"message":"fail 请"}'; } >"$tmp/in"
offer
same "the next process continues the session" 'a second time' "$(got 1 '.result.content[0].text')"
check "the transcript" grep -q 'once again\|"hi"' <<<"$(got 2 '.result.contents[0].text')"
same "a session of others cannot be named" true "$(got 3 .result.isError)"
same "a run that fails" true "$(got 4 .result.isError)"
same "a run that fails: its class" "error model_error" "$(got 4 '.result.structuredContent | .status + " " + .reason')"
same "a run that fails: the sentence" "The model service failed, so there is no complete answer. Please write again later." "$(got 4 '.result.content[0].text')"
check "a run that fails: in the caller's language" grep -q '模型服务出错' <<<"$(got 5 '.result.content[0].text')"
same "a run that fails: not the service's words" 0 "$(grep -c 'VENDOR said' "$out")"
check "a run that fails: these are in the log" grep -q 'model_error: .*VENDOR said' "$err"
call 1 ask_coder '{"message":"write it","session":"two"}' >"$tmp/in"
offer
same "a run that waits for consent says so" paused "$(got 1 '.result.structuredContent.status')"
check "nothing was run without consent" [ ! -e "$space/made" ]

# --- the older era
{
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"file_path":"note"}}}'
} >"$tmp/in"
offer
same "the version that the client wants" 2025-06-18 "$(got 1 .result.protocolVersion)"
check "a call of the older era" grep -q 'the note' <<<"$(got 2 '.result.content[0].text')"

# --- batches, which one version has
# batch VERSION: the ids or the error of the answer to a batch.
batch() {
    {
        echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"'"$1"'","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
        echo '[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"file_path":"note"}}},{"jsonrpc":"2.0","id":3,"method":"ping"}]'
    } >"$tmp/in"
    offer
    jq -rc 'if type == "array" then map(.id) | sort elif .error then .error.code else empty end' "$out"
}
same "a batch is answered with a batch" '[2,3]' "$(batch 2025-03-26)"
same "other versions have no batches" -32600 "$(batch 2025-06-18)"

# --- bad input
{ echo nonsense; echo '[]'; echo '{"jsonrpc":"2.0","id":1}'; printf '\377\376\n'; request 9 server/discover; } >"$tmp/in"
offer
check "after garbage the server answers" [ "$(got 9 '.result.resultType')" = complete ]
head -c 17000000 /dev/zero | tr '\0' x >"$tmp/in"
offer
check "a message without an end: an error" [ "$code" != 0 ]
export CHELA_TOKEN=the-token-of-this-server
offer --listen 127.0.0.1:0 </dev/null
same "no listener without a token" 2 "$code"
check "which says how" grep -qF 'export CHELA_TOKEN=$(openssl rand -hex 24)' "$err"
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env CHELA_TOKEN="$CHELA_TOKEN" "$@"; }
offer --listen 0.0.0.0:0 </dev/null
same "no address that others can reach" 2 "$code"

# --- over HTTP, with chela as the client
# shellcheck disable=SC2016
(ulimit -c "$(ulimit -H -c)"; cd "$space" && with_env sh -c 'echo $$ >"$0"; exec "$@"' "$tmp/pid" "$program" mcp serve --config serve.yaml \
    --listen 127.0.0.1:0 --origin http://localhost:6274 </dev/null >/dev/null 2>"$tmp/http.err") &
shell=$!
for ((i = 0; i < 600; i++)); do
    url=$(sed -n 's/.*\(http:[^ ]*\).*/\1/p' "$tmp/http.err")
    [ -n "$url" ] && break
    sleep 0.05
done
bearer="Authorization: Bearer $CHELA_TOKEN"
printf 'mcp: { servers: { s: { url: "%s", headers: { Authorization: "Bearer %s" } } } }\n' "$url" "$CHELA_TOKEN" >"$space/client.yaml"
asks() { curl -s -m 20 -o /dev/null -w '%{http_code}' "$@" "$url"; } # the status
listing=(-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}')
same "without a token: nothing" 401 "$(asks "${listing[@]}")"
same "nor with another one" 401 "$(asks -H 'Authorization: Bearer the-token-of-this-serves' "${listing[@]}")"
same "with the token" 200 "$(asks -H "$bearer" "${listing[@]}")"
same "a page of another port of this machine" 403 "$(asks -H "$bearer" -H 'Origin: http://localhost:8000' "${listing[@]}")"
same "a page of an origin that was named" 200 "$(asks -H "$bearer" -H 'Origin: http://localhost:6274' "${listing[@]}")"
chela mcp call --config client.yaml s read --args '{"file_path":"note"}'
exits "chela calls chela" 0
check "its result" grep -q 'the note' "$out"
same "no core file can hold the token" 0 "$(awk '/^Max core file size/ { print $5 }' "/proc/$(cat "$tmp/pid")/limits")"
if [ "$(id -u)" != 0 ]; then
    check "other processes of the user cannot read it" [ ! -r "/proc/$(cat "$tmp/pid")/environ" ]
fi
same "another host name" 403 "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example.com' -H "$bearer" -d '{}' "$url")"
echo "mcp: { servers: { s: { url: '$url', headers: { Origin: 'http://evil.example.com', Authorization: 'Bearer $CHELA_TOKEN' } } } }" >"$space/origin.yaml"
chela mcp tools s --config origin.yaml
check "another origin: the client says what the server said" \
    grep -qF "MCP server s: the server answered with HTTP status 403: origin not allowed" "$err"
same "another origin" 403 "$(curl -s -o /dev/null -w '%{http_code}' -H 'Origin: http://evil.example.com' -H "$bearer" -d '{}' "$url")"
same "a wrong session" 404 "$(curl -s -o /dev/null -w '%{http_code}' -H "$bearer" -H 'Content-Type: application/json' -H 'Mcp-Session-Id: x' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' "$url")"
same "garbage" 400 "$(curl -s -o /dev/null -w '%{http_code}' -H "$bearer" -H 'Content-Type: application/json' -d 'nonsense' "$url")"
same "another type" 415 "$(curl -s -o /dev/null -w '%{http_code}' -H "$bearer" -H 'Content-Type: text/plain' -d '{}' "$url")"
same "GET without a session" 405 "$(curl -s -o /dev/null -w '%{http_code}' -H "$bearer" "$url")"
kill -TERM "$(cat "$tmp/pid")"
wait "$shell" 2>/dev/null
tap_done

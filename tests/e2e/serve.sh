#!/usr/bin/env bash
# `chela serve` with curl: who may come in, what is refused, Chat Completions.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "both" }, call: [{ tool: ls, args: {} }, { tool: get_place, args: {} }] }
  - { when: { after: none, user: "where" }, say: "Let me look.", call: { tool: get_place, args: { near: "me" } } }
  - { when: { after: none, user: "list" }, say: "Looking.", call: { tool: ls, args: {} } }
  - { when: { after: none, user: "twice" }, call: [{ tool: get_place, args: { near: you } }, { tool: get_place, args: { near: me } }] }
  - { when: { after: none, user: "break" }, fail: { status: 400, message: "no such thing" } }
  - { when: { after: none }, say: "you said: {{user}}" }
  - { say: "it said: {{result}}" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: "memory:"
agents:
  list:
    - { id: coder, model: scripted/rules.yaml }
    - { id: reader, model: scripted/rules.yaml, tools: { allow: [ls] } }
YAML
touch "$space/notes.txt"
program=$(realpath "$program")

# --- without a token there is nothing
serve_token='' serve
check "without a token it does not start" grep -q 'set CHELA_TOKEN' "$serve_log"
serve_token=short serve
check "nor with a short one" grep -q 'too short' "$serve_log"

serve
hello='{"model":"coder","messages":[{"role":"user","content":"hello"}]}'

# --- who may come in
anon GET /healthz
answers "health needs no token" 200
tells "and says little" 'keys | join(",")' status
anon GET /v1/models
answers "everything else does" 401
tells "in OpenAI's shape" '.error | keys | join(",")' code,message,param,type
while read -r name header; do
    anon GET /v1/models -H "$header"
    answers "a token that is $name" 401
done <<CASES
empty Authorization: Bearer
wrong Authorization: Bearer wrong-wrong-wrong-wrong
a-prefix Authorization: Bearer ${token:0:20}
longer Authorization: Bearer ${token}x
basic Authorization: Basic $token
CASES
anon GET "/v1/models?token=$token" -H "X-Api-Key: $token"
answers "a token elsewhere" 401
anon GET /v1/models -H "Authorization: Bearer $token" -H "Authorization: Bearer $token"
answers "a token twice" 401
call GET /v1/models
answers "the right one" 200
tells "the agents are the models" '[.data[].id] | join(",")' coder,reader
call GET /v1/models -H 'Host: evil.example'
answers "a name that is not ours" 421
call GET /v1/models -H 'Origin: https://evil.example'
answers "a page that is not ours" 403
call GET /v1/models -H 'Origin: null'
answers "a page of no origin" 403
call GET /v1/models -H "Origin: $gateway"
answers "a page of our own" 200
anon OPTIONS /v1/models -H 'Origin: https://evil.example' -H 'Access-Control-Request-Method: POST'
answers "asking first does not help" 403

# --- paths have one name
for path in /v1//models /v1/%2e%2e/v1/models /v1%2fmodels /V1/models /v1/models/ /%00 /v1/../v1/models '/v1\models' /./; do
    call GET "$path" --path-as-is
    case $code in 400 | 404) ok "no second name: $path" ;; *) not_ok "no second name: $path" "$code" ;; esac
    anon GET "$path" --path-as-is
    case $code in 400 | 401) ok "nor without a token: $path" ;; *) not_ok "nor without a token: $path" "$code" ;; esac
done
call DELETE /v1/models
answers "another method" 405
same "the methods that there are" "GET, HEAD" "$(tr -d '\r' <"$err" | sed -n 's/^Allow: //Ip')"
call POST /v1/chat/completions -d "$hello"
answers "a form is no JSON" 415
for coding in gzip zstd 'identity, br'; do
    post /v1/chat/completions "$hello" -H "Content-Encoding: $coding"
    answers "a compressed body: $coding" 415
done
check "which says what it takes" grep -qi '^accept-encoding: identity' "$err"
post /v1/chat/completions "$hello" -H 'Content-Encoding: Identity'
answers "a body with no coding by name" 200
post /v1/chat/completions '{"model":'
answers "broken JSON" 400
post /v1/chat/completions '[]'
answers "JSON that is no object" 400
call GET /v1/models -d "x" -H 'Content-Type: application/json'
answers "a body where none is due" 400

# --- raw requests
raw() {
    local host=${gateway#http://}
    exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
    printf '%b' "$1" >&3
    raw_answer=$(timeout 5 cat <&3 | tr -d '\r')
    exec 3>&-
}
refuses() {
    raw "$2"
    case $raw_answer in "HTTP/1.1 $3 "*) ok "$1" ;; *) not_ok "$1" "${raw_answer:0:300}" ;; esac
}
auth="Host: localhost\r\nAuthorization: Bearer $token\r\n"
refuses "two lengths" "POST /v1/chat/completions HTTP/1.1\r\n${auth}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" 400
refuses "a length and chunks" "POST /v1/chat/completions HTTP/1.1\r\n${auth}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" 400
refuses "another coding" "POST /v1/chat/completions HTTP/1.1\r\n${auth}Transfer-Encoding: gzip\r\n\r\n" 501
refuses "a space in a name" "GET /v1/models HTTP/1.1\r\n${auth}Content-Length : 3\r\n\r\n" 400
refuses "no host" "GET /healthz HTTP/1.1\r\n\r\n" 400
refuses "two hosts" "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n" 400
refuses "a body that is too large" "POST /v1/chat/completions HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n" 413
refuses "no HTTP at all" "\x16\x03\x01\x02\x00\x01\x00" 400
refuses "headers that are too large" "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: $(head -c 40000 /dev/zero | tr '\0' x)\r\n\r\n" 431
refuses "an address that is too long" "GET /$(head -c 9000 /dev/zero | tr '\0' x) HTTP/1.1\r\nHost: localhost\r\n\r\n" 414
raw "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
same "requests sent ahead are answered in order" 2 "$(grep -c '"status":"ok"' <<<"$raw_answer")"
post /v1/chat/completions "$hello" -H 'Transfer-Encoding: chunked'
answers "a body in chunks" 200

head -c 300000 /dev/zero | tr '\0' x >"$tmp/large"
printf '{"model":"coder","messages":[{"role":"user","content":"%s"}]}' "$(cat "$tmp/large")" >"$tmp/large.json"
requests=()
for _ in {1..40}; do
    requests+=(--next -sS -o /dev/null -w '%{http_code} %{num_connects}\n' -H "Authorization: Bearer $token" -H 'Content-Type: application/json'
        --data-binary "@$tmp/large.json" "$gateway/v1/chat/completions")
done
same "large requests one after the other on one connection" "40 requests, 1 connection" \
    "$(curl "${requests[@]:1}" 2>&1 | awk '$1 == 200 { n++; c += $2 } END { print n " requests, " c " connection" }')"

# --- Chat Completions
post /v1/chat/completions "$hello"
answers "an answer" 200
tells "it is the agent's" .choices[0].message.content "you said: hello"
tells "and done" .choices[0].finish_reason stop
tells "with its usage" '.usage | .prompt_tokens > 0 and .total_tokens == .prompt_tokens + .completion_tokens' true
post /v1/chat/completions '{"model":"coder","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hello"}]}'
answers "a stream" 200
same "in pieces" "you said: hello" "$(chunks | jq -j '.choices[0].delta.content // ""')"
same "with one end" stop "$(chunks | jq -r '.choices[0].finish_reason // empty')"
same "usage comes last" true "$(chunks | tail -n 1 | jq '.usage.total_tokens > 0 and .choices == []')"
check "and [DONE]" grep -qx 'data: \[DONE\]' "$out"
post /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"list"}]}'
check "its own tools run here" grep -q notes.txt "$out"
tells "and are not shown" '.choices[0].message | has("tool_calls")' false
post /v1/chat/completions '{"model":"nobody","messages":[{"role":"user","content":"x"}]}'
answers "no such agent" 404
tells "by its name" .error.code model_not_found
while IFS='|' read -r path body; do
    post "$path" "$body"
    answers "an agent that is no text: $path" 404
done <<'LIST'
/v1/chat/completions|{"model":5,"messages":[{"role":"user","content":"x"}]}
/v1/messages|{"model":{"id":"coder"},"max_tokens":9,"messages":[{"role":"user","content":"x"}]}
/v1/responses|{"model":["coder"],"input":"x"}
/tools/invoke|{"agent":5,"tool":"ls","args":{}}
/api/chat|{"id":"c1","agent":true,"messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"x"}]}]}
LIST
post /v1/chat/completions '{"model":null,"messages":[{"role":"user","content":"hello"}]}'
answers "without a name the first agent answers" 200
post /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"break"}]}'
answers "a model that rejects the request" 400
post /v1/chat/completions '{"model":"coder","stream":true,"messages":[{"role":"user","content":"break"}]}'
answers "before a stream began" 400
while IFS='|' read -r name body; do
    post /v1/chat/completions "{\"model\":\"coder\",$body}"
    answers "bad request: $name" 400
done <<'CASES'
no messages|"x":1
none at all|"messages":[]
a role|"messages":[{"role":"robot","content":"x"}]
content|"messages":[{"role":"user","content":{}}]
a result without a call|"messages":[{"role":"tool","tool_call_id":"a","content":"x"}]
a call without a result|"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"x"}]
temperature|"temperature":9,"messages":[{"role":"user","content":"x"}]
two answers|"n":2,"messages":[{"role":"user","content":"x"}]
a tool without a name|"tools":[{"type":"function","function":{}}],"messages":[{"role":"user","content":"x"}]
a choice|"tool_choice":{},"messages":[{"role":"user","content":"x"}]
CASES

# --- tools of the caller
tool='"tools":[{"type":"function","function":{"name":"get_place","description":"Where.","parameters":{"type":"object","properties":{"near":{"type":"string"}}}}}]'
post /v1/chat/completions "{\"model\":\"reader\",$tool,\"messages\":[{\"role\":\"user\",\"content\":\"where\"}]}"
tells "a call of the caller's tool comes back" .choices[0].finish_reason tool_calls
tells "with its arguments" '.choices[0].message.tool_calls[0].function | .name + .arguments' 'get_place{"near":"me"}'
message=$(jq -c .choices[0].message "$out")
id=$(jq -r .choices[0].message.tool_calls[0].id "$out")
post /v1/chat/completions "{\"model\":\"reader\",$tool,\"messages\":[{\"role\":\"user\",\"content\":\"where\"},$message,{\"role\":\"tool\",\"tool_call_id\":\"$id\",\"content\":\"Oslo\"}]}"
tells "the result goes on" .choices[0].message.content "it said: Oslo"
kept() { post /v1/chat/completions "{\"model\":\"reader\",$tool,\"messages\":[$1]}" -H 'X-Chela-Session: place'; }
kept '{"role":"user","content":"where"}'
message=$(jq -c .choices[0].message "$out")
id=$(jq -r .choices[0].message.tool_calls[0].id "$out")
result="$message,{\"role\":\"tool\",\"tool_call_id\":\"$id\",\"content\":\"Oslo\"}"
kept "$result$(printf ',{"role":"user","content":"and %d"}' {1..65})"
answers "a result with too many messages after it" 413
kept "$result"
tells "was not taken: the client sends it again" .choices[0].message.content "it said: Oslo"
pair() { post /v1/chat/completions "{\"model\":\"reader\",$tool,\"messages\":[$1]}" -H 'X-Chela-Session: pair' "${@:2}"; }
pair '{"role":"user","content":"twice"}'
message=$(jq -c .choices[0].message "$out")
first=$(jq -r .choices[0].message.tool_calls[0].id "$out") second=$(jq -r .choices[0].message.tool_calls[1].id "$out")
oslo="{\"role\":\"tool\",\"tool_call_id\":\"$first\",\"content\":\"Oslo\"}" rome="{\"role\":\"tool\",\"tool_call_id\":\"$second\",\"content\":\"Rome\"}"
pair "$message,$oslo$(printf ',{"role":"user","content":"and %d"}' {1..21})"
answers "one of two results with too many messages after it" 413
pair "$message,$oslo" -m 20
answers "one of two results" 400
tells "says what lacks" .error.message "1 tool call is without a result: send all results"
pair "$message,$oslo,$rome"
tells "was not taken either" .choices[0].message.content "it said: Rome"
post /v1/chat/completions "{\"model\":\"reader\",\"stream\":true,$tool,\"messages\":[{\"role\":\"user\",\"content\":\"where\"}]}"
same "streamed too" get_place "$(chunks | jq -r '.choices[0].delta.tool_calls[0].function.name // empty')"
same "with its reason" tool_calls "$(chunks | jq -r '.choices[0].finish_reason // empty')"
post /v1/chat/completions "{\"model\":\"coder\",$tool,\"messages\":[{\"role\":\"user\",\"content\":\"both\"}]}"
tells "of two calls only the caller's is shown" '[.choices[0].message.tool_calls[].function.name] | join(",")' get_place

# --- Responses
post /v1/responses '{"model":"coder","input":"hello"}'
tells "a response" '.status + " " + .output[0].content[0].text' "completed you said: hello"
post /v1/responses '{"model":"coder","input":"hello","stream":true}'
same "streamed, from its beginning to its end" "response.created response.completed" "$(chunks | jq -r .type | sed -n '1p;$p' | paste -sd' ')"
same "numbered without gaps" true "$(chunks | jq -s '[.[].sequence_number] == [range(length)]')"
post /v1/responses '{"model":"coder","input":"where","tools":[{"type":"function","name":"get_place","parameters":{"type":"object"}}]}'
tells "with a call of the caller's tool" '[.output[].type] | join(",")' message,function_call
items=$(jq -c '.output | map(tostring) | join(",")' -r "$out")
id=$(jq -r .output[1].call_id "$out")
post /v1/responses "{\"model\":\"coder\",\"input\":[{\"role\":\"user\",\"content\":\"where\"},$items,{\"type\":\"function_call_output\",\"call_id\":\"$id\",\"output\":\"Oslo\"}]}"
tells "which its result answers" .output[0].content[0].text "it said: Oslo"
post /v1/responses '{"model":"coder","input":"x","previous_response_id":"resp_1"}'
answers "an unknown response" 400
post /v1/responses '{"model":"coder","input":"break","stream":true}'
answers "a failure before the first word" 400

# --- HTTP/2, for who knows that it is spoken
two=--http2-prior-knowledge
call GET /v1/models $two
answers "HTTP/2: a request" 200
check "HTTP/2: it is" grep -q '^HTTP/2 200' "$err"
anon GET /v1/models $two
answers "HTTP/2: without a token" 401
anon GET /healthz $two
answers "HTTP/2: where none is needed" 200
call GET /v1/models $two -H 'Host: evil.example'
answers "HTTP/2: a name that is not ours" 421
call GET /v1/models $two -H 'Origin: https://evil.example'
answers "HTTP/2: a page that is not ours" 403
call GET /v1/models $two -d x -H 'Content-Type: application/json'
answers "HTTP/2: a body where none is due" 400
call DELETE /v1/models $two
answers "HTTP/2: another method" 405
call POST /v1/chat/completions $two -d "$hello"
answers "HTTP/2: a form is no JSON" 415
post /v1/chat/completions '{"model":' $two
answers "HTTP/2: broken JSON" 400
call GET /healthz $two -H "X: $(head -c 40000 /dev/zero | tr '\0' x)"
answers "HTTP/2: headers that are too large" 431
truncate -s 34000000 "$tmp/large"
call POST /v1/chat/completions $two -H 'Content-Type: application/json' --data-binary "@$tmp/large"
answers "HTTP/2: a body that is too large" 413
tells "HTTP/2: in the form of all errors" .error.type invalid_request_error
call POST /v1/chat/completions $two -H 'Content-Type: application/json' -H 'Expect:' -T - <"$tmp/large"
answers "HTTP/2: the same, of a length that nobody told" 413
post /v1/chat/completions '{"model":"coder","stream":true,"messages":[{"role":"user","content":"hello"}]}' $two
same "HTTP/2: a stream" "you said: hello" "$(chunks | jq -j '.choices[0].delta.content // ""')"

# --- the end
check "the log has no token" bash -c "! grep -qF '$token' '$serve_log'"
check "SIGTERM ends it" stop_serving
check "and it had said what it did" grep -q 'POST /v1/chat/completions 200' "$serve_log"

# --- the log as JSON
serve --log-format json
anon GET /healthz
for _ in {1..100}; do grep -q /healthz "$serve_log" && break; sleep 0.05; done
same "a log for programs" "info gateway" "$(jq -r 'select(.message | test("/healthz 200")) | .level + " " + .area' "$serve_log")"
check "which ends too" stop_serving
tap_done

#!/usr/bin/env bash
# /mcp of a gateway with three workers: sessions of 2025-11-25 over connections that reach other workers,
# streams, resuming, cancelling, tasks, a worker that is killed, the end, and TLS.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^read", after: none }, call: { tool: read, args: { file_path: note } } }
  - { when: { user: "^slow" }, say: "slow answer", delay_ms: 2500 }
  - { when: { user: "^never" }, say: "never", delay_ms: 120000 }
  - { when: { after: any }, say: "seen: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
echo 'the note' >"$space/note"
configure() { # AGENTS [LINE...]
    cat >"$space/chela.yaml" <<YAML
store: "sqlite:$tmp/chela.db"
workers: 3
agents: { list: [$1] }
YAML
    printf '%s\n' "${@:2}" >>"$space/chela.yaml"
}
coder='{ id: coder, model: scripted/rules.yaml }'
json=(-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream')
# legacy JSON [CURL-FLAG...]: a request of 2025-11-25, over a connection of its own. $out: the last message of the response.
legacy() {
    local body=$1
    shift
    call POST /mcp "${json[@]}" --data-binary "$body" "$@"
    if grep -q '^data: {' "$out"; then
        cp "$out" "$out.stream"
        sed -n 's/^data: \({.*\)/\1/p' "$out" | tail -n 1 >"$out.last" && mv "$out.last" "$out"
    fi
}
# begin: open a session; sets $sid and the flags $s.
begin() {
    legacy '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' "$@"
    sid=$(sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *\([^\r]*\).*/\1/p' "$err")
    s=(-H "Mcp-Session-Id: $sid" -H 'MCP-Protocol-Version: 2025-11-25')
}
ask() { # ID MESSAGE: the body of a call of ask_coder with progress
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"ask_coder","arguments":{"message":"%s"},"_meta":{"progressToken":7}}}' "$1" "$2"
}
# modern METHOD NAME MEMBERS [CURL-FLAG...]: a request of 2026-07-28 of a client that knows tasks.
modern() {
    local method=$1 name=$2 members=$3
    shift 3
    call POST /mcp "${json[@]}" -H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $method" ${name:+-H "Mcp-Name: $name"} --data-binary \
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$method\",\"params\":{$members,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}}}" "$@"
}
task_is() {
    modern tasks/get "$1" "\"taskId\":\"$1\"" && [ "$(jq -r .result.status "$out")" = "$2" ]
}
# The workers accept connections in turn: the connection after these ones is mostly of another worker.
next_worker() { curl -sS -H 'Connection: close' "$gateway/healthz"{,,,} >/dev/null; }
holds() { grep -q "$2" "$1" 2>/dev/null; } # FILE PATTERN

configure "$coder" 'gateway: { drainSec: 20, mcp: { enabled: true, agent: coder } }'
serve
check "the gateway starts" test -n "$gateway"

# --- sessions of all workers
all=()
for _ in 1 2 3 4 5 6; do # the first turns have one connection
    begin
    all+=("$sid")
done
same "each worker opens sessions" '1 2 3' "$(printf '%s\n' "${all[@]}" | sed 's/-.*//' | sort -u | xargs)"
for k in 1 2 3; do
    next_worker
    legacy '{"jsonrpc":"2.0","method":"notifications/initialized"}' "${s[@]}"
    answers "a notification, connection $k" 202
    legacy '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' "${s[@]}"
    tells "a list, connection $k" '[.result.tools[].name] | index("ask_coder") != null' true
    legacy "$(ask 3 'read it')" "${s[@]}"
    tells "a call, connection $k" '.result.content[0].text | contains("the note")' true
    same "with its progress, connection $k" notifications/progress "$(sed -n 's/^data: \({.*\)/\1/p' "$out.stream" | head -n 1 | jq -r .method)"
    legacy '{"jsonrpc":"2.0","id":4,"method":"no/such"}' "${s[@]}"
    tells "an error, connection $k" .error.code -32601
    legacy '{"jsonrpc":"2.0","id":5,"method":"tools/list"}' -H 'Mcp-Session-Id: 2-00000000000000000000000000000000'
    answers "a session that nobody has, connection $k" 404
    legacy '{"jsonrpc":"2.0","id":5,"method":"tools/list"}' -H 'Mcp-Session-Id: 9-00000000000000000000000000000000'
    answers "a session of a worker that does not exist, connection $k" 404
    call GET /mcp "${s[@]}" -H 'Accept: application/json'
    answers "a stream that the client does not accept, connection $k" 406
    anon POST /mcp "${json[@]}" "${s[@]}" -H 'Authorization: Bearer wrong-wrong-wrong-wrong' --data-binary '{"jsonrpc":"2.0","id":6,"method":"tools/list"}'
    answers "a wrong token, connection $k" 401
done
printf '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask_coder","arguments":{"message":"%s"}}}' "$(head -c 1500000 /dev/zero | tr '\0' w)" >"$tmp/long"
for k in 1 2 3; do
    next_worker
    call POST /mcp "${json[@]}" "${s[@]}" -H 'Accept: application/json' --data-binary "@$tmp/long"
    same "a long call and its long answer, connection $k" 1500007 "$(jq -r '.result.content[0].text | length' "$out")"
done

# --- a call is cancelled from connections to other workers
begin
(out=$tmp/never call POST /mcp "${json[@]}" "${s[@]}" --data-binary "$(ask 9 never)" -m 60 && echo "$code" >"$tmp/cancelled") &
waiting=$!
runs() { call GET /api/sessions && [ "$(jq '[.sessions[] | select(.status == "running")] | length' "$out")" -ge 1 ]; }
check "a call waits" eventually runs
for _ in 1 2 3; do next_worker && legacy '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}' "${s[@]}"; done
wait "$waiting"
check "a cancelled call ends" test -s "$tmp/cancelled"

# --- a lost response is fetched from another worker
begin
call POST /mcp "${json[@]}" "${s[@]}" -H 'Accept: text/event-stream' --data-binary "$(ask 10 'slow')" -m 1
first=$(sed -n 's/^id: //p' "$out" | head -n 1)
for k in 1 2 3; do
    next_worker
    call GET /mcp "${s[@]}" -H 'Accept: text/event-stream' -H "Last-Event-ID: ${first:-2-0}" -m 20
    same "the response, connection $k" 'slow answer' "$(sed -n 's/^data: \({.*\)/\1/p' "$out" | jq -r 'select(.id == 10).result.content[0].text')"
done

# --- notifications: a stream of a session, and subscriptions, at each worker
begin
for k in 1 2 3; do
    if [ "$k" = 1 ]; then
        curl -sS -N -m 60 -o "$tmp/notices" -H "Authorization: Bearer $token" -H 'Accept: text/event-stream' "${s[@]}" "$gateway/mcp" &
        streams=($!)
    fi
    (out=$tmp/listen$k modern subscriptions/listen "" "\"notifications\":{\"toolsListChanged\":true}" -N -m 60) &
    streams+=($!)
done
for k in 1 2 3; do check "subscription $k" eventually holds "$tmp/listen$k" acknowledged; done
for k in 1 2 3; do
    next_worker
    call GET /mcp "${s[@]}" -H 'Accept: text/event-stream'
    answers "a second stream of the session, connection $k" 409
done
configure "$coder, { id: writer, model: scripted/rules.yaml }" 'gateway: { drainSec: 20, mcp: { enabled: true, agent: coder } }'
kill -HUP "$gateway_pid"
check "the session's stream has the change" eventually holds "$tmp/notices" notifications/tools/list_changed
for k in 1 2 3; do check "subscription $k has the change" eventually holds "$tmp/listen$k" notifications/tools/list_changed; done
kill "${streams[@]}" 2>/dev/null
wait "${streams[@]}" 2>/dev/null

# --- tasks are asked for at any worker
modern tools/call ask_coder '"name":"ask_coder","arguments":{"message":"hello","session":"t1"}'
tells "a task" '.result | .resultType + " " + .taskId' 'task t1'
for k in 1 2 3; do check "which ends, connection $k" eventually task_is t1 completed; done
legacy '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask_coder","arguments":{"message":"hi","session":"t2"},"task":{}}}' "${s[@]}"
tells "a task of 2025-11-25" .result.task.taskId t2
for k in 1 2 3; do
    next_worker
    legacy '{"jsonrpc":"2.0","id":4,"method":"tasks/result","params":{"taskId":"t2"}}' "${s[@]}"
    tells "and its result, connection $k" '.result.content[0].text' 'heard: hi'
done

# --- the end of a session
call DELETE /mcp "${s[@]}"
answers "a session is ended" 200
for k in 1 2 3; do
    next_worker
    legacy '{"jsonrpc":"2.0","id":6,"method":"tools/list"}' "${s[@]}"
    answers "and gone, connection $k" 404
done

# --- a worker is killed: its sessions are gone, those of the others stay
begin
mine=${sid%%-*}
for other in "${all[@]}"; do [ "${other%%-*}" = "$mine" ] || break; done
before=$(workers | sort)
curl -sS -N -m 60 -o "$tmp/notices" -H "Authorization: Bearer $token" -H 'Accept: text/event-stream' "${s[@]}" "$gateway/mcp" &
follower=$!
mapfile -t pids < <(workers | sort -n) # started in the order of their numbers
kill -9 "${pids[mine - 1]}"
wait "$follower"
check "its stream ends" true
gone() { next_worker && legacy '{"jsonrpc":"2.0","id":6,"method":"tools/list"}' "${s[@]}" && [ "$code" = 404 ]; }
for k in 1 2 3; do
    check "its session is gone, connection $k" gone
done
anew() { [ "$(workers | wc -l)" = 3 ] && [ "$(workers | sort)" != "$before" ]; }
check "it is started again" eventually anew
check "its session stays gone" eventually gone
for k in 1 2 3; do
    next_worker
    legacy '{"jsonrpc":"2.0","id":7,"method":"tools/list"}' -H "Mcp-Session-Id: $other" -H 'MCP-Protocol-Version: 2025-11-25'
    answers "a session of another worker stays, connection $k" 200
done

# --- SIGTERM: calls in progress are answered first
begin
calls=()
for k in 1 2 3; do
    (out=$tmp/last$k call POST /mcp "${json[@]}" "${s[@]}" --data-binary "$(ask 1$k slow)" -m 60) &
    calls+=($!)
done
busy() { call GET /api/sessions && [ "$(jq '[.sessions[] | select(.status == "running")] | length' "$out")" -ge 3 ]; }
check "three calls are in progress" eventually busy
check "SIGTERM ends the gateway" stop_serving
wait "${calls[@]}"
for k in 1 2 3; do check "call $k is answered" grep -q 'slow answer' "$tmp/last$k"; done

# --- TLS: a relayed request
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout "$space/key.pem" -out "$space/cert.pem" 2>/dev/null
export CURL_CA_BUNDLE=$space/cert.pem
configure "$coder" 'gateway: { tls: { cert: cert.pem, key: key.pem }, mcp: { enabled: true, agent: coder } }'
serve
for version in --http1.1 --http2; do
    begin "$version"
    for k in 1 2 3; do
        next_worker
        legacy "$(ask 3 'read it')" "${s[@]}" "$version"
        tells "TLS, $version, connection $k" '.result.content[0].text | contains("the note")' true
    done
done
check "SIGTERM ends the gateway with TLS" stop_serving
tap_done

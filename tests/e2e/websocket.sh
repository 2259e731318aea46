#!/usr/bin/env bash
# The Responses API over a WebSocket: one connection for a run, HTTP where a WebSocket cannot be had, and no request that is
# answered or paid twice.
# shellcheck disable=SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

needs python3
python3 tests/support/wireserver.py "$tmp/sockets.log" >"$tmp/port" &
server_pid=$!
trap 'kill $server_pid 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do
    [ -s "$tmp/port" ] && break
    sleep 0.05
done
url=http://127.0.0.1:$(sed -n 's/^port //p' "$tmp/port")

ask() { # KIND [FLAG...]: a round with a call of `ls`, then the answer
    local kind=$1
    shift
    cat >"$space/chela.yaml" <<YAML
sandbox: { mode: off }
providers: { jobs: { api: openai-responses, baseUrl: "$url/$kind/v1", apiKeyEnv: ${names:-OPENAI_API_KEY}, transport: websocket, headers: { X-Extra: e }, models: [{ id: m, contextWindow: ${window:-100000} }] } }
agents: { defaults: { model: jobs/m } }
YAML
    chela run --output jsonl "$@" "Say hello."
}
lines() { jq -c "select(.kind == \"$1\" and .by == \"$2\")" "$tmp/sockets.log" | wc -l; }
answer() { jq -r 'select(.type == "run_end").text' "$out"; }

ask good
same "the answer" "0 Hello world." "$status $(answer)"
same "its text, once" "Hello world." "$(jq -rj 'select(.type == "text_delta").text' "$out")"
same "the usage of both rounds" "14 6" "$(jq -r 'select(.type == "run_end").usage | "\(.input) \(.output)"' "$out")"
same "one connection, two requests, nothing over HTTP" "1 2 0" "$(lines good upgrade) $(lines good socket) $(lines good http)"
same "the connection has the key and the headers of the provider" '"Bearer " "e" "/good/v1/responses"' \
    "$(jq -r 'select(.by == "upgrade" and .kind == "good") | "\(.authorization|tojson) \(.extra|tojson) \(.path|tojson)"' "$tmp/sockets.log")"
same "nothing is stored there" "false false" "$(jq -r 'select(.by == "socket" and .kind == "good").body.store' "$tmp/sockets.log" | tr '\n' ' ' | sed 's/ $//')"

# --- a request that continues the last reply

sent() { jq -c "select(.kind == \"$1\" and .by == \"socket\") | $2" "$tmp/sockets.log" | tr -d '"' | tr '\n' ' ' | sed 's/ $//'; }
ask long
same "five requests over one connection" "0 Hello world. 1 5 0" "$status $(answer) $(lines long upgrade) $(lines long socket) $(lines long http)"
same "each one has only what is new" "1 1 1 1 1" "$(sent long '.body.input | length')"
same "it continues the reply before it" "false true true true true" "$(sent long '.body | has("previous_response_id")')"
same "which the service holds" "true true true true true" "$(sent long .held)"
same "and amounts to the whole history" "1 3 5 7 9" "$(sent long '.context | length')"
same "with all other members each time" 1 "$(jq -c 'select(.kind == "long" and .by == "socket").body | del(.input, .previous_response_id)' "$tmp/sockets.log" | sort -u | wc -l)"
http=$(jq -c 'select(.kind == "long" and .by == "socket").body | select(has("previous_response_id") | not) | keys' "$tmp/sockets.log")
ask long --record "$tmp/tape"
same "over HTTP the members are the same, and stream" "$(jq -c '. - ["type"] + ["stream"] | sort' <<<"$http")" \
    "$(jq -c 'select(.kind == "long" and .by == "http").body | keys' "$tmp/sockets.log" | sort -u)"

for kind in forgets fails stateless; do
    ask $kind
    same "$kind: the answer" "0 Hello world. 1 0" "$status $(answer) $(lines $kind upgrade) $(lines $kind http)"
    same "$kind: what is refused is sent whole, and after the second time at once" "1 1 3 1 5 7 9" "$(sent $kind '.body.input | length')"
    same "$kind: each call runs once" 4 "$(jq -c 'select(.type == "tool_start")' "$out" | wc -l)"
    same "$kind: the run tells of no error" 0 "$(jq -c 'select(.type == "retry" or .type == "warning")' "$out" | wc -l)"
done

# Results that no longer fit are pruned in the middle of the run.
mkdir "$space/many"
touch "$space"/many/a-file-with-a-long-name-{1..300}
window=24000 ask edited
same "an edited history: the answer" "0 Hello world. 1 0" "$status $(answer) $(lines edited upgrade) $(lines edited http)"
check "it is a new epoch" test "$(jq -c 'select(.type == "epoch")' "$out" | wc -l)" -ge 1
same "whose first request is whole, and the others continue" "$((1 + $(jq -c 'select(.type == "epoch")' "$out" | wc -l)))" \
    "$(sent edited '.body | has("previous_response_id")' | tr ' ' '\n' | grep -c false)"
same "all of them amount to the whole history" "1 3 5 7 9 11 13 15" "$(sent edited '.context | length')"
same "and continue what the service holds" "true true true true true true true true" "$(sent edited .held)"

ask plain
same "a refused upgrade: the answer comes over HTTP" "0 Hello world. 0 2" "$status $(answer) $(lines plain socket) $(lines plain http)"
same "a refused upgrade is tried once" 1 "$(lines plain upgrade)"
same "a refused upgrade is told once" 1 "$(jq -r 'select(.type == "warning").text' "$out" | grep -c "asked over HTTP.*426")"

ask dies
same "a connection that dies before an event: HTTP" "0 Hello world. 2" "$status $(answer) $(lines dies http)"
same "the request is not sent twice over a WebSocket" 2 "$(lines dies socket)"

ask cut
same "a connection that ends in the middle: asked again" "0 Hello world." "$status $(answer)"
same "once, on a new connection" "3 2 0" "$(lines cut socket) $(lines cut upgrade) $(lines cut http)"
same "the tool of a broken connection runs once" 1 "$(jq -r 'select(.type == "tool_start").name' "$out" | grep -c ls)"

same "the request on the new connection is whole" "1 1 1" "$(sent cut '.body.input | length')"

ask worn
same "an old connection is replaced" "0 Hello world. 2 0" "$status $(answer) $(lines worn upgrade) $(lines worn http)"
same "by one whose first request is whole" "1 1 3" "$(sent worn '.body.input | length')"

ask busy
same "an error with its status and headers" "0 Hello world. 3 1" "$status $(answer) $(lines busy socket) $(lines busy upgrade)"
same "is waited for" 1 "$(jq -c 'select(.type == "retry" and .delay_ms >= 1000) | .reason' "$out" | grep -c 429)"

# A key that is refused is not asked again on the connection that it opened.
names="[TERM, LC_ALL]" ask keys
same "another key opens another connection" "0 Hello world. 2 0" "$status $(answer) $(lines keys upgrade) $(lines keys http)"
same "and sends the rest" "Bearer dumb Bearer C.UTF-8 Bearer C.UTF-8" "$(sent keys .key)"

# --- what a service should not say

for kind in binary flood huge text bits words; do
    ask "$kind"
    same "$kind: the reply fails and is asked for again" "0 Hello world." "$status $(answer)"
done
ask always_cut --max-errors 2
check "connections that always end in the middle: the run fails" [ "$status" = 1 ]
same "and is asked for again as often as is allowed" 3 "$(lines always_cut socket)"
check "with the reason" grep -q 'jobs/m: .* closed the connection' "$err"
ask mute --timeout 2
check "a service that never answers: the run's time ends it" [ "$status" = 3 ]
same "and there was one request" 1 "$(lines mute socket)"
ask disorder
same "events in a wrong order: an answer" "0 Hello world." "$status $(answer)"
same "and the call runs once" 1 "$(jq -c 'select(.type == "tool_start")' "$out" | wc -l)"
ask stray
same "messages that nobody asked for" "0 Hello world." "$status $(answer)"
tap_done

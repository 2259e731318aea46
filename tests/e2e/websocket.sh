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

ask() { # KIND: a round with a call of `ls`, then the answer
    cat >"$space/chela.yaml" <<YAML
sandbox: { mode: off }
providers: { jobs: { api: openai-responses, baseUrl: "$url/$1/v1", apiKeyEnv: OPENAI_API_KEY, transport: websocket, headers: { X-Extra: e } } }
agents: { defaults: { model: jobs/m } }
YAML
    chela run --output jsonl "Say hello."
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

ask worn
same "an old connection is replaced" "0 Hello world. 2 0" "$status $(answer) $(lines worn upgrade) $(lines worn http)"

ask busy
same "an error with its status and headers" "0 Hello world. 3 1" "$status $(answer) $(lines busy socket) $(lines busy upgrade)"
same "is waited for" 1 "$(jq -c 'select(.type == "retry" and .delay_ms >= 1000) | .reason' "$out" | grep -c 429)"

for kind in binary flood huge; do
    ask "$kind"
    same "$kind: the reply fails and is asked for again" "0 Hello world." "$status $(answer)"
done
ask stray
same "messages that nobody asked for" "0 Hello world." "$status $(answer)"
tap_done

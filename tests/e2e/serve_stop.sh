#!/usr/bin/env bash
# `chela serve`: how it ends, whatever it is doing, and that what it was doing can
# be taken up again.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

# A model that takes its time; for whoever resumes it does not.
thinks() { # MILLISECONDS
    echo "rules: [{ delay_ms: $1, say: 'said: {{user}}' }]" >"$space/rules.yaml"
}
configure() { # SECONDS
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
gateway: { drainSec: $1 }
YAML
}
program=$(realpath "$program")

ends_with() { # NAME STATUS
    for _ in {1..400}; do
        [ -s "$tmp/status" ] && break
        sleep 0.05
    done
    same "$1" "$2" "$(cat "$tmp/status" 2>&1)"
}
# As serve, but the status is kept. The log may go to a pipe.
serve_watched() {
    : >"$serve_log"
    rm -f "$tmp/status" "$tmp/serve.pid"
    (
        cd "$space" || exit
        # shellcheck disable=SC2016
        with_env CHELA_TOKEN="$token" sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/serve.pid" \
            "$program" serve --listen 127.0.0.1:0 -v >>"$serve_log" 2>&1 </dev/null
        echo $? >"$tmp/status"
    ) &
    for _ in {1..400}; do grep -q 'listening on' "$serve_log" && break; sleep 0.05; done
    gateway_pid=$(cat "$tmp/serve.pid")
    trap 'kill -9 $gateway_pid 2>/dev/null; rm -rf "$tmp"' EXIT
    gateway=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$serve_log")
}
begin() { # KEY TEXT EVENT: the run has come so far
    post "/api/sessions/$1/messages" "{\"text\":\"$2\"}"
    curl -sSN -m 60 -H "Authorization: Bearer $token" -H 'Last-Event-ID: start:0' "$gateway/api/sessions/$1/events" >"$tmp/events" 2>/dev/null &
    follower=$!
    for _ in {1..400}; do grep -q "\"type\":\"$3\"" "$tmp/events" && return; sleep 0.05; done
    return 1
}
goes_on() { # NAME KEY TEXT
    thinks 0
    serve_watched
    call GET "/api/sessions/$2/records"
    tells "$1: nobody is at work on it" .live false
    post "/api/sessions/$2/messages" '{"resume":true,"stream":true}'
    same "$1: it goes on" "said: $3" "$(chunks | tail -n 1 | jq -r .text)"
}

configure 1
thinks 3600000
serve_watched
kill -TERM "$gateway_pid"
ends_with "at rest it ends at once" 0

serve_watched
check "while a model thinks" begin long "think long" model_request
kill -TERM "$gateway_pid"
ends_with "it waits as long as it was told" 0
wait "$follower"
goes_on "what was cut off" long "think long"
kill -TERM "$gateway_pid"
ends_with "and ends" 0

configure 3600
thinks 3600000
serve_watched
check "while a model thinks, with all the time in the world" begin twice "think long" model_request
kill -TERM "$gateway_pid"
for _ in {1..400}; do
    anon GET /readyz
    [ "$code" = 000 ] && break
    sleep 0.05
done
same "nobody new is let in" 000 "$code"
check "it goes on with what it has" kill -0 "$gateway_pid"
kill -TERM "$gateway_pid"
ends_with "a second signal ends it" 0
wait "$follower"
goes_on "what was cut off twice" twice "think long"
kill -INT "$gateway_pid"
ends_with "SIGINT does as well" 0

# --- nobody reads its log any more
mkfifo "$tmp/pipe"
rm -f "$tmp/serve.pid" "$tmp/status"
# shellcheck disable=SC2016
(cd "$space" && with_env CHELA_TOKEN="$token" sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/serve.pid" \
    "$program" serve --listen 127.0.0.1:0 -v >"$tmp/pipe" 2>&1 </dev/null; echo $? >"$tmp/status") &
exec 5<"$tmp/pipe"
while read -r line <&5; do
    gateway=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' <<<"$line")
    if [ -n "$gateway" ]; then break; fi
done
gateway_pid=$(cat "$tmp/serve.pid")
exec 5<&-
for _ in 1 2 3; do call GET /v1/models; done
answers "a log that nobody reads does not end it" 200
kill -TERM "$gateway_pid"
ends_with "a signal does" 0
tap_done

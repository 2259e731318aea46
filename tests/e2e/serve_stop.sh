#!/usr/bin/env bash
# `chela serve`: how it ends, whatever it is doing, and that what it was doing can
# be taken up again.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

# A model that takes its time; for whoever resumes it does not.
thinks() { # MILLISECONDS
    cat >"$space/rules.yaml" <<YAML
rules:
  - { when: { user: "use it", after: none }, call: { tool: t_wait, args: {} } }
  - { delay_ms: $1, say: 'said: {{user}}' }
YAML
}
configure() { # SECONDS [OTHER OPTIONS]
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
gateway: { drainSec: $1${2:+, $2} }
sandbox: { mode: off }
approvals: { t_wait: auto }
tools: { custom: [{ name: t_wait, description: Waits., command: [./waiter], effect: once, permission: write, timeoutSec: 60 }] }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open } }
YAML
}
# A program that is at work until it is told to go, or the one who wants to know is gone.
printf '#!/bin/sh\necho began >>waiting\nwhile [ ! -e go ] && [ -e waiter ]; do sleep 0.02; done\n' >"$space/waiter"
chmod +x "$space/waiter"
start_lark
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
    trap 'kill -9 $gateway_pid 2>/dev/null; kill $server_pid; rm -rf "$tmp"' EXIT
    gateway=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$serve_log")
}
begin() { # KEY TEXT EVENT: the run has come so far
    post "/api/sessions/$1/messages" "{\"text\":\"$2\"}"
    curl -sSN -m 600 -H "Authorization: Bearer $token" -H 'Last-Event-ID: 0' "$gateway/api/sessions/$1/events" >"$tmp/events" 2>/dev/null &
    follower=$!
    for _ in {1..400}; do grep -q "\"type\":\"$3\"" "$tmp/events" && return; sleep 0.05; done
    return 1
}
answered() { # KEY TEXT
    call GET "/api/sessions/$1/records"
    grep -qF "said: $2" "$out"
}
goes_on() { # NAME KEY TEXT
    thinks 0
    serve_watched
    check "$1: it goes on by itself" eventually answered "$2" "$3"
    post "/api/sessions/$2/messages" '{"resume":true}'
    same "$1: and has nothing more to resume" 409 "$code"
}

configure 1
thinks 3600000
serve_watched
kill -TERM "$gateway_pid"
ends_with "at rest it ends at once" 0

serve_watched
check "while a model thinks" begin long "think long" run_start
kill -TERM "$gateway_pid"
ends_with "it waits as long as it was told" 0
wait "$follower"
goes_on "what was cut off" long "think long"
kill -TERM "$gateway_pid"
ends_with "and ends" 0

thinks 3600000
serve_watched
check "while a model thinks, before a reload" begin reload "think long" run_start
configure 3600 'tokenEnv: NO_SUCH_TOKEN'
(cd "$space" && believe)
kill -HUP "$gateway_pid"
for _ in {1..400}; do grep -q 'stays as it was' "$serve_log" && break; sleep 0.05; done
kill -TERM "$gateway_pid"
ends_with "a configuration that was refused does not say how long it waits" 0
wait "$follower"
configure 1
goes_on "what was cut off after a reload" reload "think long"
kill -TERM "$gateway_pid"
ends_with "and ends again" 0

configure 3600
thinks 3600000
serve_watched
check "while a model thinks, with all the time in the world" begin twice "think long" run_start
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

# --- while a tool is at work, and while an answer is being sent
configure 1
thinks 0
serve_watched
check "while a tool works" begin tool "use it" tool_start
began() { for _ in {1..400}; do [ -s "$space/waiting" ] && return; sleep 0.05; done; return 1; }
check "it has begun" began
kill -TERM "$gateway_pid"
ends_with "it is waited for as long as that" 0
wait "$follower"
touch "$space/go"
goes_on "with a tool cut off" tool "use it"
same "which is not run again" 1 "$(wc -l <"$space/waiting")"

echo hang >"$tmp/lark/fail"
push "$(event om_1 oc_ann p2p 'hello')"
check "an answer is on its way" hears 1
kill -HUP "$gateway_pid"
for _ in {1..400}; do grep -q 'read again' "$serve_log" && break; sleep 0.05; done
check "SIGHUP does not end it" kill -0 "$gateway_pid"
kill -TERM "$gateway_pid"
ends_with "the service does not say that it has it" 0
serve_watched
sent_twice() {
    for _ in {1..400}; do
        [ "$(grep -c '^POST /open-apis/im/v1/messages/om_1/reply ' "$tmp/lark/calls")" = 2 ] && return
        sleep 0.05
    done
    return 1
}
check "so it is sent again" sent_twice
echo slow >"$tmp/lark/fail"
push "$(event om_2 oc_ann p2p 'hello')"
check "another one, which it is slow to take" hears 2
kill -TERM "$gateway_pid"
ends_with "is waited for" 0
serve_watched
push "$(event om_3 oc_ann p2p 'hello')"
check "the next one" hears 3
kill -TERM "$gateway_pid"
ends_with "and then it ends" 0
same "what was taken is not sent again" 1 "$(grep -c '^POST /open-apis/im/v1/messages/om_2/reply ' "$tmp/lark/calls")"
same "with the key that it had" 1 "$(grep '/om_1/reply ' "$tmp/lark/calls" | grep -o '"uuid":"[^"]*"' | sort -u | wc -l)"
same "so people see each once" 3 "$(wc -l <"$tmp/lark/sent")"

# --- connections that it has not accepted yet, and requests that it has not read
ask() { # KEY: a message; the connection is the descriptor $asked
    local body="{\"text\":\"hello\"}" host=${gateway#http://}
    exec {asked}<>"/dev/tcp/${host%:*}/${host#*:}"
    printf 'POST /api/sessions/%s/messages HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
        "$1" "$host" "$token" "${#body}" "$body" >&"$asked"
}
is_gone() { ! kill -0 "$gateway_pid" 2>/dev/null; }
for n in 1 2; do
    configure 10
    serve --workers $n
    all="$gateway_pid $(workers | xargs)" asks=() heard=
    # shellcheck disable=SC2086
    kill -STOP $all
    for i in {1..6}; do ask "waits$n-$i" && asks+=("$asked"); done
    kill -TERM "$gateway_pid"
    # shellcheck disable=SC2086
    kill -CONT $all
    for asked in "${asks[@]}"; do
        read -r -t 20 first <&"$asked"
        heard+=" ${first:9:3}"
        exec {asked}<&-
    done
    same "$n process: a message that waits at the end is accepted" " 202 202 202 202 202 202" "$heard"
    check "$n process: and it ends" eventually is_gone
    serve
    for i in {1..6}; do check "$n process: message $i is answered at the next start" eventually answered "waits$n-$i" hello; done
    stop_serving
done

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

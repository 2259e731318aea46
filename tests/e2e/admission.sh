#!/usr/bin/env bash
# What a gateway acknowledged is in the store: the process is killed as soon as the first line
# of the answer arrives, for each thing that can be asked of a session. Events of one session
# are taken up in the order in which they were acknowledged.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

rounds=${ADMISSION_ROUNDS:-4}
secret=hook-SENTINEL-0123456789abcdef
program=$(realpath "$program")
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "wait here" }, say: never, stall_after: 0 }
  - { when: { after: none, user: "ask me" }, call: { tool: ship, args: {} } }
  - { when: { after: none, user: "ask the page" }, call: { tool: page, args: {} } }
  - { say: "heard: {{user}}" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
sandbox: { mode: "off" }
approvals: { ship: ask }
tools: { custom: [{ name: ship, description: Ships., command: ["true"], effect: once, permission: write }] }
gateway: { hooks: { joined: { secretEnv: DEPLOY_SECRET, session: all-of-them } } }
YAML
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env DEPLOY_SECRET=$secret "$@"; }

# PATH BODY [HEADER...]: ask, and kill the gateway when the status line is there. Sets $first.
ask_and_kill() {
    local path=$1 body=$2 host=${gateway#http://}
    shift 2
    exec 3<>"/dev/tcp/${host%:*}/${host#*:}" || return 1
    {
        printf 'POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n' "$path" "$host" "$token"
        [ $# = 0 ] || printf '%s\r\n' "$@"
        printf 'Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' "${#body}" "$body"
    } >&3
    read -r -t 20 first <&3
    kill -9 "$gateway_pid"
    exec 3<&- 3>&-
}
exported() { # KEY WORD: it is among the session's records
    (cd "$space" && with_env "$program" sessions export "$1" 2>/dev/null) | grep -qF "$2"
}
# A session in the state that the question needs.
prepare() { # WHAT KEY
    case $1 in
    run | hook | chat | v1) return ;;
    approval)
        post "/api/sessions/$2/messages" '{"text":"ask me"}'
        eventually status_is "$2" paused
        call GET /api/approvals
        approval=$(jq -r ".approvals[] | select(.session == \"$2\").approval_id" "$out")
        ;;
    results)
        post "/api/sessions/$2/messages" '{"text":"ask the page","tools":[{"name":"page","description":"Asks.","parameters":{"type":"object"}}]}'
        eventually status_is "$2" paused
        call GET "/api/sessions/$2"
        id=$(jq -r '[.transcript[].content[] | select(.type == "tool_call").id][0]' "$out")
        ;;
    *)
        post "/api/sessions/$2/messages" '{"text":"wait here"}'
        eventually status_is "$2" running
        ;;
    esac
}
question() { # WHAT KEY WORD
    local now signature
    case $1 in
    run) ask_and_kill "/api/sessions/$2/messages" "{\"text\":\"$3\"}" ;;
    steer | follow_up | take_over) ask_and_kill "/api/sessions/$2/messages" "{\"text\":\"$3\",\"mode\":\"$1\"}" ;;
    approval) ask_and_kill "/api/approvals/$approval" "{\"decision\":\"deny\",\"reason\":\"$3\"}" ;;
    results) ask_and_kill "/api/sessions/$2/messages" "{\"results\":[{\"id\":\"$id\",\"content\":\"$3\"}]}" ;;
    cancel) ask_and_kill "/api/sessions/$2/cancel" '{}' ;;
    chat) ask_and_kill /api/chat "{\"id\":\"$2\",\"messages\":[{\"id\":\"m1\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"$3\"}]}]}" ;;
    v1) ask_and_kill /v1/chat/completions "{\"model\":\"coder\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"$3\"}]}" "X-Chela-Session: $2" ;;
    hook)
        now=$(date +%s)
        signature=$(printf '%s.%s' "$now" "{\"w\":\"$3\"}" | openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1)
        ask_and_kill /hooks/joined "{\"w\":\"$3\"}" "X-Chela-Timestamp: $now" "X-Chela-Signature: sha256=$signature"
        ;;
    esac
}

for what in run steer follow_up approval results take_over cancel chat v1 hook; do
    refused=
    for ((i = 0; i < rounds; i++)); do
        serve
        prepare $what "$what$i"
        question $what "$what$i" "word-$what-$i"
        case $first in *' 20'*) ;; *) refused="$refused $i:$first" ;; esac
    done
    same "$what: answered" "" "$refused"
    serve
    lost=
    for ((i = 0; i < rounds; i++)); do
        word=word-$what-$i key=$what$i
        [ $what = cancel ] && word='"reason":"cancelled"'
        [ $what = hook ] && key=all-of-them
        eventually exported "$key" "$word" || lost="$lost $i"
    done
    same "$what: what was acknowledged is stored" "" "$lost"
    stop_serving KILL
done

# --- order: one gateway, one session, events as fast as they are acknowledged
knock() { # BODY
    local now signature
    now=$(date +%s)
    signature=$(printf '%s.%s' "$now" "$1" | openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1)
    anon POST /hooks/joined -H 'Content-Type: application/json' -H "X-Chela-Timestamp: $now" \
        -H "X-Chela-Signature: sha256=$signature" --data-binary "$1"
}
told() {
    (cd "$space" && with_env "$program" sessions export all-of-them) |
        jq -r 'select(.type == "inbound").data.message.content[0].text // empty' | sed -n 's/^joined: {"n":\([0-9]*\)}$/\1/p'
}
all_told() { [ "$(told | grep -c .)" -ge "$1" ]; }
serve
for ((i = 1; i <= 60; i++)); do knock "{\"n\":$i}"; done
eventually all_told 60
same "events are taken up once and in order" "$(seq 60)" "$(told)"

# --- a gateway that drains does not apply a decision for a paused run, and says so
prepare approval held
prepare cancel long
host=${gateway#http://} body='{"decision":"allow-once"}'
exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
printf 'POST /api/approvals/%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n' \
    "$approval" "$host" "$token" "${#body}" >&3
read -r -t 20 first <&3
same "the head of the request is read" "HTTP/1.1 100 Continue" "${first%$'\r'}"
read -r -t 20 <&3 # the empty line
kill -TERM "$gateway_pid"
refuses() { ! curl -s -o /dev/null "$gateway/healthz"; }
check "a gateway that drains refuses connections" eventually refuses
printf '%s' "$body" >&3
first=
read -r -t 20 first <&3
exec 3<&- 3>&-
same "a decision for a paused run is refused meanwhile" "HTTP/1.1 503 Service Unavailable" "${first%$'\r'}"
kill -9 "$gateway_pid"
serve
post "/api/approvals/$approval" "$body"
tells "the next gateway applies it" "[.session, .resumed] | tostring" '["held",true]'

# --- SIGTERM while a decision is being committed: it is refused, or whoever serves the session next
# applies it
prepare approval late
mkfifo "$tmp/lock"
sqlite3 "$space/chela.db" <"$tmp/lock" >/dev/null &
locker=$!
exec 4>"$tmp/lock"
printf 'PRAGMA busy_timeout=20000; BEGIN IMMEDIATE;\n.shell touch %s\n' "$tmp/locked" >&4
eventually test -e "$tmp/locked"
(
    post "/api/approvals/$approval" "$body"
    echo "$code" >"$tmp/late"
) &
poster=$!
sleep 0.5
kill -TERM "$gateway_pid"
eventually refuses
echo 'COMMIT;' >&4
exec 4>&-
wait "$locker" "$poster"
stop_serving KILL
serve
[ "$(cat "$tmp/late")" = 202 ] || post "/api/approvals/$approval" "$body"
check "a decision of the last moment takes effect" eventually status_is late idle
call GET /api/sessions/late
tells "and the call has run" '[.transcript[].content[] | select(.type == "tool_result") | .is_error // false] | tostring' '[false]'
check "the gateway ends" stop_serving KILL
tap_done

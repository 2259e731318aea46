#!/usr/bin/env bash
# Messages that wait for a run: an acknowledged message is taken up, once and in order, also if too many wait, if another
# worker acknowledged the message, and if the gateway is killed.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^begin", after: none }, call: { tool: wait, args: {} } }
  - { when: { user: "^forget" }, say: "never", stall_after: 0 }
  - { say: "heard" }
YAML
config() { # WORKERS
    cat >"$space/chela.yaml" <<YAML
store: "sqlite:$tmp/store.db"
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open, agent: patient } }
workers: $1
sandbox: { mode: "off" }
agents:
  list:
    - { id: main, model: scripted/rules.yaml }
    - { id: patient, model: scripted/rules.yaml, queue: { mode: collect, debounceMs: 2000 } }
tools:
  custom:
    - { name: wait, description: Wait., parameters: { type: object }, effect: read, permission: read,
        command: [sh, -c, "until [ -e $tmp/go ]; do sleep 0.05; done; echo ended"] }
YAML
}
said() { # KEY: the words of all user messages, in order
    call GET "/api/sessions/$1?limit=1000"
    jq -r '.transcript[] | select(.role == "user") | .content[] | select(.type == "text") | .text' "$out" | tr -s '\n' ' '
}
has_said() { [ "$(said "$1")" = "$2" ] && status_is "$1" idle; }
fill() { # KEY MESSAGES: sends them during a run; sets $kept, the acknowledged ones, and $codes
    kept="begin " codes=
    rm -f "$tmp/go"
    post "/api/sessions/$1/messages" '{"text":"begin"}'
    for ((i = 1; i <= $2; i++)); do
        post "/api/sessions/$1/messages" "{\"text\":\"m$i\",\"mode\":\"follow_up\"}"
        codes+="$code "
        if [ "$code" = 202 ]; then kept+="m$i "; fi
    done
}

# --- a single process refuses what does not fit, for now
config 1
serve
fill one 64
same "64 messages may wait" "" "${codes//202 /}"
post /api/sessions/one/messages '{"text":"late","mode":"follow_up"}' -H 'Idempotency-Key: late'
answers "one more is refused" 503
check "until later" grep -qi '^Retry-After: ' "$err"
touch "$tmp/go"
check "all others are taken up, in order" eventually has_said one "$kept"
post /api/sessions/one/messages '{"text":"late","mode":"follow_up"}' -H 'Idempotency-Key: late'
answers "the refused message may be sent again under its key" 202
check "and is taken up" eventually has_said one "${kept}late "

# --- a message with a mode of its own does not overtake those that wait for a pause of the sender
post /api/sessions/mixed/messages '{"text":"first","agent":"patient"}'
post /api/sessions/mixed/messages '{"text":"second","mode":"steer","stream":true}'
same "it joins their run" "200 run_end" "$code $(chunks | tail -n 1 | jq -r .type)"
check "after them" eventually has_said mixed "first second "

# --- so does a cancellation: a session whose messages wait is running
post /api/sessions/regret/messages '{"text":"forget it","agent":"patient"}'
post /api/sessions/regret/cancel '{}'
answers "messages that wait can be cancelled" 202
check "the run that they begin ends" eventually has_said regret "forget it "

# --- the gateway is killed while messages wait for a pause of the sender
post /api/sessions/slow/messages '{"text":"first","agent":"patient"}'
same "messages are collected" "202 collect" "$code $(jq -r .delivery "$out")"
post /api/sessions/slow/messages '{"text":"second","agent":"patient"}'
post /api/sessions/asked/messages '{"text":"first","agent":"patient"}'
stop_serving KILL
serve
post /v1/chat/completions '{"model":"patient","messages":[{"role":"user","content":"second"}]}' -H 'X-Chela-Session: asked'
answers "a request of another protocol gets its turn" 200
check "after the message that waited" eventually has_said asked "first second "
check "the other messages are taken up by themselves" eventually has_said slow "first second "
check "the gateway ends" stop_serving

# --- a request reaches another gateway before that one has looked for sessions of a killed gateway
serve
pid_other='' at_other=''
start_node other "$space"
rm -f "$tmp/go"
post /api/sessions/watched/messages '{"text":"first","agent":"patient"}'
post /api/sessions/behind/messages '{"text":"begin","agent":"patient","mode":"run"}'
post /api/sessions/behind/messages '{"text":"second"}'
push "$(event om_1 oc_ann p2p 'good morning')"
check "a message of a chat waits" eventually status_is feishu:oc_ann running
stop_serving KILL
gateway=$at_other
post /api/sessions/feishu:oc_ann/messages '{"text":"from the console","mode":"steer"}'
curl -sN -H "Authorization: Bearer $token" "$gateway/api/sessions/watched/events" >/dev/null &
watching=$!
touch "$tmp/go"
post /v1/chat/completions '{"model":"patient","messages":[{"role":"user","content":"third"}]}' -H 'X-Chela-Session: behind'
answers "it resumes the run and answers what waited, then the request" 200
check "in this order" eventually has_said behind "begin second third "
check "messages of a session that is only watched are taken up" eventually has_said watched "first "
check "the message of the chat is answered in the chat" hears 1
kill $watching
gateway_pid=$pid_other
check "the gateway ends" stop_serving

# --- two workers: the one that does not hold the session acknowledges more than fits
config 2
serve
fill two 72
check "the worker that does not hold the session acknowledged more" test "$(wc -w <<<"$kept")" -gt 65
touch "$tmp/go"
check "all of them are taken up, in order" eventually has_said two "$kept"
check "the gateway ends" stop_serving
tap_done

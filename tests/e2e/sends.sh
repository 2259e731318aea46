#!/usr/bin/env bash
# `sessions_send`: a session writes to another one, and gets its answer; where it
# may, and not for ever.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
program=$(realpath "$program")
start_lark

printf '#!/bin/sh\ntouch waiting\nwhile [ ! -e go ]; do sleep 0.02; done\necho waited\n' >"$space/waiter"
chmod +x "$space/waiter"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^ask them", after: none }, call: { tool: sessions_send, args: { session: team-a, message: "how many" } } }
  - { when: { user: "^ask others", after: none }, call: { tool: sessions_send, args: { session: private, message: "how many" } } }
  - { when: { user: "^ask oneself", after: none }, call: { tool: sessions_send, args: { session: team-me, message: "how many" } } }
  - { when: { user: "^ask the busy", after: none }, call: { tool: sessions_send, args: { session: team-busy, message: "hurry" } } }
  - { when: { user: "ask to press$", after: none }, call: { tool: sessions_send, args: { session: team-desk, message: "press it" } } }
  - { when: { user: "^ask the slow(.*)", after: none }, call: { tool: sessions_send, args: { session: "team-slow{{1}}", message: "wait" } } }
  - { when: { user: "^ask the chat", after: none }, call: { tool: sessions_send, args: { session: "feishu:oc_ann", message: "wait" } } }
  - { when: { user: "press it$", after: none }, call: { tool: t_press, args: {} } }
  - { when: { user: "wait$", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "relay(x*)$", after: none }, call: { tool: sessions_send, args: { session: "team-r{{1}}", message: "relay{{1}}x" } } }
  - { when: { after: any, is_error: true }, say: "refused: {{result}}" }
  - { when: { user: "how many" }, say: "seven" }
  - { say: "heard {{result}}" }
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
sandbox: { mode: off }
agents: { list: [{ id: main, model: scripted/rules.yaml, sendTo: ["team-*", "feishu:*"], tools: { allow: [t_wait, t_press] } }] }
tools:
  custom:
    - { name: t_wait, flow: [], description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }
    - { name: t_press, flow: [], description: Presses., command: [touch, pressed], effect: read, permission: read }
policies: [{ id: guests, channel: feishu, deny: [t_press] }]
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open } }
YAML
serve
until_idle() {
    for _ in {1..400}; do
        call GET "/api/sessions/$1"
        [ "$(jq -r .status "$out" 2>/dev/null)" = idle ] && return 0
        sleep 0.05
    done
    return 1
}
last='[.transcript[] | select(.role == "assistant")] | last | [.content[] | .text // empty] | join("")'
says() { # NAME KEY WORDS PATTERN
    post "/api/sessions/$2/messages" "{\"text\":\"$3\"}"
    check "$1: it ends" until_idle "$2"
    tells "$1" "$last | test(\"$4\")" true
}
says "an answer from there" one "ask them" "^heard seven$"
call GET /api/sessions/team-a
tells "it came as a message" '.transcript[0].content[0].text' "[from session one] how many"
chela replay --config "$space/chela.yaml" one
exits "its replay" 0
check "its replay knows the tool" grep -q 'session one goes the same way' "$err"
says "a session that is not on the list" two "ask others" "^refused: .*You may not write to this session"
says "itself" team-me "ask oneself" "^refused: .*your own session"
says "not for ever" three "relay" "^heard heard heard heard heard refused: .*followed from one another"
until_waiting() { # its tool does, for $space/go
    for _ in {1..400}; do [ -e "$space/waiting" ] && return; sleep 0.05; done
    return 1
}
busy() { # KEY
    rm -f "$space/go" "$space/waiting"
    post "/api/sessions/$1/messages" '{"text":"wait"}'
    until_waiting
}
busy team-busy
says "one that is at work is told" four "ask the busy" "^heard That session is at work"
touch "$space/go"
check "one that is at work: it ends" until_idle team-busy
tells "one that is at work: it heard" '[.transcript[] | select(.role == "user") | .content[0].text] | any(test("from session four. hurry"))' true

busy team-r
says "a message to one that is at work" five "relay" "^heard That session is at work. It was told"
touch "$space/go"
check "a message to one that is at work: it ends" until_idle team-r
tells "a message to one that is at work counts" "$last | test(\"^heard heard heard heard refused: .*followed from one another\")" true

busy team-desk
push "$(event om_1 oc_eve p2p 'ask to press' ou_eve)"
check "a guest's agent is answered" hears 1
check "a guest's message does not join another's run" said '^heard That session is at work. It will be told after that'
touch "$space/go"
until_says() { # KEY PATTERN
    for _ in {1..400}; do
        call GET "/api/sessions/$1"
        jq -e "$last | test(\"$2\")" "$out" >"$tmp/says" 2>&1 && return
        sleep 0.05
    done
    return 1
}
check "a guest's message has the guest's bounds" until_says team-desk "^refused: .*t_press"
check "a guest's message: nothing was pressed" test ! -e "$space/pressed"

rm -f "$space/go" "$space/waiting"
post /api/sessions/six/messages '{"text":"ask the chat"}'
check "a chat is at work for another session" until_waiting
push "$(event om_2 oc_ann p2p /new)"
check "a chat that begins anew: who waits for it hears so" until_says six "^refused: .*did not reply: cancelled"
touch "$space/go"

# --- killed while the other session works on its answer
for n in 1 2; do
    rm -f "$space/go" "$space/waiting"
    post /api/sessions/slow$n/messages "{\"text\":\"ask the slow$n\"}"
    check "killed: the other session $n is at work" until_waiting
done
stop_serving 9
touch "$space/go"
serve
for n in 1 2; do # both runs go on by themselves
    check "killed: sender $n ends" until_idle slow$n
    tells "killed: sender $n gets the answer" "$last | test(\"^heard heard waited\")" true
    check "killed: the other session $n ends" until_idle team-slow$n
    tells "killed: the other session $n got one message" '[.transcript[] | select(.role == "user")] | length' 1
done
stop_serving
chela run "ask them"
check "elsewhere there is no such tool" grep -q '^refused: .*no tool named' "$out"
tap_done

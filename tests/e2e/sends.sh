#!/usr/bin/env bash
# `sessions_send`: a session writes to another one, and gets its answer; where it
# may, and not for ever.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
program=$(realpath "$program")

printf '#!/bin/sh\ntouch waiting\nwhile [ ! -e go ]; do sleep 0.02; done\necho waited\n' >"$space/waiter"
chmod +x "$space/waiter"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^ask them", after: none }, call: { tool: sessions_send, args: { session: team-a, message: "how many" } } }
  - { when: { user: "^ask others", after: none }, call: { tool: sessions_send, args: { session: private, message: "how many" } } }
  - { when: { user: "^ask oneself", after: none }, call: { tool: sessions_send, args: { session: team-me, message: "how many" } } }
  - { when: { user: "^ask the busy", after: none }, call: { tool: sessions_send, args: { session: team-busy, message: "hurry" } } }
  - { when: { user: "^wait", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "relay(x*)$", after: none }, call: { tool: sessions_send, args: { session: "team-r{{1}}", message: "relay{{1}}x" } } }
  - { when: { after: any, is_error: true }, say: "refused: {{result}}" }
  - { when: { user: "how many" }, say: "seven" }
  - { say: "heard {{result}}" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents: { list: [{ id: main, model: scripted/rules.yaml, sendTo: ["team-*"], tools: { allow: [t_wait] } }] }
tools: { custom: [{ name: t_wait, description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }] }
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
says "a session that is not on the list" two "ask others" "^refused: .*may not be written to"
says "itself" team-me "ask oneself" "^refused: .*the session itself"
says "not for ever" three "relay" "^heard heard heard heard heard refused: .*followed from one another"
post /api/sessions/team-busy/messages '{"text":"wait"}'
for _ in {1..400}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
says "one that is at work is told" four "ask the busy" "^heard That session is at work"
touch "$space/go"
check "one that is at work: it ends" until_idle team-busy
tells "one that is at work: it heard" '[.transcript[] | select(.role == "user") | .content[0].text] | any(test("from session four. hurry"))' true
stop_serving
chela run "ask them"
check "elsewhere there is no such tool" grep -q '^refused: .*no tool named' "$out"
tap_done

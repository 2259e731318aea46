#!/usr/bin/env bash
# A stranger writes, is given a code, and is answered once it was approved.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
echo 'rules: [{ say: "heard: {{user}}" }]' >"$space/rules.yaml"
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels:
  feishu: { appId: $app, domain: $lark, dmPolicy: pairing, allowFrom: [ou_ann], owners: [ou_boss] }
YAML
code_of() { # NUMBER of the message
    texts | sed -n "$1p" | grep -o '[A-Z2-9]\{8\}$'
}
serve
push "$(event om_1 oc_ann p2p 'hello')"
check "who is listed is answered" hears 1
push "$(event om_2 oc_bob p2p 'let me in' ou_bob)"
check "a stranger is told something" hears 2
check "which is not the agent's" said '^I do not know you yet'
first=$(code_of 2)
push "$(event om_3 oc_bob p2p 'let me in' ou_bob)"
check "again" hears 3
same "the same code" "$first" "$(code_of 3)"
push "$(event om_4 oc_bob p2p 'let me in' ou_bob)"
check "and a third time" hears 4
push "$(event om_5 oc_bob p2p 'let me in' ou_bob)"
push "$(event om_6 oc_eve p2p 'me too' ou_eve)"
check "another stranger" hears 5
check "has another code" test "$(code_of 5)" != "$first"
push "$(event om_7 oc_eve p2p "/pair $(code_of 5)" ou_eve)"
check "cannot use it" hears 6
check "and hears the code again" said "$(code_of 5)\$"
chela pairing list --json
holds "as JSON" '.[0] | length >= 1 and (.[0] | has("channel") and has("sender") and .approved == false)'
chela pairing list
exits "the list" 0
check "has both" test "$(grep -c '^feishu ' "$out")" = 2
chela pairing approve WRONGWRONG
exits "a wrong code" 2
chela pairing approve "$first"
exits "the right one" 0
push "$(event om_8 oc_bob p2p 'here I am' ou_bob)"
check "the stranger is answered, without a restart" hears 7
check "by the agent" said 'heard: .*here I am'
chela pairing approve "$first"
exits "a code is good once" 2
push "$(event om_9 oc_boss p2p "/pair $(code_of 5)" ou_boss)"
check "an owner approves in the chat" hears 8
check "and is told who it was" said '^ou_eve may write'
check "SIGTERM ends it" stop_serving
serve
push "$(event om_10 oc_eve p2p 'and me' ou_eve)"
check "it lasts" hears 9
check "over a restart" said 'heard: .*and me'
chela pairing remove feishu ou_bob
exits "taken back" 0
push "$(event om_11 oc_bob p2p 'still there?' ou_bob)"
check "he is a stranger again" hears 10
same "with a new code" 8 "$(code_of 10 | tr -d '\n' | wc -c)"
check "SIGTERM ends it" stop_serving
same "nobody else was answered" 10 "$(wc -l <"$tmp/lark/sent")"
tap_done

#!/usr/bin/env bash
# What owners decide in a chat: calls that need consent, by a button of a card and
# in words, over callbacks and over the long connection; which model answers.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
cat >"$space/deploy" <<'SCRIPT'
#!/bin/sh
echo done >>deployed
echo "deployed it"
SCRIPT
chmod +x "$space/deploy"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: ship, after: none }, call: { tool: deploy, args: { to: "<b>prod</b> **now**" } } }
  - { when: { after: deploy }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
configure() { # LINES...
    {
        cat <<'YAML'
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
tools:
  custom:
    - { name: deploy, description: Ships it., command: [./deploy], permission: write, confirm: true,
        parameters: { type: object } }
YAML
        printf 'channels:\n  feishu:\n    appId: %s\n    domain: %s\n    dmPolicy: open\n' $app "$lark"
        printf '    %s\n' "$@"
    } >"$space/chela.yaml"
}
made() {
    if [ -e "$space/deployed" ]; then wc -l <"$space/deployed"; else echo 0; fi
}
card() { # NUMBER of the message: its card
    sed -n "$1s/^[^ ]* //p" "$tmp/lark/sent" | jq -c '.content | fromjson'
}
press() { # CARD BUTTON OPERATOR CHAT: the event
    jq -c --argjson n "$2" --arg who "$3" --arg chat "$4" --arg token "$verification" --arg app $app '
        {schema: "2.0", header: {event_id: "ev_press", event_type: "card.action.trigger", token: $token, app_id: $app},
         event: {operator: {open_id: $who}, token: "c-1", host: "im_message",
            action: {tag: "button", value: [.body.elements[] | select(.tag == "button")][$n].behaviors[0].value},
            context: {open_message_id: "om_card", open_chat_id: $chat}}}' <<<"$1"
}

# --- nobody may decide
configure
serve
push "$(event om_1 oc_ann p2p 'ship it')"
check "without owners it is refused" hears 1
check "and the model is told" said 'it said: .*nobody can be asked'
same "nothing was done" 0 "$(made)"
check "SIGTERM ends it" stop_serving

# --- a button
configure 'owners: [ou_boss]'
serve
push "$(event om_2 oc_ann p2p 'ship it')"
check "an owner is asked" hears 2
one=$(card 2)
same "by a card" interactive "$(sed -n '2s/^[^ ]* //p' "$tmp/lark/sent" | jq -r .msg_type)"
same "that shows the call as it is" true \
    "$(jq '[.body.elements[] | select(.tag == "div")][0].text | .tag == "plain_text" and (.content | contains("<b>prod</b> **now**"))' <<<"$one")"
push "$(event om_3 oc_ann p2p 'are you there?')"
answers "what is said meanwhile waits" 200
push "$(press "$one" 0 ou_ann oc_ann)"
tells "somebody else" .toast.type error
push "$(press "$one" 0 ou_boss oc_other)"
tells "in another chat" .toast.type error
push "$(press "$one" 0 ou_boss oc_ann | jq -c '.event.action.value.session = "feishu:oc_ann:omt_1"')"
tells "another session" .toast.type error
push "$(press "$one" 0 ou_boss oc_ann | jq -c '.event.action.value.approval = "ap_000000000000000000000000"')"
tells "a call that nobody made" .toast.type error
push "$(press "$one" 0 ou_boss oc_ann | jq -c '.event.action.value.decision = "allow-everything"')"
tells "a decision that there is not" .toast.type error
same "nothing was done" 0 "$(made)"
push "$(press "$one" 0 ou_boss oc_ann)"
tells "an owner" .toast.type success
tells "the card says who" .card.data.header.title.content 'Allowed once by ou_boss'
tells "and has no buttons any more" '[.card.data.body.elements[] | select(.tag == "button")] | length' 0
tells "but still what for" ".card.data.body.elements[0].text.content | contains(\"**now**\")" true
check "the run goes on" hears 4
check "with the call's result" said 'it said: .*deployed it'
check "and then with what was said meanwhile" said 'heard: .*are you there'
same "it was done once" 1 "$(made)"
push "$(press "$one" 0 ou_boss oc_ann)"
tells "again" .toast.type error
same "it was done once" 1 "$(made)"

# --- in words, after a crash
push "$(event om_5 oc_ann p2p 'ship it again')"
check "asked again" hears 5
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
serve
push "$(event om_6 oc_ann p2p '/approve')"
check "only owners decide in words" hears 6
check "and others are told so" said 'Only an owner'
push "$(event om_7 oc_ann p2p '/approve deny' ou_boss)"
check "an owner denies it" hears 8
check "which is confirmed" said '^Denied: ap_'
check "and the model is told by whom" said 'it said: .*ou_boss'
same "it was not done" 1 "$(made)"
push "$(event om_8 oc_ann p2p '/approve' ou_boss)"
check "nothing waits any more" hears 9
push "$(event om_9 oc_ann p2p 'ship it once more')"
check "asked again" hears 10
push "$(event om_10 oc_ann p2p '/stop')"
check "/stop denies it" hears 11
check "and says so" said '^Stopped'
same "it was not done" 1 "$(made)"

# --- which model
echo 'rules: [{ say: "the other: {{user}}" }]' >"$space/other.yaml"
push "$(event om_11 oc_ann p2p '/model scripted/other.yaml')"
check "only owners choose the model" hears 12
push "$(event om_12 oc_ann p2p '/model scripted/missing.yaml' ou_boss)"
check "one that is not there" hears 13
check "is refused" said '^That is not possible: .*missing.yaml'
push "$(event om_13 oc_ann p2p '/model scripted/other.yaml' ou_boss)"
check "another model" hears 14
push "$(event om_14 oc_ann p2p 'who is there?')"
check "it answers" hears 15
check "from the next message on" said '^the other: .*who is there'
push "$(event om_15 oc_ann p2p '/reasoning high' ou_boss)"
check "how much it thinks" hears 16
check "SIGTERM ends it" stop_serving
serve
push "$(event om_16 oc_ann p2p 'still there?')"
check "also after a restart" hears 17
check "it is the other" said '^the other: .*still there'
push "$(event om_17 oc_ann p2p '/reasoning' ou_boss)"
check "what was set is told" hears 18
check "and kept" said '^high ('
push "$(event om_18 oc_ann p2p '/model default' ou_boss)"
check "back to the first" hears 19
push "$(event om_19 oc_ann p2p 'and now?')"
check "it answers" hears 20
check "again" said '^heard: .*and now'
check "SIGTERM ends it" stop_serving

# --- the choice holds for all workers
sed -i '1i workers: 2' "$space/chela.yaml"
serve
push "$(event om_30 oc_ann p2p '/model scripted/other.yaml' ou_boss)"
check "a worker is told of another model" hears 21
for i in {1..4}; do
    sleep 4 # the worker that has the session releases it, and the other reads the choice
    push "$(event "om_3$i" oc_ann p2p "worker $i")"
    hears $((21 + i))
done
same "all workers use it" 4 "$(texts | grep -c '^the other: .*worker')"
check "SIGTERM ends them" stop_serving

# --- over the long connection, the question lost in a crash
configure 'owners: [ou_boss]' 'mode: websocket'
serve
tell "$(event om_20 oc_bob p2p 'ship it' ou_bob)"
for _ in {1..400}; do
    grep -q 'oc_bob\|om_20' "$tmp/lark/sent" && break
    sleep 0.05
done
two=$(card "$(grep -n om_20 "$tmp/lark/sent" | tail -n 1 | cut -d: -f1)")
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
serve
tell "$(press "$two" 1 ou_bob oc_bob)"
same "somebody else" error "$(jq -r '.data | @base64d | fromjson | .toast.type' "$out")"
tell "$(press "$two" 1 ou_boss oc_bob)"
same "an owner" 'Allowed always by ou_boss' "$(jq -r '.data | @base64d | fromjson | .card.data.header.title.content' "$out")"
for _ in {1..400}; do
    [ "$(made)" = 2 ] && break
    sleep 0.05
done
same "it is done" 2 "$(made)"
tell "$(event om_21 oc_bob p2p 'ship it' ou_bob)"
for _ in {1..400}; do
    [ "$(made)" = 3 ] && break
    sleep 0.05
done
same "and from now on without a question" 3 "$(made)"
check "SIGTERM ends it" stop_serving
tap_done

#!/usr/bin/env bash
# An editor and a gateway on one session: prompts and decisions reach the process that holds the
# session, and a conversation of a chat service is continued in the editor.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/acp.sh

program=$(realpath "$program")
start_lark
store=sqlite:$space/chela.db
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "wait", after: none }, call: { tool: exec, args: { command: "sleep 300" } } }
  - { when: { user: "fix", after: none }, call: { tool: exec, args: { command: "echo the note" } } }
  - { when: { after: any }, say: "seen: {{result}}" }
  - say: "hello {{user}}"
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open, owners: [ou_boss] } }
YAML
card() { # NUMBER of the message: its card
    sed -n "$1s/^[^ ]* //p" "$tmp/lark/sent" | jq -c '.content | fromjson'
}
press() { # CARD BUTTON: the event of the owner
    jq -c --argjson n "$2" --arg token "$verification" --arg app $app '
        {schema: "2.0", header: {event_id: "ev_press", event_type: "card.action.trigger", token: $token, app_id: $app},
         event: {operator: {open_id: "ou_boss"}, token: "c-1", host: "im_message",
            action: {tag: "button", value: [.body.elements[] | select(.tag == "button")][$n].behaviors[0].value},
            context: {open_message_id: "om_card", open_chat_id: "oc_ann"}}}' <<<"$1"
}

# --- a session of the editor that a gateway holds
serve
begin
hello
open 2
prompt 3 hi
is "a prompt before" "$(answer 3 | jq -r .result.stopReason)" end_turn
post "/api/sessions/$id/messages" '{"text": "from the console"}'
check "the gateway takes the session" eventually status_is "$id" idle
check "the editor is shown it" told "hello from the console"
prompt 4 'from the editor'
is "a prompt for a session that a gateway holds" "$(answer 4 | jq -r .result.stopReason)" end_turn
check "the gateway's answer is shown" told "hello from the editor"
slowest=0
for n in 10 11 12 13; do
    sleep 1.$((n % 10))5 # when the gateway looks at its inbox is not known
    SECONDS=0
    prompt $n again
    answer $n >/dev/null
    [ $SECONDS -gt $slowest ] && slowest=$SECONDS
done
check "a prompt that the gateway takes up at once ends with its run: $slowest s" test $slowest -lt 13
prompt 5 'fix it'
permission 1 >"$tmp/asked"
is "the call that the gateway's run waits for" "$(jq -r .params.toolCall.title "$tmp/asked")" "echo the note"
same "it can be allowed always, also after a reload" '["allow","always","reject"]' "$(jq -c '[.params.options[].optionId]' "$tmp/asked")"
decide 1 allow
is "the decision reaches the gateway" "$(answer 5 | jq -r .result.stopReason)" end_turn
check "the result is shown" told "the note"
prompt 6 wait
permission 2 >/dev/null
decide 2 allow
check "the gateway works on a prompt" eventually status_is "$id" running
say "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"$id\"}}"
is "the editor stops the gateway's run" "$(answer 6 | jq -r .result.stopReason)" cancelled
check "which has ended" eventually status_is "$id" idle
finish

# --- a conversation of a chat service goes on in the editor, and is approved in the chat
push "$(event om_1 oc_ann p2p 'good morning')"
check "the chat is answered" hears 1
id=feishu:oc_ann
begin
hello
request 2 session/load "{\"sessionId\":\"$id\",\"cwd\":\"$space\",\"mcpServers\":[]}"
is "the editor loads the chat's session" "$(answer 2 | jq 'has("result")')" true
prompt 3 'fix it'
check "an owner is asked in the chat" hears 2
push "$(press "$(card 2)" 0)"
tells "a button of the card" .toast.type success
is "the prompt of the editor ends" "$(answer 3 | jq -r .result.stopReason)" end_turn
check "with the result of the call" told "the note"

# --- the same prompt, and everything is killed while the call waits
before=$(wc -l <"$tmp/lark/sent")
prompt 4 'fix it again'
check "the owner is asked again" hears $((before + 1))
kill -9 "$gateway_pid"
stop KILL
serve
push "$(press "$(card $((before + 1)))" 0 | jq -c '.header.event_id = "ev_press_2"')"
tells "the button counts after the kill" .toast.type success
check "the run goes on to its end" eventually status_is "$id" idle
begin
hello
request 2 session/load "{\"sessionId\":\"$id\",\"cwd\":\"$space\",\"mcpServers\":[]}"
answer 2 >/dev/null
is "the editor shows the conversation to its end" "$(jq -rs '[.[] | .params.update? | select(.sessionUpdate? == "agent_message_chunk").content.text] | last' "$tmp/lines" | grep -c 'the note')" 1
call GET "/api/sessions/$id/records"
is "and so does the console" "$(jq '[.records[] | select(.type == "message" and .data.message.role? == "assistant")] | last | tostring | contains("the note")' "$out")" true
finish
check "SIGTERM ends the gateway" stop_serving
tap_done

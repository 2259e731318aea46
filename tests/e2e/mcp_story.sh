#!/usr/bin/env bash
# The way of a new user: one command adds an MCP server and shows its tools; a tool is called from
# a conversation at the terminal and from a Feishu chat, each with a person's consent; the gateway
# is killed in the middle of a call, and there is no second effect.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/terminal.sh

needs "the way of a new user" python3
program=$(realpath "$program")
server=$PWD/tests/support/mcp/server.py
state=$tmp/.local/state/chela/mcp
made() { if [ -e "$state/shop/shipped" ]; then wc -l <"$state/shop/shipped"; else echo 0; fi; }
shipped() { [ "$(made)" = "$1" ]; }

# --- one command
chela mcp add shop -- python3 "$server" modern-ship "$tmp/words"
exits "add" 0
check "add shows the tools" grep -q '^shop__ship ' "$out"
chela mcp list
check "list" grep -qE '^shop +stdio +7$' "$out"

# --- at the terminal
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: ship, after: none }, call: { tool: shop__ship, args: { text: the parcel } } }
  - { when: { after: any }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
echo 'agents: { list: [{ id: coder, model: scripted/rules.yaml }] }' >"$space/chela.yaml"
open_terminal "$program chat"
shows '❯|>'
types 'ship one'
press Enter
sees "chat: consent is asked for" '^allow\? '
same "chat: nothing is done before" 0 "$(made)"
types o
press Enter
sees "chat: the result" 'it said: shipped the parcel'
same "chat: done once" 1 "$(made)"
types 'ship two'
press Enter
sees "chat: a second call asks again" '^allow\? '
types 'no not today'
press Enter
sees "chat: a refusal reaches the model" 'it said: .*error'
same "chat: nothing was done" 1 "$(made)"
press C-d
ends "chat: Ctrl-D" 0
close_terminal

# --- in a Feishu chat
start_lark
trap 'kill -9 "$gateway_pid" 2>/dev/null; kill "$server_pid" 2>/dev/null; rm -rf "$tmp"' EXIT
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open, owners: [ou_boss] } }
YAML
asked() { # CHAT: the question to it; sets $card
    card=$(sed 's/^[^ ]* //' "$tmp/lark/sent" | jq -c 'select(.msg_type == "interactive") | .content | fromjson' |
        grep -F "\"feishu:$1\"" | head -n 1)
    [ -n "$card" ]
}
press_button() { # CHAT BUTTON
    push "$(jq -c --arg chat "$1" --argjson n "$2" --arg token "$verification" --arg app $app '
        {schema: "2.0", header: {event_id: ("ev_press_" + $chat), event_type: "card.action.trigger", token: $token, app_id: $app},
         event: {operator: {open_id: "ou_boss"}, token: "c-1", host: "im_message",
            action: {tag: "button", value: [.body.elements[] | select(.tag == "button")][$n].behaviors[0].value},
            context: {open_message_id: "om_card", open_chat_id: $chat}}}' <<<"$card")"
}
rm -f "$state/shop/shipped"
serve
push "$(event om_1 oc_ann p2p 'ship three')"
check "Feishu: a card asks" eventually asked oc_ann
asked oc_ann
check "Feishu: the card names the tool" grep -q 'shop__ship' <<<"$card"
same "Feishu: nothing is done before" 0 "$(made)"
press_button oc_ann 0
tells "Feishu: the button is accepted" .toast.type success
check "Feishu: the person hears the result" eventually said 'it said: shipped the parcel'
same "Feishu: done once" 1 "$(made)"

# --- killed while the card waits, and killed while the server works on the call
push "$(event om_2 oc_bob p2p 'ship four')"
check "a card waits" eventually asked oc_bob
asked oc_bob
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
same "killed before consent: nothing was done" 1 "$(made)"
echo hang >"$tmp/words"
serve
press_button oc_bob 0
tells "killed before consent: the old card still counts" .toast.type success
check "the server works on the call" eventually shipped 2
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
rm "$tmp/words"
serve
check "killed in the call: the person hears that the outcome is unknown" eventually said 'it said: .*unknown'
same "killed in the call: no second effect" 2 "$(made)"
push "$(event om_3 oc_bob p2p 'still there?')"
check "the chat goes on" eventually said 'heard: .*still there'
check "SIGTERM ends the gateway" stop_serving
same "no server is left behind" "" "$(pgrep -f "$server .* $tmp/words")"
tap_done

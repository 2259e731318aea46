#!/usr/bin/env bash
# Calls of MCP tools through the gateway: approved in a chat, cut off by SIGKILL.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

needs "MCP servers in the gateway" python3
program=$(realpath "$program")
state=$tmp/.local/state/chela/mcp
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: ship, after: none }, call: { tool: s__ship, args: { text: the parcel } } }
  - { when: { after: s__ship }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
configure() { # MODE [LINES...]
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
mcp: { servers: { s: { command: [python3, "$PWD/tests/support/mcp/server.py", $1, "$tmp/words"]${2:+, $2} } } }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open, owners: [ou_boss] } }
YAML
}
made() {
    if [ -e "$state/s/shipped" ]; then wc -l <"$state/s/shipped"; else echo 0; fi
}
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
servers_gone() { ! pgrep -f "server.py .* $tmp/words" >/dev/null; }
shipped() { [ "$(made)" = "$1" ]; }

# --- both eras: an owner is asked, and a button makes the call
n=0
for mode in legacy-ship modern-ship; do
    configure "$mode"
    rm -rf "$state"
    chela mcp tools s
    exits "$mode: the tools are known" 0
    serve
    push "$(event "om_$mode" oc_ann p2p 'ship it')"
    n=$((n + 1))
    check "$mode: an owner is asked" hears $n
    same "$mode: nothing was done yet" 0 "$(made)"
    same "$mode: the card shows the call" true "$(card $n | jq '[.body.elements[] | select(.tag == "div")][0].text.content | contains("s__ship") and contains("the parcel")')"
    push "$(press "$(card $n)" 0)"
    tells "$mode: a button" .toast.type success
    n=$((n + 1))
    check "$mode: the run goes on" hears $n
    check "$mode: with the result of the server" said '^it said: shipped the parcel'
    same "$mode: done once" 1 "$(made)"
    check "$mode: SIGTERM ends the gateway" stop_serving
    check "$mode: no server is left behind" eventually servers_gone
done

# --- SIGKILL in the middle of a call: it is not made again, and the model is told
for mode in legacy-ship modern-ship; do
    configure "$mode" 'confirm: false'
    rm -rf "$state"
    chela mcp tools s
    echo hang >"$tmp/words"
    serve
    post /api/sessions/k-$mode/messages '{"text": "ship it"}'
    check "$mode, SIGKILL: the server works on the call" eventually shipped 1
    kill -9 "$gateway_pid"
    wait "$gateway_pid" 2>/dev/null
    check "$mode, SIGKILL: no server is left behind" eventually servers_gone
    rm "$tmp/words"
    serve
    check "$mode, SIGKILL: the run goes on" eventually status_is k-$mode idle
    tells "$mode, SIGKILL: the model is told that the outcome is unknown" \
        '[.transcript[] | select(.role == "tool" or .kind == "results" or .role == "user") | tostring] | any(test("Whether it took effect is unknown"))' true
    same "$mode, SIGKILL: done once" 1 "$(made)"
    check "$mode, SIGKILL: SIGTERM ends the gateway" stop_serving
done
tap_done

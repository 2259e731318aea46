#!/usr/bin/env bash
# Decisions in a chat are events of the inbox: a gateway that answered a button and is killed at
# that moment has lost nothing, and a button reaches the gateway that holds the session.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/servers.sh

program=$(realpath "$program")
start_lark
follower='' pid_a='' pid_b='' at_a='' p=''
trap 'for p in "$pid_a" "$pid_b" "$follower" "$server_pid"; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT

# A kill may fall into the call itself: the tool is called again with the same key, and has one
# file for each key.
cat >"$tmp/deploy" <<'SH'
name=$(printf %s "$CHELA_IDEMPOTENCY_KEY" | cksum | tr ' ' -)
cat >"$1/.$$" && mv "$1/.$$" "$1/$name"
SH
mkdir "$tmp/keys"

configure() { # NODE STORE
    mkdir -p "$tmp/$1"
    cat >"$tmp/$1/rules.yaml" <<'YAML'
rules:
  - { when: { user: ship, after: none }, call: { tool: deploy, args: { line: "{{user}}" } } }
  - { when: { after: deploy }, say: "shipped" }
  - { say: "heard: {{user}}" }
YAML
    cat >"$tmp/$1/chela.yaml" <<YAML
store: "$2"
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
sandbox: { mode: "off" }
tools:
  custom:
    - { name: deploy, description: Ships it., parameters: { type: object, properties: { line: { type: string } } },
        command: [sh, "$tmp/deploy", "$tmp/keys"], effect: keyed, permission: write, confirm: true }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open, owners: [ou_boss] } }
YAML
}
start() { start_node "$1" "$tmp/$1"; }
ask() { # NODE FUNCTION ARG...
    eval "gateway=\$at_$1"
    shift
    "$@"
}
asked() { # CHAT: the question to it; sets $card
    card=$(sed 's/^[^ ]* //' "$tmp/lark/sent" | jq -c 'select(.msg_type == "interactive") | .content | fromjson' |
        grep -F "\"feishu:$1\"" | head -n 1)
    [ -n "$card" ]
}
press() { # CHAT: the event of the first button, which allows the call once
    jq -c --arg chat "$1" --arg token "$verification" --arg app $app '
        {schema: "2.0", header: {event_id: ("ev_press_" + $chat), event_type: "card.action.trigger", token: $token, app_id: $app},
         event: {operator: {open_id: "ou_boss"}, token: "c-1", host: "im_message",
            action: {tag: "button", value: [.body.elements[] | select(.tag == "button")][0].behaviors[0].value},
            context: {open_message_id: "om_card", open_chat_id: $chat}}}' <<<"$card"
}
ran() { # TEXT: how often
    find "$tmp/keys" -type f ! -name '.*' -exec grep -lF "$1\"" {} + | wc -l
}
did() { [ "$(ran "$1")" -ge 1 ]; }
answered() { [ "$(texts | grep -c '^shipped')" -ge "$1" ]; }

# --- one gateway, killed when its answer arrives
configure a "sqlite:$tmp/chela.db"
start a
good=0
for i in 1 2 3 4 5; do
    ask a push "$(event "om_$i" "oc_$i" p2p "ship $i")"
    eventually asked "oc_$i" || break
    ask a push "$(press "oc_$i")"
    kill -9 "$pid_a"
    [ "$(jq -r .toast.type "$out")" = success ] && good=$((good + 1))
    wait "$pid_a" 2>/dev/null
    start a
    eventually did "ship $i" || break
done
same "SQLite: five buttons are answered" 5 "$good"
check "SQLite: every call ran, and people hear of it" eventually answered 5
same "SQLite: once each" 5 "$(for i in 1 2 3 4 5; do [ "$(ran "ship $i")" = 1 ] && echo 1; done | wc -l)"
ask a push "$(press oc_5)"
same "SQLite: a second press is refused" error "$(jq -r .toast.type "$out")"

# --- without an id: the only call of the chat that waits, wherever the others were decided
questions() { # N: that many calls were asked about in the chat
    [ "$(grep -F feishu:oc_6 "$tmp/lark/sent" | grep -o 'ap_[0-9a-z]*' | sort -u | wc -l)" -ge "$1" ]
}
ask a push "$(event om_6 oc_6 p2p "ship 6")"
check "SQLite: a question" eventually questions 1
asked oc_6
ask a post "/api/approvals/$(jq -r '[.body.elements[] | select(.tag == "button")][0].behaviors[0].value.approval' <<<"$card")" '{"decision":"deny"}'
answers "SQLite: is decided elsewhere" 200
ask a push "$(event om_7 oc_6 p2p "ship 7")"
check "SQLite: another question" eventually questions 2
ask a push "$(event om_8 oc_6 p2p /approve ou_boss)"
check "SQLite: /approve means the one that waits" eventually did "ship 7"
kill -9 "$pid_a"

# --- two gateways: the other one holds the session
if ! start_postgres; then
    skip "two gateways" "PostgreSQL is not installed here"
    tap_done
    exit
fi
: >"$tmp/lark/sent"
rm -f "$tmp"/keys/*
for node in a b; do
    configure $node "$postgres"
    start $node
done
held() { # CHAT: a gateway holds its session
    [ "$(postgres_sql "SELECT owner <> '' FROM chela.sessions WHERE key = 'feishu:$1'" 2>/dev/null)" = t ]
}
hold() { # CHAT TEXT: the first gateway asks, and holds the session for a client that follows it
    ask a push "$(event "om_$1" "$1" p2p "$2")"
    for _ in {1..400}; do held "$1" && break; sleep 0.02; done
    curl -sSN -m 120 -H "Authorization: Bearer $token" "$at_a/api/sessions/feishu:$1/events" >/dev/null 2>&1 &
    follower=$!
    eventually asked "$1"
    sleep 3
}
hold oc_x "ship x"
check "PostgreSQL: a question, and its session is held" held oc_x
ask b push "$(press oc_x)"
tells "PostgreSQL: the other gateway accepts the button" .toast.type success
check "PostgreSQL: the holder carries it out" eventually did "ship x"
kill "$follower"
hold oc_y "ship y"
check "PostgreSQL: another question, and its session is held" held oc_y
ask b push "$(press oc_y)"
kill -9 "$pid_b"
tells "PostgreSQL: the button is accepted" .toast.type success
check "PostgreSQL: the holder carries it out, though the other is dead" eventually did "ship y"
kill "$follower"
wait "$follower" 2>/dev/null
start b
hold oc_z "ship z"
check "PostgreSQL: a third one" held oc_z
ask b push "$(event om_words oc_z p2p "/approve $(jq -r '[.body.elements[] | select(.tag == "button")][0].behaviors[0].value.approval' <<<"$card") allow-once" ou_boss)"
check "PostgreSQL: in words, at the other gateway" eventually did "ship z"
kill "$follower"
hold oc_w "ship w"
check "PostgreSQL: a fourth one" held oc_w
ask b push "$(event om_only oc_w p2p /approve ou_boss)"
check "PostgreSQL: in words without an id, at the other gateway" eventually did "ship w"
check "PostgreSQL: people hear of all four" eventually answered 4
same "PostgreSQL: each ran once" "1 1 1 1" "$(ran "ship x") $(ran "ship y") $(ran "ship z") $(ran "ship w")"
kill "$follower"
tap_done

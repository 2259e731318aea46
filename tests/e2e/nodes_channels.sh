#!/usr/bin/env bash
# Two gateways with one store on the same Slack app, Discord bot and DingTalk robot: each message
# is answered once and in order, also when one gateway is killed in the middle.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh

program=$(realpath "$program")
services='' pid_a='' pid_b='' p=''
# shellcheck disable=SC2086
trap 'for p in "$pid_a" "$pid_b" $services; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT
if ! start_postgres; then
    skip "two gateways" "PostgreSQL is not installed here"
    tap_done
    exit
fi
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env SLACK_BOT_TOKEN=xoxb-1 SLACK_APP_TOKEN=xapp-1 DISCORD_TOKEN=d.1 DINGTALK_SECRET=s-1 "$@"; }

service() { # NAME ARG...: sets at_NAME
    mkdir "$tmp/$1"
    tests/support/channels/"$1server" "$tmp/$1" "${@:2}" >"$tmp/$1/port" &
    services="$services $!"
    until [ -s "$tmp/$1/port" ]; do sleep 0.01; done
    eval "at_$1=http://127.0.0.1:$(cat "$tmp/$1/port")"
}
at_slack='' at_discord='' at_dingtalk=''
service slack xoxb-1 xapp-1
service discord d.1 1500
service dingtalk ding-1 s-1

start() { # NODE: sets pid_NODE
    mkdir -p "$tmp/$1"
    printf 'rules:\n  - { say: "heard: {{user}}" }\n' >"$tmp/$1/rules.yaml"
    cat >"$tmp/$1/chela.yaml" <<YAML
store: "$postgres"
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels:
  slack: { botTokenEnv: SLACK_BOT_TOKEN, appTokenEnv: SLACK_APP_TOKEN, apiUrl: "$at_slack/api", dmPolicy: open }
  discord: { tokenEnv: DISCORD_TOKEN, apiUrl: "$at_discord/api/v10", dmPolicy: open }
  dingtalk: { clientId: ding-1, clientSecretEnv: DINGTALK_SECRET, apiUrl: "$at_dingtalk", oapiUrl: "$at_dingtalk", dmPolicy: open }
YAML
    : >"$tmp/$1.log"
    # shellcheck disable=SC2016
    (cd "$tmp/$1" && with_env CHELA_TOKEN=$token sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/$1.pid" \
        "$program" serve --listen 127.0.0.1:0 -v --config chela.yaml >>"$tmp/$1.log" 2>&1 </dev/null) &
    for _ in {1..400}; do
        grep -q 'listening on' "$tmp/$1.log" && break
        sleep 0.05
    done
    eval "pid_$1=$(cat "$tmp/$1.pid")"
}
post() { curl -sS -m 40 -o /dev/null --data-binary "$2" "$1" 2>/dev/null; }
tell() { # CHANNEL N
    local at=$((1600000000 + $2))
    case $1 in
    slack) post "$at_slack/test/event" "$(jq -cn --arg ts "$at.000200" --arg t "line $2." \
        '{type: "message", channel: "D1", channel_type: "im", user: "UANN", text: $t, ts: $ts}')" ;;
    discord) post "$at_discord/test/event?t=MESSAGE_CREATE" "$(jq -cn --arg id "$((5000 + $2))" --arg t "line $2." \
        '{id: $id, channel_id: "100", type: 0, author: {id: "500", username: "u", global_name: "U"}, content: $t,
          timestamp: "2026-01-01T00:00:00Z", mentions: [], mention_roles: [], attachments: []}')" ;;
    dingtalk) post "$at_dingtalk/test/message" "$(jq -cn --arg id "m$2" --argjson at "${at}000" --arg t "line $2." \
        '{msgId: $id, msgtype: "text", conversationType: "1", conversationId: "cid1", senderId: "x", senderStaffId: "ann",
          senderNick: "Ann", chatbotUserId: "bot", robotCode: "ding-1", createAt: $at, isInAtList: false, text: {content: $t}}')" ;;
    esac
}
said() { # CHANNEL: the numbers of the lines that were answered, in order
    case $1 in
    dingtalk) curl -sS -m 20 "$at_dingtalk/test/messages" | jq -r '.[].text' ;;
    *) curl -sS -m 20 "$(eval "echo \$at_$1")/test/messages" | jq -r '.[] | .text // .content // empty' ;;
    esac | sed -n 's/.*heard:.*line \([0-9]*\)\..*/\1/p'
}
connected() { # CHANNEL N: this many connections were made
    case $1 in
    slack) [ "$(grep -c '^apps.connections.open' "$tmp/slack/calls")" -ge "$2" ] ;;
    discord) [ "$(grep -c '^gateway 2 ' "$tmp/discord/calls")" -ge "$2" ] ;;
    dingtalk) [ "$(grep -c '^connect ' "$tmp/dingtalk/calls")" -ge "$2" ] ;;
    esac
}
all() { [ "$(said "$1" | sort -un | wc -l)" -ge "$2" ]; }

start a
start b
for channel in slack discord dingtalk; do
    check "$channel: both gateways connect" eventually connected $channel 2
    for n in 1 2 3 4 5 6 7 8; do tell $channel $n; done
    check "$channel: eight messages are answered" eventually all $channel 8
done
kill -9 "$pid_a"
for channel in slack discord dingtalk; do
    for n in 9 10 11 12; do tell $channel $n; done
done
start a
for channel in slack discord dingtalk; do
    check "$channel: four more after a kill" eventually all $channel 12
    same "$channel: once each, in order" "$(seq 12)" "$(said $channel)"
done
tap_done

# all.sh -- the fake services of all six chat channels. Source it after serve.sh.
#
#     start_services [NAME...]      at_NAME: the address; the files of a service are in $tmp/NAME
#     stop_services
#     channel_yaml NAME [MORE]      a row of `channels` in chela.yaml
#     tell NAME N TEXT [CHAT]       message N of a person in a direct chat; CHAT: a number; default: 1
#     tell_group NAME N TEXT [WHO]  message N in a group that mentions the agent; WHO: a name
#     chat_in_group NAME N TEXT [WHO]   the same, not mentioning it; not of dingtalk and wecom, which do
#                                   not deliver such messages
#     said NAME                     texts that people see, one per line, in the order of the service
#     connections NAME              number of connections so far; telegram: of gateways
# shellcheck disable=SC2034,SC2154
channel_names='slack discord dingtalk wecom telegram feishu'
service_pids=''
at_slack='' at_discord='' at_dingtalk='' at_wecom='' at_telegram='' at_feishu=''
eval "bare_$(declare -f with_env)"
with_env() {
    bare_with_env SLACK_BOT_TOKEN="${slack_token-xoxb-SENTINEL}" SLACK_APP_TOKEN=xapp-1 DISCORD_TOKEN="${discord_token-d.SENTINEL}" \
        DINGTALK_SECRET="${dingtalk_secret-s-SENTINEL}" WECOM_BOT_SECRET="${wecom_secret-w-SENTINEL}" \
        TELEGRAM_BOT_TOKEN="${telegram_token-4711:SENTINEL}" FEISHU_APP_SECRET="${feishu_secret-f-SENTINEL}" \
        FEISHU_VERIFICATION_TOKEN=v-1 "$@"
}

start_service() { # NAME
    local name=$1 program=tests/support/channels/$1server args=()
    mkdir -p "$tmp/$name/files"
    : >"$tmp/$name/posts"
    : >"$tmp/$name/sent"
    : >"$tmp/$name/calls"
    case $name in
    slack) args=(xoxb-SENTINEL xapp-1) ;;
    discord) args=(d.SENTINEL 1500) ;;
    dingtalk) args=(ding-1 s-SENTINEL) ;;
    wecom) args=(bot-1 w-SENTINEL) ;;
    telegram) program=$BUILD/tests/support/telegramserver args=(4711:SENTINEL) ;;
    feishu) program=$BUILD/tests/support/larkserver args=(cli_1 f-SENTINEL) ;;
    esac
    "$program" "$tmp/$name" "${args[@]}" >"$tmp/$name/port" &
    service_pids="$service_pids $!"
    until [ -s "$tmp/$name/port" ]; do sleep 0.01; done
    eval "at_$name=http://127.0.0.1:$(cat "$tmp/$name/port")"
}
start_services() {
    local name
    # shellcheck disable=SC2048,SC2086
    for name in ${*:-$channel_names}; do start_service "$name"; done
}
stop_services() {
    # shellcheck disable=SC2086
    [ -z "$service_pids" ] || kill -9 $service_pids 2>/dev/null
    service_pids=''
}

channel_yaml() {
    local more=${2-}
    case $1 in
    slack) echo "  slack: { botTokenEnv: SLACK_BOT_TOKEN, apiUrl: \"$at_slack/api\", dmPolicy: open$more }" ;;
    discord) echo "  discord: { tokenEnv: DISCORD_TOKEN, apiUrl: \"$at_discord/api/v10\", dmPolicy: open$more }" ;;
    dingtalk) echo "  dingtalk: { clientId: ding-1, clientSecretEnv: DINGTALK_SECRET, apiUrl: \"$at_dingtalk\", oapiUrl: \"$at_dingtalk\", dmPolicy: open$more }" ;;
    wecom) echo "  wecom: { botId: bot-1, secretEnv: WECOM_BOT_SECRET, url: \"${at_wecom/http:/ws:}\", dmPolicy: open$more }" ;;
    telegram) echo "  telegram: { tokenEnv: TELEGRAM_BOT_TOKEN, domain: \"$at_telegram\", dmPolicy: open$more }" ;;
    feishu) echo "  feishu: { appId: cli_1, mode: websocket, domain: \"$at_feishu\", dmPolicy: open, streaming: false$more }" ;;
    esac
}

service_post() { curl -sS -m 40 -o /dev/null -w '%{http_code}' --data-binary "$2" "$1" 2>/dev/null; }
tell() {
    local n=$2 text=$3 chat=${4:-1} at=$((1600000000 + $2)) i
    case $1 in
    slack) service_post "$at_slack/test/event" "$(jq -cn --arg ts "$at.000200" --arg t "$text" --arg c "D$chat" \
        '{type: "message", channel: $c, channel_type: "im", user: "UANN", text: $t, ts: $ts}')" ;;
    discord) service_post "$at_discord/test/event?t=MESSAGE_CREATE" "$(jq -cn --arg id "$((5000 + n))" --arg t "$text" --arg c "$((99 + chat))" \
        '{id: $id, channel_id: $c, type: 0, author: {id: "500", username: "u", global_name: "U"}, content: $t,
          timestamp: "2026-01-01T00:00:00Z", mentions: [], mention_roles: [], attachments: []}')" ;;
    dingtalk) service_post "$at_dingtalk/test/message" "$(jq -cn --arg id "m$n" --argjson at "${at}000" --arg t "$text" --arg c "$chat" \
        '{msgId: $id, msgtype: "text", conversationType: "1", conversationId: ("cid" + $c), senderId: "x", senderStaffId: ("ann" + $c),
          senderNick: "Ann", chatbotUserId: "bot", robotCode: "ding-1", createAt: $at, isInAtList: false, text: {content: $t}}')" ;;
    wecom) service_post "$at_wecom/test/message" "$(jq -cn --arg id "w$n" --argjson at "$at" --arg t "$text" --arg c "$chat" \
        '{msgid: $id, aibotid: "bot-1", chattype: "single", from: {userid: ("ann" + $c)}, create_time: $at, msgtype: "text", text: {content: $t}}')" ;;
    telegram) service_post "$at_telegram/test/update" "$(jq -cn --argjson id "$n" --argjson c "$((6 + chat))" --arg t "$text" \
        '{message: {message_id: $id, date: (now | floor), chat: {id: $c, type: "private"}, text: $t, from: {id: $c, is_bot: false, first_name: "Ann"}}}')" ;;
    feishu)
        for i in {1..100}; do # the connection may be on its way
            [ "$(service_post "$at_feishu/test/push?" "$(jq -cn --arg id "om_$n" --arg chat "oc_$chat" --arg t "$text" --arg now "$(date +%s%3N)" '
                {schema: "2.0", header: {event_id: ("ev_" + $id), event_type: "im.message.receive_v1", create_time: $now, token: "v-1",
                    app_id: "cli_1", tenant_key: "tk"},
                 event: {sender: {sender_id: {open_id: "ou_ann", union_id: "on_x"}, sender_type: "user", tenant_key: "tk"},
                    message: {message_id: $id, create_time: $now, chat_id: $chat, chat_type: "p2p", message_type: "text",
                        content: ({text: $t} | tojson), mentions: []}}}')")" = 200 ] && break
            sleep 0.1
        done
        ;;
    esac >/dev/null
}
group_message() { # MEANT NAME N TEXT [WHO]
    local meant=$1 n=$3 text=$4 who=${5:-ann} at=$((1600000000 + $3)) i
    case $2 in
    slack) service_post "$at_slack/test/event" "$(jq -cn --arg ts "$at.000200" --arg t "$text" --argjson m "$meant" --arg u "U${who^^}" \
        '{type: "message", channel: "C1", channel_type: "channel", user: $u, text: ((if $m == 1 then "<@UBOT> " else "" end) + $t), ts: $ts}')" ;;
    discord) service_post "$at_discord/test/event?t=MESSAGE_CREATE" "$(jq -cn --argjson n "$n" --arg t "$text" --argjson m "$meant" --arg who "$who" \
        '{id: "\(5000 + $n)", channel_id: "200", guild_id: "700", type: 0, author: {id: (if $who == "ann" then "500" else "502" end), username: $who, global_name: $who},
          content: $t, timestamp: "2026-01-01T00:00:00Z", mention_roles: [], attachments: [],
          mentions: (if $m == 1 then [{id: "9000", username: "chela", bot: true}] else [] end)}')" ;;
    dingtalk) service_post "$at_dingtalk/test/message" "$(jq -cn --arg id "g$n" --argjson at "${at}000" --arg t "$text" --arg who "$who" \
        '{msgId: $id, msgtype: "text", conversationType: "2", conversationId: "cidteam", conversationTitle: "Team", senderId: "x",
          senderStaffId: $who, senderNick: $who, chatbotUserId: "bot", robotCode: "ding-1", createAt: $at, isInAtList: true, text: {content: $t}}')" ;;
    wecom) service_post "$at_wecom/test/message" "$(jq -cn --arg id "g$n" --argjson at "$at" --arg t "@chela $text" --arg who "$who" \
        '{msgid: $id, aibotid: "bot-1", chattype: "group", chatid: "wrteam", from: {userid: $who}, create_time: $at, msgtype: "text", text: {content: $t}}')" ;;
    telegram) service_post "$at_telegram/test/update" "$(jq -cn --argjson n "$n" --argjson m "$meant" --arg t "$text" --arg who "$who" \
        '{message: {message_id: (9000 + $n), date: (now | floor), chat: {id: -100, type: "supergroup", title: "Team"},
          text: ((if $m == 1 then "@ChelaBot " else "" end) + $t), from: {id: (if $who == "ann" then 7 else 8 end), is_bot: false, first_name: $who}}}')" ;;
    feishu)
        for i in {1..100}; do # the connection may be on its way
            [ "$(service_post "$at_feishu/test/push?" "$(jq -cn --arg id "om_g$n" --arg t "$text" --argjson m "$meant" --arg who "ou_$who" --arg now "$(date +%s%3N)" '
                {schema: "2.0", header: {event_id: ("ev_" + $id), event_type: "im.message.receive_v1", create_time: $now, token: "v-1",
                    app_id: "cli_1", tenant_key: "tk"},
                 event: {sender: {sender_id: {open_id: $who, union_id: "on_x"}, sender_type: "user", tenant_key: "tk"},
                    message: {message_id: $id, create_time: $now, chat_id: "oc_team", chat_type: "group", message_type: "text",
                        content: ({text: ((if $m == 1 then "@_user_1 " else "" end) + $t)} | tojson),
                        mentions: (if $m == 1 then [{key: "@_user_1", id: {open_id: "ou_bot"}, name: "Bot"}] else [] end)}}}')")" = 200 ] && break
            sleep 0.1
        done
        ;;
    esac >/dev/null
}
tell_group() { group_message 1 "$@"; }
chat_in_group() { group_message 0 "$@"; }
seen_by_people() { # NAME: lines "CHAT TEXT"
    case $1 in
    slack) curl -sS -m 20 "$at_slack/test/messages" | jq -r '.[] | "\(.channel) \(.text // "")"' ;;
    discord) curl -sS -m 20 "$at_discord/test/messages" | jq -r '.[] | "\(.channel_id) \(.content // "")"' ;;
    dingtalk) curl -sS -m 20 "$at_dingtalk/test/messages" | jq -r '.[] | "\(.chat) \(.text // "")"' ;;
    wecom) curl -sS -m 20 "$at_wecom/test/messages" | jq -r '.[] | "\(.chat) \(.text // "")"' ;;
    telegram) sed -n 's/^sendMessage //p' "$tmp/telegram/sent" | jq -r '"\(.chat_id) \(.text)"' ;;
    feishu) sed 's/^[^ ]* //' "$tmp/feishu/sent" | jq -r '"\(.receive_id // "-") " + (.content | fromjson | if .zh_cn then .zh_cn.content[0][0].text else .text end)' ;;
    esac
}
said() { seen_by_people "$1" | sed 's/^[^ ]* //'; }
connections() {
    case $1 in
    slack) grep -c '^connect ' "$tmp/slack/calls" ;;
    discord) grep -c '^gateway [26] ' "$tmp/discord/calls" ;; # Identify, Resume
    dingtalk) grep -c '^connect ' "$tmp/dingtalk/calls" ;;
    wecom) grep -c '^connect ' "$tmp/wecom/posts" ;;
    telegram) grep -c '^getMe' "$tmp/telegram/calls" ;;
    feishu) grep -c '/callback/ws/endpoint' "$tmp/feishu/calls" ;;
    esac
}

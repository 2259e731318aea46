#!/usr/bin/env bash
# All six channels in one gateway, with services that misbehave: limits of minutes, nonsense, events
# that are repeated, connections that are cut. Nothing is lost or said twice, and no channel harms
# another.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/channels/all.sh

program=$(realpath "$program")
start_services
gateway_pid='' server_pid='' tells=()
printf 'rules:\n  - { say: "heard: {{user}}" }\n' >"$space/rules.yaml"
{
    echo 'store: sqlite:./chela.db'
    echo 'agents: { list: [{ id: coder, model: scripted/rules.yaml }] }'
    echo 'channels:'
    for name in $channel_names; do channel_yaml "$name"; done
} >"$space/chela.yaml"
start() {
    serve
    trap 'kill -9 $gateway_pid 2>/dev/null; stop_services; rm -rf "$tmp"' EXIT
}
answered() { said "$1" | grep -q "heard: .*line $2\."; }
# The numbers of the answers that people see; four services were told line 4, too.
expected() { case $1 in slack | discord | dingtalk | wecom) echo "${2/3 /3 4 }" ;; *) echo "$2" ;; esac }
numbers() { said "$1" | sed -n 's/.*heard:.*line \([0-9]*\)\..*/\1/p'; }

start
for name in $channel_names; do
    tell "$name" 1 'line 1.'
    check "$name: a message is answered" eventually answered "$name" 1
done

# --- a limit for minutes: the row waits, other chats do not, and a restart keeps it
limited='slack discord dingtalk wecom telegram'
echo 'chat.postMessage 429 300' >"$tmp/slack/fail"
echo 'POST/messages 429 300' >"$tmp/discord/fail"
echo 'robot/oToMessages/batchSend 429 Throttling 300' >"$tmp/dingtalk/fail"
echo 'aibot_respond_msg 45009' >"$tmp/wecom/fail"
echo '429 300' >"$tmp/telegram/fail"
tried() { [ ! -s "$tmp/$1/fail" ]; }
for name in $limited; do
    tell "$name" 2 'line 2.'
    check "$name: the service asks for a wait" eventually tried "$name"
    tell "$name" 3 'line 3.' 2
    check "$name: another chat does not wait" eventually answered "$name" 3
done
tell feishu 2 'line 2.'
tell feishu 3 'line 3.' 2
check "feishu: neither do other channels" eventually answered feishu 3
waits() { ! answered "$1" 2; }
for name in $limited; do check "$name: the answer still waits" waits "$name"; done
# WeCom does not say how long: a minute.
wait_of() { # NAME: seconds until the next attempt, as `channels list` tells them; 0: no answer waits
    listed=$(cd "$space" && with_env CHELA_TOKEN="$token" "$program" channels list --url "$gateway" --json 2>/dev/null)
    jq -r --arg n "$1" '.[] | select(.channel == $n) | .detail // "" | (capture("1 messages are not sent yet, next attempt in (?<s>[0-9]+) s") | .s) // 0' <<<"$listed"
}
is_kept() { # NAME
    local s
    s=$(wait_of "$1")
    if [ "$1" = wecom ]; then [ "${s:-0}" -ge 1 ] && [ "$s" -le 60 ]; else [ "${s:-0}" -ge 120 ] && [ "$s" -le 301 ]; fi
}
for name in $limited; do check "$name: for as long as the service asks" is_kept "$name"; done
kill -9 "$gateway_pid"
start
for name in $limited; do check "$name: a restart keeps the wait" eventually is_kept "$name"; done
for name in $limited; do check "$name: the answer is not sent before" waits "$name"; done
kill -9 "$gateway_pid"
sqlite3 "$space/chela.db" "PRAGMA busy_timeout=5000; UPDATE outbox SET receipt = json_set(receipt, '\$.until', 1) WHERE state = 'uncertain'" >/dev/null
start
for name in $limited; do check "$name: it is sent after that" eventually answered "$name" 2; done

# --- a status of success, and an error in the body
echo 'chat.postMessage internal_error' >"$tmp/slack/fail"
echo 'POST/messages 200' >"$tmp/discord/fail"
echo 'robot/oToMessages/batchSend code ServiceUnavailable' >"$tmp/dingtalk/fail"
echo 'aibot_respond_msg -1' >"$tmp/wecom/fail"
sockets='slack discord dingtalk wecom'
for name in $sockets; do
    tell "$name" 4 'line 4.'
    check "$name: a success with an error inside" eventually tried "$name"
    check "$name: is a failure, and the answer is sent again" eventually answered "$name" 4
done

# --- nonsense, events that come again, in another order, or late
deep=$(printf '[%.0s' {1..5000})
large=$(head -c 3000000 /dev/zero | tr '\0' x)
nonsense() { # NAME TEXT
    local at
    at=$(eval "echo \$at_$1")
    printf %s "$2" >"$tmp/raw"
    curl -sS -m 40 -o /dev/null --data-binary @"$tmp/raw" "$at/test/raw" 2>/dev/null
}
for name in $sockets; do
    for text in '{' 'null' '[]' '"x"' '{"op":0,"t":"MESSAGE_CREATE","s":1e99,"d":{"id":[],"channel_id":{},"author":7}}' \
        '{"type":"events_api","envelope_id":"x","payload":{"event":{"type":"message","channel":{},"ts":[],"user":7}}}' \
        '{"type":"CALLBACK","headers":{"topic":"/v1.0/im/bot/messages/get","messageId":7},"data":{"a":1}}' \
        '{"cmd":"aibot_msg_callback","headers":{"req_id":{}},"body":[]}' \
        '{"cmd":"aibot_msg_callback","headers":{"req_id":"q"},"body":{"msgid":"x","from":[],"msgtype":{}}}' "$deep" "$large"; do
        nonsense "$name" "$text"
    done
done
# messages as they should be, but of two megabytes
head -c 2000000 /dev/zero | tr '\0' x >"$tmp/big"
jq -cRs '{type: "events_api", envelope_id: "big", payload: {type: "event_callback", event:
    {type: "message", channel: "D1", channel_type: "im", user: "UANN", text: ., ts: "1600000050.000200"}}}' "$tmp/big" >"$tmp/big-slack"
jq -cRs '{op: 0, t: "MESSAGE_CREATE", d: {id: "5050", channel_id: "100", type: 0, author: {id: "500", username: "u"}, content: .,
    timestamp: "2026-01-01T00:00:00Z", mentions: [], mention_roles: [], attachments: []}}' "$tmp/big" >"$tmp/big-discord"
jq -cRs '{specVersion: "1.0", type: "CALLBACK", headers: {topic: "/v1.0/im/bot/messages/get", messageId: "big"}, data: ({msgId: "m50",
    msgtype: "text", conversationType: "1", conversationId: "cid1", senderId: "x", senderStaffId: "ann1", chatbotUserId: "bot",
    robotCode: "ding-1", createAt: 1600000050000, text: {content: .}} | tojson)}' "$tmp/big" >"$tmp/big-dingtalk"
jq -cRs '{cmd: "aibot_msg_callback", headers: {req_id: "big"}, body: {msgid: "w50", aibotid: "bot-1", chattype: "single",
    from: {userid: "ann1"}, create_time: 1600000050, msgtype: "text", text: {content: .}}}' "$tmp/big" >"$tmp/big-wecom"
is_refused() { grep -q "\[$1\] a message is ignored: the message is too large" "$serve_log"; }
for name in $sockets; do
    curl -sS -m 40 -o /dev/null --data-binary @"$tmp/big-$name" "$(eval "echo \$at_$name")/test/raw" 2>/dev/null
    check "$name: a message of two megabytes is refused" eventually is_refused "$name"
done
service_post "$at_telegram/test/update" '{"message":{"message_id":[],"chat":7,"from":"x","text":{}}}' >/dev/null
service_post "$at_telegram/test/update" '{"message":7}' >/dev/null
service_post "$at_feishu/test/push?" '{"schema":"2.0","header":[],"event":{"message":7}}' >/dev/null
for name in $channel_names; do
    tell "$name" 9 'line 9.'
    tell "$name" 2 'line 2.'
    tell "$name" 8 'line 8.'
    tell "$name" 9 'line 9.'
done
for name in $channel_names; do
    check "$name: it goes on" eventually answered "$name" 8
    same "$name: each once" "$(expected "$name" "1 2 3 8 9")" "$(numbers "$name" | sort -n | tr '\n' ' ' | sed 's/ $//')"
done

# --- a service that cuts the connection with every second event
dialled() { # NAME: connections so far
    if [ "$1" = discord ]; then grep -cE '^gateway [26] ' "$tmp/discord/calls"; else connections "$1"; fi
}
cut() { curl -sS -m 5 -o /dev/null -X POST "$(eval "echo \$at_$1")/test/drop?how=cut" 2>/dev/null; }
# A service repeats an event that was not acknowledged. WeCom does not: the test does.
insists() { # NAME NUMBER CHAT
    local i
    for i in {1..300}; do
        answered "$1" "$2" && return
        [ $((i % 20)) -ne 1 ] || tell "$1" "$2" "line $2." "$3"
        sleep 0.2
    done
    return 1
}
# A chat of its own: messages that arrive during a run are answered together. Discord's stand-in knows
# channels from 100000 on.
room() { if [ "$1" = discord ]; then echo $((100000 + $2)); else echo "$2"; fi }
for n in 21 22 23 24 25 26; do
    for name in $sockets; do
        tell "$name" $n "line $n." "$(room "$name" $n)" &
        tells+=($!)
        [ $((n % 2)) -ne 0 ] || cut "$name"
    done
    wait "${tells[@]}"
    tells=()
done
for name in $sockets; do
    missed=0
    for n in 21 22 23 24 25 26; do insists "$name" $n "$(room "$name" $n)" || missed=$((missed + 1)); done
    same "$name: no event is lost" 0 $missed
done

# --- a service that repeats an event and cuts the connection, again and again
declare -A before
for name in $sockets; do before[$name]=$(dialled "$name"); done
end=$((SECONDS + 15))
while [ $SECONDS -lt $end ]; do
    nonsense slack '{"type":"events_api","envelope_id":"again","payload":{"type":"event_callback","event":{"type":"message","channel":"D1","channel_type":"im","user":"UANN","text":"line 1.","ts":"1600000001.000200"}}}'
    nonsense dingtalk '{"specVersion":"1.0","type":"CALLBACK","headers":{"topic":"/v1.0/im/bot/messages/get","messageId":"again"},"data":"{\"msgId\":\"m1\",\"msgtype\":\"text\",\"conversationType\":\"1\",\"conversationId\":\"cid1\",\"senderId\":\"x\",\"senderStaffId\":\"ann1\",\"chatbotUserId\":\"bot\",\"robotCode\":\"ding-1\",\"createAt\":1600000001000,\"text\":{\"content\":\"line 1.\"}}"}'
    sleep 0.1
    for name in $sockets; do cut "$name"; done
    sleep 0.1
done
for name in $sockets; do
    n=$(($(dialled "$name") - before[$name]))
    check "$name: connections that are cut are no storm: $n in 15 s" test $n -le 9
done
tell telegram 11 'line 11.'
check "another channel does not notice" eventually answered telegram 11
for name in $sockets; do
    check "$name: it comes back" insists "$name" 11 1
    same "$name: each once still" "$(expected "$name" "1 2 3 8 9 11 21 22 23 24 25 26")" "$(numbers "$name" | sort -n | tr '\n' ' ' | sed 's/ $//')"
done
check "SIGTERM ends it" stop_serving
check "the log has no secret" bash -c "! grep -q SENTINEL '$serve_log'"
tap_done

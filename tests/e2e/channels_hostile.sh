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
gateway_pid='' server_pid=''
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
numbers() { said "$1" | sed -n 's/.*heard:.*line \([0-9]*\)\..*/\1/p'; }

start
for name in $channel_names; do
    tell "$name" 1 'line 1.'
    check "$name: a message is answered" eventually answered "$name" 1
done

# --- a limit for minutes: the row waits, other chats do not, and a restart keeps it
limited='slack discord dingtalk wecom telegram'
echo 'chat.postMessage 429 120' >"$tmp/slack/fail"
echo 'POST/messages 429 120' >"$tmp/discord/fail"
echo 'robot/oToMessages/batchSend 429 Throttling 120' >"$tmp/dingtalk/fail"
echo 'aibot_respond_msg 45009' >"$tmp/wecom/fail"
echo '429 120' >"$tmp/telegram/fail"
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
call GET /readyz
same "which the health check tells" 5 "$(jq '[.checks[] | select(.detail // "" | test("1 messages are not sent yet"))] | length' "$out")"
kill -9 "$gateway_pid"
start
for name in $limited; do check "$name: a restart does not lose it" eventually answered "$name" 2; done

# --- nonsense, events that come again, in another order, or late
deep=$(printf '[%.0s' {1..5000})
large=$(head -c 3000000 /dev/zero | tr '\0' x)
nonsense() { # NAME TEXT
    local at
    at=$(eval "echo \$at_$1")
    printf %s "$2" >"$tmp/raw"
    curl -sS -m 40 -o /dev/null --data-binary @"$tmp/raw" "$at/test/raw" 2>/dev/null
}
for name in slack discord dingtalk wecom; do
    for text in '{' 'null' '[]' '"x"' '{"op":0,"t":"MESSAGE_CREATE","s":1e99,"d":{"id":[],"channel_id":{},"author":7}}' \
        '{"type":"events_api","envelope_id":"x","payload":{"event":{"type":"message","channel":{},"ts":[],"user":7}}}' \
        '{"type":"CALLBACK","headers":{"topic":"/v1.0/im/bot/messages/get","messageId":7},"data":{"a":1}}' \
        '{"cmd":"aibot_msg_callback","headers":{"req_id":{}},"body":[]}' \
        '{"cmd":"aibot_msg_callback","headers":{"req_id":"q"},"body":{"msgid":"x","from":[],"msgtype":{}}}' "$deep" "$large"; do
        nonsense $name "$text"
    done
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
    same "$name: each once" "1 2 3 8 9" "$(numbers "$name" | sort -n | tr '\n' ' ' | sed 's/ $//')"
done

# --- a service that repeats an event and cuts the connection, again and again
before=$(for name in slack dingtalk wecom; do connections $name; done | paste -sd+ | bc)
end=$((SECONDS + 15))
while [ $SECONDS -lt $end ]; do
    nonsense slack '{"type":"events_api","envelope_id":"again","payload":{"type":"event_callback","event":{"type":"message","channel":"D1","channel_type":"im","user":"UANN","text":"line 1.","ts":"1600000001.000200"}}}'
    nonsense dingtalk '{"specVersion":"1.0","type":"CALLBACK","headers":{"topic":"/v1.0/im/bot/messages/get","messageId":"again"},"data":"{\"msgId\":\"m1\",\"msgtype\":\"text\",\"conversationType\":\"1\",\"conversationId\":\"cid1\",\"senderId\":\"x\",\"senderStaffId\":\"ann1\",\"chatbotUserId\":\"bot\",\"robotCode\":\"ding-1\",\"createAt\":1600000001000,\"text\":{\"content\":\"line 1.\"}}"}'
    sleep 0.1
    for name in slack dingtalk wecom; do curl -sS -m 5 -o /dev/null -X POST "$(eval "echo \$at_$name")/test/drop?how=cut" 2>/dev/null; done
    sleep 0.1
done
after=$(for name in slack dingtalk wecom; do connections $name; done | paste -sd+ | bc)
check "connections that are cut are no storm: $((after - before)) in 15 s" test $((after - before)) -le 27
tell telegram 11 'line 11.'
check "another channel does not notice" eventually answered telegram 11
# A service repeats an event that was not acknowledged.
insists() { # NAME
    local i
    for i in {1..300}; do
        answered "$1" 11 && return
        [ $((i % 20)) -ne 1 ] || tell "$1" 11 'line 11.'
        sleep 0.2
    done
    return 1
}
for name in slack dingtalk wecom; do
    check "$name: it comes back" insists $name
    same "$name: each once still" "1 2 3 8 9 11" "$(numbers $name | sort -n | tr '\n' ' ' | sed 's/ $//')"
done
check "SIGTERM ends it" stop_serving
check "the log has no secret" bash -c "! grep -q SENTINEL '$serve_log'"
tap_done

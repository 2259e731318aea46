#!/usr/bin/env bash
# Two gateways with one store on the same app of each service. One gateway asks for consent, and
# the press of a button arrives at the other: it counts once, and the question shows who decided.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh
. tests/support/channels/all.sh

program=$(realpath "$program")
pid_a='' pid_b=''
trap 'for p in "$pid_a" "$pid_b"; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null; stop_services; stop_servers; rm -rf "$tmp"' EXIT
if ! start_postgres; then
    skip "two gateways" "PostgreSQL is not installed here"
    tap_done
    exit
fi
names='slack discord dingtalk wecom telegram'
# shellcheck disable=SC2086
start_services $names

printf '#!/bin/sh\necho done >>deployed\necho "deployed it"\n' >"$space/deploy"
chmod +x "$space/deploy"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: ship, after: none }, call: { tool: deploy, args: { to: prod } } }
  - { when: { after: deploy }, say: "it said: {{result}}" }
YAML
{
    printf 'store: "%s"\nagents: { list: [{ id: coder, model: scripted/rules.yaml }] }\n' "$postgres"
    echo 'tools: { custom: [{ name: deploy, description: Ships it., command: [./deploy], permission: write, confirm: true, parameters: { type: object } }] }'
    echo 'channels:'
    channel_yaml slack ', owners: [UANN]'
    channel_yaml discord ', owners: ["500"]'
    channel_yaml dingtalk ', owners: [ann1], approvalTemplate: ask.schema'
    channel_yaml wecom ', owners: [ann1]'
    channel_yaml telegram ', owners: ["7"]'
} >"$space/chela.yaml"

connected() { [ "$(connections "$1")" -ge "$2" ]; }
shown() { curl -sS -m 20 "$(eval "echo \$at_$1")/test/messages"; }
question() { # NAME: what a press of "Allow once" says
    case $1 in
    slack) shown slack | jq -r '[.[] | select((.blocks // []) | length > 0)][-1] | .blocks[1].elements[0].value + " " + .ts' ;;
    discord) shown discord | jq -r '[.[] | select((.components // []) | length > 0)][-1] | .components[0].components[0].custom_id + " " + .id' ;;
    dingtalk) shown dingtalk | jq -r '[.[] | select(.template == "ask.schema")][-1].id' ;;
    wecom) shown wecom | jq -r '[.[] | select(.card)][-1].card | .button_list[0].key + "\t" + .task_id' ;;
    telegram) sed -n 's/^sendMessage //p' "$tmp/telegram/sent" | jq -r 'select(.reply_markup) | .reply_markup.inline_keyboard[0][0].callback_data' | tail -n 1 ;;
    esac
}
asked() { local q; q=$(question "$1") && [ -n "${q// /}" ] && [ "$q" != null ]; }
press() { # NAME QUESTION
    case $1 in
    slack) service_post "$at_slack/test/press" "$(jq -cn --arg v "${2% *}" --arg ts "${2#* }" \
        '{type: "block_actions", user: {id: "UANN"}, channel: {id: "D1"}, container: {message_ts: $ts}, actions: [{action_id: "chela-once", value: $v}]}')" ;;
    discord) service_post "$at_discord/test/event?t=INTERACTION_CREATE" "$(jq -cn --arg i "${2% *}" --arg m "${2#* }" \
        '{id: "77", application_id: "9001", type: 3, token: "t", channel_id: "100", message: {id: $m}, data: {custom_id: $i, component_type: 2}, user: {id: "500"}}')" ;;
    dingtalk) service_post "$at_dingtalk/test/press" "$(jq -cn --arg t "$2" '{type: "actionCallback", outTrackId: $t, userId: "ann1", corpId: "c", spaceType: "IM",
        content: ({cardPrivateData: {actionIds: ["allow-once"], params: {}}} | tojson)}')" ;;
    wecom) service_post "$at_wecom/test/press" "$(jq -cn --arg k "${2%	*}" --arg t "${2#*	}" '{msgid: "e1", aibotid: "bot-1", chattype: "single",
        from: {userid: "ann1"}, msgtype: "event", event: {eventtype: "template_card_event", template_card_event: {card_type: "button_interaction", event_key: $k, task_id: $t}}}')" ;;
    telegram) service_post "$at_telegram/test/update" "$(jq -cn --arg d "$2" \
        '{callback_query: {id: "q1", from: {id: 7, is_bot: false}, data: $d, message: {message_id: 77, chat: {id: 7}}}}')" ;;
    esac >/dev/null
}
answered() { said "$1" | grep -q 'it said: deployed it'; }
tells() { grep -q "$2" <<<"$(everything "$1")"; }
everything() { cat "$tmp/$1"/* 2>/dev/null; [ "$1" = telegram ] || shown "$1"; }

start_node a "$space"
for name in $names; do check "$name: a gateway connects" eventually connected "$name" 1; done
start_node b "$space"
for name in $names; do check "$name: the other, too" eventually connected "$name" 2; done
for name in $names; do tell "$name" 1 'ship it'; done
for name in $names; do check "$name: one of them asks" eventually asked "$name"; done
# Slack and DingTalk give an event to the newest connection: either gateway may have it now.
for name in slack dingtalk; do service_post "$(eval "echo \$at_$name")/test/drop?how=cut" '' >/dev/null; done
for name in $names; do
    press "$name" "$(question "$name")"
    check "$name: a press counts, whoever gets it" eventually answered "$name"
    check "$name: the question shows who decided" eventually tells "$name" 'Allowed .*by'
    # Telegram gives an update to both gateways if both ask at once; the second only tells the person.
    same "$name: and not that it came too late" '' "$(everything "$name" | grep -v '^answerCallbackQuery' | grep 'Decided before')"
done
same "each call ran once" 5 "$(wc -l <"$space/deployed")"
tap_done

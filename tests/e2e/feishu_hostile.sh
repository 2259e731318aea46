#!/usr/bin/env bash
# Those who may not: nothing that they send to an app in a chat makes the gateway
# do anything, whatever it is and whatever they are called.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
echo 'rules: [{ say: "heard: {{user}}" }]' >"$space/rules.yaml"
configure() { # POLICY
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels:
  feishu: { appId: $app, domain: $lark, dmPolicy: $1, allowFrom: [ou_ann],
            owners: [ou_boss], groups: [oc_team] }
YAML
}
me='[{"key":"@_user_1","id":{"open_id":"ou_bot"},"name":"Bot"}]'
count() { wc -l <"$tmp/lark/sent"; }
# What the gateway asked the platform for, but for what it needs to begin with.
asked() {
    grep -vE '^(POST /open-apis/auth/|GET /open-apis/bot/v3/info)' "$tmp/lark/calls"
}
other() { # TYPE JSON: an event about something else than a message
    jq -cn --arg type "$1" --argjson event "$2" --arg token "$verification" --arg app $app --arg now "$(date +%s%3N)" \
        '{schema: "2.0", header: {event_id: ("ev_" + $type), event_type: $type, create_time: $now, token: $token,
          app_id: $app, tenant_key: "tk"}, event: $event}'
}
file() { # MESSAGE CHAT TYPE SENDER: something large
    event "$1" "$2" "$3" x "$4" "$me" | jq -c '.event.message.message_type = "file"
        | .event.message.content = ({file_key: "key_file", file_name: "1GB.bin"} | tojson)'
}
configure allowlist
serve
push "$(file om_0 oc_eve p2p ou_eve)"
answers "a stranger's file" 200

# --- somebody else, in a group that is not listed, and in one that is
push "$(file om_1 oc_other group ou_ann)"
answers "a file in a group that is none of ours" 200
push "$(event om_2 oc_other group '@_user_1 /status' ou_boss "$me")"
answers "a command there, of an owner" 200
push "$(event om_3 oc_team group '/status' ou_boss)"
answers "one that is not meant for us" 200
push "$(event om_4 oc_team group '@_user_1 hello' ou_ann '[{"key":"@_user_1","id":{"open_id":"ou_eve"},"name":"ou_bot"}]')"
answers "somebody who is called as we are" 200
push "$(event om_5 oc_ann p2p 'from a program' ou_ann | jq -c '.event.sender.sender_type = "app"')"
answers "another program" 200

# --- what is no message
me_too='{"operator_type":"user","user_id":{"open_id":"ou_eve"},"message_id":"om_1","reaction_type":{"emoji_type":"OK"}}'
push "$(other im.message.reaction.created_v1 "$me_too")"
answers "a stranger's reaction" 200
push "$(other im.message.recalled_v1 '{"message_id":"om_1","chat_id":"oc_ann"}')"
answers "a message that was taken back" 200
push "$(other im.chat.member.bot.added_v1 '{"chat_id":"oc_eve","operator_id":{"open_id":"ou_eve"}}')"
answers "a group that it was added to" 200
push "$(other card.action.trigger '{"operator":{"open_id":"ou_eve"},"action":{"value":{"approval":"ap_1","decision":"allow-always"}},"context":{"open_chat_id":"oc_ann"}}')"
check "a button that nobody was shown" test "$code" != 500
push "$(other im.message.receive_v1 '{"sender":{},"message":{}}')"
check "a message of nobody" test "$code" != 500
push "$(event om_6 oc_ann p2p x | jq -c 'del(.event.sender.sender_id.open_id) | .event.sender.sender_id.union_id = "ou_ann"
    | .event.sender.sender_id.user_id = "ou_ann"')"
check "another id that reads as one that is listed" test "$code" != 500
push "$(event om_7 oc_ann p2p x 'ou_ann ')"
push "$(event om_8 oc_ann p2p x OU_ANN)"
push "$(event om_9 oc_ann p2p x ou_an)"

# --- the callback's address has one name
body=$(event om_30 oc_ann p2p 'from outside')
for path in /channels//feishu/events /channels/feishu/events/ /channels/feishu/../feishu/events \
    /channels/feishu%2fevents /CHANNELS/feishu/events /channels/feishu/event; do
    anon POST "$path" --path-as-is -H 'Content-Type: application/json' -d "$body"
    case $code in 400 | 401 | 404) ok "not taken at $path" ;; *) not_ok "not taken at $path" "$code" ;; esac
done
check "SIGTERM ends it" stop_serving
same "nobody was answered" 0 "$(count)"

# --- strangers who may be paired are given a code, and nothing else
configure pairing
serve
push "$(file om_20 oc_eve p2p ou_eve)"
check "a stranger's file" hears 1
check "is answered with a code" said '^I do not know you yet'
code_of_eve=$(texts | tail -n 1 | grep -o '[A-Z2-9]\{8\}$')
chela pairing approve "$code_of_eve"
exits "the stranger is paired" 0
push "$(event om_21 oc_other group '@_user_1 hello' ou_eve "$me")"
answers "that does not open a group" 200
push "$(event om_22 oc_eve p2p '/approve' ou_eve)"
check "nor what is for owners" hears 2
check "which they are told" said 'Only an owner'

push "$(event om_31 oc_ann p2p 'hello')"
check "who may is answered" hears 3
check "SIGTERM ends it" stop_serving

same "nobody else was" 3 "$(count)"
same "nothing of strangers was fetched" "" "$(asked | grep -v 'users/ou_ann?' | grep -E 'resources|contact|om_([0-9]|20|21|30)/reactions')"
check "nor stored" test ! -e "$space/inbound"
chela sessions list --json
same "there is a session for who may, and no other" feishu:oc_ann \
    "$(jq -r '[.[].key] | sort | join(" ")' "$out")"

# --- secrets are nowhere
check "not in the log" bash -c "! grep -qF SENTINEL '$serve_log'"
check "not in the store" bash -c "! cat '$space'/chela.db* | grep -qaF SENTINEL"
chela sessions export feishu:oc_ann
check "not in an export" bash -c "! grep -qF SENTINEL '$out'"
tap_done

#!/usr/bin/env bash
# What belongs to a message in Feishu and has to be asked for: files, names, what
# it answers; and what the model does there by itself.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "key_file|report", after: none }, call: { tool: read, args: { path: inbound/om_2-1.json } } }
  - { when: { after: read }, say: "read: {{result}}" }
  - { when: { user: "show me", after: none }, say: "Here:\nMEDIA:plot.png\nMEDIA:table.csv\nMEDIA:https://example.com/x.png" }
  - { when: { user: "like it", after: none }, call: { tool: message, args: { action: react, emoji: "\U0001F44D" } } }
  - { when: { user: "like that", after: none }, call: { tool: message, args: { action: react, emoji: OK, message_id: om_8 } } }
  - { when: { user: "like others", after: none }, call: { tool: message, args: { action: react, emoji: OK, message_id: om_elsewhere } } }
  - { when: { user: "answer that", after: none }, call: { tool: message, args: { action: reply, text: "to the point", message_id: om_8 } } }
  - { when: { after: message }, say: "made: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels:
  feishu: { appId: $app, domain: $lark, dmPolicy: open, groups: [oc_team], requireMention: false }
YAML
message() { # EVENT TYPE CONTENT
    jq -c --arg type "$2" --arg content "$3" '.event.message.message_type = $type | .event.message.content = $content' <<<"$1"
}
serve
push "$(message "$(event om_1 oc_ann p2p x)" image '{"image_key":"key_image"}')"
check "a picture" hears 1
push "$(event om_1b oc_ann p2p 'what is in it?')"
check "and a question about it" hears 2
check "it was put into the workspace" cmp -s "$space/inbound/om_1-1.png" <(printf '\x89PNG\r\n\x1a\n, or so')
check "and the model told where" said 'heard: .*\[picture\]'
check "under our own name" said 'saved as inbound/om_1-1.png'
same "in their order" '/open-apis/im/v1/messages/om_1/reply' "$(head -n 1 "$tmp/lark/sent" | cut -d' ' -f1)"
push "$(message "$(event om_2 oc_ann p2p x)" file '{"file_key":"key_file","file_name":"../../report.json"}')"
check "a file" hears 3
check "can be read by tools" said 'read: .*"a":"file"'
check "and is nowhere else" test ! -e "$space/../report.json"
push "$(message "$(event om_3 oc_ann p2p x)" image '{"image_key":"key_gone"}')"
check "one that cannot be had" hears 4
check "is not missed" said 'heard: .*\[picture\]$'
rm -rf "$space/inbound" && ln -s /tmp "$space/inbound"
push "$(message "$(event om_4 oc_ann p2p x)" image '{"image_key":"key_image"}')"
check "a folder that leads elsewhere" hears 5
check "is not written to" test ! -e /tmp/om_4-1.png
rm "$space/inbound"
push "$(event om_5 oc_team group 'hello' ou_nina)"
check "a name is asked for" hears 6
check "and used" said 'heard: .*Nina: hello'
push "$(event om_6 oc_team group 'again' ou_nina)"
check "once" hears 7
same "indeed" 1 "$(grep -c '^GET /open-apis/contact/v3/users/ou_nina' "$tmp/lark/calls")"
push "$(event om_7 oc_team group 'hi' ou_bob)"
check "without a name" hears 8
check "the id will do" said 'heard: .*ou_bob: hi'
push "$(event om_8 oc_ann p2p 'and this?' | jq -c '.event.message.parent_id = "om_quoted"')"
check "an answer to another message" hears 9
check "which is fetched" grep -q '^GET /open-apis/im/v1/messages/om_quoted ' "$tmp/lark/calls"

# --- what the model does by itself
push "$(event om_9 oc_ann p2p 'do you like it?')"
check "a reaction" hears 10
check "to the message" grep -q '^POST /open-apis/im/v1/messages/om_9/reactions .*THUMBSUP' "$tmp/lark/calls"
check "the model is told" said '^made: Done'
push "$(event om_10 oc_ann p2p 'do you like that?')"
check "one to an earlier message" hears 11
check "of this conversation" grep -q '^POST /open-apis/im/v1/messages/om_8/reactions .*"OK"' "$tmp/lark/calls"
push "$(event om_11 oc_ann p2p 'do you like others?')"
check "and to none of another" hears 12
check "which it is told" said '^made: .*no such message'
check "and nobody else" bash -c "! grep -q om_elsewhere '$tmp/lark/calls'"
push "$(event om_12 oc_ann p2p 'answer that')"
check "an answer to an earlier message" hears 14
check "goes there" grep -q '^/open-apis/im/v1/messages/om_8/reply .*to the point' "$tmp/lark/sent"
printf '\x89PNG\r\n\x1a\n a plot of something' >"$space/plot.png"
echo 'a,b' >"$space/table.csv"
push "$(event om_13 oc_ann p2p 'show me')"
check "an answer with files" hears 17
same "the words first" 'Here:
https://example.com/x.png' "$(sed -n '15s/^[^ ]* //p' "$tmp/lark/sent" | jq -r '.content | fromjson | .zh_cn.content[0][0].text' | sed 's/ *$//')"
same "then a picture" 'image {"image_key":"img_up"}' "$(sed -n '16s/^[^ ]* //p' "$tmp/lark/sent" | jq -r '"\(.msg_type) \(.content)"')"
same "then a file" 'file {"file_key":"file_up"}' "$(sed -n '17s/^[^ ]* //p' "$tmp/lark/sent" | jq -r '"\(.msg_type) \(.content)"')"
check "uploaded as such" grep -q '^/open-apis/im/v1/images [0-9]* plot.png message$' "$tmp/lark/uploads"
check "both" grep -q '^/open-apis/im/v1/files [0-9]* table.csv stream$' "$tmp/lark/uploads"

# --- a text that is refused as a post: the text is sent plain, its files stay files
echo '200 230001' >"$tmp/lark/fail"
push "$(event om_61 oc_ann p2p 'show me once more')"
check "a text that is no post" hears 20
same "is sent as a text" text "$(sed -n '18s/^[^ ]* //p' "$tmp/lark/sent" | jq -r .msg_type)"
same "and its files as files" 'image file' "$(sed -n '19,20s/^[^ ]* //p' "$tmp/lark/sent" | jq -r .msg_type | xargs)"

# --- the name of somebody in a direct chat
push "$(event om_60 oc_nina p2p 'and here' ou_nina)"
check "a direct chat" hears 21
check "a direct chat: used" said 'heard: .*Nina: and here'

# --- too much of it
mkdir "$space/inbound" && truncate -s 1G "$space/inbound/large"
push "$(message "$(event om_14 oc_ann p2p x)" image '{"image_key":"key_image"}')"
check "a folder that is full" hears 22
check "is told of" said '^\[not saved: inbound/ is full\]'
check "and gets no file" test ! -e "$space/inbound/om_14-1.png"
check "SIGTERM ends it" stop_serving
tap_done

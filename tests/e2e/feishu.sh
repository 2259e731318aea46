#!/usr/bin/env bash
# `chela serve` as an app in a chat: an event comes in, one answer goes out.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules: [{ say: "heard: {{user}}" }]
YAML
configure() { # LINES...
    {
        printf 'store: sqlite:./chela.db\nagents: { list: [{ id: coder, model: scripted/rules.yaml }] }\n'
        printf 'channels:\n  feishu:\n    appId: %s\n    domain: %s\n' $app "$lark"
        printf '    %s\n' "$@"
    } >"$space/chela.yaml"
}

configure 'dmPolicy: open'
saved=$verification verification=
serve
check "without its token nothing starts" grep -q 'channel feishu: FEISHU_VERIFICATION_TOKEN is not set' "$serve_log"
verification=$saved

configure 'allowFrom: [ou_ann]' 'groups: [oc_team]'
serve
push "$(jq -cn --arg t $verification '{challenge: "c-1", token: $t, type: "url_verification"}')"
tells "a challenge comes back" .challenge c-1
push '{"challenge":"c-1","token":"wrong","type":"url_verification"}'
answers "not with another token" 401

push "$(event om_1 oc_ann p2p 'good morning')"
answers "an event" 200
check "it is answered" hears 1
check "with what the agent says" said 'heard: .*good morning'
check "as a reply to it" grep -q '^/open-apis/im/v1/messages/om_1/reply ' "$tmp/lark/sent"
push "$(event om_1 oc_ann p2p 'good morning')"
answers "again" 200
check "SIGTERM ends it" stop_serving
serve
push "$(event om_1 oc_ann p2p 'good morning')"
answers "after a restart" 200
push "$(event om_2 oc_ann p2p 'and then')"
check "the next one is answered" hears 2
same "and the first was answered once" 2 "$(wc -l <"$tmp/lark/sent")"
check "SIGTERM ends it" stop_serving

# --- who is not answered
count() { wc -l <"$tmp/lark/sent"; }
me='[{"key":"@_user_1","id":{"open_id":"ou_bot"},"name":"Bot"}]'
other='[{"key":"@_user_1","id":{"open_id":"ou_bob"},"name":"Bob"}]'
serve
push "$(event om_3 oc_eve p2p 'let me in' ou_eve)"
answers "a stranger" 200
push "$(event om_4 oc_other group '@_user_1 hello' ou_ann "$me")"
answers "another group" 200
push "$(event om_5 oc_team group '@_user_1 hello' ou_ann "$other")"
answers "somebody else is meant" 200
push "$(event om_6 oc_team group '@_user_1 hello' ou_bob "$me")"
check "the app is meant" hears 3
check "and addressed no more" said 'heard: .*ou_bob: hello$'
same "the others were not answered" 3 "$(count)"
push "$(event om_7 oc_ann p2p x | jq -c '.header.app_id = "cli_other"')"
answers "an event for another app" 401
push "$(event om_7 oc_ann p2p x | jq -c '.header.token = "wrong"')"
answers "a wrong token" 401
call POST /channels/feishu/events -H 'Content-Type: application/json' -d '{}'
answers "the gateway's token does not help" 401
anon POST /channels/other/events -H 'Content-Type: application/json' -d '{}'
answers "no such channel" 401
head -c 1100000 /dev/zero | tr '\0' ' ' >"$tmp/large"
anon POST /channels/feishu/events -H 'Content-Type: application/json' --data-binary @"$tmp/large"
answers "too much at once" 413
push "$(event om_7 oc_ann p2p x | jq -c '.header.event_type = "im.chat.updated_v1"')"
answers "an event of another kind" 200

# --- commands
push "$(event om_8 oc_ann p2p /status)"
check "a command is answered" hears 4
check "with what it asks for" said 'session: feishu:oc_ann'
push "$(event om_9 oc_ann p2p /new)"
check "a new conversation" hears 5
call GET /api/sessions
tells "the old one is kept" '[.sessions[].key | select(startswith("feishu:oc_ann"))] | join(" ")' 'feishu:oc_ann~om_9'

# --- when the service does not do what it is asked for
tell() { # MESSAGE FAULT
    echo "$2" >"$tmp/lark/fail"
    push "$(event "$1" oc_ann p2p "about $1")"
}
touch "$tmp/lark/revoke" && echo x >"$tmp/lark/revoke"
push "$(event om_10 oc_ann p2p 'with another token' | with_half_a_character)"
check "a token that is no good any more" hears 6
tell om_11 '429 99991400'
check "too many calls: later" hears 7
tell om_12 lost
check "an answer that was lost" hears 8
for _ in {1..400}; do # it is sent again, and that is not what the next fault is for
    [ "$(grep -c '^POST /open-apis/im/v1/messages/om_12/reply ' "$tmp/lark/calls")" -ge 2 ] && break
    sleep 0.05
done
tell om_13 '200 230011'
check "the message was withdrawn" hears 9
check "then it goes to the chat" grep -q '^/open-apis/im/v1/messages?receive_id_type=chat_id .*"receive_id":"oc_ann"' "$tmp/lark/sent"
tell om_14 '200 230001'
check "no post" hears 10
check "then a text" grep -q '"msg_type":"text"' "$tmp/lark/sent"
tell om_15 '200 230002'
for _ in {1..5}; do push "$(event om_16 oc_ann p2p 'five times')" & done
wait -n 2>/dev/null
check "five at once" hears 11
check "SIGTERM ends it" stop_serving
same "are one; and what is refused is not said again" 11 "$(count)"
check "a sign that somebody is at work" grep -q '^POST /open-apis/im/v1/messages/om_16/reactions ' "$tmp/lark/calls"
check "and its end" grep -q '^DELETE /open-apis/im/v1/messages/om_1/reactions/re_1 ' "$tmp/lark/calls"

# --- encrypted and signed
encrypt_key='key-SENTINEL-encrypt'
configure 'encryptKeyEnv: FEISHU_ENCRYPT_KEY' 'dmPolicy: open' 'groupPolicy: off'
serve
send() { # BODY HEADERS...
    local body=$1
    shift
    anon POST /channels/feishu/events -H 'Content-Type: application/json' --data-binary "$body" "$@"
}
challenge=$(jq -cn --arg t $verification '{challenge: "c-2", token: $t, type: "url_verification"}')
send "$(seal "$challenge")"
tells "a challenge is not signed" .challenge c-2
send "$challenge"
answers "but encrypted" 401
now=$(date +%s)
one=$(event om_20 oc_bob p2p 'in secret' ou_bob | with_half_a_character)
sealed=$(seal "$one")
send "$one"
answers "an event that is not encrypted" 401
send "$sealed"
answers "or not signed" 401
signed() { # TIME SIGNATURE BODY
    send "$3" -H "X-Lark-Request-Timestamp: $1" -H 'X-Lark-Request-Nonce: n1' -H "X-Lark-Signature: $2"
}
signed "$now" "$(sign_lark "$now" n1 "$sealed" another-key)" "$sealed"
answers "signed with another key" 401
signed "$now" "$(sign_lark "$now" n1 "$sealed")" "$sealed "
answers "another body" 401
signed $((now - 600)) "$(sign_lark $((now - 600)) n1 "$sealed")" "$sealed"
answers "too late" 401
signed $((now + 600)) "$(sign_lark $((now + 600)) n1 "$sealed")" "$sealed"
answers "too early" 401
same "nothing came of it" 11 "$(count)"
signed "$now" "$(sign_lark "$now" n1 "$sealed")" "$sealed"
answers "an event" 200
check "is answered" hears 12
signed "$now" "$(sign_lark "$now" n1 "$sealed")" "$sealed"
answers "the same bytes again" 200

# --- the process dies at any moment
dies_ten_times 7 push ou_bob

# --- skills, called in a chat; who may not have files read does not learn of them
mkdir -p "$space/skills/deploy"
printf -- '---\nname: deploy\ndescription: Ships it\n---\nPress the button.\n' >"$space/skills/deploy/SKILL.md"
configure 'allowFrom: [ou_ann, ou_eve]' 'encryptKeyEnv: FEISHU_ENCRYPT_KEY'
printf 'policies: [{ id: eve, channel: feishu, senders: [ou_eve], deny: [read] }]\n' >>"$space/chela.yaml"
serve
push "$(event om_s1 oc_ann p2p '/skill deploy to staging')"
check "a skill is asked for" hears 23
check "by its file" said 'Use the skill deploy for this request: read ./skills/deploy/SKILL.md first'
push "$(event om_s2 oc_ann p2p '/skill depoly')"
check "one that is not there" hears 24
check "and which there are" said "there is no skill 'depoly' .known: deploy."
push "$(event om_s3 oc_eve p2p '/skill deploy it' ou_eve)"
check "who may not read" hears 25
check "just says words" said 'heard: .*/skill deploy it'
tell om_s4 '200 230022'
check "an answer that the service does not let through" hears 26
check "people are told" said 'does not let it through: it takes it for sensitive'
check "SIGTERM ends it" stop_serving
check "the log has no secret" bash -c "! grep -qF -e SENTINEL '$serve_log'"
tap_done

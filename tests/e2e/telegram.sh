#!/usr/bin/env bash
# `chela serve` as a Telegram bot, by long polling.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
bot='4711:SENTINEL-bot_token'
mkdir "$tmp/tg"
: >"$tmp/tg/sent"
: >"$tmp/tg/calls"
"$BUILD/tests/support/telegramserver" "$tmp/tg" "$bot" >"$tmp/tg/port" &
server_pid=$!
until [ -s "$tmp/tg/port" ]; do sleep 0.01; done
service=http://127.0.0.1:$(cat "$tmp/tg/port")
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env TELEGRAM_BOT_TOKEN="$bot" "$@"; }

cat >"$space/deploy" <<'SCRIPT'
#!/bin/sh
echo done >>deployed
echo "deployed it"
SCRIPT
chmod +x "$space/deploy"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: ship, after: none }, call: { tool: deploy, args: { to: prod } } }
  - { when: { after: deploy }, say: "it said: {{result}}" }
  - { when: { user: long }, say: "LONG" }
  - { when: { user: "like it", after: none }, call: { tool: message, args: { action: react, emoji: "\U0001F44D" } } }
  - { when: { after: message }, say: "made: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
sed -i "s/LONG/$(for i in $(seq 200); do printf 'line %s 一二三四五六七八九十\\\\n' "$i"; done)/" "$space/rules.yaml"
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
tools:
  custom:
    - { name: deploy, description: Ships it., command: [./deploy], permission: write, confirm: true,
        parameters: { type: object } }
channels:
  telegram: { tokenEnv: TELEGRAM_BOT_TOKEN, domain: $service, allowFrom: ["7"], owners: ["1"], groups: ["-100"] }
YAML

tell() { # ID CHAT TYPE TEXT [FROM] [MORE]
    jq -cn --argjson id "$1" --argjson chat "$2" --arg type "$3" --arg text "$4" --argjson from "${5:-7}" --argjson more "${6:-{\}}" '
        {message: ({message_id: $id, date: (now | floor), chat: {id: $chat, type: $type}, text: $text,
            from: {id: $from, is_bot: false, first_name: "Ann"}} + $more)}' >"$tmp/update"
    curl -sS -m 20 -o /dev/null --data-binary @"$tmp/update" "$service/test/update"
}
press() { # APPROVAL-DATA FROM CHAT
    jq -cn --arg data "$1" --argjson from "$2" --argjson chat "$3" '
        {callback_query: {id: "q1", from: {id: $from, is_bot: false}, data: $data, message: {message_id: 77, chat: {id: $chat}}}}' >"$tmp/update"
    curl -sS -m 20 -o /dev/null --data-binary @"$tmp/update" "$service/test/update"
}
hears() {
    for _ in {1..400}; do
        [ "$(wc -l <"$tmp/tg/sent")" -ge "$1" ] && return
        sleep 0.05
    done
    return 1
}
called() { # PATTERN
    for _ in {1..400}; do
        grep -q -- "$1" "$tmp/tg/calls" && return
        sleep 0.05
    done
    return 1
}
says() { # PATTERN, by and by
    for _ in {1..400}; do
        texts | grep -q -- "$1" && return
        sleep 0.05
    done
    return 1
}
texts() { sed 's/^[^ ]* //' "$tmp/tg/sent" | jq -r .text; }
said() { texts | grep -q -- "$1" || { texts && return 1; }; }
count() { wc -l <"$tmp/tg/sent"; }
made() {
    if [ -e "$space/deployed" ]; then wc -l <"$space/deployed"; else echo 0; fi
}

saved=$bot bot=
serve
check "without its token nothing starts" grep -q 'channel telegram: TELEGRAM_BOT_TOKEN is not set' "$serve_log"
bot=$saved
serve
tell 1 7 private 'good morning'
check "a message is answered" hears 1
check "with what the agent says" said 'heard: .*good morning'
same "as a reply to it" 1 "$(sed -n '1s/^[^ ]* //p' "$tmp/tg/sent" | jq .reply_parameters.message_id)"
check "a sign that somebody is at work" called '^sendChatAction .*"action":"typing"'
tell 2 8 private 'let me in' 8
tell 3 -200 supergroup '@ChelaBot hello'
tell 4 -100 supergroup 'hello all'
tell 5 -100 supergroup '@ChelaBotX hello'
tell 6 -100 supergroup 'hey @chelabot, hello' 8
check "in a group who is mentioned answers" hears 2
check "addressed no more, the sender named" said 'heard: .*Ann: hey , hello$'
tell 7 -100 supergroup 'and you?' 8 '{"message_thread_id": 5, "reply_to_message": {"message_id": 501, "from": {"id": 999}}}'
check "an answer to the bot is meant for it" hears 3
same "it stays in the topic" 5 "$(sed -n '3s/^[^ ]* //p' "$tmp/tg/sent" | jq .message_thread_id)"
same "nobody else was answered" 3 "$(count)"
tell 8 7 private 'something long'
check "a long answer" hears 5
same "in parts that are taken" true "$(sed 's/^[^ ]* //' "$tmp/tg/sent" | jq -s 'all(.text | length <= 4096)')"
check "comes whole" said '^line 200 '
before=$(count)
echo 429 >"$tmp/tg/fail"
tell 9 7 private 'too fast'
check "too many messages: later" hears $((before + 1))
echo 400 >"$tmp/tg/fail"
tell 10 7 private 'refused'
for _ in {1..600}; do # said in one run they would have one answer
    [ -s "$tmp/tg/fail" ] || break
    sleep 0.05
done
tell 11 7 private 'next'
check "what is refused is not sent again" hears $((before + 2))
check "and the next one is" said 'heard: .*next'
before=$(count)
tell 13 7 private 'do you like it?'
check "a reaction of the model's" hears $((before + 1))
check "is made" called '^setMessageReaction .*"message_id":"13"'
check "and told" said '^made: Done'

# --- consent
before=$(count)
tell 12 7 private 'ship it'
check "a call that needs consent" hears $((before + 1))
button=$(tail -n 1 "$tmp/tg/sent" | sed 's/^[^ ]* //' | jq -r '.reply_markup.inline_keyboard[0][0].callback_data')
press "$button" 7 7
check "is not anybody's to decide" called '^answerCallbackQuery .*Only an owner'
press "$button" 1 8
check "nor in another chat" called '^answerCallbackQuery .*Decided before'
same "nothing was done" 0 "$(made)"
press "$button" 1 7
check "an owner's word counts" called '^answerCallbackQuery .*"Allowed"'
check "the question says who" called '^editMessageText .*Allowed by 1"'
check "the run goes on" hears $((before + 2))
check "with the result" said 'it said: .*deployed it'
same "it was done once" 1 "$(made)"

# --- the process dies at any moment
before=$(count)
RANDOM=5
for i in {1..6}; do
    tell $((100 + i)) 7 private "number $i"
    sleep "0.0$((RANDOM % 10))"
    kill -9 "$gateway_pid" 2>/dev/null
    wait "$gateway_pid" 2>/dev/null
    serve
done
# Telegram cannot tell a message that is sent again: one may come twice.
answered() { texts | grep -o 'number [0-9]*' | sort -u; }
for _ in {1..300}; do
    [ "$(answered | wc -l)" = 6 ] && break
    sleep 0.1
done
same "none was lost" "$(seq 1 6 | sed 's/^/number /' | sort)" "$(answered)"
check "SIGTERM ends it" stop_serving

# --- a stranger who writes more than can be read at once
flood() { # CHARACTERS
    jq -cn --argjson n "$1" '{message: {message_id: 200, date: 1, chat: {id: 8, type: "private"}, text: ("x" * $n),
        from: {id: 8, is_bot: false}}}' >"$tmp/update"
    curl -sS -m 20 -o /dev/null --data-binary @"$tmp/update" "$service/test/update"
}
for _ in {1..6}; do flood 300000; done
tell 201 7 private 'in between'
flood 1200000
tell 202 7 private 'after all'
serve
check "too much at once is read bit by bit" says 'heard: .*in between'
check "what cannot be read does not stop the rest" says 'heard: .*after all'
same "it is passed over" 1 "$(grep -c 'update [0-9]* cannot be read: passed over' "$serve_log")"
check "SIGTERM ends it" stop_serving
check "the log has no secret" bash -c "! grep -qF -e SENTINEL '$serve_log'"
tap_done

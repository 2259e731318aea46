#!/usr/bin/env bash
# `chela serve` as a Telegram bot, by long polling.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
bot='4711:SENTINEL-bot_token'
mkdir -p "$tmp/tg/files"
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
  - { when: { user: carry, after: none }, call: { tool: deploy, args: { to: "FAR-and-beyond" } } }
  - { when: { user: haul, after: none }, call: { tool: deploy, args: { to: "FURTHER-and-beyond" } } }
  - { when: { user: stash, after: none }, call: { tool: deploy, args: { to: correct-horse-9 } } }
  - { when: { user: encode, after: none }, call: { tool: deploy, args: { to: Y29ycmVjdC1ob3JzZS05 } } }
  - { when: { after: deploy }, say: "it said: {{result}}" }
  - { when: { user: long }, say: "LONG" }
  - { when: { user: "take your time" }, say: "at last", delay_ms: 200000 }
  - { when: { user: "in code" }, say: "Before it.\n\n```sh\nLONG```\nBehind it." }
  - { when: { user: markdown }, say: "# Title\n**Bold**, `code` and [a link](https://x.example/y) \U0001F600 **一**\n- item" }
  - { when: { user: "show me" }, say: "Here:\nMEDIA:plot.png\nMEDIA:table.csv\nMEDIA:../secret\nMEDIA:https://example.com/x.png" }
  - { when: { user: "all of it" }, say: "All:\nMEDIA:empty.txt\nMEDIA:table.csv\nMEDIA:plot.png" }
  - { when: { user: "like it", after: none }, call: { tool: message, args: { action: react, emoji: "\U0001F44D" } } }
  - { when: { after: message }, say: "made: {{result}}" }
  - { when: { user: "rather not" }, say: "I would __SILENT__ not say that." }
  - { when: { user: "not a word" }, say: "__SILENT__" }
  - { say: "heard: {{user}}" }
YAML
sed -i "s/FURTHER/$(printf 'x%.0s' {1..4200})/; s/FAR/$(printf 'x%.0s' {1..3800})/" "$space/rules.yaml"
sed -i "s/LONG/$(for i in $(seq 250); do printf 'line %s 一二三四五六七八九十\\\\n' "$i"; done)/" "$space/rules.yaml"
png=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==
base64 -d <<<$png >"$space/plot.png"
cp "$space/plot.png" "$tmp/tg/files/PHOTO"
printf 'a,b\n1,2\n' >"$space/table.csv"
echo 'the report' >"$tmp/tg/files/DOC"
echo no >"$tmp/secret"
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
sent() { sed -n 's/^sendMessage //p' "$tmp/tg/sent"; }
texts() { sent | jq -r .text; }
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
tell 7 -100 supergroup 'and you?' 8 '{"is_topic_message": true, "message_thread_id": 5, "reply_to_message": {"message_id": 501, "from": {"id": 999}}}'
check "an answer to the bot is meant for it" hears 3
same "it stays in the topic" 5 "$(sed -n '3s/^[^ ]* //p' "$tmp/tg/sent" | jq .message_thread_id)"
same "nobody else was answered" 3 "$(count)"
tell 15 -100 supergroup '@ChelaBot in a chain of answers' 8 '{"message_thread_id": 6, "reply_to_message": {"message_id": 6, "text": "x", "from": {"id": 8}}}'
check "where there are no topics" hears 4
same "none is named" null "$(tail -n 1 "$tmp/tg/sent" | sed 's/^[^ ]* //' | jq .message_thread_id)"
tell 16 7 private '' 7 '{"text": null, "new_chat_members": [{"id": 9}]}'
curl -sS -m 20 -o /dev/null -d '{"edited_message": {"message_id": 1, "date": 1, "chat": {"id": 7, "type": "private"}, "text": "edited", "from": {"id": 7}}}' "$service/test/update"
tell 8 7 private 'something long'
check "a long answer" hears 6
same "in parts that are taken" true "$(sent | jq -s 'all(.text | [explode[] | if . > 65535 then 2 else 1 end] | add <= 4096)')"
check "comes whole" said '^line 250 '
same "the first of them is a reply" '8 null' "$(sent | tail -n 2 | jq -s -r 'map(.reply_parameters.message_id | tostring) | join(" ")')"
check "news of the service's and edited words are nothing to answer" test "$(texts | grep -c 'edited\|without words')" = 0

# --- how it looks
looks() { sent | tail -n 1; }
tell 20 7 private 'some markdown'
check "Markdown" hears 7
same "is words" $'Title\nBold, code and a link \U0001F600 一\n• item' "$(looks | jq -r .text)"
same "and where they look different" 'bold 0 5,bold 6 4,code 12 4,text_link 21 6 https://x.example/y,bold 31 1' \
    "$(looks | jq -r '[.entities[] | "\(.type) \(.offset) \(.length)\(if .url then " " + .url else "" end)"] | join(",")')"
echo "400 Bad Request: can't parse entities: it is moody" >"$tmp/tg/fail"
tell 21 7 private 'more markdown'
check "looks that are not taken" hears 8
same "are left out" 'null # Title' "$(looks | jq -r '"\(.entities) \(.text | split("\n")[0])"')"
tell 22 7 private 'lines in code'
check "a long block of code" says '^Behind it'
same "is one in each part" 'pre sh' "$(sent | grep -F 'line 1 ' | tail -n 1 | jq -r '.entities[] | .type + " " + .language')"
same "and in the next" 'pre sh' "$(sent | grep -F 'line 250 ' | tail -n 1 | jq -r '.entities[] | .type + " " + .language')"
before=$(count)
echo '+1 429' >"$tmp/tg/fail"
tell 23 7 private 'something long'
check "too many messages in the middle of an answer" hears $((before + 2))
same "only what is missing comes later" '[1,0]' "$(sent | tail -n 2 | jq -c -s 'map(.text | [scan("line 1 ")] | length)')"
check "and is said" grep -q 'the rest of an answer in chat 7 waits: HTTP 429' "$serve_log"
before=$(count)
echo '+1 429 120' >"$tmp/tg/fail"
tell 60 7 private 'something long'
check "a limit for minutes in the middle of an answer" eventually grep -q 'an answer in chat 7 is sent again later: HTTP 429: 120' "$serve_log"
same "the rest waits" $((before + 1)) "$(count)"
tell 61 -100 supergroup '@ChelaBot hello'
check "other chats do not" hears $((before + 2))
kill -9 "$gateway_pid"
serve
tell 62 -100 supergroup '@ChelaBot hello again'
check "after a crash the wait goes on" hears $((before + 3))
kill -9 "$gateway_pid"
sqlite3 "$space/chela.db" "UPDATE outbox SET receipt = json_set(receipt, '\$.until', 1) WHERE state = 'uncertain'"
serve
check "and after the wait the rest is sent" hears $((before + 4))
same "and nothing else" '[0]' "$(sent | tail -n 1 | jq -c -s 'map(.text | [scan("line 1 ")] | length)')"
before=$(($(count) - 2))

# --- files
tell 24 7 private '' 7 '{"text": null, "caption": "look at this", "photo": [{"file_id": "SMALL", "file_size": 1}, {"file_id": "PHOTO", "file_size": 70}]}'
check "a picture" hears $((before + 3))
check "is put into the workspace" cmp -s "$space/inbound/tg7-24.png" "$space/plot.png"
check "with its words" said 'heard: .*\[picture\] look at this$'
tell 25 7 private '' 7 '{"text": null, "document": {"file_id": "DOC", "file_name": "../report.txt", "mime_type": "text/plain", "file_size": 11}}'
check "a file" hears $((before + 4))
check "is put there under our own name" cmp -s "$space/inbound/tg7-25.txt" "$tmp/tg/files/DOC"
check "its own is told" said '\[file: ../report.txt\]$'
check "and where it is" said '\[saved as inbound/tg7-25.txt\]'
tell 26 7 private '' 7 '{"text": null, "document": {"file_id": "GONE", "file_name": "a.txt"}}'
check "one that cannot be had" hears $((before + 5))
check "is told" said '\[it could not be fetched\]$'
tell 27 7 private '' 7 '{"text": null, "video": {"file_id": "BIG", "file_size": 900000000}}'
check "one that is too large" hears $((before + 6))
check "is not asked for" said '\[it is too large to be fetched\]$'
tell 28 7 private 'show me'
check "files of the agent's" hears $((before + 9))
same "a picture is shown as one" "sendPhoto chat_id=7 photo=plot.png:$(stat -c %s "$space/plot.png")" "$(grep '^sendPhoto' "$tmp/tg/sent")"
same "any other is a file" 'sendDocument chat_id=7 document=table.csv:8' "$(grep '^sendDocument' "$tmp/tg/sent")"
check "an address is words" said 'https://example.com/x.png'
same "and what is not the agent's stays" 0 "$(grep -c '=secret:' "$tmp/tg/sent")"
echo '+1 400 Bad Request: PHOTO_INVALID_DIMENSIONS' >"$tmp/tg/fail"
tell 29 7 private 'show me again'
check "a picture that is not taken as one" hears $((before + 12))
check "is a file" grep -q '^sendDocument chat_id=7 document=plot.png' "$tmp/tg/sent"

before=$(count)
: >"$space/empty.txt"
echo '+2 429 120' >"$tmp/tg/fail"
tell 70 7 private 'all of it'
waiting() { [ "$(sqlite3 "$space/chela.db" "SELECT count(*) FROM outbox WHERE state = 'uncertain'")" = 1 ]; }
check "a limit behind a file that cannot be sent" eventually waiting
kill -9 "$gateway_pid"
sqlite3 "$space/chela.db" "UPDATE outbox SET receipt = json_set(receipt, '\$.until', 1) WHERE state = 'uncertain'"
serve
check "the rest comes later" hears $((before + 3))
tell 71 7 private 'and that is all'
check "and nothing is sent twice" says 'and that is all'
same "not even a file" 'sendMessage sendDocument sendPhoto sendMessage' "$(tail -n +$((before + 1)) "$tmp/tg/sent" | cut -d ' ' -f 1 | paste -sd ' ')"

# --- who says what, and what stays unsaid
before=$(count)
tell 50 7 private 'rather not'
check "the word for silence in a sentence" hears $((before + 1))
same "is not delivered" 'I would  not say that.' "$(texts | tail -n 1)"
tell 51 7 private 'not a word'
tell 52 7 private 'still there?'
check "silence, and the next message" says 'still there'
same "silence sends nothing" $((before + 2)) "$(count)"
tell 53 -100 supergroup '@ChelaBot I am the first of two' 7
check "the first of two people of one name" says 'the first of two'
tell 54 -100 supergroup '@ChelaBot I am the other one' 8
check "the second of them" says 'I am the other one'
told() { # TEXT: the message with this text, as the model saw it
    call GET /api/sessions
    for k in $(jq -r '.sessions[].key | @uri' "$out"); do
        call GET "/api/sessions/$k"
        jq -c --arg text "$1" '.transcript[]? | select(.role == "user") | tojson | select(contains($text))' "$out"
    done
}
check "a group: the first has an id of their own" grep -q 'sender_id[\\":]*7' <<<"$(told 'first of two')"
check "a group: and the second" grep -q 'sender_id[\\":]*8' <<<"$(told 'the other one')"
check "a direct chat: the sender has a name" grep -q 'sender[\\":]*Ann' <<<"$(told 'still there?')"

# --- limits and faults
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
asked() { sent | jq -c 'select(.reply_markup)' | tail -n 1; }
tell 30 7 private 'carry it'
check "a long call" says 'x-and-beyond'
check "is shown to its end, with buttons" jq -e '.text | contains("x-and-beyond")' <<<"$(asked)"
press "$(asked | jq -r '.reply_markup.inline_keyboard[0][0].callback_data')" 1 7
check "and can be allowed" hears $((before + 4))
same "which does it" 2 "$(made)"
before=$(count)
tell 31 7 private 'haul it'
check "one that is longer than a message" hears $((before + 1))
check "is not shown in part" says '^A call needs consent. Its [0-9]* bytes are too many to be shown here'
same "and has no buttons" null "$(sent | tail -n 1 | jq -c .reply_markup)"
call=$(texts | tail -n 1 | sed -n 's/.*decide about \(.*\) in the console.*/\1/p')
forwarded='{"forward_origin":{"type":"user","sender_user":{"id":6,"first_name":"Eve"}}}'
tell 35 1 private "/approve $call deny" 1 "$forwarded"
check "a command that an owner forwards decides nothing" says "Ann: \\[forwarded from Eve\\] /approve $call deny"
tell 36 1 private "/approve $call deny" 1 '{"via_bot":{"id":6,"is_bot":true,"username":"evil_bot"}}'
check "nor one that a bot wrote for an owner" says "Ann: \\[via @evil_bot\\] /approve $call deny"
before=$((before + 2))
tell 32 7 private "/approve $call allow-once" 1
check "nor is it allowed in words" says 'the call was not shown here in full'
tell 33 7 private "/approve $call deny" 1
check "but can be denied" hears $((before + 4))
same "nothing more was done" 2 "$(made)"
tell 34 7 private 'ship it'
check "another question" hears $((before + 5))
lock_store 3
press "$(asked | jq -r '.reply_markup.inline_keyboard[0][0].callback_data')" 1 7
sleep 1
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
serve
made_is() { [ "$(made)" = "$1" ]; }
check "a press counts that a crash kept from being stored" eventually made_is 3

# --- a question shows no secret
before=$(count)
echo DB_PASSWORD=correct-horse-9 >"$space/.env"
tell 40 7 private 'stash it'
check "a call with a secret is asked about" hears $((before + 1))
check "with a place-holder" says 'secret: DB_PASSWORD (.env)'
check "the question has buttons" jq -e '.text | contains("[secret: DB_PASSWORD (.env)]")' <<<"$(asked)"
tell 41 1 private 'encode it'
check "a call with an encoded secret" says 'It holds a secret, DB_PASSWORD (.env), in a form that cannot be shown here'
check "no message shows either" bash -c "! grep -qF -e correct-horse-9 -e Y29ycmVjdC1ob3JzZS05 '$tmp/tg/sent'"
rm "$space/.env"
state_is() { # KEY STATUS
    call GET "/api/sessions/$1"
    [ "$(jq -r .status "$out")" = "$2" ]
}
hidden=$(texts | tail -n 1 | sed -n 's/.*decide about \(.*\) in the console.*/\1/p')
tell 42 7 private "/approve $(asked | jq -r '.reply_markup.inline_keyboard[0][0].callback_data | ltrimstr("o:")') deny" 1
tell 43 1 private "/approve $hidden deny" 1
check "a question with a secret can be denied" eventually state_is telegram:7 idle
check "also one that is not shown" eventually state_is telegram:1 idle

# --- somebody else asks for the bot's messages
# A question that waits is not asked again: a message ends it.
health() { # PATTERN
    for _ in {1..1200}; do
        call GET /readyz
        jq -r '.checks[] | select(.name == "telegram") | .status + " " + .detail' "$out" | grep -q -- "$1" && return
        sleep 0.05
    done
    cat "$out"
    return 1
}
before=$(count)
echo 'Conflict: terminated by other getUpdates request' >"$tmp/tg/conflict"
tell 14 7 private 'before the other'
check "a second program" hears $((before + 1))
check "is told by health" health "failing another program fetches this bot's messages, or a webhook .*HTTP 409: Conflict"
(cd "$space" && with_env CHELA_TOKEN=$token "$program" doctor --url "$gateway") >"$out" 2>&1
check "and by doctor" grep -q "telegram.*another program fetches this bot's messages" "$out"
rm "$tmp/tg/conflict"
check "until it is gone" health '^ok'

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
serve
check "too much at once is read bit by bit" says 'heard: .*in between'
tell 202 7 private 'after all'
check "what cannot be read does not stop the rest" says 'heard: .*after all'
same "it is passed over" 1 "$(grep -c 'update [0-9]* cannot be read: passed over' "$serve_log")"

# --- two chats whose messages have the same numbers
for chat in "7 private" "-100 supergroup"; do
    read -r id type <<<"$chat"
    # shellcheck disable=SC2086
    tell 301 $chat '@ChelaBot take your time'
    check "$type: the run is at work" eventually state_is "telegram:$id" running
    # shellcheck disable=SC2086
    tell 302 $chat '@ChelaBot /stop'
    check "$type: /stop ends it" eventually state_is "telegram:$id" idle
done
tell 303 7 private "repeat $bot"
check "an answer with a secret is held back" says 'held back: it holds a secret, '
check "which no message shows" bash -c "! grep -qF 'repeat $bot' '$tmp/tg/sent'"
same "no message has the preview of a link" 0 "$(sent | jq -c 'select(.link_preview_options.is_disabled != true)' | wc -l)"
check "nor an edited one" called '^editMessageText .*"link_preview_options":{"is_disabled":true}'
check "SIGTERM ends it" stop_serving
check "the log has no secret" bash -c "! grep -qF -e SENTINEL '$serve_log'"
tap_done

#!/usr/bin/env bash
# An answer in Feishu that people see grow, as a card; and that there is one answer
# whatever goes wrong.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
: >"$tmp/lark/cards"
# It says something, waits for a file, says more, waits for another, and is done.
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: count, after: none }, say: "One. Let me see what comes next.", call: { tool: wait_a, args: {} } }
  - { when: { after: wait_a }, say: "One. Two. And one more.", call: { tool: wait_b, args: {} } }
  - { say: "One. Two. Three." }
YAML
whole='One. Two. Three.'
cat >"$space/wait" <<'SH'
#!/bin/sh
until [ -e "$1" ]; do sleep 0.05; done
echo it is there
SH
chmod +x "$space/wait"
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels:
  feishu: { appId: $app, domain: $lark, dmPolicy: open, streaming: true }
tools:
  custom:
    - { name: wait_a, description: waits, command: [./wait, a], effect: read, permission: read }
    - { name: wait_b, description: waits, command: [./wait, b], effect: read, permission: read }
YAML
cards() { # CARD WHAT: bodies of what was done to the n-th card
    awk -v id="$((7355000000000000000 + $1))" -v what="$2" '($1 "") == (id "") && ($2 == what || what == "") { sub(/^[^ ]* [^ ]* /, ""); print }' "$tmp/lark/cards"
}
until_line() { # FILE PATTERN [N]
    for _ in {1..400}; do
        [ "$(grep -c -- "$2" "$tmp/lark/$1")" -ge "${3:-1}" ] && return
        sleep 0.05
    done
    return 1
}
shows() { # CARD: its last text
    { cards "$1" text | jq -r '.content' && cards "$1" whole | jq -r '.card.data | fromjson | .body.elements[0].content'; } | tail -n 1 | sed 's/ *$//'
}

card=0
ask() { # MESSAGE: until people see a card of it
    rm -f "$space/a" "$space/b"
    seen=$(wc -l <"$tmp/lark/sent")
    card=$((card + 1))
    push "$(event "$1" "oc_$1" p2p "count, please")"
    check "$1: a card is seen" hears $((seen + 1))
}
release() {
    local f
    for f in "$@"; do touch "$space/$f"; done
}
shown() { # TEXT: until the card shows it
    for _ in {1..100}; do
        [ "$(shows $card)" = "$1" ] && return
        sleep 0.1
    done
    cut -c 1-250 "$tmp/lark/cards" | tail -n 8
    return 1
}
is_post() {
    same "$1: as a post" "$whole" "$(tail -n 1 "$tmp/lark/sent" | sed 's/^[^ ]* //' | jq -r '.content | fromjson | .zh_cn.content[0][0].text')"
}
fault() { echo "$*" >"$tmp/lark/failcard"; }
had_fault() {
    for _ in {1..400}; do
        [ -e "$tmp/lark/failcard" ] || return 0
        sleep 0.05
    done
    return 1
}

serve
ask om_1
same "a reply that shows a card" '/open-apis/im/v1/messages/om_1/reply interactive {"type":"card","data":{"card_id":"7355000000000000001"}}' \
    "$(sed 's/ .*//' "$tmp/lark/sent") $(sed 's/^[^ ]* //' "$tmp/lark/sent" | jq -r '"\(.msg_type) \(.content)"')"
same "which is to grow" true "$(cards 1 create | jq -r '.data | fromjson | .config.streaming_mode')"
release a
check "it grows" shown 'One. Two. And one more.'
release b
check "until it is whole" shown "$whole"
check "and closed" until_line cards ' settings '
same "for the list of chats, too" "false $whole" "$(cards 1 settings | jq -r '.settings | fromjson | .config | "\(.streaming_mode) \(.summary.content)"')"
same "it is the only message" 1 "$(wc -l <"$tmp/lark/sent")"
same "each operation has a larger number" "$(cards 1 "" | jq -r '.sequence // empty' | sort -nu)" "$(cards 1 "" | jq -r '.sequence // empty')"

# --- it cannot be
release a b
fault create 400 99991672
push "$(event om_2 oc_ann p2p 'count')"
check "no card can be made: an answer" hears 2
is_post "without a card"
check "what is missing is said" grep -q 'answers are sent without cards for a minute: .*99991672' "$serve_log"
check "SIGTERM ends it" stop_serving
serve
fault text 400 300313
ask om_3
release a
check "its text cannot be changed" had_fault
release b
check "then all of it is" until_line cards "^$((7355000000000000000 + card)) whole "
same "with the answer" "$whole" "$(shows $card)"
ask om_4
fault text 400 300309
release a b
check "it was closed by the service: all of it is changed" until_line cards "^$((7355000000000000000 + card)) whole "
same "likewise" "$whole" "$(shows $card)"
fault text 400 300309
ask om_5
release a
check "it is closed" had_fault
fault whole 400 230099
release b
check "and refuses its end: an answer" hears $((seen + 2))
is_post "instead of the card"
check "which is taken back" until_line calls '^DELETE /open-apis/im/v1/messages/om_r5 '
echo lost >"$tmp/lark/fail"
ask om_6
release a b
check "the message with the card was lost on the way: it is finished" until_line cards "^$((7355000000000000000 + card)) settings "
same "once" $((seen + 1)) "$(wc -l <"$tmp/lark/sent")"

# --- the process dies
dies() {
    kill -9 "$gateway_pid"
    wait "$gateway_pid" 2>/dev/null
    release a b
    serve
    check "$1: the next process finishes the card" until_line cards "^$((7355000000000000000 + card)) settings "
    same "$1: with the answer" "$whole" "$(shows $card)"
    same "$1: which is the only one" $((seen + 1)) "$(wc -l <"$tmp/lark/sent")"
}
ask om_7
dies "when it was just seen"
ask om_8
release a
check "it grows" shown 'One. Two. And one more.'
dies "when it had grown"
ask om_9
release a b
check "it is whole" until_line cards "^$((7355000000000000000 + card)) settings "
dies "behind its end"

# --- another channel takes over
ask om_10
sed -i 's/streaming: true/owners: [ou_ann]/' "$space/chela.yaml"
kill -HUP "$gateway_pid"
for _ in {1..400}; do
    grep -q 'channel feishu is set up again' "$serve_log" && break
    sleep 0.05
done
release a b
check "after a reload, without cards: what began as a card ends as one" until_line cards "^$((7355000000000000000 + card)) settings "
same "with the answer, too" "$whole" "$(shows $card)"
same "and no other" $((seen + 1)) "$(wc -l <"$tmp/lark/sent")"
check "SIGTERM ends it" stop_serving
tap_done

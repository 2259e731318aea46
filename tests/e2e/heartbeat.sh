#!/usr/bin/env bash
# The companion of a group chat: when it would speak.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

examples=$PWD/examples
chat=$examples/heartbeat-chat.jsonl

# --- a recorded chat

chela heartbeat simulate --config "$examples/heartbeat.yaml" "$chat"
exits "simulate" 0
same "simulate: a line for each line, a head and a sum" $(($(wc -l <"$chat") + 2)) "$(wc -l <"$out")"
check "simulate: W, p, the decision and its reason" grep -qE '^ +7 +0:01:50 +100\.0 +1\.00 +REPLY +mention +Jonas: @chela' "$out"
check "simulate: a direct message" grep -qE 'REPLY +direct +Wei: 小蟹' "$out"
check "simulate: its name" grep -qE 'REPLY +name +Mira: chela, write' "$out"
check "simulate: a bot" grep -qE 'silent +bot +ci-bot' "$out"
check "simulate: told to be quiet" grep -qE 'silent +hushed +Jonas: chela, be quiet' "$out"
check "simulate: right after it spoke" grep -qE 'silent +refractory +Wei: 应该' "$out"
check "simulate: the sum" grep -qE '^31 lines, [0-9]+ answered: 4 because they asked for it' "$out"

# --- for programs

chela heartbeat simulate --json --seed 3 --config "$examples/heartbeat.yaml" "$chat"
exits "as JSON" 0
cp "$out" "$tmp/first"
same "as JSON: all that asks is answered" 0 \
    "$(jq -s '[.[] | select((.type == "direct" or .reason == "mention" or .reason == "name") and (.reply | not))] | length' "$out")"
same "as JSON: what is said costs" 0 "$(jq -s '[.[] | select(.reply and .after >= .willingness)] | length' "$out")"
chela heartbeat simulate --json --seed 3 --config "$examples/heartbeat.yaml" "$chat"
same "the same seed, the same decisions" "$(sha256sum <"$tmp/first")" "$(sha256sum <"$out")"

# --- a picture

printf '{"ts":1000,"chat":"a<b","text":"\\"x\\" & \\u0001 </title>"}\n{"ts":90000,"chat":"a<b","text":"y","mention":true}\n' >"$space/odd.jsonl"
chela heartbeat simulate --svg "$tmp/chat.svg" -q odd.jsonl
exits "a picture" 0
same "a picture: every mark is closed" "$(grep -oE '<(g|text|title|tspan|style|svg)[ >]' "$tmp/chat.svg" | wc -l)" \
    "$(grep -oE '</(g|text|title|tspan|style|svg)>' "$tmp/chat.svg" | wc -l)"
check "a picture: for light and dark" grep -q 'prefers-color-scheme:dark' "$tmp/chat.svg"
same "a picture: nothing from elsewhere" 0 "$(grep -cE '<script|href=|url\(|@import' "$tmp/chat.svg")"
check "a picture: what was said, as text" grep -q '&quot;x&quot; &amp;   &lt;/title&gt;' "$tmp/chat.svg"

# --- what is wrong

chela heartbeat simulate
exits "which chat" 2
chela heartbeat simulate nowhere.jsonl
exits "no such chat" 2
printf '{"ts":1,"text":"a"}\n{"text":"b"}\n' >"$space/bad.jsonl"
chela heartbeat simulate bad.jsonl
exits "a line without a time" 2
# shellcheck disable=SC2016 # backquotes of the message
check "a line without a time: which" grep -q 'bad.jsonl: line 2: `ts` must be a time' "$err"
printf 'agents: { defaults: { heartbeat: { quietHours: late } } }\n' >"$space/chela.yaml"
chela heartbeat simulate "$chat"
exits "quiet hours that are none" 2
check "quiet hours that are none: said so" grep -q 'heartbeat.quietHours: expected quiet hours such as 23:00-07:30' "$err"
rm "$space/chela.yaml"

tap_done

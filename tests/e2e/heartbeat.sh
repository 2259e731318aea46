#!/usr/bin/env bash
# The companion of a group chat: when it would speak, and a turn of it.
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

chela run --config "$examples/heartbeat.yaml" "chela, what is 6 * 7?"
same "the example: asked" "42
that was easy" "$(cat "$out")"
chela run --config "$examples/heartbeat.yaml" "nice weather today"
exits "the example: not asked" 0
same "the example: silence" "" "$(cat "$out")"

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
check "a picture: what was said, as text" grep -q '&quot;x&quot; &amp; [ ?] &lt;/title&gt;' "$tmp/chat.svg"

chela heartbeat simulate --config "$examples/heartbeat.yaml" --svg "$tmp/team.svg" -q "$chat"
marks() { grep -oE '<(circle|rect|path) class="[a-z]"' "$1" | sort | uniq -c; }
same "a picture: that of the manual is of this chat" "$(marks "$examples/../docs/heartbeat.svg")" "$(marks "$tmp/team.svg")"

# --- both protocols on one chat

cp "$examples/heartbeat-compare.yaml" "$space/compare.yaml"
chela heartbeat compare --config "$examples/heartbeat.yaml" --model scripted/compare.yaml "$chat"
exits "compare" 0
check "compare: a line for each" grep -qE '^native +8 +8 ' "$out"
check "compare: one reply in words was asked for again" grep -qE '^text +8 +9 .* 1 +0 +0$' "$out"
chela heartbeat compare --json -n 3 --config "$examples/heartbeat.yaml" --model scripted/compare.yaml "$chat"
holds "compare: as JSON" '[.[].protocol] == ["native", "text"] and all(.[]; .turns == 3 and .input > 0 and .output > 0 and .failed == 0)'

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

# --- a turn, in both protocols

cat >"$space/native.yaml" <<'YAML'
rules:
  - when: { user: 'only actions are left[^$]*## New lines[^#]*in time', tools: [send_message, stay_silent] }
    call: { tool: send_message, args: { content: "Just in time." } }
  - when: { user: '## New lines[^#]*(round and round|in time)' }
    call: { tool: calculate, args: { expression: "1 + 1" } }
  - when: { user: 'result of calculate: ([0-9]+)' }
    say: I know it now.
    call: { tool: send_message, args: { content: "It is {{1}}.<sep/>Easy." } }
  - when: { user: '## New lines[^#]*what is ([0-9]+ \* [0-9]+)', tools: [send_message, stay_silent] }
    say: A secret thought.
    call: { tool: calculate, args: { expression: "{{1}}" } }
  - when: { user: '\[..:.. you\] main: One 1\.' }
    say: I have said it.
  - when: { user: '## New lines[^#]*twice' }
    call: { tool: send_message, args: { content: "One 1.", request_heartbeat: true } }
  - when: { system: 'I am a red crab', user: '## New lines[^#]*who are you' }
    call: { tool: send_message, args: { content: "A red crab." } }
  - when: { system: 'I am a blue crab', user: '## New lines[^#]*who are you' }
    call: { tool: send_message, args: { content: "A blue crab." } }
  - say: Nothing to add.
YAML
cat >"$space/text.yaml" <<'YAML'
rules:
  - when: { user: 'result of calculate: ([0-9]+)' }
    say: '{"thoughts":"I know it now.","actions":[{"name":"send_message","params":{"content":"It is {{1}}.<sep/>Easy."}}]}'
  - when: { user: '## New lines[^#]*what is ([0-9]+ \* [0-9]+)', system: '- calculate\(expression: string' }
    say: '```json{"thoughts":"A secret thought.","actions":[{"function":"calculate","params":{"inner_thoughts":"x","expression":"{{1}}"}}],}```'
  - when: { user: 'Your last reply had no effect: there is no JSON object' }
    say: '{"actions":[{"name":"send_message","params":{"content":"Again."}}]}'
  - when: { user: 'slip once' }
    say: Sure, I will tell them.
  - when: { user: 'slip always' }
    say: '{"thoughts":"no list"}'
  - say: '{"actions":[]}'
YAML
beats() { chela run --mode heartbeat --model "scripted/$1.yaml" --output jsonl "${@:2}"; }
for protocol in native text; do
    printf 'agents: { defaults: { heartbeat: { protocol: %s, names: [Chela] } } }\n' $protocol >"$space/chela.yaml"
    beats $protocol "what is 6 * 7?"
    exits "$protocol: a turn" 0
    events_are_well_formed "$protocol: a turn"
    holds "$protocol: a tool causes another beat, an action ends the turn" \
        '[.[] | select(.type == "beat") | [.n, .protocol]] == [[1, "'$protocol'"], [2, "'$protocol'"]]'
    holds "$protocol: what was said" '.[-1] | .text == "It is 42.\nEasy." and .status == "done" and (.silent | not)'
    holds "$protocol: thoughts are events, and no text" \
        '([.[] | select(.type == "reasoning_delta") | .text] | join("") | test("A secret thought")) and ([.[] | select(.type == "text_delta") | .text] | join("") == "It is 42.\nEasy.")'
    holds "$protocol: one message a request" '[.[] | select(.type == "model_request") | .messages] == [1, 1]'
    beats $protocol "well"
    exits "$protocol: silence" 0
    holds "$protocol: silence is told" '.[-1] | .silent and .text == "" and .status == "done"'
done

beats text "slip once"
exits "a reply of no use" 0
holds "a reply of no use: asked once more" '.[-1].text == "Again." and .[-1].turns == 2'
beats text "slip always"
exits "and no more" 1
holds "and no more: it says why" '.[-1] | .reason == "model_error" and (.error | test("no list .actions."))'
rm "$space/chela.yaml"

beats native "say it twice"
holds "another beat on request" '[.[] | select(.type == "beat")] | length == 2'
holds "another beat on request: what was said stays said" '.[-1].text == "One 1." and .[-1].status == "done"'
beats native "round and round"
exits "five beats and no more" 3
holds "five beats and no more: counted" '.[-1].turns == 5 and .[-1].reason == "max_turns_exceeded"'

beats native "find out in time"
exits "in the last beat it can only act" 0
holds "in the last beat it can only act: and does" '.[-1].turns == 5 and .[-1].text == "Just in time."'
holds "in the last beat it can only act: no tool is there" '[.[] | select(.type == "model_request") | .tools] | .[0] > .[4] and .[4] == 2'

# Tools that act end the turn, unless the reply also calls a tool that tells something.
printf '#!/bin/sh\necho "$(cat)" >>acted\n' >"$space/act"
printf '#!/bin/sh\necho gone wrong >&2\nexit 1\n' >"$space/fail"
chmod +x "$space/act" "$space/fail"
cat >"$space/actions.yaml" <<'YAML'
rules:
  - when: { user: 'you called (ban|fail)_member' }
    call: { tool: stay_silent, args: {} }
  - when: { user: 'New lines[^#]*remove him' }
    call: { tool: ban_member, args: { member: ou_1 } }
  - when: { user: 'New lines[^#]*ask and remove' }
    call: [{ tool: calculate, args: { expression: "6 * 7" } }, { tool: ban_member, args: { member: ou_2 } }]
  - when: { user: 'New lines[^#]*in vain' }
    call: { tool: fail_member, args: {} }
  - when: { user: 'New lines[^#]*what are actions', system: 'These are actions: send_message, stay_silent, ban_member, fail_member\. They' }
    call: { tool: send_message, args: { content: "I know them." } }
YAML
cat >"$space/actions-text.yaml" <<'YAML'
rules:
  - when: { user: 'you called ban_member' }
    say: '{"actions":[]}'
  - when: { user: 'New lines[^#]*remove him' }
    say: '{"thoughts":"","actions":[{"name":"ban_member","params":{"member":"ou_3"}}]}'
  - when: { user: 'New lines[^#]*remove and look' }
    say: '{"actions":[{"name":"ban_member","params":{"member":"ou_4"}}],"request_heartbeat":true}'
YAML
for protocol in native text; do
    cat >"$space/chela.yaml" <<YAML
sandbox: { mode: off }
agents: { defaults: { tools: { allow: [calculate, ban_member, fail_member] }, heartbeat: { protocol: $protocol } } }
tools:
  custom:
    - { name: ban_member, description: Removes a member., command: [./act], effect: once, permission: read, action: true,
        parameters: { type: object, properties: { member: { type: string } }, required: [member], additionalProperties: false } }
    - { name: fail_member, description: Fails., command: [./fail], effect: once, permission: read, action: true }
YAML
    [ $protocol = text ] && rules=actions-text || rules=actions
    beats "$rules" "remove him"
    exits "$protocol: an action" 0
    holds "$protocol: an action needs no second call" '([.[] | select(.type == "beat")] | length == 1) and .[-1].silent and .[-1].status == "done"'
done
beats actions-text "remove and look"
holds "text: another beat after an action, on request" '([.[] | select(.type == "beat")] | length == 2) and ([.[] | select(.type == "tool_result" and .is_error)] | length == 0)'
same "actions were performed, once each" '{"member":"ou_1"} {"member":"ou_3"} {"member":"ou_4"}' "$(paste -sd ' ' "$space/acted")"
sed -i 's/protocol: text/protocol: native/' "$space/chela.yaml"
beats actions "ask and remove"
holds "an action beside a tool: another beat" '([.[] | select(.type == "beat")] | length == 2)'
beats actions "in vain"
holds "an action that failed: another beat" '([.[] | select(.type == "beat")] | length == 2)'
beats actions "what are actions"
holds "actions: the model knows them" '.[-1].text == "I know them."'
rm "$space/chela.yaml"

# Actions of one reply are a sequence: what reports an action waits for it.
cat >"$space/order.yaml" <<'YAML'
rules:
  - when: { user: 'error of send_message: [^#]*because (ban_member|fail_member|slow_member|exec)[^#]*(was refused|failed|took too long)' }
    call: { tool: send_message, args: { content: "{{1}}: it {{2}}." } }
  - when: { user: 'error of send_message: [^#]*unknown key .to' }
    call: { tool: send_message, args: { content: "Not in private." } }
  - when: { user: 'you\] main: (twice and|and)' }
    say: I have said it.
  - when: { user: 'New lines[^#]*say it twice' }
    call: [{ tool: send_message, args: { content: "twice", request_heartbeat: true } }, { tool: send_message, args: { content: "and" } }]
  - when: { user: 'New lines[^#]*tell Bob alone' }
    call: [{ tool: send_message, args: { content: "a secret", to: Bob } }]
  - when: { user: 'New lines[^#]*throw him out' }
    call: [{ tool: ban_member, args: {} }, { tool: send_message, args: { content: "banned" } }]
  - when: { user: 'New lines[^#]*in vain' }
    call: [{ tool: send_message, args: { content: "I try" } }, { tool: fail_member, args: {} }, { tool: send_message, args: { content: "banned" } }]
  - when: { user: 'New lines[^#]*slowly' }
    call: [{ tool: slow_member, args: {} }, { tool: send_message, args: { content: "banned" } }]
  - when: { user: 'New lines[^#]*by command' }
    call: [{ tool: exec, args: { command: "exit 3" } }, { tool: send_message, args: { content: "banned" } }]
YAML
printf '#!/bin/sh\nsleep 100\n' >"$space/slow"
chmod +x "$space/slow"
tool() { echo "    - { name: $1_member, description: Acts., command: [./$2], effect: once, permission: $3, action: true$4 }"; }
{
    printf 'sandbox: { mode: off }\nagents: { defaults: { mode: heartbeat, tools: { allow: [ban_member, fail_member, slow_member, exec] } } }\ntools:\n  custom:\n'
    tool ban act write ', confirm: true'
    tool fail fail read
    tool slow slow read ', timeoutSec: 1'
} >"$space/chela.yaml"
kept() { beats order --store "sqlite:$tmp/h.db" --session "$@"; }
rm -f "$space/acted"
kept auto --approve auto "throw him out"
exits "a sequence: all of it succeeds" 0
holds "a sequence: all of it succeeds, in order" \
    '[.[] | select(.type == "tool_start" or .type == "text_delta") | .name // .text] == ["ban_member", "send_message", "banned"] and .[-1].turns == 1'
same "a sequence: all of it succeeds" 1 "$(wc -l <"$space/acted")"
kept alone "tell Bob alone"
holds "a parameter that an action does not have: nothing is said" '.[-1].text == "Not in private."'
kept vain "in vain"
holds "a sequence: an action fails" '.[-1] | .text == "I try\nfail_member: it failed." and .turns == 2'
kept slow "slowly"
holds "a sequence: an action takes too long" '.[-1] | .text == "slow_member: it took too long." and .turns == 2'
kept command --approve auto "by command"
holds "a sequence: a command ends with a non-zero code" '.[-1] | .text == "exec: it failed." and .turns == 2'
kept nobody "throw him out"
holds "a sequence: nobody can consent" '.[-1].text == "ban_member: it was refused."'
for answer in allow refuse; do
    rm -f "$space/acted"
    kept $answer --approve ask "throw him out"
    exits "a sequence: waits for consent" 5
    holds "a sequence: nothing is said meanwhile" '[.[] | select(.type == "text_delta")] == []'
    chela sessions resume $answer --store "sqlite:$tmp/h.db" --$answer all --output jsonl
    exits "a sequence: goes on in another process ($answer)" 0
    if [ $answer = allow ]; then
        holds "a sequence: after the consent the rest is done" '.[-1] | .text == "banned" and .turns == 1'
        check "a sequence: after the consent" test -e "$space/acted"
    else
        holds "a sequence: after the refusal the rest is not done" '.[-1] | .text == "ban_member: it was refused." and .turns == 2'
        check "a sequence: after the refusal" test ! -e "$space/acted"
    fi
done
kept again "say it twice"
holds "a sequence: asks for another beat" ".[-1].turns == 2"
for kept in auto alone vain slow command nobody allow refuse again; do
    chela replay $kept --store "sqlite:$tmp/h.db"
    same "a sequence ($kept): a replay decides as then" "" "$(cat "$out")"
done
rm "$space/chela.yaml"

echo "I am a red crab." >"$space/SOUL.md"
beats native --session crab --store "sqlite:$tmp/h.db" "who are you?"
holds "core memory" '.[-1].text == "A red crab."'
echo "I am a blue crab." >"$space/SOUL.md"
beats native --session crab --store "sqlite:$tmp/h.db" "who are you?"
holds "core memory is read again" '.[-1].text == "A blue crab."'

chela run --mode heartbeat --model scripted/native.yaml "what is 6 * 7?"
same "on the terminal only what was said" "It is 42.
Easy." "$(cat "$out")"
chela run --mode heartbeat --model scripted/native.yaml --schema <(echo '{"type":"object"}') hi
exits "an answer of a form makes no sense" 2

tap_done

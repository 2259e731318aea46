#!/usr/bin/env bash
# The programs in examples/ do what they say, with rules in place of a model;
# and they are C++ as well as C.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

root=$PWD
programs=$(cd "$BUILD" && pwd)/examples
mkdir "$tmp/here" && touch "$tmp/here/one.txt"

# Run an example in a directory of its own; its exit status is left in $status.
example() {
    (cd "$tmp/here" && with_env CHELA_MODEL="scripted/$root/examples/scripted.yaml" \
        timeout -k 5 "$seconds" "$programs/$1" ${2+"$2"} >"$out" 2>"$err")
    status=$?
}

example hello
same "hello: a C function is called" "0 2 + 40 is 42." "$status $(cat "$out")"

(cd "$tmp/here" && with_env CHELA_MODEL="scripted/$root/examples/plan.yaml" \
    timeout -k 5 "$seconds" "$programs/plan" >"$out" 2>"$err")
status=$?
same "plan: steps, a judgement, the answer" "0 judged: accept Together 13 million people." \
    "$status $(tail -n 2 "$out" | xargs)"
check "plan: results are put in" grep -qx 'step: calculate {"expression":"10 + 3"}' "$out"

(cd "$tmp/here" && echo '# Title' >README.md && with_env CHELA_MODEL="scripted/$root/examples/delegate.yaml" \
    timeout -k 5 "$seconds" "$programs/delegate" >"$out" 2>"$err")
status=$?
rm -f "$tmp/here/README.md"
same "delegate: two agents, one answer" "0 It is 42. The README begins with its title." "$status $(tail -n 1 "$out")"
same "delegate: what they call" "clerk calls calculate librarian calls read" "$(grep '^  ' "$out" | sort | xargs)"

for line in "DEBUG x=ignore rule" "ERROR disk full=page rule" "request timeout=ticket model"; do
    (cd "$tmp/here" && with_env CHELA_MODEL="scripted/$root/examples/workflow.yaml" \
        timeout -k 5 "$seconds" "$programs/workflow" <<<"${line%%=*}" >"$out" 2>"$err")
    same "workflow: ${line%%=*}" "${line#*=}" "$(awk '{ print $1, $2 }' "$out")"
done

routes() { # REQUEST ANSWER
    chela run --config "$root/examples/route.yaml" --store "sqlite:$tmp/route.db" --session "$1" "$1"
    same "route: $1" "${3:-0} $2" "$status $(cat "$out")"
}
routes "what is 6 * 7" 42
routes "what does the bill of May say" "The bill of May says 12 euros."
routes "do something" "What is it about: a sum, or a bill?" 6

chela run --config "$root/examples/hybrid.yaml" --approve ask --session trip "how far is it?"
same "hybrid: a step asks first" 5 "$status"
chela sessions resume --config "$root/examples/hybrid.yaml" trip --allow all
same "hybrid: it goes on" '0 793 km; it is noted down. {"km":"793"}' "$status $(cat "$out") $(cat "$space/note.json")"
rm -f "$space/note.json"
chela schedule run --config "$root/examples/schedules.yaml" report
chela sessions show --config "$root/examples/schedules.yaml" schedule:report
same "schedules: a run that begins by the clock" "0 A week has 168 hours." "$status $(tail -n 1 "$out")"
chela run --config "$root/examples/handoff.yaml" --session desk "my bill of May is wrong"
same "handoff: the other one answers" "0 This is billing. You are right, it is." "$status $(cat "$out")"
chela run --config "$root/examples/handoff.yaml" --session desk "by how much?"
same "handoff: and goes on" "0 By 3 euros." "$status $(cat "$out")"

example stream "list the files here"
same "stream: text before and after the tool" "0 Let me look.There is: one.txt" "$status $(cat "$out")"
check "stream: the tool is seen" grep -q '^\[ls {"path":"."}\]$' "$err"
check "stream: and how it ended" grep -q '^done (task_completed), 2 turns, 1 tool calls$' "$err"

example hooks "list the files here"
same "hooks: writing is refused" "0 Not written: Writing is switched off today. Show the text instead." \
    "$status $(cat "$out")"
same "hooks: what was seen" "turn 1 allowed ls turn 2 refused write turn 3" "$(xargs <"$err")"
check "hooks: nothing was written" test ! -e "$tmp/here/files.txt"

example hostloop
same "hostloop: the program answers, the run goes on" "0 The user likes green." "$status $(cat "$out")"
check "hostloop: it had to wait" grep -q 'waiting for the user' "$err"

for answer in y "not that one"; do
    example approval <<<"$answer"
    case $answer in
    y) want="0 I deleted 'milk'." ;;
    *) want="0 Not deleted: {\"error\":\"The user was asked and did not allow this call, so it was not made: not that one." ;;
    esac
    same "approval: $answer" "$want" "$status $(sed 's/ Do not make the same.*//' "$out")"
    check "approval: the question" grep -q '^delete_note: {"title":"milk"}$' "$err"
done

example tool "order 3 apples"
same "tool: looked, then ordered" "0 ordered 3 apples for 75 cents" "$status $(cat "$out")"
same "tool: with a key" "order 3 apples, key set" "$(cat "$err")"
example tool "order 20 pears"
check "tool: its own rules" grep -q 'Only 12 pears are in stock.*invalid_arguments' "$out"
same "tool: and no order" "" "$(cat "$err")"
example tool "order 1 cherries"
check "tool: an error that says what would work" grep -q "no item 'cherries'; there are apples.*not_found" "$out"

# The tool that is a program, by the file of the examples; and the manual shows that file.
space=$tmp/here
printf 'three little words\n' >"$space/words.txt"
chela tools call word_count --config "$root/examples/tools.yaml" --args '{"file": "words.txt"}'
same "word_count: a program as a tool" "0 3" "$status $(cat "$out")"
chela tools call word_count --config "$root/examples/tools.yaml" --args '{"file": "none.txt"}'
check "word_count: its error" grep -q "there is no file 'none.txt' in the workspace" "$out" "$err"
chela tools call word_count --config "$root/examples/tools.yaml" --args '{"path": "words.txt"}'
check "word_count: arguments that do not fit" grep -q 'invalid_arguments\|file' "$out" "$err"
same "write-a-tool.md shows examples/tools.yaml" "$(sed 1d examples/tools.yaml)" \
    "$(sed -n '/^```yaml$/,/^```$/p' docs/write-a-tool.md | sed '1d;$d')"
same "write-a-tool.md shows examples/tool.c" "" \
    "$(sed -n '/^```c$/,/^```$/p' docs/write-a-tool.md | sed '1d;$d' | while IFS= read -r line; do
        grep -qxF -- "$line" examples/tool.c || echo "$line"
    done)"

example resume crash
same "resume: it dies in the middle" "1 paying" "$status $(cat "$err")"
example resume
same "resume: it goes on, and does not pay twice" \
    "0 I do not know whether the bill was paid. Look at your account, please." "$status $(cat "$out")"
same "resume: the tool was not called again" "" "$(cat "$err")"

cat >"$tmp/here/bot.yaml" <<'YAML'
rules:
  - { when: { after: none, user: pizza }, call: { tool: order, args: {} } }
  - { when: { after: order, user: pizza }, say: "on its way" }
  - { say: "yes" }
YAML
(cd "$tmp/here" && for _ in 1 2; do
    with_env CHELA_MODEL=scripted/bot.yaml timeout -k 5 "$seconds" "$programs/mailbox" e1=pizza e2=hello e1=pizza
done >"$out" 2>"$err")
same "mailbox: every event is acknowledged" "e1 e2 e1 e1 e2 e1" "$(xargs <"$tmp/here/acknowledged")"
same "mailbox: and answered once" "on its way yes" "$(sed 's/^[^ ]* //' "$tmp/here/sent" | xargs)"
same "mailbox: one order" 1 "$(wc -l <"$tmp/here/ordered" | tr -d ' ')"

for source in examples/*.c; do
    check "$source is C++ too" "${CXX:-g++}" -x c++ -std=gnu++20 -Wall -Wextra \
        -Wno-missing-field-initializers -Werror -Iinclude -fsyntax-only "$source"
done
tap_done

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

for source in examples/*.c; do
    check "$source is C++ too" "${CXX:-g++}" -x c++ -std=gnu++20 -Wall -Wextra \
        -Wno-missing-field-initializers -Werror -Iinclude -fsyntax-only "$source"
done
tap_done

#!/usr/bin/env bash
# The scripted model as its manual has it: the worked example, what a run says
# when no rule fits or the file is wrong, and failures that are played.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

# The two files of the manual's example, as they stand there.
mkdir "$tmp/example"
awk -v dir="$tmp/example" '
    /^<!-- check: file / { name = dir "/" $4; next }
    /^```[a-z]+$/ && name { file = name; name = ""; next }
    /^```$/ { file = "" }
    file { print > file }' docs/scripted.md
bin=$(cd "$BUILD" && pwd)
example() {
    (cd "$tmp/example" && with_env PATH="$bin:$PATH" timeout -k 5 "$seconds" sh test.sh >"$out" 2>"$err")
}
check "the manual's example passes" example
sed -i 's/new_text: hello/new_text: hallo/' "$tmp/example/rules.yaml"
if example; then not_ok "and fails with rules that do something else"; else ok "and fails with rules that do something else"; fi

rules() {
    cat >"$space/rules.yaml"
}
ask() {
    chela run --model scripted/rules.yaml "$@" "go on"
}

rules <<<'rules: [{ when: { user: never }, say: x }]'
ask
exits "no rule fits" 1
check "no rule fits: it says what was asked" \
    grep -q 'no rule of rules.yaml fits (message 1, turn 1, after none, user text "go on")' "$err"

rules <<<'rules: [{ sya: x }]'
ask
exits "a file that is wrong" 2
check "a file that is wrong: its place and the key" \
    grep -q 'rules.yaml:1:11: sya: unknown key, did you mean say?' "$err"
chela run --model scripted/nothing.yaml "go on"
exits "a file that is not there" 2

rules <<<'rules: [{ times: 1, say: one two three, cut_after: 0 }, { say: whole }]'
ask --output jsonl
exits "cut before any text" 0
events_are_well_formed "cut before any text"
holds "cut before any text: tried again" '([.[] | select(.type == "retry")] | length) == 1 and .[-1].text == "whole"'

rules <<<'rules: [{ times: 1, say: one two three, cut_after: 2 }, { say: whole }]'
ask --output jsonl
exits "cut after some text" 1
events_are_well_formed "cut after some text"
holds "cut after some text: what was shown, and why it ended" \
    '([.[] | select(.type == "text_delta").text] | add) == "one two " and (.[-1].error | test("connection lost"))'

rules <<<'rules: [{ say: one two three, fail: { type: overloaded_error, message: too busy } }]'
ask --output jsonl
exits "an error in every stream" 1
events_are_well_formed "an error in every stream"
holds "an error in every stream: is told" '.[-1].reason == "model_error" and (.[-1].error | test("too busy"))'

rules <<<'rules: [{ say: one two, stall_after: 1 }]'
ask --output jsonl --timeout 1
exits "a stall" 3
events_are_well_formed "a stall"
holds "a stall: ended by the run's own time" '.[-1].reason == "deadline_exceeded"'

rules <<<'rules: [{ fail: { status: 401, message: bad key } }]'
ask
exits "a refused key" 1
check "a refused key: the service's words" grep -q 'bad key' "$err"

rules <<'RULES'
rules:
  - when: { after: none }
    call: [{ tool: calculate, args: { expression: 1+1 } }, { tool: calculate, args: { expression: 2+2 } }]
  - when: { after: calculate, result: "^2$" }
    think: hm
    say: "{{result}} and {{result.calculate}}"
RULES
ask --output jsonl
exits "parallel calls" 0
holds "parallel calls: the result that fits, and the last" '.[-1].text == "2 and 4"'
tap_done

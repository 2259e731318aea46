#!/usr/bin/env bash
# The tool ask_user: on a terminal (a real one: script(1)) the person answers;
# elsewhere it is offered only where a list allows it, and the run pauses.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none }, call: { tool: ask_user, args: { question: "Which colour?", choices: [red, green] } } }
  - { say: "you said: {{result}}" }
YAML

chela run --model scripted/rules.yaml --tools ask_user --output jsonl "choose"
exits "no terminal" 5
holds "no terminal: the run pauses for a person" \
    '.[-1] | .status == "paused" and .reason == "human_required"'
holds "no terminal: it says what for" \
    '[.[] | select(.type == "client_tool_required")] | length == 1 and .[0].arguments.question == "Which colour?"'
check "no terminal: the session is named" grep -q "session s_[0-9a-f]* waits for a person's answer" "$err"

chela run --model scripted/rules.yaml --tools ask_user --session waits "choose"
chela sessions resume waits
exits "no terminal, resumed: it waits again" 5
check "no terminal, resumed: a person is needed" grep -q 'ask_user must be answered by a person' "$err"
check "no terminal, resumed: what for" grep -q "session waits waits for a person's answer" "$err"
chela sessions show waits --json
chela sessions resume waits --answer "$(jq -r '.. | select(.type? == "tool_call") | .id' "$out")=red"
exits "no terminal: an answer" 0
check "no terminal: the answer reaches the model" grep -q 'you said: red' "$out"

chela run --model scripted/rules.yaml --output jsonl "choose"
exits "no terminal, no list" 0
holds "no terminal, no list: it is not offered" \
    '[.[] | select(.type == "tool_result")] | length == 1 and .[0].error_type == "not_found"'

# person ANSWER: what is typed once the question is on the screen.
screen=$tmp/screen
person() {
    mkfifo "$tmp/keys"
    : >"$screen"
    (cd "$space" && with_env TERM=xterm timeout -k 5 "$seconds" script -qefc \
        "exec $(printf '%q ' "$program" run --model scripted/rules.yaml choose)" /dev/null <"$tmp/keys" >"$screen") &
    local pid=$!
    exec 9>"$tmp/keys"
    for _ in {1..200}; do
        grep -q 'Your answer:' "$screen" && break
        sleep 0.05
    done
    printf '%b' "$1" >&9
    wait $pid
    status=$?
    exec 9>&-
    rm -f "$tmp/keys"
    cp "$screen" "$out"
    : >"$err"
}

person 'blue\r'
exits "an answer of one's own" 0
check "the question is shown" grep -q 'The agent asks: Which colour?' "$screen"
check "the choices are numbered" grep -q '2\. green' "$screen"
check "the answer reaches the model" grep -q 'you said: blue' "$screen"
person '2\r'
check "a number is a choice" grep -q 'you said: green' "$screen"
person '\003'
exits "Ctrl-C" 4
tap_done

#!/usr/bin/env bash
# Hooks of the configuration: programs that see, block and change what an agent does, in the form
# of Claude Code's hooks; and programs that hang, print garbage, change or are deleted.
# shellcheck disable=SC2016
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

program() { # NAME: stdin is a script, which finds its input in $in
    { printf '#!/bin/sh\nin=$(cat)\n' && cat; } >"$space/$1"
    chmod +x "$space/$1"
}
configure() {
    cat >"$space/chela.yaml"
    rm -f "$space"/seen "$space"/a.txt
}
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^write" , after: none }, call: { tool: write, args: { file_path: a.txt, content: hello } } }
  - { when: { user: "^write" }, say: "write said: {{result}}" }
  - { when: { user: "^list", after: none }, call: { tool: ls, args: { path: . } } }
  - { when: { user: "^list" }, say: "list said: {{result}}" }
  - { when: { user: "^two", after: none }, call: [ { tool: write, args: { file_path: a.txt, content: one } }, { tool: write, args: { file_path: b.txt, content: two } } ] }
  - { when: { user: "^two" }, say: "both" }
  - { when: { user: "tests pass" }, say: "now it is done" }
  - { when: { user: "context: (.*)" }, say: "heard {{1}}" }
  - { say: "you said: {{user}}" }
YAML
ask() {
    chela run --model scripted/rules.yaml --output jsonl "$@"
}
written() {
    if [ -e "$space/a.txt" ]; then cat "$space/a.txt"; else echo none; fi
}

# --- before a call
program log <<<'printf "%s\n" "$in" >>seen'
configure <<'YAML'
hooks: { beforeTool: [ { command: [./log] } ] }
YAML
ask "write it"
exits "a hook that lets a call pass" 0
events_are_well_formed "a hook that lets a call pass"
same "a call that passes is made" hello "$(written)"
out=$space/seen holds "the program sees the call as Claude Code's hooks do" \
    'length == 1 and (.[0] | .hook_event_name == "PreToolUse" and .tool_name == "Write" and .tool == "write" and (.tool_input.file_path | test("^/.*/space/a.txt$")) and .tool_input.content == "hello" and (.session_id | test("^s_")) and (.cwd | test("/space$")) and (.tool_use_id | length > 0) and .permission_mode == "dontAsk")'

program guard <<'SH'
case $in in *a.txt*) echo "a.txt belongs to Ann" >&2; exit 2 ;; esac
SH
configure <<'YAML'
hooks: { beforeTool: [ { match: "edit|write", command: [./guard] } ] }
YAML
ask "write it"
exits "a hook that blocks a call" 0
same "exit code 2 blocks the call" none "$(written)"
holds "the model gets the reason as an error" \
    '[.[] | select(.type == "tool_result")] | .[0].is_error and .[0].error_type == "permission_denied" and (.[0].content | test("a.txt belongs to Ann"))'
ask "two"
same "a hook blocks one call of two" "none two" "$(written) $(cat "$space/b.txt")"
ask "list it"
holds "an expression for other tools does not match" '.[-1].text | test("guard")'
configure <<'YAML'
hooks: { beforeTool: [ { match: "Edit|Write", command: [./guard] } ] }
YAML
ask "write it"
same "an expression may name Claude Code's tools" none "$(written)"
configure <<'YAML'
hooks: { beforeTool: [ { match: "rit", command: [./guard] } ] }
YAML
ask "write it"
same "an expression has to match the whole name" hello "$(written)"

program deny <<'SH'
echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not on Fridays"}}'
SH
configure <<<'hooks: { beforeTool: [ { command: [./deny] } ] }'
ask "write it"
same "permissionDecision deny blocks" none "$(written)"
holds "permissionDecisionReason reaches the model" '[.[] | select(.type == "tool_result")] | .[0].content | test("not on Fridays")'
program change <<'SH'
echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"file_path":"a.txt","content":"changed"}}}'
SH
configure <<<'hooks: { beforeTool: [ { command: [./change] } ] }'
ask "write it"
same "updatedInput replaces the arguments" changed "$(written)"
program halt <<<'echo "{\"continue\":false,\"stopReason\":\"enough\"}"'
configure <<<'hooks: { beforeTool: [ { command: [./halt] } ] }'
ask "write it"
exits "continue false ends the run" 4
same "continue false: the call was not made" none "$(written)"

# --- after a call
program format <<'SH'
f=$(printf '%s' "$in" | sed 's/.*"file_path":"\([^"]*\)".*/\1/')
tr a-z A-Z <"$f" >"$f.new" && mv "$f.new" "$f"
echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"it was formatted"}}'
SH
configure <<<'hooks: { afterTool: [ { match: Write, command: [./format] }, { command: [./log] } ] }'
ask "write it"
same "a formatter after a write works" HELLO "$(written)"
holds "additionalContext follows the result" '[.[] | select(.type == "tool_result")] | .[0].content | test("it was formatted")'
out=$space/seen holds "the program sees the result" \
    'length == 1 and (.[0] | .hook_event_name == "PostToolUse" and .tool_response.success and (.tool_response.filePath | test("a.txt")))'
program complain <<<'echo "the linter found an error in line 1" >&2; exit 2'
configure <<<'hooks: { afterTool: [ { command: [./complain] } ] }'
ask "write it"
same "exit code 2 after a call undoes nothing" hello "$(written)"
holds "exit code 2 after a call: the model reads stderr" '[.[] | select(.type == "tool_result")] | .[0].content | test("the linter found an error in line 1")'

# --- the message, the session
program prompt <<'SH'
printf '%s' "$in" | grep -q '"prompt":"secret' && { echo "this looks like a secret" >&2; exit 2; }
echo "context: the branch is main"
SH
configure <<<'hooks: { prompt: [ { command: [./prompt] } ] }'
ask --session one "hello"
exits "a hook that adds to a message" 0
holds "stdout of a prompt's hook reaches the model" '.[-1].text == "heard the branch is main"'
ask --session one "secret 123"
exits "a hook that blocks a message" 6
holds "the person reads why" '.[-1] | .status == "declined" and (.text | test("this looks like a secret"))'
holds "no model was called" '[.[] | select(.type == "model_request")] == []'
chela sessions show one --json
holds "a blocked message leaves no trace in the conversation" '.[0].transcript | tostring | test("secret 123") | not'
configure <<<'hooks: { sessionStart: [ { match: startup, command: [./prompt] }, { command: [./log] } ], sessionEnd: [ { command: [./log] } ] }'
ask "hello"
holds "stdout of a session's start reaches the model" '.[-1].text == "heard the branch is main"'
for _ in {1..100}; do
    grep -q SessionEnd "$space/seen" && break
    sleep 0.1
done
out=$space/seen holds "a session's start and end are told once each" \
    '[.[].hook_event_name] == ["SessionStart", "SessionEnd"] and .[0].source == "startup"'

# --- the end of a run
program finish <<'SH'
printf '%s\n' "$in" >>seen
[ -e tested ] && exit 0
touch tested
echo "the tests pass only after make" >&2
exit 2
SH
rm -f "$space/tested"
configure <<<'hooks: { stop: [ { command: [./finish] } ] }'
ask "hello"
exits "a hook at the end" 0
events_are_well_formed "a hook at the end"
holds "exit code 2 lets the run go on with the reason" '.[-1] | .text == "now it is done" and .turns == 2'
out=$space/seen holds "the second time stop_hook_active is set" '[.[].stop_hook_active] == [false, true] and .[1].last_assistant_message == "now it is done"'
ask --max-turns 1 "hello"
exits "a limit of turns that the answer reaches" 0
program never <<<'echo no >&2; exit 2'
configure <<<'hooks: { stop: [ { command: [./never] } ] }'
ask --max-turns 30 "hello"
exits "a hook that never agrees ends" 0
holds "a hook that never agrees is overruled after 8 times" '.[-1].turns == 9'

# --- a run that waits
configure <<'YAML'
hooks: { notification: [ { command: [./log] } ] }
approvals: { write: ask }
YAML
ask --approve ask "write it"
exits "a run that waits for approval" 5
for _ in {1..100}; do
    [ -s "$space/seen" ] && break
    sleep 0.1
done
out=$space/seen holds "a notice says what the run waits for" '.[0] | .hook_event_name == "Notification" and .notification_type == "permission_prompt" and (.message | test("write"))'

# --- programs that do not do as they should
configure <<<'hooks: { beforeTool: [ { command: [./hang], timeoutSec: 0.3 } ] }'
program hang <<<'sleep 60'
ask "write it"
exits "a program that hangs" 0
same "a program that hangs blocks the call" none "$(written)"
holds "a program that hangs is named" '[.[] | select(.type == "warning").text] | join(" ") | test("hang did not end in time")'
configure <<<'hooks: { beforeTool: [ { command: [./garbage] } ] }'
program garbage <<<'printf "{ \001 \377 not json"'
ask "write it"
same "garbage blocks nothing" hello "$(written)"
holds "garbage is reported" '[.[] | select(.type == "warning").text] | join(" ") | test("not valid")'
program fails <<<'echo "no such thing" >&2; exit 1'
configure <<<'hooks: { beforeTool: [ { command: [./fails] } ] }'
ask "write it"
same "another exit code blocks nothing" hello "$(written)"
holds "another exit code is reported" '[.[] | select(.type == "warning").text] | join(" ") | test("fails ended with exit code 1: no such thing")'
configure <<<'hooks: { beforeTool: [ { command: [./gone] } ] }'
program gone <<<'exit 0'
(cd "$space" && believe)
rm "$space/gone"
ask "write it"
same "a program that was deleted blocks the call" none "$(written)"
program gone <<<'exit 0 # changed'
ask "write it"
same "a program that changed since it was trusted does not run, and blocks the call" none "$(written)"
holds "the model is told that a person has to look" '[.[] | select(.type == "tool_result")] | .[0].content | test("chela trust")'

# --- the file
configure <<<'hooks: { beforTool: [ { command: [./log] } ] }'
ask "hello"
exits "a misspelt event" 2
check "a misspelt event: the nearest" grep -q 'beforeTool' "$err"
configure <<<'hooks: { beforeTool: [ { match: "(", command: [./log] } ] }'
ask "hello"
exits "an expression that is none" 2
configure <<<'hooks: { beforeTool: [ { match: "x" } ] }'
ask "hello"
exits "a hook without a command" 2
untrusted=1
configure <<<'hooks: { beforeTool: [ { command: [./log] } ] } # of a stranger'
ask "write it"
check "programs of a file that is not trusted do not run" test ! -e "$space/seen"
tap_done

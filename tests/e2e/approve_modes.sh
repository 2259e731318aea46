#!/usr/bin/env bash
# --approve ask, edits and plan: which calls need a person, and what a run that only plans can do.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^write", after: none }, call: { tool: write, args: { file_path: a.txt, content: hello } } }
  - { when: { user: "^run", after: none }, call: { tool: exec, args: { command: "touch made && echo ran" } } }
  - { when: { user: "^plan", system: "You are asked for a plan" }, say: "1. write a.txt" }
  - { say: "it said: {{result}}" }
YAML
ask() {
    rm -f "$space/a.txt" "$space/made"
    chela run --model scripted/rules.yaml --output jsonl "$@"
}
there() { if [ -e "$space/$1" ]; then echo yes; else echo no; fi; }

ask --approve edits write
exits "edits: a file is written" 0
same "edits: the file is there" yes "$(there a.txt)"
ask --approve edits run
exits "edits: a command asks" 5
same "edits: the command has not run" no "$(there made)"
ask --approve ask write
exits "ask: a file asks, too" 5
same "ask: the file is not written" no "$(there a.txt)"
holds "ask: the question names the call" '[.[] | select(.type == "approval_required")] | length == 1 and .[0].name == "write"'
echo 'approvals: { write: auto }' >"$space/chela.yaml"
ask --approve ask write
exits "ask: the configuration decides about a tool that it names" 0
echo 'approvals: { exec: deny }' >"$space/chela.yaml"
ask --approve ask run
exits "ask: the other levels of the configuration stay" 0
same "ask: a tool that the configuration denies is denied" no "$(there made)"
rm "$space/chela.yaml"

ask --approve plan plan
exits "plan: a plan is an answer" 0
holds "plan: the model is told" '.[-1].text == "1. write a.txt"'
ask --approve plan write
exits "plan: a call that writes" 0
same "plan: nothing is written" no "$(there a.txt)"
holds "plan: there is no such tool" '[.[] | select(.type == "tool_result")] | .[0].error_type == "not_found"'
ask --approve plan run
same "plan: no command runs" no "$(there made)"
ask --approve plan --output stream-json plan
holds "plan: permissionMode" '.[0].permissionMode == "plan"'
ask --approve edits --output stream-json plan
holds "edits: permissionMode" '.[0].permissionMode == "acceptEdits"'
tap_done

#!/usr/bin/env bash
# Failed commands and limits of a run: what counts, what a limit of 0 means, and what people
# are told.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

# --- a command that fails is a result
cat >"$space/fails.yaml" <<'YAML'
rules:
  - { when: { turn: 6 }, say: "last: {{result}}" }
  - { call: { tool: exec, args: { command: "seq 1 40; echo turn {{turn}} >&2; exit 3" } } }
YAML
chela run --model scripted/fails.yaml --approve auto --max-errors 3 go
exits "five commands that fail" 0
check "the model reads plain text" grep -qx 'turn 5' "$out"
same "its last line is the exit code" '[exit code 3]' "$(tail -n 1 "$out")"
check "stderr: the exit code" grep -q '\[tool\] exec: exit code 3, in [0-9]* ms' "$err"
check "stderr: the last lines of output" grep -qx '\[tool\]   40' "$err"
check "stderr: only the last lines" sh -c "! grep -qx '\\[tool\\]   20' '$err'"
chela run --model scripted/fails.yaml --approve auto --max-errors 3 --output jsonl go
holds "events: no error" '[.[] | select(.type == "tool_result")] | length == 5 and all((.is_error | not) and .details.exit_code == 3)'

HEIGHT=90 open_terminal "$program chat --model scripted/fails.yaml --approve auto"
sees "chat: the prompt" '^>'
types "go"
press Enter
sees "chat: the answer" "turn 5 \\[exit code 3\\]$"
sees "chat: the exit code" "^✗ exec .*exit code 3, [0-9]+ ms"
sees "chat: the last lines of output" '^ +40$'
press C-d
ends "chat: its end" 0

tap_done

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

# --- limits of a run
cat >"$space/long.yaml" <<'YAML'
rules:
  - { when: { turn: 31 }, say: "thirty calls" }
  - { call: { tool: calculate, args: { expression: "{{turn}} + 1" } } }
YAML
cat >"$space/errors.yaml" <<'YAML'
rules:
  - { when: { turn: 6 }, say: "five errors" }
  - { call: { tool: read, args: { file_path: "none{{turn}}" } } }
YAML
echo 'agents: { defaults: { limits: { maxTurns: 3, maxToolCalls: 3, tokenBudget: 10, costBudgetUsd: 0.0001, timeoutSec: 0.001, maxConsecutiveErrors: 2 } } }' >"$space/tight.yaml"
echo 'agents: { defaults: { limits: { maxTurns: 0 } } }' >"$space/none.yaml"
echo 'agents: { defaults: { limits: { maxTurns: 2 } } }' >"$space/two.yaml"

chela run --model scripted/long.yaml go
exits "the default" 3
check "the default: the message names the option and the key" \
    grep -q 'stopped: max_turns_exceeded after 26 turns and 25 tool calls (--max-turns or limits.maxTurns sets the limit, 0: none)$' "$err"
chela run --model scripted/long.yaml --max-turns 0 go
exits "--max-turns 0" 0
chela run --model scripted/long.yaml --config none.yaml go
exits "limits.maxTurns: 0" 0
none=(--max-turns 0 --max-tool-calls 0 --token-budget 0 --cost-budget 0 --timeout 0 --max-errors 0)
chela run --model scripted/long.yaml --config tight.yaml "${none[@]}" go
exits "0 for each limit of the configuration" 0
chela run --model scripted/errors.yaml --config tight.yaml "${none[@]}" go
exits "0 for each limit: errors" 0
chela run --model scripted/errors.yaml go
exits "three errors in a row" 3
check "three errors in a row: the message" grep -q '(--max-errors or limits.maxConsecutiveErrors sets the limit, 0: none)' "$err"
chela run --model scripted/long.yaml --config two.yaml --output jsonl go
holds "events: the error names the key" '.[-1] | .reason == "max_turns_exceeded" and (.error | test("after 2 model calls \\(limits.maxTurns\\)"))'
chela run --model scripted/long.yaml --max-turns -1 go
exits "--max-turns -1" 2

open_terminal "$program chat --model scripted/long.yaml"
sees "chat: a prompt" '^>'
types "go"
press Enter
sees "chat has no limit of turns" '^thirty calls$'
press C-d
ends "chat: the end" 0
open_terminal "$program chat --model scripted/long.yaml --config two.yaml"
sees "chat, limits.maxTurns: a prompt" '^>'
types "go"
press Enter
sees "chat, limits.maxTurns: stopped" 'max_turns_exceeded after 3 turns'
press C-d
ends "chat, limits.maxTurns: the end" 0

# --- the time in which a person thinks does not count
cat >"$space/asks.yaml" <<'YAML'
rules:
  - { when: { after: none }, call: { tool: exec, args: { command: "echo ran" } } }
  - { say: "it ran" }
YAML
open_terminal "$program run --model scripted/asks.yaml --approve ask --timeout 5 go"
sees "a question" 'echo ran'
sleep 6 # longer than the limit
types "y"
press Enter
sees "an answer after the time limit" '^it ran$'
ends "an answer after the time limit: its end" 0

tap_done

#!/usr/bin/env bash
# After a limit: the model sums up once, the person is told what to say, and saying it works, in both
# languages and on several faces. What was done before is in the conversation.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "No tool can be called any more" }, say: "SO-FAR" }
  - { when: { user: "go on", after: none }, say: "done at last" }
  - { when: { user: "继续", after: none }, say: "接着做完了" }
  - { when: { user: essay }, say: "The first half", stop: max_tokens }
  - { when: { user: "slowly", after: none }, call: { tool: calculate, args: { expression: "1+1" } } }
  - { when: { user: "slowly" }, say: "late", delay_ms: 60000 }
  - { when: { user: "errors" }, call: { tool: read, args: { file_path: "none{{turn}}" } } }
  - { call: { tool: calculate, args: { expression: "{{turn}}+1" } } }
YAML
cat >"$space/loop.yaml" <<'YAML'
rules:
  - { when: { user: "No tool can be called any more" }, say: "SO-FAR" }
  - { call: { tool: calculate, args: { expression: "1+1" } } }
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml, limits: { maxTurns: 3, timeoutSec: 600 } }] }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open } }
YAML
requests_of() { jq -s '[.[] | select(.type == "model_request")] | length' "$out"; }

# --- the summary
chela run --no-session --model scripted/rules.yaml --max-turns 2 --output jsonl count
exits "turns: stopped" 3
same "turns: one more call, for the summary" 3 "$(requests_of)"
holds "turns: the summary is the text of the run" '.[-1] | .status == "stopped" and .reason == "max_turns_exceeded" and .text == "SO-FAR"'
holds "turns: the error names the limit" '.[-1].error | test("after 2 model calls \\(limits.maxTurns\\)")'
chela run --no-session --model scripted/rules.yaml --max-tool-calls 2 --output jsonl count
holds "calls: the summary" '.[-1] | .reason == "max_tool_calls_exceeded" and .text == "SO-FAR"'
chela run --no-session --model scripted/rules.yaml --max-errors 2 --output jsonl errors
holds "errors: the summary" '.[-1] | .reason == "too_many_errors" and .text == "SO-FAR"'
chela run --no-session --model scripted/loop.yaml --max-turns 0 --output jsonl loop
holds "a loop: the summary" '.[-1] | .reason == "loop_detected" and .text == "SO-FAR"'
chela run --no-session --model scripted/rules.yaml --token-budget 10 --output jsonl count
holds "never past a budget of tokens" '.[-1] | .reason == "token_budget_exceeded" and .text != "SO-FAR"'
same "a budget of tokens: no further call" 1 "$(requests_of)"
chela run --no-session --model scripted/rules.yaml --timeout 1 --output jsonl slowly
holds "never past the time" '.[-1] | .reason == "deadline_exceeded" and .text != "SO-FAR"'
chela run --no-session --model scripted/rules.yaml --max-turns 2 --no-sum-up --output jsonl count
same "--no-sum-up: no further call" 2 "$(requests_of)"
echo 'agents: { defaults: { limits: { maxTurns: 2, sumUp: false } } }' >"$space/plain.yaml"
chela run --no-session --config plain.yaml --model scripted/rules.yaml --output jsonl count
same "limits.sumUp: false: no further call" 2 "$(requests_of)"
chela run --no-session --config plain.yaml --model scripted/rules.yaml --sum-up --output jsonl count
same "--sum-up overrides it" 3 "$(requests_of)"

# --- going on at the terminal
goes_on() { # NAME SENTENCE WORDS ANSWER FLAGS...
    local name=$1 sentence=$2 words=$3 answer=$4
    shift 4
    chela run --session "s-$name" --model scripted/rules.yaml "$@"
    check "$name: told what to say" grep -q "$sentence" "$err"
    chela run --session "s-$name" --model scripted/rules.yaml "$words"
    exits "$name: \"$words\" works" 0
    same "$name: the answer" "$answer" "$(cat "$out")"
    chela sessions export "s-$name"
    check "$name: what was done before is there" test "$(grep -c '"tool_call"\|first half' "$out")" -ge 1
}
goes_on turns 'Write "go on" to continue' "go on" "done at last" --max-turns 2 count
goes_on calls 'Write "go on" to continue' "go on" "done at last" --max-tool-calls 2 count
goes_on time 'Write "go on" to continue' "go on" "done at last" --timeout 1 slowly
goes_on length 'Write "go on" to continue' "go on" "done at last" essay
goes_on turns-zh '回复“继续”可以接着做' "继续" "接着做完了" --max-turns 2 "数一数"
goes_on calls-zh '回复“继续”可以接着做' "继续" "接着做完了" --max-tool-calls 2 "数一数"
goes_on length-zh '回复“继续”可以接着做' "继续" "接着做完了" "写一篇 essay"

# --- in a chat
serve
push "$(event om_1 oc_ann p2p "数一数")"
check "a limit is told in the chat" hears 1
check "with the summary" said SO-FAR
check "and with what the person can say" said '回复“继续”可以接着做'
push "$(event om_2 oc_ann p2p "继续")"
check "继续 is answered" hears 2
check "by going on" said '接着做完了'
push "$(event om_3 oc_bob p2p "count please" ou_bob)"
check "a limit is told in English" hears 3
check "with what to say in English" said 'Write \\*"go on'
push "$(event om_4 oc_bob p2p "go on" ou_bob)"
check "go on is answered" hears 4
check "by going on, in English" said 'done at last'
check "SIGTERM ends it" stop_serving
tap_done

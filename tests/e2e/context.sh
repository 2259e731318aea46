#!/usr/bin/env bash
# Long conversations: condensed by hand, and when a small context is full.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

db=(--store "sqlite:$space/s.db" --model scripted/rules.yaml)
cat >"$space/rules.yaml" <<'YAML'
rules:
  - when: { system: 'memory of a conversation' }
    say: "## Goal\nfind berry-77\n## Decisions\nnone\n## Facts and identifiers\nberry-77\n## Done\nnothing\n## Open tasks\nfind it"
  - when: { user: 'what is the word' }
    say: it is berry-77
  - say: noted
YAML

say() { chela run "${db[@]}" --session k "$@"; }

say "The word is berry-77."
exits "a message" 0
chela sessions compact "${db[@]}" k
exits "too little to condense" 0
same "too little: said so" "There is nothing to condense." "$(cat "$out")"
idle=$(printf 'of no interest, and the next one is not either, nor the one after it; %.0s' {1..12})
for i in 1 2 3 4; do say "Number $i is $idle"; done

chela sessions compact "${db[@]}" --focus "the word" --output jsonl k
exits "condensed" 0
same "condensed: told" summary "$(jq -r 'select(.type == "compaction") | .strategy' "$out")"
check "condensed: shorter" jq -se 'map(select(.type == "compaction"))[0] | .tokens_after < .tokens_before' "$out"

chela sessions show "${db[@]:0:2}" --json k
same "nothing is lost" 10 "$(jq '.transcript | length' "$out")"

chela run "${db[@]}" --session k --output jsonl "what is the word"
exits "gone on" 0
same "gone on: with less" 6 "$(jq 'select(.type == "model_request") | .messages' "$out" | head -n 1)"
same "gone on: the answer" "it is berry-77" "$(jq -r 'select(.type == "run_end") | .text' "$out")"

chela replay "${db[@]}" k
exits "decided again as it was" 0
chela sessions fork "${db[@]:0:2}" --key copy k
exits "copied" 0
chela run "${db[@]}" --session copy --output jsonl "what is the word"
same "copied: as short as it was" 8 "$(jq 'select(.type == "model_request") | .messages' "$out" | head -n 1)"

chela sessions compact "${db[@]}" nosuch
exits "no such session" 2
chela sessions compact "${db[@]}"
exits "which session" 2

# A context that is full.
cat >"$space/chela.yaml" <<YAML
providers:
  small:
    api: openai
    baseUrl: http://127.0.0.1:1/v1
    models: [{ id: m, contextWindow: 4096 }]
agents:
  defaults:
    compaction: { mode: retain }
  list:
    - id: main
      model: small/m
YAML
head -c 60000 /dev/zero | tr '\0' 'x' | fold -w 9 >"$space/long.txt"
stdin=$space/long.txt
chela run --config "$space/chela.yaml" --output jsonl -
stdin=
exits "a message that is too long" 1
same "too long: the reason" context_overflow "$(jq -r 'select(.type == "run_end") | .reason' "$out")"
check "too long: what to do" grep -q 'the message is about .* tokens, and there is room for' "$out"
same "too long: it was not sent" 0 "$(jq -s 'map(select(.type == "model_request")) | length' "$out")"

# The descriptions of tools have a budget.
jq -n '{replies: [{blocks: [{text: ["found"]}]}]}' >"$tmp/found.json"
start_server
budget() { # SETTINGS of the agent; WINDOW
    fresh found openai
    cat >"$space/chela.yaml" <<YAML
providers: { small: { api: openai, baseUrl: "$base", apiKeyEnv: OPENAI_API_KEY, models: [{ id: m, contextWindow: $2 }] } }
agents: { list: [{ id: main, model: small/m, $1 }] }
YAML
    chela run --output jsonl "read the file notes.txt"
}
budget 'tools: {}' 16384
exits "tools above their budget" 0
holds "tools above their budget: a warning" \
    '[.[] | select(.type == "warning") | .text | select(test("tools take about [0-9]+ tokens.*budget is 15 %"))] | length == 1'
few=$(jq 'select(.type == "model_request").tools' "$out")
check "tools above their budget: some are described" grep -q '"name":"read"' <<<"$(requests .body.tools)"
check "tools above their budget: others can be found" grep -q find_tools <<<"$(requests .body.tools)"
budget 'context: { toolsPercent: 60 }' 16384
holds "a larger budget: no warning" 'all(.[]; .type != "warning")'
check "a larger budget: more tools" test "$(jq 'select(.type == "model_request").tools' "$out")" -gt "$few"
budget 'tools: { selection: all }' 16384
holds "all of them, by choice: a warning" '[.[] | select(.type == "warning") | .text | select(test("all are described"))] | length == 1'
budget 'tools: {}' 200000
holds "a large window: no warning" 'all(.[]; .type != "warning")'

# A plain window of the newest messages of people.
cat >"$space/chela.yaml" <<YAML
agents: { list: [{ id: main, model: scripted/window.yaml, compaction: { historyTurns: 2 } }] }
YAML
printf 'rules:\n  - { when: { user: sum, after: none }, call: { tool: calculate, args: { expression: "1+1" } } }\n  - { say: "heard: {{user}}" }\n' >"$space/window.yaml"
for i in 1 2 3 4; do
    chela run --session window --output jsonl "sum $i"
    sent="${sent-}$(jq -s '[.[] | select(.type == "model_request").messages][0]' "$out") "
done
exits "a window of two messages" 0
same "the first request of each message: two messages of people at most" '1 5 5 5 ' "$sent"
holds "a cut is told" '[.[] | select(.type == "compaction") | .strategy] == ["cut"]'
chela run --session window --output jsonl "sum 5"
same "a session that is opened again has the window alone" 5 "$(jq -s '[.[] | select(.type == "model_request").messages][0]' "$out")"

# Hard and soft rules, limits, and rules that cannot be kept.
budget 'limits: { maxTurns: 7, maxToolCalls: 9, tokenBudget: 50000 }, context: { rules: [Be exact.], softRules: [Answer in verse.] }' 200000
system=$(requests '.body.messages[0].content')
check "the model is told its limits" grep -q 'one message may take at most 9 tool calls, 50000 tokens' <<<"$system"
check "soft rules are wishes" grep -q '## Preferences.*Wishes, not rules.*- Answer in verse' <<<"$(tr -d '\n' <<<"$system" | sed 's/\\n/ /g')"
same "hard rules first and last, soft ones once" '2 1' \
    "$(grep -o 'Be exact' <<<"$system" | wc -l) $(grep -o 'in verse' <<<"$system" | wc -l)"
same "rules that can be kept: no line" 0 "$(grep -c 'the rule' "$out" "$err" | awk -F: '{ n += $2 } END { print n }')"
budget 'limits: { maxTurns: 0, maxToolCalls: 0 }' 200000
same "no limit: none is told" 0 "$(requests '.body.messages[0].content' | grep -c 'may take at most')"
faulty() { # RULES
    cat >"$space/chela.yaml" <<YAML
agents: { list: [{ id: main, model: scripted/demo, context: { rules: $1 } }] }
YAML
    chela run --no-session hello
}
faulty '["Call `web_search` before you answer.", "Never use the `ban_user` tool.", "Use snake_case names."]'
exits "a rule names a tool that is not there: it runs" 0
same "the line names rule and tool, once" 1 \
    "$(grep -c 'warning: the rule "Call `web_search` before you answer." names the tool web_search, which the agent does not have' "$err")"
same "a rule that forbids a tool may name any" 1 "$(grep -c 'the rule' "$err")"
faulty '["Always use `exec` to count.", "Never call `exec`.", "必须先调用 `read`。", "不要使用 `read`。"]'
exits "two rules contradict each other: it runs" 0
check "the line names both rules" grep -q 'the rules "Always use `exec` to count." and "Never call `exec`." contradict each other about the tool exec' "$err"
same "in Chinese, too; each pair once" 2 "$(grep -c 'contradict each other' "$err")"
echo 'Always use `exec`, or never.' >"$tmp/said"
chela chat --no-session <"$tmp/said"
check "chat: the line" grep -q 'contradict each other about the tool exec' "$err"

cat >"$space/chela.yaml" <<YAML
agents: { defaults: { compaction: { mode: maybe } } }
YAML
chela run --config "$space/chela.yaml" hello
exits "no such mode" 2

tap_done

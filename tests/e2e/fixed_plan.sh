#!/usr/bin/env bash
# Plans that a person wrote: steps, conditions, questions to the model, the answer;
# what is wrong with a file; kill -9 in the middle.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
# shellcheck disable=SC2016 # references of plans
program=$(realpath "$program")

cat >"$space/tool" <<'SCRIPT'
#!/bin/sh
input=$(cat)
echo "$1 $input" >>calls
case $1 in
count) echo '{"open": 7, "names": ["ann", "bob"]}' ;;
fail) echo broken >&2; exit 1 ;;
hold) touch held; while [ ! -e go ]; do sleep 0.05; done; echo held ;;
*) echo "$1 done: $input" ;;
esac
SCRIPT
chmod +x "$space/tool"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: 'Is this urgent[^$]*the house burns' }, say: '{"action":"answer","answer":{"urgent":true},"explanation":"so it is"}' }
  - { when: { user: 'Is this urgent' }, say: '{"action":"answer","answer":{"urgent":false},"explanation":"so it is"}' }
  - { when: { user: 'Count (ann|nobody)' }, say: '{"action":"answer","answer":"counted {{1}}","explanation":"so it is"}' }
  - { say: "in my words" }
YAML
configure() { # PLAN: the lines of a plan on stdin
    cat >"$space/plan.yaml"
    cat >"$space/chela.yaml" <<YAML
sandbox: { mode: off }
agents: { list: [{ id: main, model: scripted/rules.yaml, plan: plan.yaml }] }
tools:
  custom:
$(for tool in count page ticket fail hold; do
        echo "    - { name: $tool, description: Tool $tool., command: [./tool, $tool], effect: ${effect:-once}, permission: read, parameters: { type: object } }"
    done)
YAML
    rm -f "$space/calls"
}
plan='[.[] | select(.type == "plan")] | last | [.steps[].status] | join(" ")'

configure <<'YAML'
steps:
  - { id: 1, tool: count, input: {} }
  - { id: 2, ask: 'Is this urgent? $request' }
  - { id: 3, tool: page, input: { text: $request }, when: $step_2_result.urgent }
  - { id: 4, tool: ticket, input: { text: $request, open: $step_1_result.open }, when: [{ value: $step_2_result.urgent, equals: false }, { value: $step_1_result.open, above: 5 }] }
  - { id: 5, tool: page, input: { late: true }, needs: [4], when: { value: $step_1_result.names, contains: zoe } }
  - { id: 6, tool: ticket, input: { after: "$step_5_result" } }
answer: ["$step_3_result", "$step_4_result"]
YAML
chela config check
exits "config check" 0
chela run --output jsonl 'the house burns, $step_1_result'
exits "a branch" 0
events_are_well_formed "a branch"
holds "a branch: the others are skipped" "($plan) == \"done done done skipped skipped skipped\""
same "a branch: the calls" 'count {}|page {"text":"the house burns, $step_1_result"}' "$(paste -sd '|' "$space/calls")"
holds "a branch: the answer is a result, as it is" '.[-1].text | startswith("page done: ")'
holds "a branch: the model is asked once" '[.[] | select(.type == "model_request")] | length <= 1'
rm "$space/calls"
chela run --output jsonl 'a light is out'
holds "the other branch" "($plan) == \"done done skipped done skipped skipped\""
same "the other branch: values keep their type" 'count {}|ticket {"text":"a light is out","open":7}' "$(paste -sd '|' "$space/calls")"
holds "the other branch: its answer" '.[-1].text | startswith("ticket done: ")'

# Without an answer the model writes it; questions see results.
configure <<'YAML'
steps:
  - { step_id: 1, tool_name: count, tool_input: {}, description: Count., depends_on: [] }
  - { id: 2, ask: "Count $step_1_result.names[0]" }
YAML
chela run --output jsonl hello
holds "without an answer: the model's" '.[-1].text == "in my words"'
holds "a question with a result" '[.[] | select(.type == "tool_result" and .name == "think_step") | .content] == ["counted ann"]'

# Failures: dependents are left out, nothing is tried otherwise.
configure <<'YAML'
steps:
  - { id: 1, tool: fail, input: {} }
  - { id: 2, tool: page, input: { x: $step_1_result } }
  - { id: 3, tool: count, input: {} }
  - { id: 4, tool: ticket, input: { x: $step_3_result.missing.place } }
YAML
chela run --output jsonl hello
exits "failures" 0
holds "failures: what became of each" "($plan) == \"failed pending done pending\""
same "failures: nothing else was called" "count fail" "$(cut -d' ' -f1 "$space/calls" | sort | paste -sd ' ')"
holds "failures: the model answers" '.[-1].text == "in my words"'

# What is wrong with a file.
wrong() { # NAME PATTERN
    configure
    chela config check
    exits "$1" 2
    check "$1: said so" grep -qE "$2" "$err"
}
wrong "an unknown key" "plan.yaml:2:[0-9]+: unknown key 'tol'" <<<$'steps:\n  - { id: 1, tol: count }'
wrong "neither tool nor question" "plan.yaml:2:[0-9]+: a step has either" <<<$'steps:\n  - { id: 1, input: {} }'
wrong "a circle" "plan.yaml: .*wait for each other" <<<$'steps:\n  - { id: 1, tool: count, needs: [2] }\n  - { id: 2, tool: count, needs: [1] }'
wrong "a step that is not there" "plan.yaml: .*names step 9" <<<$'steps:\n  - { id: 1, tool: count, when: $step_9_result }'
wrong "a condition that is none" "plan.yaml: .*when: expected" <<<$'steps:\n  - { id: 1, tool: count }\n  - { id: 2, tool: count, when: { value: $step_1_result, is: 3 } }'
wrong "the request in a command" "plan.yaml: .*step 1: the request must not stand in a command line" <<<$'steps:\n  - { id: 1, tool: exec, input: { command: "echo $request" } }'
wrong "a result in a command" "plan.yaml: .*step 2: a result must not stand in a command line" <<<$'steps:\n  - { id: 1, tool: count }\n  - { id: 2, tool: exec, input: { command: "echo $step_1_result" } }'
wrong "no steps" "plan.yaml:1:1: a plan is a mapping with a list" <<<'{ answer: x }'
wrong "bad YAML" "plan.yaml:" <<<$'steps: [\n'
printf 'agents: { list: [{ id: main, model: scripted/rules.yaml, mode: react, plan: plan.yaml }] }\n' >"$space/chela.yaml"
chela config check
exits "another mode" 2
check "another mode: said so" grep -q 'needs the mode plan' "$err"
configure <<<$'steps:\n  - { id: 1, tool: no_such_tool }'
chela run hello
exits "a tool that is not there" 1
check "a tool that is not there: one line" grep -q "there is no tool 'no_such_tool'" "$err"

# kill -9 in the middle: what is done stays done.
effect="read"
configure <<'YAML'
steps:
  - { id: 1, tool: count, input: {} }
  - { id: 2, tool: hold, input: { n: $step_1_result.open } }
  - { id: 3, tool: ticket, input: { text: $request, held: $step_2_result } }
answer: $step_3_result
YAML
rm -f "$space/held" "$space/go"
# shellcheck disable=SC2016
(cd "$space" && with_env sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/pid" \
    "$program" run --session k --store sqlite:./k.db "the request" >"$tmp/killed" 2>&1 </dev/null) &
background=$!
for _ in {1..400}; do [ -e "$space/held" ] && break; sleep 0.05; done
kill -KILL "$(cat "$tmp/pid")"
wait $background 2>/dev/null
touch "$space/go"
chela sessions resume k --store sqlite:./k.db
exits "kill -9: resumed" 0
check "kill -9: the answer" grep -q 'ticket done: {"text":"the request","held":"held' "$out"
same "kill -9: what was done is not done again" "1" "$(grep -c '^count' "$space/calls")"
tap_done

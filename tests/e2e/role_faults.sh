#!/usr/bin/env bash
# Roles that stumble do not end a run, every role is told the constraints of its
# agent, and the reflector sees what an answer rests on.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

said() { jq -rs 'last | .text' "$out"; }
warned() { jq -rs '[.[] | select(.type == "warning") | .text] | join("\n")' "$out"; }
run() { # MODE FILE [FLAG...]: rules on standard input
    cat >"$space/$2.yaml"
    local mode=$1 file=$2
    shift 2
    chela run --no-session --model "scripted/$file.yaml" --mode "$mode" --output jsonl "$@" "what is six times seven?"
}
good='{"evaluation":{"completeness":{"score":5,"reason":"r"},"correctness":{"score":5,"reason":"r"},"format":{"score":5,"reason":"r"}},"overall_pass":true,"action":"accept","retry_details":{}}'
plan='{"analysis":"a","plan":[{"step_id":1,"description":"multiply","tool_name":"calculate","tool_input":{"expression":"6*7"},"depends_on":[]}],"estimated_steps":1,"can_parallelize":[]}'

# --- no answer that can be used
run plan prose <<'YAML'
rules:
  - { when: { system: "^You are a planner" }, say: "I would first think about it." }
  - { say: "Forty-two." }
YAML
exits "a planner that only talks" 0
same "a planner that only talks: the model answers" "Forty-two." "$(said)"
check "a planner that only talks: the run says so" grep -q 'the planner gave no answer.*without a plan' <<<"$(warned)"
run plan verdict <<YAML
rules:
  - { when: { system: "^You are a planner" }, say: '$plan' }
  - { when: { system: "^You judge" }, say: "Looks fine to me." }
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
exits "a judge that only talks" 0
same "a judge that only talks, a plan without an action: the result counts" "It is 42." "$(said)"
check "a judge that only talks: the run says so" grep -q 'the reflector gave no answer.*accepted unjudged' <<<"$(warned)"
run route nowhere <<'YAML'
rules:
  - { when: { system: "^You are a router" }, say: "The calculator, I think." }
  - { say: "Forty-two." }
YAML
exits "a router that only talks" 0
same "a router that only talks: the agent answers" "Forty-two." "$(said)"
run plan repaired <<YAML
rules:
  - { when: { system: "^You are a planner", user: "not of the required form" }, say: '$plan' }
  - { when: { system: "^You are a planner" }, say: "Sure." }
  - { when: { system: "^You judge" }, say: '$good' }
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
same "a malformed reply is asked for again" "It is 42." "$(said)"
same "a malformed reply is asked for again: nobody is warned" "" "$(warned)"

# --- an executor that answers the step, and not in the form of its role
cat >"$space/ask.plan" <<'YAML'
steps:
  - { id: 1, ask: 'Is this urgent? Answer with JSON.' }
  - { id: 2, ask: Why? }
  - { id: 3, ask: Who? }
answer: '$step_1_result.urgent, $step_2_result, $step_3_result'
YAML
cat >"$space/asked.yaml" <<'YAML'
rules:
  - { when: { user: Is this urgent }, say: '{"urgent": false}' }
  - { when: { user: 'Why.' }, say: "No reason." }
  - { when: { user: 'Who.' }, say: '{"answer": "Me", "explanation": "e"}' }
YAML
printf 'agents: { defaults: { plan: ask.plan } }\n' >"$space/chela.yaml"
chela run --no-session --model scripted/asked.yaml --output jsonl "a question"
exits "an executor that answers the step" 0
same "an executor that answers the step: its words count" "false, No reason., Me" "$(said)"
holds "an executor that answers the step: it is asked once more, and the run says so" \
    '([.[] | select(.type == "model_request")] | length == 5) and ([.[] | select(.type == "warning" and (.text | contains("text of the executor")))] | length == 2)'
rm "$space/chela.yaml"

# --- a router prompt without a head, as a person would write it
mkdir -p "$space/prompts/router"
cat >"$space/prompts/router/v2.0.txt" <<'TXT'
You are a request router. Your ONLY job is to select the appropriate tool.

## Available Tools
{tool_descriptions}

## Output Format (strict JSON)
{{ "reasoning": "...", "tool_name": "...", "tool_input": {{}}, "confidence": 0.0 }}
TXT
cat >"$space/chela.yaml" <<'YAML'
prompts: { dir: ./prompts, pin: { router: "2.0" } }
YAML
chela config check
exits "a router prompt of one's own: config check" 0
run route own <<'YAML'
rules:
  - { when: { system: "request router.*calculate", user: "six times seven" }, say: '{"reasoning":"r","tool_name":"calculate","tool_input":{"expression":"6*7"},"confidence":0.9}' }
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
exits "a router prompt of one's own: it routes" 0
same "a router prompt of one's own: the tool is called" "It is 42." "$(said)"
rm -r "$space/prompts" "$space/chela.yaml"

# --- what an agent is bound by, its roles are told
echo 'Numbers are written in words.' >"$space/AGENTS.md"
cat >"$space/chela.yaml" <<'YAML'
agents: { defaults: { systemPrompt: Speak like a pirate., context: { rules: [Never delete a file.] }, reflection: { when: explicit } } }
YAML
bound='## Constraints.*Speak like a pirate.*Never delete a file.*Safety.*Numbers are written in words'
run plan bound <<YAML
rules:
  - { when: { system: "^You are a planner.*$bound" }, say: '$plan' }
  - { when: { system: "^You judge.*$bound" }, say: '$good' }
  - { when: { system: "## Instructions.Speak like a pirate", user: "plan was carried out" }, say: "Arr, {{result.calculate}}." }
  - { say: "told too little" }
YAML
same "planner, reflector and model know the constraints" "Arr, 42." "$(said)"
run route bound_route <<'YAML'
rules:
  - { when: { system: "^You are a router.*Speak like a pirate.*## Constraints.*Never delete a file.*Numbers are written" }, say: '{"reasoning":"r","tool_name":"none","tool_input":{},"confidence":0.9,"question":"told enough"}' }
  - { say: "told too little" }
YAML
same "the router knows the constraints" "told enough" "$(said)"

# --- the judge sees the results, and the next attempt sees why
run react evidence <<YAML
rules:
  - { when: { system: "^You judge", user: "It is 42 now" }, say: '$good' }
  - { when: { system: "^You judge", user: "tool_results.*calculate.*42" }, say: '{"evaluation":{"completeness":{"score":5,"reason":"r"},"correctness":{"score":1,"reason":"the tool gave another number"},"format":{"score":5,"reason":"r"}},"overall_pass":false,"action":"replan","retry_details":{}}' }
  - { when: { system: "^You judge" }, say: '$good' }
  - { when: { user: "the tool gave another number" }, say: "It is 42 now." }
  - { when: { after: calculate }, say: "It is 43." }
  - { call: { tool: calculate, args: { expression: "6*7" } } }
YAML
same "the judge compares with the results, its reason reaches the next attempt" "It is 42 now." "$(said)"
tap_done

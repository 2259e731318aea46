#!/usr/bin/env bash
# Replies of roles in the forms that models and prompts of people use: other names, bare lists, texts as
# inputs, comments, the way out alone. What was read, and how, is in the trace.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

said() { jq -rs 'last | .text' "$out"; }
ran() { jq -rs '[.[] | select(.type == "tool_start") | .name] | join(" ")' "$out"; }
asked() { jq -rs '[.[] | select(.type == "model_request" and .role == "'"$1"'")] | length' "$out"; }
run() { # MODE FILE [FLAG...]: rules on standard input
    cat >"$space/$2.yaml"
    local mode=$1 file=$2
    shift 2
    chela run --model "scripted/$file.yaml" --mode "$mode" --output jsonl "$@" "what is six times seven?"
}
good='{"evaluation":{"completeness":{"score":5,"reason":"r"},"correctness":{"score":5,"reason":"r"},"format":{"score":5,"reason":"r"}},"action":"accept"}'

# --- a plan
run plan list --store sqlite:a.db --session list <<YAML
rules:
  - when: { system: "^You are a planner" }
    say: '[{"step_id":1,"tool":"calculate","input":"6*7","depends_on":[]},{"step_id":2,"tool":"calculate","input":"\$step_1_result+1","depends_on":[1]}]'
  - { when: { system: "^You judge" }, say: '{"completeness":5,"correctness":5,"format":5}' }
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
exits "a bare list of steps" 0
same "a bare list of steps: its texts are the inputs of the tools" "It is 43." "$(said)"
same "a bare list of steps: the planner is asked once" 1 "$(asked planner)"
same "bare scores: the reflector is asked once" 1 "$(asked reflector)"
chela trace list --store sqlite:a.db --json
check "the trace tells how a plan was read" grep -q 'tool_input is a text, and is taken for expression' "$out"
check "the trace tells how scores were read" grep -q 'scores without evaluation around them' "$out"

run plan wrong <<YAML
rules:
  - { when: { system: "^You are a planner", user: "expression" }, say: '[{"tool":"calculate","input":{"expression":"6*7"}}]' }
  - { when: { system: "^You are a planner" }, say: '[{"tool":"calculate","input":{"expression":"1"}},{"tool":"calculate","input":{"formula":"6*7","places":2}}]' }
  - { when: { system: "^You judge" }, say: '$good' }
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
exits "a step that its tool does not take" 0
same "a step that its tool does not take: the planner mends it before anything runs" "make_plan calculate" "$(ran)"
same "a step that its tool does not take: the answer" "It is 42." "$(said)"

run plan never <<'YAML'
rules:
  - { when: { system: "^You are a planner" }, say: '[{"tool":"calculate","input":{"expression":"1"}},{"tool":"calculate","input":{"formula":"6*7"}}]' }
  - { say: "Forty-two." }
YAML
exits "a plan that stays wrong" 0
same "a plan that stays wrong: no step of it runs" "" "$(ran)"
same "a plan that stays wrong: the model answers" "Forty-two." "$(said)"

run plan question <<'YAML'
rules:
  - { say: '{"action": "clarify", "question": "Which numbers?"}' }
YAML
exits "a planner that only asks back" 6
same "a planner that only asks back: its question is the answer" "Which numbers? clarification" "$(said) $(jq -rs 'last | .reason' "$out")"

# --- a route
run route names <<'YAML'
rules:
  - when: { system: "^You are a router" }
    say: |
      Let me think about {it}.
      ```json
      {
        "tool": "calculate",        # the tool
        "input": "6*7",             // its "input"
        "confidence": 0.9,
      }
      ```
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
exits "a router with other names and comments" 0
same "a router with other names and comments: the tool is called" "It is 42. 1" "$(said) $(asked router)"

run route none <<'YAML'
rules:
  - { say: '{"reasoning":"INTERNAL doubt","tool_name":"none","tool_input":{},"confidence":0.9}' }
YAML
exits "a router that finds nothing" 6
check "a router's reasoning is not an answer" test "$(said | grep -c INTERNAL)" = 0

# --- a megabyte of nothing
{
    printf 'rules:\n  - when: { system: "^You are a planner" }\n    say: "'
    head -c 1000000 /dev/zero | tr '\0' '{'
    printf '"\n  - { say: "Forty-two." }\n'
} >"$space/long"
run plan long <"$space/long"
exits "a planner that talks for a megabyte" 0
same "a planner that talks for a megabyte: the model answers" "Forty-two." "$(said)"

# --- the reminder and the rules that fit
cat >"$space/chela.yaml" <<'YAML'
agents:
  defaults:
    context:
      reminder: Answer in verse.
      rules: [One., Two., Three., Four., Five., Six., Seven., Products of numbers like seven are always rounded.]
YAML
run plan bound <<YAML
rules:
  - { when: { system: "^You are a planner.*always rounded.*Answer in verse" }, say: '[{"tool":"calculate","input":"6*7"}]' }
  - { when: { system: "^You judge.*Answer in verse" }, say: '$good' }
  - { when: { user: "plan was carried out.*always rounded.*Answer in verse" }, say: "Fine." }
  - { say: "told too little" }
YAML
same "planner, reflector and the answer of a plan know reminder and rules" "Fine." "$(said)"
run route bound_route <<'YAML'
rules:
  - { when: { system: "^You are a router.*always rounded.*Answer in verse" }, say: '{"tool":"calculate","input":"6*7"}' }
  - { when: { user: "plan was carried out.*always rounded.*Answer in verse" }, say: "Fine." }
  - { say: "told too little" }
YAML
same "router and the answer of a route know reminder and rules" "Fine." "$(said)"
tap_done

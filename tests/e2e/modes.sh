#!/usr/bin/env bash
# Plan mode from the command line: the scripted model plays every role, and the
# rules tell them apart by their prompts.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

step() { # NUMBER TOOL INPUT NEEDS
    printf '{"step_id":%s,"description":"step %s","tool_name":"%s","tool_input":%s,"depends_on":[%s]}' "$1" "$1" "$2" "$3" "$4"
}
plan() { # STEP...
    local all
    all=$(IFS=,; printf '%s' "$*")
    printf '{"analysis":"a","action":"plan","plan":[%s],"estimated_steps":1,"can_parallelize":[]}' "$all"
}
scores() { # COMPLETENESS CORRECTNESS FORMAT ACTION [DETAILS]
    printf '{"evaluation":{"completeness":{"score":%s,"reason":"r"},"correctness":{"score":%s,"reason":"r"},"format":{"score":%s,"reason":"r"}},"overall_pass":true,"action":"%s"%s}' "$1" "$2" "$3" "$4" "$5"
}

sums=$(plan "$(step 1 calculate '{"expression":"2+2"}' '')" "$(step 2 calculate '{"expression":"1+2"}' '')" \
    "$(step 3 calculate '{"expression":"$step_1_result * $step_2_result"}' '1,2')" "$(step 4 none '{}' 3)")

cat >"$space/plan.yaml" <<YAML
rules:
  - { when: { system: "^You are a planner" }, say: '$sums' }
  - { when: { system: "^You carry out one step" }, say: '{"action":"answer","answer":"twelve","explanation":"e"}' }
  - { when: { system: "^You judge" }, say: '$(scores 5 5 5 accept)' }
  - { when: { user: "plan was carried out" }, say: "It is {{result.think_step}}." }
YAML

chela run --model scripted/plan.yaml --mode plan "2+2 times 3"
exits "a plan as text" 0
check "a plan as text: the answer" grep -qx 'It is twelve.' "$out"
check "a plan as text: a checklist" test "$(grep -c '^\[plan\] \[ \]' "$err") $(grep -c '^\[plan\] \[x\]' "$err")" = "4 4"
check "a plan as text: the judgement" grep -q '^\[reflection\] accept (complete 5' "$err"
chela run --model scripted/plan.yaml --mode plan --output jsonl "2+2 times 3"
exits "a plan" 0
holds "a plan: one run" '[.[] | select(.type == "run_start" or .type == "run_end")] | length == 2'
holds "a plan: its mode is told" '.[0].mode == "plan"'
holds "a plan: the answer" '.[-1].text == "It is twelve." and .[-1].reason == "task_completed"'
holds "a plan: steps run once each, after what they need" \
    '[.[] | select(.type == "tool_start") | .id] | .[1:] | (.[:2] | sort) == ["plan_1_s1","plan_1_s2"] and .[2:] == ["plan_1_s3","plan_1_s4"]'
holds "a plan: results are put in by value" \
    '[.[] | select(.type == "tool_call" and .id == "plan_1_s3")][0].arguments.expression == "4 * 3"'
holds "a plan: it is shown before it begins, and when all is done" \
    '[.[] | select(.type == "plan") | [.steps[].status]] | .[0] == ["pending","pending","pending","pending"] and .[-1] == ["done","done","done","done"]'
holds "a plan: it is judged" '[.[] | select(.type == "reflection")] | length == 1 and .[0].action == "accept" and .[0].scores.correctness == 5'
holds "a plan: who was asked" '[.[] | select(.type == "model_request") | .role] == ["planner","executor","reflector",null]'
holds "a plan: what roles used is counted" \
    '([.[] | select(.type == "turn_end") | .usage.input] | add) == .[-1].usage.input and .[-1].usage.input > 0'
holds "a plan: seq has no gaps" '[.[].seq] == [range(length)]'

# A plan that cannot be carried out goes back with what is wrong, three times at most.
cat >"$space/bad.yaml" <<YAML
rules:
  - { when: { system: "^You are a planner", user: "no tool .fly." }, say: '$(plan "$(step 1 calculate '{"expression":"6*7"}' '')")' }
  - { when: { system: "^You are a planner", user: "never" }, say: '$(plan "$(step 1 walk '{}' '')")' }
  - { when: { system: "^You are a planner" }, say: '$(plan "$(step 1 fly '{}' '')")' }
  - { when: { system: "^You judge" }, say: '$(scores 4 4 4 accept)' }
  - { when: { user: "plan was carried out" }, say: "{{result.calculate}}" }
  - { say: "without a plan" }
YAML
chela run --model scripted/bad.yaml --mode plan --output jsonl "6*7"
exits "a bad plan" 0
holds "a bad plan: the planner is told and makes another" '.[-1].text == "42" and ([.[] | select(.role? == "planner")] | length == 2)'
chela run --model scripted/bad.yaml --mode plan --output jsonl "never"
exits "only bad plans" 0
holds "only bad plans: the run goes on without one and says why" \
    '.[-1].text == "without a plan" and any(.[]; .type == "warning" and (.text | test("no tool .walk."))) and ([.[] | select(.role? == "planner")] | length == 3)'

# The exits of the planner.
cat >"$space/exits.yaml" <<'YAML'
rules:
  - { when: { user: "tidy" }, say: '{"analysis":"a","action":"clarify","plan":[],"estimated_steps":0,"can_parallelize":[],"question":"What is to be tidied up?"}' }
  - { say: '{"analysis":"a","action":"refuse","plan":[],"estimated_steps":0,"can_parallelize":[],"reason":"No tool can do that."}' }
YAML
chela run --model scripted/exits.yaml --mode plan "tidy up"
exits "an unclear request" 6
check "an unclear request: the question is the answer" grep -qx 'What is to be tidied up?' "$out"
chela run --model scripted/exits.yaml --mode plan --output jsonl "fly to the moon"
holds "a request that cannot be met" '.[-1].reason == "refused" and .[-1].text == "No tool can do that."'

# The scores decide. A 2 is never accepted, whatever the judge proposes: the step is done again as it says, then
# a person is asked.
cat >"$space/wrong.yaml" <<YAML
rules:
  - { when: { system: "^You are a planner" }, say: '$(plan "$(step 1 calculate '{"expression":"1"}' '')" "$(step 2 calculate '{"expression":"$step_1_result+1"}' 1)")' }
  - { when: { system: "^You carry out one step" }, say: '{"action":"call","tool_call":{"name":"calculate","arguments":{"expression":"5"}},"explanation":"e"}' }
  - { when: { system: "^You judge", user: "doubt" }, say: '$(scores 5 3 5 accept ',"retry_details":{"step_id":1,"modification":"try five"}')' }
  - { when: { system: "^You judge" }, say: '$(scores 5 2 5 accept ',"retry_details":{"step_id":1,"modification":"try five"},"question":"Which number?"')' }
  - { when: { user: "plan was carried out" }, say: "{{result.calculate}}" }
YAML
chela run --model scripted/wrong.yaml --mode plan --output jsonl "a number"
exits "a wrong result: a person has to decide" 6
holds "a wrong result: three more tries, then a question" \
    '([.[] | select(.type == "reflection") | .action] == ["retry_step","retry_step","retry_step","escalate"]) and .[-1].text == "Which number?" and
        .[-1].status == "declined" and .[-1].reason == "escalated"'
holds "a wrong result: the judge was overruled" '[.[] | select(.type == "reflection") | .proposed] | unique == ["accept"]'
holds "a wrong result: the step is done again, and what depends on it" \
    '[.[] | select(.type == "tool_call" and .name == "calculate") | .id] | .[2:4] == ["plan_1_s1_r1","plan_1_s2_r1"]'
holds "a wrong result: with other arguments" '[.[] | select(.type == "tool_call" and .id == "plan_1_s2_r1")][0].arguments.expression == "5+1"'
chela run --model scripted/wrong.yaml --mode plan --output jsonl "doubt"
holds "doubt: one more try, then accepted with a warning" \
    '([.[] | select(.type == "reflection") | .action] == ["retry_step","accept"]) and ([.[] | select(.type == "warning")] | length == 1) and .[-1].text == "6"'

# A person may have to agree; elsewhere than on a terminal the run waits for them.
chela run --model scripted/plan.yaml --mode plan --review-plan --approve ask --output jsonl "2+2 times 3"
exits "a plan to agree to" 5
holds "a plan to agree to: the run waits before any step" \
    '.[-1].reason == "approval_required" and ([.[] | select(.type == "approval_required")][0].arguments.steps | length == 4) and ([.[] | select(.type == "tool_start")] | length == 0)'
chela run --model scripted/plan.yaml --store sqlite:w.db --mode plan --review-plan --approve ask --session w "2+2 times 3"
exits "a plan that waits" 5
check "a plan that waits: how to go on" grep -q 'sessions resume w' "$err"
chela sessions resume --model scripted/plan.yaml --store sqlite:w.db --allow all --output jsonl w
exits "a plan that waited" 0
holds "a plan that waited: its mode is known" '.[0].mode == "plan"'
holds "a plan that waited: it is carried out" '.[-1].status == "done" and ([.[] | select(.type == "tool_result" and .id == "plan_1_s3")] | length == 1)'
chela run --model scripted/plan.yaml --store sqlite:w.db --mode plan --review-plan --approve ask --session w2 "2+2 times 3"
chela sessions show --store sqlite:w.db --json w2
id=$(jq -r '.waiting[0].approval_id' "$out")
chela sessions resume --model scripted/plan.yaml --store sqlite:w.db --refuse "$id" --mode react --output jsonl w2
exits "a plan that was refused: the next one waits, too" 5
holds "a plan that was refused: another was made" '[.[] | select(.type == "model_request") | .role] == ["planner"]'
check "a plan that was refused: the mode stays" grep -q 'continues in mode plan' "$err"
chela sessions export --store sqlite:w.db w2
jq -c 'if .type == "state" then .data |= del(.mode, .asks_plans) else . end' "$out" >"$space/old.jsonl"
check "a journal without modes" grep -q '"type":"state"' "$space/old.jsonl"
chela sessions import --store sqlite:old.db old.jsonl
exits "a journal without modes: it loads" 0
chela sessions resume --model scripted/plan.yaml --store sqlite:old.db --mode plan --allow all --output jsonl w2
exits "a journal without modes: the mode is what is said" 0
holds "a journal without modes: the plan is carried out" '.[0].mode == "plan" and ([.[] | select(.type == "tool_result" and (.id | endswith("_s3")))] | length == 1)'
chela run --model scripted/plan.yaml --mode plan --review-plan --approve auto --output jsonl "2+2 times 3"
exits "a plan that nobody need agree to" 0
chela run --model scripted/plan.yaml --mode plan --review-plan --approve deny --output jsonl "2+2 times 3"
exits "plans that nobody wants" 6
holds "plans that nobody wants: three, then a question" \
    '([.[] | select(.type == "model_request") | .role] == ["planner","planner","planner"]) and (.[-1].text | test("^No plan was accepted"))'

# A session of any mode goes the same way when it is played again.
plays_again() { # NAME RULES KEY FLAG...
    local name=$1 rules=$2 session=$3
    shift 3
    chela run --model "scripted/$rules" --store sqlite:w.db --session "$session" "$@"
    check "to be played again: $name: it ends by itself" test "$status" -lt 128
    chela replay --model "scripted/$rules" --store sqlite:w.db "$session"
    exits "played again: $name" 0
}
chela replay --model scripted/plan.yaml --store sqlite:w.db w
exits "played again: a plan that waited" 0
chela trace --store sqlite:w.db --json w
holds "who was asked is in the trace" '[.[0][] | select(.kind == "model") | .title | split(":")[0] | select(test("^(planner|executor|reflector)$"))] == ["planner","executor","reflector"]'
holds "what roles used is in the trace" \
    '.[0] | ([.[] | select(.kind == "model") | .input] | add) == ([.[] | select(.kind == "end")] | last | .input)'
plays_again "a plan that is mended" wrong.yaml p1 --mode plan "a number"
plays_again "a plan that cannot be made" bad.yaml p2 --mode plan "never"
plays_again "a refusal" exits.yaml p3 --mode plan "fly to the moon"

# Route mode: one call, the planner, or a question.
routed() { # NAME INPUT CONFIDENCE
    printf '{"reasoning":"it fits","action":"route","tool_name":"%s","tool_input":%s,"confidence":%s}' "$1" "$2" "$3"
}
cat >"$space/route.yaml" <<YAML
rules:
  - { when: { system: "^You are a router", user: "simple" }, say: '$(routed calculate '{"expression":"3*3"}' 0.9)' }
  - { when: { system: "^You are a router", user: "complex" }, say: '$(routed planner '{"request":"r"}' 0.8)' }
  - { when: { system: "^You are a router", user: "vague" }, say: '$(routed calculate '{"expression":"1"}' 0.5)' }
  - { when: { system: "^You are a router", user: "invented" }, say: '$(routed abacus '{}' 1)' }
  - { when: { system: "^You are a router", user: "evil" }, say: '{"reasoning":"no","action":"refuse","tool_name":"none","tool_input":{},"confidence":1,"reason":"That must not be done."}' }
  - { when: { system: "^You are a router" }, say: '{"reasoning":"no","action":"clarify","tool_name":"none","tool_input":{},"confidence":0.2,"question":"Which file?"}' }
  - { when: { system: "^You are a planner" }, say: '$sums' }
  - { when: { system: "^You carry out one step" }, say: '{"action":"answer","answer":"twelve","explanation":"e"}' }
  - { when: { system: "^You judge" }, say: '$(scores 5 5 5 accept)' }
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
chela run --model scripted/route.yaml --mode route --output jsonl "simple"
exits "a simple request" 0
holds "a simple request: one call, no planner, no judge" \
    '.[-1].text == "It is 9." and ([.[] | select(.type == "model_request") | .role] == ["router",null])'
chela run --model scripted/route.yaml --mode route --output jsonl "complex"
holds "a complex request goes to the planner" \
    '.[-1].text == "It is 12." and ([.[] | select(.type == "model_request") | .role] == ["router","planner","executor","reflector",null])'
for request in vague invented; do
    chela run --model scripted/route.yaml --mode route --output jsonl "$request"
    holds "$request: a question, and nothing is run" \
        '(.[-1].text | test("What exactly")) and ([.[] | select(.type == "tool_call")] | length == 0)'
done
chela run --model scripted/route.yaml --mode route --output jsonl "something"
holds "the router's own question" '.[-1].text == "Which file?" and .[-1].status == "declined" and .[-1].reason == "clarification"'
exits "the router's own question" 6
plays_again "a request that was routed" route.yaml r1 --mode route "complex"
chela run --model scripted/route.yaml --mode route --output jsonl "evil"
holds "the router refuses" '.[-1].text == "That must not be done." and .[-1].reason == "refused"'

# Reflection without a plan.
cat >"$space/reflect.yaml" <<YAML
rules:
  - { when: { system: "^You judge", user: "seven" }, say: '$(scores 5 5 5 accept)' }
  - { when: { system: "^You judge", user: "failed..true" }, say: '$(scores 2 2 5 retry_step ',"retry_details":{"modification":"read b.txt"}')' }
  - { when: { system: "^You judge" }, say: '$(scores 5 2 5 accept ',"retry_details":{"modification":"say seven"}')' }
  - { when: { user: "say seven" }, say: "seven" }
  - { when: { user: "read b.txt" }, say: "as told" }
  - { when: { user: "a number" }, say: "six" }
  - { when: { user: "a file", after: none }, call: { tool: read, args: { file_path: none.txt } } }
  - { when: { after: read }, say: "no file" }
YAML
reflecting() { # WHEN
    printf 'agents:\n  defaults:\n    model: scripted/reflect.yaml\n    reflection: { when: %s }\n' "$1" >"$space/chela.yaml"
}
reflecting explicit
chela run --output jsonl "a number"
exits "an answer that is judged" 0
holds "an answer that is judged: not before it is good" \
    '.[-1].text == "seven" and ([.[] | select(.type == "reflection") | .action] == ["replan","accept"])'
plays_again "an answer that was judged" reflect.yaml j1 "a number"
reflecting on_error
chela run --output jsonl "a number"
holds "only errors are judged" '.[-1].text == "six" and ([.[] | select(.type == "reflection")] | length == 0)'
chela run --output jsonl "a file"
holds "an error is judged, and the model told" \
    '.[-1].text == "as told" and ([.[] | select(.type == "reflection") | .action] == ["replan"])'

# Reflection of every answer, in a run with a plan and in one whose plan does not come about.
cat >"$space/answered.yaml" <<YAML
rules:
  - { when: { system: "^You are a planner", user: "2.2" }, say: '$sums' }
  - { when: { system: "^You are a planner" }, say: "I would rather not." }
  - { when: { system: "^You carry out one step" }, say: '{"action":"answer","answer":"twelve","explanation":"e"}' }
  - { when: { system: "^You judge", user: "answer...It is 13.*tool_results" }, say: '$(scores 5 2 5 retry_step ',"retry_details":{"step_id":1,"modification":"say twelve"}')' }
  - { when: { system: "^You judge" }, say: '{"evaluation":{"completeness":{"score":5,"reason":"r"},"correctness":{"score":5,"reason":"r"},"format":{"score":5,"reason":"r"}}}' }
  - { when: { user: "say twelve" }, say: "It is 12." }
  - { say: "It is 13." }
YAML
printf 'agents: { defaults: { model: scripted/answered.yaml, mode: plan, reflection: { when: explicit } } }\n' >"$space/chela.yaml"
chela run --output jsonl "2+2 times 3"
exits "plan and answer are judged" 0
holds "plan and answer are judged: the answer once more, then no more" \
    '.[-1].text == "It is 12." and ([.[] | select(.type == "model_request") | .role] == ["planner","executor","reflector",null,"reflector",null,"reflector"])'
chela run --output jsonl "four times 3"
exits "no plan, and the answer is judged" 0
holds "no plan, and the answer is judged: once more, then no more" \
    '.[-1].text == "It is 12." and ([.[] | select(.type == "model_request") | .role] == ["planner","planner",null,"reflector",null,"reflector"])'
rm "$space/chela.yaml"

# Killed in the middle of a plan: what was done is not done again.
printf '#!/bin/sh\necho once >>"%s/count"\necho 1\n' "$space" >"$space/count.sh"
printf '#!/bin/sh\n[ -e "%s/go" ] || sleep 60\necho 2\n' "$space" >"$space/wait.sh"
chmod +x "$space/count.sh" "$space/wait.sh"
cat >"$space/crash.yaml" <<YAML
rules:
  - { when: { system: "^You are a planner" }, say: '$(plan "$(step 1 count '{}' '')" "$(step 2 wait '{}' 1)" "$(step 3 calculate '{"expression":"$step_1_result+$step_2_result"}' '1,2')")' }
  - { when: { system: "^You judge" }, say: '$(scores 5 5 5 accept)' }
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
cat >"$space/chela.yaml" <<YAML
agents: { defaults: { model: scripted/crash.yaml, mode: plan } }
sandbox: { mode: off }
store: sqlite:s.db
tools:
  custom:
    - { name: count, description: counts, command: ["$space/count.sh"] }
    - { name: wait, description: waits, command: ["$space/wait.sh"], effect: read }
YAML
(cd "$space" && believe; cd "$space" && exec env -i PATH="$PATH" HOME="$tmp" ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
    "$program" run --session k --output jsonl "count" >"$tmp/life" 2>/dev/null </dev/null) &
pid=$!
for _ in {1..600}; do
    grep -q '"tool_start".*plan_1_s2' "$tmp/life" && break
    sleep 0.05
done
check "a plan that is cut off: its second step has begun" grep -q '"tool_start".*plan_1_s2' "$tmp/life"
# Events may be told before their records are committed.
for _ in {1..600}; do
    chela sessions export k
    grep -q '"type":"done"' "$out" && break
    sleep 0.05
done
check "a plan that is cut off: the result of its first step is stored" grep -q '"type":"done"' "$out"
kill -9 $pid
wait $pid 2>/dev/null
touch "$space/go"
chela sessions resume --output jsonl k
exits "a plan that was cut off" 0
holds "a plan that was cut off: it goes on, and the planner is not asked again" \
    '.[-1].text == "It is 3." and ([.[] | select(.type == "model_request") | .role] == ["reflector",null])'
check "a plan that was cut off: a step that was done is not done again" \
    test "$(wc -l <"$space/count")" = 1
rm "$space/chela.yaml"

chela run --mode dance hello
exits "an unknown mode" 2
check "an unknown mode: those there are" grep -q 'react' "$err"
tap_done

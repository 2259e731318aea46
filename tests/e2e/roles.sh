#!/usr/bin/env bash
# More of the modes: a plan on the terminal, models for roles, another agent as
# the router's choice, results of one tool judged, steering in the middle of a plan.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
program=$(realpath "$program")

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

# --- a plan is shown, and agreed to, sent back, or changed
cat >"$space/plan.yaml" <<YAML
rules:
  - { when: { system: "^You are a planner", user: "smaller numbers" }, say: '$(plan "$(step 1 calculate '{"expression":"1+1"}' '')")' }
  - { when: { system: "^You are a planner" }, say: '$(plan "$(step 1 calculate '{"expression":"20+22"}' '')")' }
  - { when: { system: "^You judge" }, say: '$(scores 5 5 5 accept)' }
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
screen=$tmp/screen
terminal() { # ANSWER...: each typed when its question is there
    local seen=0 pid
    : >"$screen"
    mkfifo "$tmp/keys"
    (cd "$space" && with_env TERM=xterm timeout -k 5 "$seconds" script -qefc \
        "exec $(printf '%q ' "$program" run --no-session --model scripted/plan.yaml --mode plan --review-plan 'a sum')" /dev/null <"$tmp/keys" >"$screen") &
    pid=$!
    exec 9>"$tmp/keys"
    for answer in "$@"; do
        seen=$((seen + 1))
        for _ in {1..400}; do
            [ "$(grep -o 'Allow?' "$screen" | wc -l)" -ge $seen ] && break
            sleep 0.05
        done
        printf '%s\r' "$answer" >&9
    done
    wait $pid
    exec 9>&-
    rm "$tmp/keys"
}
terminal o
check "a plan on the terminal: it is shown" grep -q '20+22' "$screen"
check "a plan on the terminal: once is yes" grep -q 'It is 42\.' "$screen"
terminal "no, smaller numbers" o
check "a plan on the terminal: no and why sends the planner back" grep -q 'It is 2\.' "$screen"
terminal "e {\"steps\":[$(step 1 calculate '{"expression":"3+4"}' '')]}"
check "a plan on the terminal: changed, it runs as changed" grep -q 'It is 7\.' "$screen"

# --- a model for each role
printf 'rules:\n  - { say: '"'%s'"' }\n' "$(plan "$(step 1 none '{}' '')")" >"$space/planner.yaml"
printf 'rules:\n  - { say: '"'%s'"' }\n' '{"action":"answer","answer":"carried out","explanation":"e"}' >"$space/executor.yaml"
printf 'rules:\n  - { say: '"'%s'"' }\n' "$(scores 5 5 5 accept)" >"$space/reflector.yaml"
printf 'rules:\n  - { say: '"'%s'"' }\n' '{"reasoning":"r","action":"route","tool_name":"planner","tool_input":{},"confidence":1}' >"$space/router.yaml"
printf 'rules:\n  - { say: "own: {{result.think_step}}" }\n' >"$space/own.yaml"
cat >"$space/chela.yaml" <<'YAML'
agents:
  defaults:
    mode: route
    model: scripted/own.yaml
    roles: { router: scripted/router.yaml, planner: scripted/planner.yaml, executor: scripted/executor.yaml, reflector: scripted/reflector.yaml }
YAML
chela run --output jsonl "anything"
exits "a model for each role" 0
holds "a model for each role: each was asked its own" \
    '[.[] | select(.type == "model_request") | (.role // "own") + "=" + (.model | sub(".*/"; "") | sub(".yaml"; ""))] == ["router=router","planner=planner","executor=executor","reflector=reflector","own=own"]'
holds "a model for each role: the answer is the agent's" '.[-1].text == "own: carried out"'

# --- the router's choice is another agent
printf 'rules:\n  - { say: '"'%s'"' }\n' '{"reasoning":"r","action":"route","tool_name":"expert","tool_input":{},"confidence":0.9}' >"$space/router.yaml"
printf 'rules:\n  - { when: { after: none }, call: { tool: calculate, args: { expression: "6*7" } } }\n  - { say: "the expert says {{result}}" }\n' >"$space/expert.yaml"
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
agents:
  list:
    - { id: main, mode: route, model: scripted/own.yaml, roles: { router: scripted/router.yaml } }
    - { id: expert, model: scripted/expert.yaml, systemPrompt: You are an expert in sums. }
YAML
until_idle() {
    for _ in {1..400}; do
        call GET "/api/sessions/$1"
        [ "$(jq -r .status "$out")" = idle ] && return 0
        sleep 0.05
    done
    return 1
}
last='[.transcript[] | select(.role == "assistant")] | last | .content[0].text'
serve
post /api/sessions/r/messages '{"text":"a sum"}'
check "routed to an agent" until_idle r
tells "routed to an agent: its answer is the answer" "$last" "the expert says 42"
stop_serving

# --- the results of one tool are judged
cat >"$space/judge.yaml" <<YAML
rules:
  - { when: { system: "^You judge", user: "42" }, say: '$(scores 5 5 5 accept)' }
  - { when: { system: "^You judge" }, say: '$(scores 5 2 5 retry_step ',"retry_details":{"modification":"take seven"}')' }
  - { when: { user: "take seven", after: none }, call: { tool: calculate, args: { expression: "6*7" } } }
  - { when: { user: "read", after: none }, call: { tool: ls, args: { path: "." } } }
  - { when: { after: none }, call: { tool: calculate, args: { expression: "6*6" } } }
  - { say: "it is {{result}}" }
YAML
printf 'agents: { defaults: { model: scripted/judge.yaml, reflection: { tools: [calculate] } } }\n' >"$space/chela.yaml"
chela run --output jsonl "a product"
exits "results of a tool" 0
holds "results of a tool: judged, and done again" '.[-1].text == "it is 42" and ([.[] | select(.type == "reflection")] | length == 2)'
chela run --output jsonl "read"
holds "results of another tool are not" '[.[] | select(.type == "reflection")] == []'

# --- new words in the middle of a plan
printf '#!/bin/sh\ntouch waits\nwhile [ ! -e go ]; do sleep 0.02; done\necho waited\n' >"$space/waiter"
chmod +x "$space/waiter"
cat >"$space/steer.yaml" <<YAML
rules:
  - { when: { system: "^You are a planner", user: "instead" }, say: '$(plan "$(step 1 calculate '{"expression":"2*2"}' '')")' }
  - { when: { system: "^You are a planner" }, say: '$(plan "$(step 1 t_wait '{}' '')" "$(step 2 calculate '{"expression":"9*9"}' 1)")' }
  - { when: { system: "^You judge" }, say: '$(scores 5 5 5 accept)' }
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents: { list: [{ id: main, mode: plan, model: scripted/steer.yaml }] }
tools: { custom: [{ name: t_wait, description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }] }
YAML
serve
post /api/sessions/s/messages '{"text":"do it"}'
for _ in {1..400}; do [ -e "$space/waits" ] && break; sleep 0.05; done
post /api/sessions/s/messages '{"text":"two times two instead"}'
tells "steered in the middle of a plan" .delivery steer
touch "$space/go"
check "steered in the middle of a plan: it ends" until_idle s
tells "steered in the middle of a plan: a new one is made" "$last" "It is 4."
tells "steered in the middle of a plan: the rest of the old one is not done" '[.transcript[].content[] | select(.type == "tool_call" and .name == "calculate")] | length' 1
stop_serving
tap_done

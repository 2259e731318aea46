#!/usr/bin/env bash
# An agent as a tool of another: results, events, budgets, cancel, consent, and
# what a kill leaves behind.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
program=$(realpath "$program")

cat >"$space/main.yaml" <<'YAML'
rules:
  - { when: { user: "both", after: none }, call: [{ tool: finder, args: { task: "wait for it" } }, { tool: maker, args: { task: "make it" } }] }
  - { when: { user: "hold", after: none }, call: { tool: finder, args: { task: "wait for it" } } }
  - { when: { user: "often", after: none }, call: { tool: finder, args: { task: "small numbers" } } }
  - { when: { user: "often", after: finder, is_error: false }, call: { tool: t_wait, args: {} } }
  - { when: { user: "often", after: t_wait }, call: { tool: finder, args: { task: "small numbers" } } }
  - { when: { user: "consent", after: none }, call: { tool: maker, args: { task: "ask first" } } }
  - { when: { user: "question", after: none }, call: { tool: finder, args: { task: "ask the user" } } }
  - { when: { user: "add", after: none }, call: { tool: finder, args: { task: "add", context: "small numbers" } } }
  - { when: { user: "deep", after: none }, call: { tool: finder, args: { task: "call on" } } }
  - { when: { after: any, is_error: true }, say: "It failed: {{result}}" }
  - { when: { after: any }, say: "I heard: {{result}}" }
YAML
cat >"$space/finder.yaml" <<'YAML'
rules:
  - { when: { user: "wait for it", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "call on", after: none, tools: maker }, call: { tool: maker, args: { task: "call on" } } }
  - { when: { user: "call on", after: none }, say: "nobody to call" }
  - { when: { user: "ask the user", after: none }, call: { tool: ask_user, args: { question: "Which one?" } } }
  - { when: { user: "small numbers", after: none }, call: { tool: calculate, args: { expression: "1+2" } } }
  - { say: "found {{result}}" }
YAML
cat >"$space/maker.yaml" <<'YAML'
rules:
  - { when: { user: "call on", after: none, tools: finder }, call: { tool: finder, args: { task: "call on" } } }
  - { when: { user: "call on", after: none }, say: "nobody to call" }
  - { when: { user: "ask first", after: none }, call: { tool: t_ask, args: { n: 1 } } }
  - { when: { after: none }, call: { tool: t_make, args: {} } }
  - { say: "made {{result}}" }
YAML
printf '#!/bin/sh\ntouch waits\nwhile [ ! -e made ]; do sleep 0.02; done\necho it\n' >"$space/waiter"
printf '#!/bin/sh\necho made >>made.log\ntouch made\necho it\n' >"$space/maker"
printf '#!/bin/sh\necho ran >>asked.log\necho after asking\n' >"$space/asker"
chmod +x "$space/waiter" "$space/maker" "$space/asker"
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents:
  list:
    - { id: main, model: scripted/main.yaml, agents: [finder, maker], tools: { allow: [read] } }
    - { id: frugal, model: scripted/main.yaml, agents: [finder], delegation: { maxChildren: 1 }, tools: { allow: [t_wait] } }
    - { id: finder, description: Finds things., model: scripted/finder.yaml, agents: [maker], tools: { allow: [t_wait, calculate, ask_user] } }
    - { id: maker, description: Makes things., model: scripted/maker.yaml, agents: [finder], tools: { allow: [t_ask, t_make] } }
tools:
  custom:
    - { name: t_wait, description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }
    - { name: t_make, description: Makes., command: [./maker], effect: once, permission: write }
    - { name: t_ask, description: Asks., command: [./asker], effect: once, permission: write, confirm: true, parameters: { type: object } }
YAML

# --- a result, and what is told
chela run --session add --output jsonl "add"
exits "a task" 0
holds "a task: the child's answer is the result" '.[-1].type == "run_end" and .[-1].text == "I heard: found 3"'
holds "a task: one run_end" '[.[] | select(.type == "run_end")] | length == 1'
holds "a task: the run's own seq has no gaps" '[.[] | select(.depth | not) | .seq] | . == [range(length)]'
holds "a task: so has the child's" '[.[] | select(.depth == 1) | .seq] | . == [range(length)]'
holds "a task: who called it" '[.[] | select(.type == "child_start")] | length == 1 and .[0].agent == "finder" and (.[0].session | startswith("add~finder-"))'
holds "a task: it is below the run" '.[0].run as $run | [.[] | select(.depth) | .parent] | unique == [$run]'
holds "a task: what it used is the run's" \
    '([.[] | select(.type == "turn_end") | .usage.input] | add) == .[-1].usage.input and .[-1].turns == 4 and .[-1].tool_calls == 2'
chela trace add --json
holds "a task: its trace has the child's steps, below the call" \
    '.[0] | (map(.kind + ":" + (.depth // 0 | tostring))) == ["input:0","model:0","tool:0","input:1","model:1","tool:1","model:1","end:1","model:0","end:0"]'
chela replay add
exits "a task: played again, it goes the same way" 0
chela run "add"
check "a task as text: what the child does" grep -q '^\[finder\] calculate' "$err"
check "a task as text: only the answer" test "$(cat "$out")" = "I heard: found 3"
chela tools list --json
holds "agents are tools" '[.[0][] | select(.name == "finder" or .name == "maker")] | length == 2'

# --- side by side: the first waits for what the second makes
chela run --session both --output jsonl "both"
exits "two at once" 0
holds "two at once: both answered" '[.[] | select(.type == "tool_result" and (.depth | not)) | .content] | sort == ["found it\n","made it\n"]'
same "two at once: done once" 1 "$(wc -l <"$space/made.log")"

# --- limits are shared
chela run --output jsonl --max-turns 2 "add"
exits "too few turns for both" 3
holds "too few turns: the child was stopped, then the run" \
    '([.[] | select(.type == "child_end")][0].reason == "max_turns_exceeded") and .[-1].reason == "max_turns_exceeded"'
chela run --output jsonl "deep"
exits "deeper and deeper" 0
holds "deeper and deeper: three levels, the last is offered nobody" \
    '([.[] | select(.type == "child_start") | .depth] == [1,2,3]) and ([.[] | select(.type == "child_end" and .depth == 3)][0].text == "nobody to call")'

# --- consent travels up, and the answer down; in another process
chela run --session ask --approve ask --output jsonl "consent"
exits "consent" 5
holds "consent: the run itself asks" '[.[] | select(.type == "approval_required" and (.depth | not))] | length == 1 and .[0].name == "t_ask"'
holds "consent: and waits" '.[-1].reason == "approval_required"'
chela sessions show --json ask
holds "consent: the session names the child's call" '.[0].waiting | length == 1 and .[0].name == "t_ask" and (.[0].child | startswith("ask~maker-"))'
id=$(jq -r '.waiting[0].approval_id' "$out")
chela sessions resume ask --allow ap_none
exits "a decision that nobody asked for" 2
chela sessions resume ask --allow "$id" --output jsonl
exits "consent given" 0
holds "consent given: it ran" '.[-1].text == "I heard: made after asking\n"'
holds "consent given: all turns end here, and are counted once" \
    '([.[] | select(.type == "turn_end") | .usage.input] | length == 4 and add > 0) and ([.[] | select(.type == "turn_end") | .usage.input] | add) == .[-1].usage.input and .[-1].turns == 4 and .[-1].tool_calls == 2'
same "consent given: once" 1 "$(wc -l <"$space/asked.log")"
chela run --session ask2 --approve ask "consent"
chela sessions resume ask2 --refuse all --output jsonl
holds "consent refused: the child was told, and nothing ran" '.[-1].text | test("did not allow")'
same "consent refused: nothing ran" 1 "$(wc -l <"$space/asked.log")"
chela run --continue --approve auto "consent"
check "--continue means the conversation, not the child" grep -q 'after asking' "$out"

# A run in the background, whose process is $pid once the child's tool waits.
begin() { # KEY WORDS [OPTION...]
    rm -f "$space/made" "$space/waits"
    : >"$out"
    # shellcheck disable=SC2016
    (cd "$space" && with_env env --default-signal=INT,TERM sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/pid" \
        "$program" run --session "$1" --output jsonl "${@:3}" "$2" >"$out" 2>"$err" </dev/null) &
    background=$!
    for _ in {1..600}; do [ -e "$space/waits" ] && break; sleep 0.05; done
    pid=$(cat "$tmp/pid")
}

# --- cancel travels down
begin cancel "hold"
kill -INT "$pid"
wait $background
status=$?
exits "cancelled" 4
holds "cancelled: the child has its end" '[.[] | select(.type == "child_end")] | length == 1 and .[0].status == "cancelled"'
holds "cancelled: before the run has" '.[-1].type == "run_end" and .[-1].status == "cancelled"'
chela sessions list --json
holds "cancelled: nothing is left running" '[.[0][] | select(.key | startswith("cancel")) | .status] == ["idle","idle"]'

chela replay cancel
exits "cancelled: played again, it goes the same way" 0
begin cut "often" --agent frugal
kill -INT "$pid"
wait $background
chela replay cut --agent frugal
exits "cancelled in a call: played again, it goes the same way" 0

# --- killed in the middle of a child: it goes on, and nothing is done twice
rm -f "$space/made.log"
sed -i 's/touch made/true/' "$space/maker"
rm -f "$tmp"/.believed* # the program is another one: it is trusted again
begin killed "both"
for _ in {1..600}; do grep -q '"type":"child_end"' "$out" && break; sleep 0.05; done
kill -9 "$pid"
wait $background 2>/dev/null
touch "$space/made"
child=$(jq -r 'select(.type == "child_start" and .agent == "finder") | .run' "$out")
chela sessions resume killed --output jsonl
exits "killed" 0
holds "killed: both results are there" '.[-1].text | test("I heard: ")'
holds "killed: the child goes on as the same run" "[.[] | select(.type == \"child_start\") | .run] == [\"$child\"]"
same "killed: what was done is not done again" 1 "$(wc -l <"$space/made.log")"

# --- killed between two calls of agents: both count
begin frugal "often" --agent frugal
kill -9 "$pid"
wait $background 2>/dev/null
touch "$space/made"
chela sessions resume frugal --agent frugal --output jsonl
exits "one agent too many, in two lives" 0
holds "one agent too many, in two lives: it is not called" \
    '([.[] | select(.type == "child_start")] == []) and (.[-1].text | test("It failed: .*as many agents as it may"))'

# --- killed while it waits, and answered over HTTP by another process
serve --agent main
post /api/sessions/gw/messages '{"text":"consent"}'
answers "over HTTP" 202
until_waits() {
    for _ in {1..400}; do
        call GET /api/approvals
        [ "$(jq '.approvals | length' "$out" 2>/dev/null)" = "$1" ] && return 0
        sleep 0.05
    done
    return 1
}
check "over HTTP: one call waits, under the conversation" until_waits 1
tells "over HTTP: it is the child's" '.approvals[0] | .session + " " + .name' "gw t_ask"
stop_serving 9
wait
serve --agent main
check "after a kill: it still waits" until_waits 1
id=$(jq -r '.approvals[0].approval_id' "$out")
post "/api/approvals/$id" '{"decision":"allow-once"}'
answers "after a kill: the decision" 200
tells "after a kill: goes on" .resumed true
until_status() {
    for _ in {1..400}; do
        call GET "/api/sessions/$1"
        [ "$(jq -r .status "$out" 2>/dev/null)" = "$2" ] && return 0
        sleep 0.05
    done
    return 1
}
check "after a kill: to the end" until_status gw idle
tells "after a kill: with the child's answer" '[.transcript[] | select(.role == "assistant")] | last | .content[0].text == "I heard: made after asking\n"' true
check "after a kill: nothing waits any more" until_waits 0

# --- a question of the child, answered in the conversation
post /api/sessions/q/messages '{"text":"question"}'
check "a question" until_status q paused
tells "a question: in the conversation" '.waiting | length == 1 and .[0].name == "ask_user"' true
id=$(jq -r '.waiting[0].id' "$out")
post /api/sessions/q/messages "{\"results\":[{\"id\":\"$id\",\"content\":\"the red one\"}]}"
answers "a question: answered" 202
check "a question: it goes on" until_status q idle
tells "a question: the child heard it" '[.transcript[] | select(.role == "assistant")] | last | .content[0].text' "I heard: found the red one"
stop_serving

chela sessions delete add
chela sessions list --json
holds "a session is deleted with those below it" '[.[0][] | select(.key | startswith("add"))] == []'

# --- a file that makes no sense
printf 'agents: { list: [{ id: a, agents: [b] }] }\n' >"$space/bad.yaml"
chela run --config bad.yaml hello
exits "an agent that is not there" 2
check "an agent that is not there: which" grep -q "bad.yaml:1.*agents: there is no agent 'b'" "$err"
printf 'agents: { list: [{ id: a, agents: [a] }] }\n' >"$space/bad.yaml"
chela run --config bad.yaml hello
exits "an agent that calls itself" 2
tap_done

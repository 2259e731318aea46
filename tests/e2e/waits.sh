#!/usr/bin/env bash
# Runs that wait in the store: for a time (wait_until, called by a model, by steps of a plan and by
# a sub-agent), and between two attempts of a retry policy. Killed in the wait, woken late, woken by another gateway, each time once; with SQLite,
# and with two gateways on PostgreSQL and on Redis.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh

program=$(realpath "$program")
trap 'for p in "$pid_a" "$pid_b"; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT

# Each attempt adds a line to the file of the tool; an attempt fails while the file `fails` has
# more lines than that.
attempt='n=$(wc -l <"$0.tries"); echo x >>"$0.tries"; cat >/dev/null; [ "$n" -ge "$(cat "$0.good")" ] || exit 75; echo "attempt $((n + 1))"'
configure() { # NODE STORE
    mkdir -p "$tmp/$1"
    cat >"$tmp/$1/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^sleep", after: none }, call: { tool: wait_until, args: { seconds: 7 } } }
  - { when: { user: "^rest", after: none }, call: { tool: wait_until, args: { seconds: 3000 } } }
  - { when: { user: "^ship", after: none }, call: { tool: ship, args: {} } }
  - { when: { user: "^ask", after: none }, call: { tool: look, args: {} } }
  - { when: { user: "^late", after: none }, call: { tool: late, args: {} } }
  - { when: { user: "^break", after: none }, call: { tool: broken, args: {} } }
  - { when: { user: "^hang", after: none }, call: { tool: hang, args: {} } }
  - { when: { user: "^team", after: none }, call: { tool: helper, args: { task: "nap" } } }
  - { when: { user: "nap", after: none }, call: { tool: wait_until, args: { seconds: 7 } } }
  - { when: { after: any }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
    cat >"$tmp/$1/plan.yaml" <<'YAML'
steps:
  - { id: 1, tool: wait_until, input: { seconds: 7 } }
  - { id: 2, tool: wait_until, input: { seconds: 8 } }
  - { id: 3, tool: react_step, input: { task: "nap" } }
  - { id: 4, tool: planned, input: {}, needs: [1, 2, 3] }
answer: "it said: $step_4_result"
YAML
    cat >"$tmp/$1/chela.yaml" <<YAML
store: "$2"
sandbox: { mode: "off" }
wait: { enabled: true }
agents: { list: [{ id: main, model: scripted/rules.yaml, agents: [helper] }, { id: helper, description: Naps., model: scripted/rules.yaml },
    { id: planner, model: scripted/rules.yaml, plan: plan.yaml }] }
approvals: { planned: auto, ship: auto, late: auto, look: auto, broken: auto, hang: auto }
tools:
  custom:
    - { name: planned, description: Is planned., command: [sh, -c, '$attempt', "$tmp/planned"], effect: once, permission: read }
    - { name: ship, description: Ships., command: [sh, -c, '$attempt', "$tmp/ship"], effect: once, permission: read,
        retry: { attempts: 4, backoffSec: 7, maxBackoffSec: 7 } }
    - { name: look, description: Looks., command: [sh, -c, '$attempt', "$tmp/look"], effect: read, permission: read,
        retry: { attempts: 9, backoffSec: 0.4, maxBackoffSec: 0.4, deadlineSec: 600 } }
    - { name: late, description: Is late., command: [sh, -c, '$attempt', "$tmp/late"], effect: once, permission: read,
        retry: { attempts: 4, backoffSec: 7, maxBackoffSec: 7, deadlineSec: 8 } }
    - { name: broken, description: Breaks., command: [sh, -c, "echo x >>$tmp/broken.tries; exit 1"], effect: once, permission: read,
        retry: { attempts: 4, backoffSec: 0.1 } }
    - { name: hang, description: Hangs., command: [sh, -c, 'echo x >>"\$0.tries"; [ "\$(wc -l <"\$0.tries")" = 1 ] && exit 75; sleep 60', "$tmp/hang"],
        effect: once, permission: read, timeoutSec: 120, retry: { attempts: 4, backoffSec: 0.1 } }
YAML
}
start() { # NODE: sets pid_NODE and at_NODE, and asks it from now on
    local node=$1 pid='' at=''
    : >"$tmp/$node.log"
    : >"$tmp/$node.pid"
    # shellcheck disable=SC2016
    (cd "$tmp/$node" && with_env CHELA_TOKEN=$token sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/$node.pid" \
        "$program" serve --config chela.yaml --listen 127.0.0.1:0 -v >>"$tmp/$node.log" 2>&1 </dev/null) &
    for _ in {1..400}; do
        at=$(sed -n 's|^.*listening on \(http://[0-9.:]*\).*|\1|p' "$tmp/$node.log")
        [ -n "$at" ] && break
        sleep 0.05
    done
    pid=$(cat "$tmp/$node.pid")
    eval "pid_$node=$pid at_$node=$at"
    gateway=$at
}
kill_node() { # NODE
    eval "kill -9 \$pid_$1; pid_$1="
}
say() { # KEY TEXT
    post "/api/sessions/$1/messages" "{\"text\":\"$2\"}"
}
pauses() { # KEY: for a time
    call GET "/api/sessions/$1"
    grep -qF '"status":"paused"' "$out" && [ "$(jq -r '.status' "$out")" = paused ] && exported "$1" | grep -q '"reason":"timer_pending"'
}
exported() { (cd "$tmp/a" && with_env "$program" sessions export "$1" 2>/dev/null); }
replies() { # KEY WORD: how often the model was told so
    exported "$1" | grep -c "\"type\":\"done\".*$2"
}
replied() { # KEY WORD: the run has ended with it
    status_is "$1" idle && exported "$1" | grep '"role":"assistant"' | grep -q "it said: .*$2"
}
tries() { wc -l 2>/dev/null <"$tmp/$1.tries" | tr -d ' '; }
tried() { [ "$(tries "$1")" -ge "$2" ]; }
waits() { # NAME COMMAND...
    local name=$1
    shift
    if eventually "$@"; then ok "$name"; else not_ok "$name" "$(tail -n 12 "$tmp"/[ab].log; head -c 600 "$out")"; fi
}
reset() { # TOOL GOOD: its first GOOD attempts fail
    : >"$tmp/$1.tries"
    echo "$2" >"$tmp/$1.good"
}

try_store() { # NAME STORE NODES
    local name=$1 nodes=$3
    rm -rf "$tmp/a" "$tmp/b"
    configure a "$2"
    [ "$nodes" = 1 ] || configure b "$2"
    start a

    # --- a time
    say s1 "sleep well"
    waits "$name: the run pauses for its time" pauses s1
    waits "$name: and goes on by itself" replied s1 "The wait is over"
    same "$name: once" 1 "$(replies s1 'The wait is over')"

    reset planned 0
    say s2 "sleep well"
    post /api/sessions/p1/messages '{"text":"as planned","agent":"planner"}'
    waits "$name: it pauses" pauses s2
    waits "$name: a plan pauses, too" pauses p1
    kill_node a
    [ "$nodes" = 1 ] || start b
    [ "$nodes" = 2 ] || { sleep 8; start a; }
    waits "$name: killed in the wait, it goes on" replied s2 "The wait is over"
    same "$name: the wait ends once" 1 "$(replies s2 'The wait is over')"
    waits "$name: a plan whose steps waited goes on" replied p1 "attempt 1"
    same "$name: with one call of its last step" 1 "$(tries planned)"
    [ "$nodes" = 1 ] || start a # from now on both are there

    say s3 "sleep well"
    say s4 "rest"
    waits "$name: two of them pause" pauses s3
    waits "$name: for different times" pauses s4
    same "$name: nobody has to answer a call that waits" '[]' "$(jq -c .waiting "$out")"
    waits "$name: one goes on" replied s3 "The wait is over"
    same "$name: and that once" 1 "$(replies s3 'The wait is over')"
    check "$name: the other one does not" pauses s4
    say s4 "never mind"
    same "$name: a message ends a wait" 202 "$code"
    waits "$name: and is answered" status_is s4 idle
    check "$name: the model knows why" eval "exported s4 | grep -q 'a new message from the user'"

    say s5 "team"
    waits "$name: a run pauses with the agent that it called" pauses s5
    kill_node a
    if [ "$nodes" = 1 ]; then start a; else gateway=$at_b; fi
    waits "$name: and goes on with it" replied s5 "The wait is over"
    [ "$nodes" = 1 ] || start a

    # --- attempts
    reset ship 2
    say r1 "ship it"
    waits "$name: a once call that had no effect waits for its next attempt" pauses r1
    same "$name: after one attempt" 1 "$(tries ship)"
    kill_node a
    if [ "$nodes" = 1 ]; then start a; else gateway=$at_b; fi
    waits "$name: killed in the back-off, it is tried again" replied r1 "attempt 3"
    same "$name: as often as it takes" 3 "$(tries ship)"
    [ "$nodes" = 1 ] || start a

    reset look 4
    say r2 "ask"
    waits "$name: a short back-off" tried look 2
    kill_node a
    start a
    waits "$name: goes on after a kill" replied r2 "attempt"
    check "$name: attempts are counted on" [ "$(tries look)" -le 7 ]

    if [ "$nodes" = 1 ]; then
        reset late 2
        say r5 "late"
        waits "$name: a back-off with a deadline" pauses r5
        kill_node a
        sleep 9
        start a
        waits "$name: no attempt begins after the deadline" replied r5 "deadline of the retry policy has passed"
        same "$name: not one" 1 "$(tries late)"
        say c1 "rest"
        waits "$name: a long wait" pauses c1
        post /api/sessions/c1/cancel '{}'
        same "$name: is cancelled" 202 "$code"
        waits "$name: and over" status_is c1 idle
        kill_node a
        start a
        say c2 "rest"
        waits "$name: another" pauses c2
        kill_node a
        start a
        post /api/sessions/c2/cancel '{}'
        same "$name: is cancelled after a restart" 202 "$code"
        waits "$name: and over, too" status_is c2 idle
    fi

    : >"$tmp/broken.tries"
    say r3 "break it"
    waits "$name: a once call that may have had its effect" replied r3 "exit code 1"
    same "$name: is not repeated" 1 "$(tries broken)"

    : >"$tmp/hang.tries"
    say r4 "hang"
    waits "$name: the second attempt of a once call begins" tried hang 2
    kill_node a
    start a
    waits "$name: killed in it, its outcome is unknown" replied r4 "unknown"
    same "$name: and it is not made again" 2 "$(tries hang)"

    [ -z "$pid_b" ] || kill_node b
    kill_node a
}

try_store SQLite "sqlite:$tmp/chela.db" 1
if start_postgres; then
    try_store PostgreSQL "$postgres" 2
else
    skip "PostgreSQL" "not installed here"
fi
if start_redis; then
    try_store Redis "$redis" 2
else
    skip "Redis" "not installed here"
fi
tap_done

#!/usr/bin/env bash
# Runs that begin by the clock: `chela schedule`, `chela serve`, the tool, and
# agents that wake up by themselves.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
cat >"$space/rules.yaml" <<'YAML'
rules:
  - when: { user: "You wake up.*alarm" }
    say: "There is an alarm."
  - when: { user: "You wake up" }
    say: " HEARTBEAT_OK\n"
  - when: { user: "remind me of (.*) (at [^ ]+)", after: none }
    call: { tool: schedule, args: { action: add, name: reminder, when: "{{2}}", prompt: "tell about {{1}}" } }
  - when: { user: "every second", after: none }
    call: { tool: schedule, args: { action: add, name: often, when: "every 1s", prompt: x } }
  - when: { user: "what is planned", after: none }
    call: { tool: schedule, args: { action: list } }
  - when: { user: "forget it", after: none }
    call: { tool: schedule, args: { action: remove, name: reminder } }
  - when: { after: schedule }
    say: "{{result}}"
  - say: "did: {{user}}"
YAML
config() { # what follows in the file, and in the agent
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml$2 }] }
$1
YAML
}
# in SECONDS, as `at` wants it
in_seconds() {
    date -u -d "@$(($(date +%s) + $1))" +%Y-%m-%dT%H:%M:%SZ
}
# A schedule that is due in a moment: later where this machine is too slow for that.
add_soon() { # NAME PROMPT [FLAG...]
    local wait
    for wait in 1 2 4 8 16; do
        due=$(($(date +%s) + wait))
        chela schedule add "$@" --when "at $(date -u -d "@$due" +%Y-%m-%dT%H:%M:%SZ)"
        [ "$status" != 0 ] || return
    done
}
# Wait until a condition holds, for as long as it takes.
eventually() {
    local name=$1
    shift
    for _ in {1..300}; do
        if "$@" >/dev/null 2>&1; then
            ok "$name"
            return
        fi
        sleep 0.1
    done
    not_ok "$name" "$(tail -n 20 "$serve_log"; cat "$out" "$err" | head -c 2000)"
}
# How many runs a session has had.
runs_of() {
    chela sessions export "$1"
    grep -c '"type":"inbound"' "$out"
}
has_runs() {
    [ "$(runs_of "$1")" -ge "$2" ]
}

# --- what a schedule says
config 'schedules: { bad: { when: "0 9 * * 8", prompt: x } }'
chela schedule list
exits "a wrong time in the file" 2
check "is named with its place" grep -q "chela.yaml:3:27: schedules.bad.when: column 9: '8' is no day of the week" "$err"
config 'schedules: { bad: { when: "@daily", timezone: Mars/One, prompt: x } }'
chela schedule list
exits "a zone that there is not" 2
check "is named too" grep -q "chela.yaml:3:.*schedule bad: there is no time zone 'Mars/One'" "$err"
config ''
chela schedule next --when '30 2 29 2 *' --timezone +08:00 --count 2
exits "next" 0
check "shows times of the zone" grep -qx '20[0-9][0-9]-02-29T02:30:00+08:00' "$out"
chela schedule next --when '0 9 * *' --json
exits "a field too few" 2
check "and the column" grep -q 'column 8: the day of the week is missing' "$err"
chela schedule add old --when 'at 2020-01-01T00:00Z' "too late"
exits "a time that has passed" 2

# --- the store's own
chela schedule add report --when '0 9 * * mon-fri' --timezone UTC --max-runs-per-day 1 --cost-budget 0.5 "write the" report
exits "add" 0
chela schedule add report --when @daily again
exits "the same name again" 2
check "says so" grep -q "there is a schedule 'report' already" "$err"
chela schedule list --json
holds "list" '.[0] | length == 1 and .[0].prompt == "write the report" and .[0].cost_budget_usd == 0.5 and .[0].source == "store" and (.[0].next | test("T09:00:00Z$"))'
chela schedule next report --json
holds "its next times" '.[0] | length == 5'
chela schedule run
exits "nothing is due" 0
check "and it says so" grep -q 'nothing is due' "$err"
chela schedule run report
exits "run it by hand" 0
check "tells how it ended" grep -qx 'schedule:report: done (task_completed)' "$out"
chela sessions show --json schedule:report
holds "the model was told" '.[0].transcript | .[0].role == "timer" and (.[0].content[0].text | test("report, due .*: write the report"))'
chela schedule remove report
exits "remove" 0
chela schedule remove report
exits "twice" 2
chela schedule run report
exits "run what is not there" 2

# --- once, whoever looks: some at the same time, others later
add_soon once now
until [ "$(date +%s)" -gt "$due" ]; do sleep 0.1; done
for i in 1 2 3; do
    (cd "$space" && with_env timeout -k 5 60 "$program" schedule run >"$tmp/run$i" 2>&1 </dev/null) &
    runners[i]=$!
done
wait "${runners[@]}"
chela schedule run
same "an occurrence is run once" 1 "$(runs_of schedule:once)"

# --- an occurrence that cannot be stored is due again
add_soon refused now
until [ "$(date +%s)" -gt "$due" ]; do sleep 0.1; done
sqlite3 "$space/chela.db" "CREATE TRIGGER refuse BEFORE INSERT ON inbox BEGIN SELECT RAISE(ABORT, 'no'); END"
chela schedule run
check "an occurrence cannot be stored" grep -q 'refused/.* cannot be stored' "$err"
sqlite3 "$space/chela.db" 'DROP TRIGGER refuse'
chela schedule run
same "the occurrence is due again" 1 "$(runs_of schedule:refused)"
chela schedule run
same "once" 1 "$(runs_of schedule:refused)"

# --- a gateway
zone=$(printf '%+03d:00' $((12 - 10#$(date -u +%H)))) # where it is noon: the day does not end meanwhile
config "schedules: { tick: { when: 'every 1s', timezone: '$zone', prompt: hello, agent: coder, maxRunsPerDay: 2 } }"
serve
eventually "the gateway runs what is due" has_runs schedule:tick 2
add_soon later "in a session of its own" --session mine --fresh
eventually "and what is added meanwhile" bash -c "cd '$space' && HOME=$tmp '$program' sessions list --prefix mine:20 | grep -q 'in a session of its own'"
config 'schedules: { tick: { when: "every 1s", prompt: hello, missed: maybe } }'
kill -HUP "$gateway_pid"
eventually "a file that is wrong changes nothing" grep -q 'the configuration stays as it was: .*missed' "$serve_log"
config 'schedules: { tock: { when: "every 1s", prompt: again } }'
kill -HUP "$gateway_pid"
eventually "one that is right does" has_runs schedule:tock 1
eventually "no more than a day may have" grep -q 'tick: left out: [0-9]*; the limit is 2 runs a day' "$serve_log"
check "the gateway stops" stop_serving
same "not one more" 2 "$(runs_of schedule:tick)"

# --- waking up
mkdir -p "$space/work"
config '' ', workspaceDir: ./work, wake: { every: 1s }'
chela schedule list
check "it is listed" grep -q '^wake:coder *file *every 1s .*HEARTBEAT.md' "$out"
serve
printf '# Things to look after\n\n' >"$space/work/HEARTBEAT.md"
looks() { chela schedule list --json && jq -e '.[] | select(.name == "wake:coder") | .last' "$out"; }
eventually "it looks" looks
same "headings alone are no reason to wake" 0 "$(runs_of wake:coder)"
echo 'look at the logs' >>"$space/work/HEARTBEAT.md"
eventually "a file that says something is" has_runs wake:coder 2
check "the gateway stops" stop_serving
chela sessions show --json wake:coder
holds "an answer of HEARTBEAT_OK leaves nothing behind" '.[0].transcript == []'
chela sessions export wake:coder
same "nor in any request" 1 "$(jq -r '.data.request.messages // empty' "$out" | sort -u)"
echo 'there is an alarm' >>"$space/work/HEARTBEAT.md"
chela schedule run wake:coder
chela sessions show --json wake:coder
holds "another answer stays" '.[0].transcript | length == 2 and .[1].content[0].text == "There is an alarm."'

# --- the tool
config 'approvals: { schedule: auto }'
chela run --session talk "what is planned"
check "there is no tool unless it is asked for" bash -c "! grep -q 'prompt' '$out'"
config 'approvals: { schedule: auto }' ', tools: { schedule: true }'
when=$(in_seconds 3600)
chela run --session talk "remind me of tea at $when"
check "a model makes an appointment" grep -q "Schedule reminder is kept; its first time is" "$out"
chela run --session talk "every second"
check "but not too often" grep -q 'more often than once a minute' "$out"
chela run --session other "what is planned"
same "other sessions do not see it" '[]' "$(cat "$out")"
chela run --session other "forget it"
check "nor take it away" grep -q 'has no schedule' "$out"
chela run --session talk "what is planned"
holds "its own does" '.[0] | .[0].name == "reminder" and .[0].prompt == "tell about tea"'
chela schedule list --json
holds "it runs in the session that made it" '.[0] | .[] | select(.name == "reminder") | .session == "talk" and .source == "session"'
chela sessions delete talk
chela schedule list --json
holds "and goes with it" '.[0] | all(.name != "reminder")'
config '' ', tools: { schedule: true }'
chela run --session talk "remind me of tea at $when"
check "without a person it is refused" bash -c "! grep -q 'is kept' '$out'"
tap_done

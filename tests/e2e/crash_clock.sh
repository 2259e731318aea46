#!/usr/bin/env bash
# Clocks that are set by hours while a run is under way, in the process that has
# the session and in others that want it: it stays with who has it as long as
# that lives, and no longer.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/crash.sh

world clock
printf '#!/bin/sh\nread -r _\necho $PPID >held\nwhile [ ! -e go ]; do sleep 0.05; done\necho "it is held"\n' >hold
chmod +x hold
cat >>chela.yaml <<'YAML'
    - { name: t_hold, description: Holds., command: [./hold], effect: read, permission: write, timeoutSec: 60 }
YAML
cat >rules.yaml <<YAML
rules:
  - { when: { after: none }, call: { tool: t_hold, args: {} } }
  - { say: "$answer" }
YAML

# A run that has the session until there is a file "go"; its clock is in "clock".
hold() {
    rm -f held go
    echo "$1" >clock
    (tag=.holder && act CLOCK="$PWD/clock" -- run --model scripted/rules.yaml --session s --output jsonl hold && exit "$status") &
    holder=$!
    for _ in {1..400}; do
        if [ -s held ] || ! kill -0 $holder 2>/dev/null; then break; fi
        sleep 0.05
    done
}

# Somebody else, whose clock is ahead by so much.
other() {
    echo "$1" >elsewhere
    shift
    act CLOCK="$PWD/elsewhere" -- "$@"
}

refused() {
    same "$1: exit 1" 1 "$status"
    check "$1: who has it" grep -qE "session 's' is in use( by process [0-9]+ on |$)" err
}

clean
hold 0
for ahead in 0 3600 -3600; do
    other $ahead run --model scripted/rules.yaml --session s hello
    refused "another's clock is ahead by $ahead s"
    other $ahead sessions delete s
    check "another's clock is ahead by $ahead s: not deleted" grep -q "session 's' is in use" err
done
for ahead in 7200 -7200; do
    echo $ahead >clock
    other 0 run --model scripted/rules.yaml --session s hello
    refused "its own clock was set by $ahead s"
done
: >go
wait $holder
same "its own clock was set: it ends well" 0 $?
look
check "its own clock was set: its answer is stored" grep -q "$answer" <<<"$state"

# Now it dies, with a lease of another time.
for ahead in 7200 -7200; do
    clean
    hold $ahead
    kill -9 "$(<held)"
    : >go # the tool outlives it
    wait $holder
    other 0 run --model scripted/rules.yaml --session s hello
    same "it died, with a clock ahead by $ahead s: the next one gets it" 0 "$status"
done
same "nothing else was found" "" "$(cat violations)"
tap_done

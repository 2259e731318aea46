#!/usr/bin/env bash
# Sizes and memory stay within tests/budgets. Prints what there is; run it alone
# to read that: BUILD=build tests/e2e/budgets.sh
#
# Memory is read while a tool of the run waits, so that nothing depends on time.
# How long a start takes is printed and never judged.
cd "$(dirname "$0")/../.." || exit 2
BUILD=${BUILD:-build}
BUILD=$(realpath "$BUILD")
. tests/support/tap.sh
. tests/support/budget.sh
. tests/support/e2e.sh
# shellcheck disable=SC2034
debuggable=1 # /proc shows a user the process
. tests/support/serve.sh
. tests/support/terminal.sh

if ldd "$program" | grep -qE 'lib(asan|tsan|ubsan)'; then
    skip "budgets" "they are for a build without sanitizers"
    tap_done
    exit
fi

sizes_within "$BUILD"

cat >"$space/wait" <<'SCRIPT'
#!/bin/sh
echo $PPID >waiting.new
mv waiting.new waiting
while [ ! -e go ]; do sleep 0.02; done
SCRIPT
chmod +x "$space/wait"
cat >"$space/chela.yaml" <<'YAML'
sandbox: { mode: off }
agents: { defaults: { model: scripted/rules.yaml } }
tools:
  custom:
    - { name: wait, description: Waits., command: [./wait], permission: read, parameters: { type: object } }
YAML
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none }, call: { tool: wait, args: {} } }
  - { say: "Waited." }
YAML

# weigh NAME: the process whose tool waits; then let it go on.
weigh() {
    local pid
    for _ in {1..400}; do
        [ -e "$space/waiting" ] && break
        sleep 0.05
    done
    pid=$(cat "$space/waiting" 2>/dev/null)
    within libraries "$1" "$(awk '$6 ~ /\.so/ {print $6}' "/proc/$pid/maps" | sort -u | wc -l)"
    # Huge pages are the machine's choice.
    within anonymous "$1" "$(awk '/^Anonymous:/ {n += $2} /^AnonHugePages:/ {n -= $2} END {print n}' "/proc/$pid/smaps_rollup")"
    within peak "$1" "$(awk '/^VmHWM:/ {print $2}' "/proc/$pid/status")"
    rm -f "$space/waiting"
    touch "$space/go"
}

chela run "go on" &
weigh run
wait
same "run: it was a run" "Waited." "$(cat "$out")"
rm -f "$space/go"

open_terminal "$program chat"
sees "chat: the prompt" '^>'
types "go on"
press Enter
weigh chat
sees "chat: it was a run" '^Waited\.$'
press C-d
ends "chat: it ends" 0
close_terminal
rm -f "$space/go"

serve
post /v1/chat/completions '{"messages":[{"role":"user","content":"go on"}]}' &
weigh serve
wait $!
tells "serve: it was a run" '.choices[0].message.content' "Waited."
stop_serving

# median COMMAND...: milliseconds, of 15.
median() {
    local start
    for _ in {1..15}; do
        start=$EPOCHREALTIME
        "$@" >/dev/null 2>&1
        echo $((${EPOCHREALTIME/./} - ${start/./}))
    done | sort -n | awk 'NR == 8 {printf "%.1f", $1 / 1000}'
}
printf '# start     %-26s %8s ms, with fork and exec\n' "chela --version" "$(median "$program" --version)"
printf '# start     %-26s %8s ms, with fork and exec\n' "a run of one turn" \
    "$(median "$program" run --model scripted/demo -q "what is 17 * 23")"
tap_done

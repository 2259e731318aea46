#!/usr/bin/env bash
# SIGTERM in the middle of a run whose session is kept: the run has ten seconds to
# end, then it is left to be resumed, and whoever reads its events hears of that.
# All of them wait at once, each for a tool that never ends.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
absolute=$(realpath "$program")

cat >"$space/ship" <<'SCRIPT'
#!/bin/sh
read -r args
name=$(expr "$args" : '.*"name":"\([a-z]*\)"')
echo "$name" >>"$name.log"
exec sleep 600
SCRIPT
chmod +x "$space/ship"
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
tools:
  custom:
    - { name: ship, description: Ships., command: [./ship], effect: once, permission: write,
        parameters: { type: object, properties: { name: { type: string } } } }
YAML
{
    echo 'rules:'
    for name in events only text twice; do
        echo "  - { when: { after: none, user: $name }, call: { tool: ship, args: { name: $name } } }"
    done
    echo '  - { say: "it said: {{result}}" }'
} >"$space/rules.yaml"

declare -A pids
begin() {
    local name=$1 format=$2
    (cd "$space" && believe; cd "$space" && exec env -i --default-signal=INT,TERM PATH="$PATH" HOME="$tmp" \
        ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} CHELA_TEST_RUN="$CHELA_TEST_RUN" CHELA_TEST="$CHELA_TEST" \
        "$absolute" run --model scripted/rules.yaml --session "$name" --output "$format" "$name" \
        >"$tmp/$name.out" 2>"$tmp/$name.err" </dev/null) &
    pids[$name]=$!
}

# Until its tool has begun.
under_way() {
    for _ in {1..1200}; do
        [ -s "$space/$1.log" ] && return
        sleep 0.05
    done
    return 1
}

# And wait until it was heard: two that come at once are one.
tell() {
    kill -TERM "${pids[$1]}"
    for _ in {1..1200}; do
        grep -qs '^ShdPnd:.*[1-9a-f]' "/proc/${pids[$1]}/status" || return
        sleep 0.05
    done
}

ended() {
    wait "${pids[$1]}"
    status=$?
    cp "$tmp/$1.out" "$out"
    cp "$tmp/$1.err" "$err"
    exits "$1" 0
}

begin events jsonl
begin only json
begin text text
begin twice jsonl
for name in events only text twice; do
    check "$name: the tool has begun" under_way $name
    tell $name
done

left='.status == "paused" and .reason == "interrupted" and .turns == 1'
tell twice
ended twice
holds "twice: a second signal does not wait, and the end is told" "(map(select(.type == \"run_end\")) | length) == 1 and (.[-1] | .type == \"run_end\" and $left)"
ended events
holds "events: one end, and it is last" "(map(select(.type == \"run_end\")) | length) == 1 and (.[-1] | .type == \"run_end\" and $left)"
holds "events: numbered without a gap" '[.[].seq] == [range(length)]'
told=$(jq -s 'map(.seq) | max' "$out")
run=$(jq -rs '.[0].run' "$out")
ended only
holds "only: the end is all there is" "length == 1 and (.[0] | .type == \"run_end\" and $left)"
ended text
same "text: nothing is printed" "" "$(cat "$out")"
same "text: how to go on" "chela: told to end; 'chela sessions resume text' goes on" "$(tail -n 1 "$err")"

chela sessions list --json
holds "all of them can be resumed" '.[0] | length == 4 and all(.status == "running")'
for name in events only text twice; do
    chela sessions resume --model scripted/rules.yaml --output jsonl $name
    exits "$name: resumed" 0
    same "$name: the call is not made again" 1 "$(wc -l <"$space/$name.log")"
    holds "$name: its outcome is unknown" '.[-1] | .status == "done" and (.text | test("unknown"))'
    if [ $name = events ]; then
        holds "events: the same run, under higher numbers" ".[0] | .run == \"$run\" and .seq > $told"
    fi
done
tap_done

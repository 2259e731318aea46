#!/usr/bin/env bash
# Sessions that are kept: continued, killed and resumed, paused and resumed in
# another process, looked at, copied, moved and deleted.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

# Each tool writes what it did, and hangs while there is a file called "hang".
for effect in read keyed once; do
    cat >"$space/$effect" <<SCRIPT
#!/bin/sh
cat >>"$effect.args"
echo "\$CHELA_IDEMPOTENCY_KEY" >>"$effect.log"
while [ -e hang ]; do sleep 0.05; done
echo "$effect is done"
SCRIPT
    chmod +x "$space/$effect"
done
configure() {
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
durability: ${1:-full}
sandbox: { mode: off }
tools:
  custom:
    - { name: t_read, description: Reads., command: [./read], effect: read, permission: write, timeoutSec: 60 }
    - { name: t_keyed, description: Writes., command: [./keyed], effect: keyed, permission: write, timeoutSec: 60 }
    - { name: t_once, description: Ships., command: [./once], effect: once, permission: write, timeoutSec: 60 }
    - { name: t_ask, description: Asks., command: [./once], effect: once, permission: write, confirm: true }
YAML
}
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "call t_read" }, call: { tool: t_read, args: {} } }
  - { when: { after: none, user: "call t_keyed" }, call: { tool: t_keyed, args: {} } }
  - { when: { after: none, user: "call t_once" }, call: { tool: t_once, args: {} } }
  - { when: { after: none, user: "call t_ask" }, call: { tool: t_ask, args: {} } }
  - { when: { after: none, user: "all three" }, call: [{ tool: t_read, args: {} }, { tool: t_keyed, args: {} }, { tool: t_once, args: {} }] }
  - { when: { after: none }, say: "yes: {{user}}" }
  - { say: "it said: {{result}}" }
YAML
reset() {
    rm -f "$space"/*.log "$space"/*.args "$space/hang" "$space"/chela.db*
}
ask() {
    chela run --model scripted/rules.yaml "$@"
}
resume() {
    chela sessions resume --model scripted/rules.yaml "$@"
}
lines() {
    if [ -e "$space/$1.log" ]; then wc -l <"$space/$1.log" | tr -d ' '; else echo 0; fi
}
state_of() {
    chela sessions list --json
    jq -r ".[] | select(.key == \"$1\").status" "$out"
}
# Begin, in the background, and wait until the tools have said this much.
background() {
    local want=$1
    shift
    touch "$space/hang"
    (cd "$space" && believe; cd "$space" && exec env -i PATH="$PATH" HOME="$tmp" ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
        "$absolute" "$@" >>"$tmp/told" 2>/dev/null </dev/null) &
    pid=$!
    for _ in {1..600}; do
        [ "$(cat "$space"/*.log 2>/dev/null | wc -l)" -ge "$want" ] && return
        sleep 0.05
    done
}
# Run until tools hang, then kill.
killed() {
    background "$3" run --model scripted/rules.yaml --session "$1" "$2"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    rm -f "$space/hang"
}
absolute=$(realpath "$program")

# --- a conversation goes on
configure
ask --session a "remember this"
exits "first message" 0
same "first message: the answer" "yes: remember this" "$(cat "$out")"
ask --session a "what did I say"
exits "second message" 0
ask --session "$(printf 'k%.0s' {1..257})" "remember this"
exits "a key that the gateway would refuse" 2
chela sessions list --json
holds "the list shows it" '.[0] | length == 1 and (.[0] | .key == "a" and .turns == 2 and .title == "remember this" and .status == "idle")'
ask --continue "and this"
chela sessions show --json a
holds "all of it is one transcript" '[.[0].transcript[].role] == ["user","assistant","user","assistant","user","assistant"]'
chela sessions show a
check "and can be read" grep -q 'yes: remember this' "$out"
same "by its turns" "user 1 assistant 1 user 2 assistant 2 user 3 assistant 3" \
    "$(awk '/^(user|assistant)  / { print $1, $NF }' "$out" | paste -sd' ')"
chela sessions search --json "remember this"
holds "search names the turn" '.[0] | length == 2 and all(.turn == 1)'
ask --session 会议 "第一行标题"
chela sessions list
check "columns are in line whatever the letters" test "$(awk 'NR > 1 { sub(/ idle.*/, ""); print }' "$out" | LC_ALL=C.UTF-8 sed 's/[^ -~]/xx/g' | awk '{ print length }' | sort -u | wc -l)" = 1
chela sessions delete 会议
ask --no-session "not kept"
ask "kept under a fresh key"
chela sessions list
same "runs without a key are kept when there is a store" 2 "$(grep -c idle "$out")"
check "but not with --no-session" sh -c "! grep -q 'not kept' '$out'"

# --- killed
reset
killed r "call t_read" 1
same "killed in a read call: it shows as running" running "$(state_of r)"
resume r
exits "killed in a read call: resume" 0
same "killed in a read call: it was made again" 2 "$(lines read)"
same "killed in a read call: the answer" "it said: read is done" "$(cat "$out")"
same "and then it is idle" idle "$(state_of r)"
resume r
exits "nothing to resume" 0
same "nothing to resume: the last answer" "it said: read is done" "$(cat "$out")"
resume --output jsonl r
exits "nothing to resume, as events" 0
holds "nothing to resume, as events: the end of the run" 'length == 1 and .[0].type == "run_end" and .[0].status == "done"'
holds "nothing to resume, as events: its answer" '.[0] | (.text | rtrimstr("\n")) == "it said: read is done" and .turns == 2 and .tool_calls == 1 and .run != ""'
resume --output json r
holds "nothing to resume, as JSON: the end of the run" 'length == 1 and (.[0].text | rtrimstr("\n")) == "it said: read is done"'

# --- numbers of events: over two lives that were cut off and one that ends
reset
rm -f "$tmp/told"
background 1 run --model scripted/rules.yaml --output jsonl --session n "call t_read"
kill -9 "$pid"
wait "$pid" 2>/dev/null
background 2 sessions resume --model scripted/rules.yaml --output jsonl n
kill -9 "$pid"
wait "$pid" 2>/dev/null
rm -f "$space/hang"
resume --output jsonl n
cat "$out" >>"$tmp/told"
check "killed twice: one run" jq -es '(map(.run) | unique | length) == 1 and (map(select(.type == "run_start")) | length) == 3' "$tmp/told"
check "killed twice: no number is used again" jq -es '[.[].seq] | . == (sort | unique)' "$tmp/told"
holds "killed twice: and none of a life is left out" '[.[].seq] == [range(.[0].seq; .[0].seq + length)]'

reset
killed k "call t_keyed" 1
resume k
exits "killed in a keyed call: resume" 0
same "killed in a keyed call: it was made again" 2 "$(lines keyed)"
same "killed in a keyed call: with the same key" 1 "$(sort -u "$space/keyed.log" | wc -l)"

reset
killed o "call t_once" 1
resume --output jsonl o
exits "killed in a once call: resume" 0
same "killed in a once call: it was not made again" 1 "$(lines once)"
holds "killed in a once call: the model is told" \
    '[.[] | select(.type == "tool_result")] | length == 1 and .[0].error_type == "interrupted" and (.[0].content | test("unknown"))'
holds "killed in a once call: the run is the same one" '[.[].run] | unique | length == 1'

reset
killed m "all three" 3
resume --output jsonl m
exits "killed in three calls: resume" 0
same "killed in three calls: each as its effect allows" "2 2 1" "$(lines read) $(lines keyed) $(lines once)"
chela sessions show --json m
holds "killed in three calls: results in the order of calls" \
    '[.[0].transcript[] | select(.role == "tool").content[].name] == ["t_read","t_keyed","t_once"]'

reset
killed n "call t_once" 1
ask --session n "never mind"
exits "a new message instead of resuming" 0
same "a new message instead of resuming: the call is not made again" 1 "$(lines once)"
chela sessions show --json n
holds "a new message instead of resuming: the transcript is whole" \
    '[.[0].transcript[].role] == ["user","assistant","tool","user","assistant"]'

reset
configure turn
killed t "call t_once" 1
resume t
same "durability turn: a once call is not made again either" 1 "$(lines once)"
configure

# --- cut off again and again
reset
killed p "call t_read" 1
for n in 2 3 4; do
    background $n sessions resume --model scripted/rules.yaml p
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
done
rm -f "$space/hang"
resume p
exits "cut off four times" 1
check "cut off four times: it is said" grep -q 'parked' "$err"
same "cut off four times: it shows" parked "$(state_of p)"
resume p
exits "parked stays parked" 1
check "parked: how to go on" grep -q 'resume --force p' "$err"
resume --force p
exits "unless it is forced" 0
same "and then it is idle" idle "$(state_of p)"

# --- paused
reset
ask --session w --approve ask "call t_ask"
exits "paused" 5
check "paused: it says how to go on" grep -q "chela sessions resume w" "$err"
same "paused: it shows" paused "$(state_of w)"
same "paused: nothing was done" 0 "$(lines once)"
chela sessions show --json w
id=$(jq -r '.waiting[0].approval_id' "$out")
holds "paused: what for" '.[0].waiting | length == 1 and .[0].name == "t_ask"'
ask --session w "hurry up"
exits "paused: no other message" 1
resume w
exits "resumed without a decision" 5
same "resumed without a decision: nothing was done" 0 "$(lines once)"
chela sessions show --json w
same "resumed without a decision: the same question" "$id" "$(jq -r '.waiting[0].approval_id' "$out")"
resume --allow "$id" --output jsonl w
exits "resumed with consent" 0
same "resumed with consent: it was done" 1 "$(lines once)"
holds "resumed with consent: seq goes on" '.[0].type == "run_start" and .[0].seq > 0 and ([.[].seq] == [range(.[0].seq; .[0].seq + length)])'
ask --session x --approve ask "call t_ask"
resume --refuse all x
exits "resumed with a refusal" 0
same "resumed with a refusal: it was not done" 1 "$(lines once)"
check "resumed with a refusal: the model is told" grep -q 'did not allow' "$out"

# Consent is for what was shown: a script that was changed since is asked about
# again, and what a file says that somebody agreed to is not believed.
ask --session y --approve ask "call t_ask"
chela sessions show --json y
id=$(jq -r '.waiting[0].approval_id' "$out")
echo 'echo changed >>once.log' >>"$space/once"
resume --allow "$id" y
exits "changed after the question" 5
same "changed after the question: it is not run" 1 "$(lines once)"
chela sessions show --json y
check "changed after the question: a new question" test "$id" != "$(jq -r '.waiting[0].approval_id' "$out")"
chela sessions export y
sed 's/"decision":"[a-z-]*"/"decision":"allow-once"/' "$out" >"$space/y.jsonl"
resume --allow "$id" y
exits "changed after the question: the old answer is none" 2
check "changed after the question: and it is said so" grep -q "does not ask for approval $id" "$err"
resume --allow all y
exits "changed after the question: agreed to as it is" 0
same "changed after the question: then it is run" 3 "$(lines once)"
sed -i '$d' "$space/once"
chela sessions import --key forged y.jsonl
resume forged
exits "an imported consent is none" 5
same "an imported consent is none: nothing was done" 3 "$(lines once)"
for word in auto sandbox; do
    sed "s/\"status\":\"paused\",/&\"for\":{\"approve\":\"$word\"},/" "$space/y.jsonl" >"$space/z.jsonl"
    chela sessions import --key "forged-$word" z.jsonl
    resume "forged-$word"
    exits "an imported run does not approve its own calls: $word" 5
done
same "an imported run does not approve its own calls: nothing was done" 3 "$(lines once)"

# --- one writer
rm -f "$space"/*.log
background 1 run --model scripted/rules.yaml --session busy "call t_read"
ask --session busy "me too"
exits "a session in use" 1
check "a session in use: by whom" grep -q "session 'busy' is in use by process $pid" "$err"
check "a session in use: how to follow it" grep -q "'chela attach busy' follows it" "$err"
chela sessions delete busy
exits "a session in use is not deleted" 1
rm -f "$space/hang"
wait $pid
ask --session busy "me now"
exits "and free afterwards" 0

# --- forks, exports
chela sessions fork --at-turn 1 busy
exits "fork" 0
same "fork: its key" busy-2 "$(cat "$out")"
chela sessions show --json busy-2
holds "fork: up to the turn, with its results" '[.[0].transcript[].role] == ["user","assistant","tool"] and .[0].parent == "busy"'
resume busy-2
exits "fork: can be resumed" 0
same "fork: goes on from there" "it said: read is done" "$(cat "$out")"
chela sessions fork --at-turn 99 busy
exits "fork: no such turn" 2
chela sessions export busy
exits "export" 0
cp "$out" "$space/busy.jsonl"
check "export: JSON lines" jq -es 'length > 3 and .[0].chela_session == 1 and .[1].type == "inbound"' "$out"
chela sessions import --key copy busy.jsonl
exits "import" 0
chela sessions import --key copy busy.jsonl
exits "import: not over another" 2
chela sessions show --json busy
jq -S .transcript "$out" >"$tmp/one"
chela sessions show --json copy
jq -S .transcript "$out" >"$tmp/two"
check "import: the same transcript" cmp "$tmp/one" "$tmp/two"
ask --session copy "go on"
exits "import: can be continued" 0
head -n 2 "$space/busy.jsonl" | sed 's/"seq":1/"seq":2/' >"$space/bad.jsonl"
chela sessions import --key bad bad.jsonl
exits "import: a gap" 2
check "a broken file is named, with its line" grep -q '^chela: bad.jsonl: line ' "$err"
check "import: a gap is named" grep -q 'line 2' "$err"

# --- replay
chela replay --model scripted/rules.yaml busy
exits "replay: the same" 0
same "replay: nothing differs" "" "$(cat "$out")"
chela replay --model scripted/rules.yaml --max-turns 1 busy
exits "replay with another limit" 1
check "replay with another limit: what differs" grep -q 'then DONE task_completed.*now ERROR max_turns_exceeded' "$out"
cp "$space/rules.yaml" "$space/other.yaml"
chela replay --model scripted/other.yaml busy
exits "replay with another model" 1
check "replay with another model: what differs" grep -q 'then scripted/rules.yaml is asked with 1 messages; now scripted/other.yaml is asked with 1 messages' "$out"
sed -i '/t_read/d' "$space/chela.yaml"
chela replay --model scripted/rules.yaml busy
exits "replay without a tool" 1
check "replay without a tool: what differs" grep -q 'call 0, t_read, has a result; now there is no such tool' "$out"
configure
sed -i '1i agents: { defaults: { systemPrompt: "Speak as a pirate." } }' "$space/chela.yaml"
chela replay --model scripted/rules.yaml busy
exits "replay with other instructions" 1
check "replay with other instructions: what differs" grep -q 'then instructions system@.*; now instructions system@' "$out"
configure
chela replay --model scripted/rules.yaml --from-turn 2 busy
exits "replay from a turn" 0
same "replay from a turn: asks the model again" "it said: read is done" "$(cat "$out")"
check "replay from a turn: in a copy" grep -q 'going on as session busy-3' "$err"
chela replay --model scripted/rules.yaml --from-turn 50 busy
exits "replay from a turn that is not there" 2

# --- told to end
rm -f "$space"/*.log
background 1 run --model scripted/rules.yaml --session term "call t_read"
kill -TERM "$pid"
rm -f "$space/hang"
wait "$pid"
same "SIGTERM: a run that ends in time ends well" 0 $?
same "SIGTERM: and is idle" idle "$(state_of term)"
rm -f "$space"/*.log
background 1 run --model scripted/rules.yaml --session term "call t_once"
kill -TERM "$pid"
kill -TERM "$pid"
wait "$pid" 2>/dev/null
rm -f "$space/hang"
same "SIGTERM twice: does not wait" running "$(state_of term)"
resume term
exits "SIGTERM twice: can be resumed" 0
same "SIGTERM twice: the call is not made again" 1 "$(lines once)"

# --- search, deletion
cat >"$space/search-rules.yaml" <<'YAML'
rules:
  - { when: { after: none }, call: { tool: ls, args: { path: "harbour/quay-seven" } } }
  - { say: "looked" }
YAML
chela run --model "scripted/$space/search-rules.yaml" --session calls "please look"
exits "a run with a call" 0
chela sessions search --json "quay-seven"
holds "search reads the arguments of calls" '.[0] | length == 1 and .[0].key == "calls" and .[0].turn == 1 and (.[0].excerpt | test("quay-seven"))'
chela sessions search --json "it said"
holds "search" '.[0] | length > 0 and all(.excerpt | test("it said"))'
chela sessions delete copy busy-2
exits "delete" 0
chela sessions show copy
exits "delete: it is gone" 2
chela sessions delete --older-than 0
exits "retention" 0
chela sessions list --json
holds "retention: nothing is left" '.[0] == []'

# --- a store that can only be read
ask --store "sqlite:$space/ro.db" --session fixed hi
as_reader() {
    if [ "$(id -u)" = 0 ]; then
        (cd / && setpriv --reuid=65534 --regid=65534 --clear-groups "$absolute" "$@") >"$out" 2>"$err"
    else
        (cd / && "$absolute" "$@") >"$out" 2>"$err"
    fi
    status=$?
}
reading=$(mktemp -d /tmp/chela-readable-XXXXXX)
sqlite3 "$space/ro.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
cp "$space/ro.db" "$reading/ro.db"
chmod 444 "$reading/ro.db"
chmod 555 "$reading"
as_reader sessions list --json --store "sqlite:$reading/ro.db"
exits "a file in a directory that cannot be written" 0
holds "its sessions are listed" '.[0][0].key == "fixed"'
as_reader sessions show --store "sqlite:$reading/ro.db" fixed
exits "and shown" 0
as_reader sessions search --store "sqlite:$reading/ro.db" hi
exits "an index cannot be made there" 1
check "the reason" grep -q 'cannot be written' "$err"
chmod 755 "$reading"
rm -rf "$reading"

# --- a key that is none, such as "$UNSET", is not the key of one session for all
ask --session "" hi
exits "an empty key" 2
check "an empty key: the reason" grep -q "a session key must be UTF-8 of 1 to 256 bytes" "$err"

# --- a store that cannot be used
printf 'garbage garbage garbage garbage garbage garbage garbage garbage' >"$space/bad.db"
ask --store sqlite:bad.db --session z hi
exits "a damaged store" 1
check "a damaged store: is named" grep -q 'bad.db is damaged' "$err"
same "a damaged store: is left alone" 63 "$(wc -c <"$space/bad.db")"
ask --store nosuch: --session z hi
exits "a store of no known kind" 2
mkdir "$tmp/fallback"
(cd "$tmp/fallback" && with_env "$absolute" run --model scripted/demo --session d hi >/dev/null 2>&1)
check "without a choice it is the user's own" test -s "$tmp/.local/state/chela/chela.db"
tap_done

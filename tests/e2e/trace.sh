#!/usr/bin/env bash
# What a session did: `chela trace` as text, JSON and a page, and `chela usage`.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "look" }, call: [{ tool: ls, args: { path: "." } }, { tool: read, args: { file_path: "missing" } }] }
  - { when: { after: none }, say: "<b>hello</b> & sk-ant-api03-0123456789abcdefghijklmnop" }
  - { say: "seen" }
YAML
store=(--store "sqlite:$space/t.db")
ask() { chela run --model "scripted/$space/rules.yaml" "${store[@]}" --session s "$@"; }
ask "please look"
exits "a run with tools" 0
ask "and now?"
exits "a second run" 0

chela trace s "${store[@]}"
exits "trace" 0
check "the last run alone" test "$(grep -c '^run_' "$out")" = 1
check "its input" grep -q 'input .*and now?' "$out"
check "its end" grep -q 'done: task_completed' "$out"
check "no terminal sequence" test "$(tr -d '\n' <"$out" | grep -c '[[:cntrl:]]')" = 0

chela trace s "${store[@]}" --all
check "the growth of the requests" grep -Eq 'in \+[0-9]+ ' "$out"

chela trace s "${store[@]}" --all --json
exits "as JSON" 0
holds "all runs" '.[0] | map(select(.kind == "end")) | length == 2'
holds "model calls with their tokens" '.[0] | map(select(.kind == "model")) | length == 3 and all(.input > 0 and .output > 0)'
holds "tool calls with arguments and result" '.[0] | map(select(.kind == "tool")) | length == 2 and all(.sent != null and .got != null)'
holds "a failed one is marked" '.[0] | any(.title == "read" and .failed) and any(.title == "ls" and (.failed | not))'
holds "in order of time" '.[0] | map(.start) | . == sort'
holds "keys are blanked out" '.[0] | tostring | test("0123456789abcdef") | not'

holds "the growth of each call" '.[0] | [.[] | select(.kind == "model")] as $m | $m[0].growth == $m[0].input and
    $m[1].growth == $m[1].input - $m[0].input and $m[2].growth == $m[2].input - $m[1].input'

chela trace s "${store[@]}" --html "$space/page.html"
exits "as a page" 0
same "nobody else may read it" 600 "$(stat -c %a "$space/page.html")"
check "one run is no runs" grep -q ', 1 run, ' "$space/page.html"
check "what was said is escaped" grep -q '&lt;b&gt;hello&lt;/b&gt; &amp;' "$space/page.html"
check "keys are blanked out in it" test "$(grep -c 0123456789abcdef "$space/page.html")" = 0
check "nothing from elsewhere" test "$(grep -cE '(src|href)=[^#]*$|url\(|<script' "$space/page.html")" = 0

chela trace s "${store[@]}" --run run_none
exits "no such run" 2
check "it says so" grep -q 'no run run_none' "$err"
chela trace nobody "${store[@]}"
exits "no such session" 2
chela trace s "${store[@]}" --html /nowhere/page.html
exits "a page that cannot be written" 2
chela trace s "${store[@]}" --html /dev/full
exits "a page on a full disk" 1
check "a page on a full disk: said" grep -q '/dev/full: No space left' "$err"
for flags in "--request 1 --body" "--request 1 --wire" "--request 1 --json" --otlp; do
    # shellcheck disable=SC2086
    (cd "$space" && with_env "$program" trace s "${store[@]}" $flags >/dev/full 2>"$err")
    status=$?
    exits "output that cannot be written: $flags" 1
    check "output that cannot be written: $flags: said" grep -q 'cannot write to standard output' "$err"
done

# Attempts of a call and waits have rows of their own, and the turns are those of `chela why`.
other=(--store "sqlite:$space/waits.db")
cat >"$space/waits.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "ship" }, call: { tool: ship, args: { what: parcel } } }
  - { when: { after: none, user: "look" }, call: { tool: look, args: {} } }
  - { when: { after: none, user: "sleep" }, call: { tool: wait_until, args: { seconds: 2 } } }
  - { say: "well" }
YAML
for tool in ship look; do
    printf '%s\n' 'echo x >>"$0.tries"' 'cat >/dev/null' '[ "$(wc -l <"$0.tries")" -ge 3 ] || { echo "the harbour is closed until the fog has gone, says the pilot of the port of $1" >&2; exit 75; }' 'echo sent' >"$space/$tool.sh"
done
cat >"$space/chela.yaml" <<YAML
sandbox: { mode: "off" }
wait: { enabled: true }
approvals: { ship: auto, look: auto }
tools:
  custom:
    - { name: ship, description: Ships., command: [sh, "$space/ship.sh", Antwerp], effect: once, permission: read,
        parameters: { type: object, properties: { what: { type: string } } },
        retry: { attempts: 4, backoffSec: 0.1, maxBackoffSec: 0.1 } }
    - { name: look, description: Looks., command: [sh, "$space/look.sh", Antwerp], effect: read, permission: read,
        retry: { attempts: 4, backoffSec: 0.1, maxBackoffSec: 0.1 } }
YAML
for word in ship look sleep; do
    chela run --config "$space/chela.yaml" --model "scripted/$space/waits.yaml" "${other[@]}" --session w "$word"
    exits "a run that waits: $word" 0
done
chela trace w "${other[@]}" --all --json
for tool in ship look; do
    holds "$tool: a row for each attempt" '.[0] | [.[] | select(.kind == "tool" and .title == "'$tool'")] |
        length == 3 and [.[] | .attempt // 0] == [0, 1, 2] and [.[] | .failed // false] == [true, true, false] and
        [.[] | .stop // ""] == ["retried", "retried", ""] and (.[0].got | test("fog has gone, says the pilot of the port"))'
    holds "$tool: a wait before each repetition" '.[0] | [.[] | select(.kind == "wait" and .stop == "retry" and (.title | endswith("of '$tool'")))] |
        length == 2 and all(.[]; .end - .start >= 20)'
    holds "$tool: waits and attempts follow each other" '.[0] | [.[] | select(.id != null and ((.title == "'$tool'") or (.title | endswith("of '$tool'"))))] |
        length == 5 and ([range(4) as $i | .[$i].end <= .[$i + 1].start] | all)'
done
holds "a call that waits for a time is a wait" '.[0] | any(.kind == "wait" and .stop == "timer" and .title == "wait_until" and .end - .start >= 1900) and
    any(.kind == "tool" and .title == "wait_until" and .end - .start < 1900)'
holds "turns are counted over the session" '.[0] | [.[] | select(.kind == "model") | .session_turn] == [1, 2, 3, 4, 5, 6] and
    [.[] | select(.kind == "model") | .turn] == [1, 2, 1, 2, 1, 2]'
chela trace w "${other[@]}" --all
check "the text names requests and turns" grep -q '#3 turn 3 ' "$out"
check "attempts are marked in the text" grep -Eq 'tool .*attempt 2 ! ship' "$out"
check "waits are drawn as waits" grep -Eq 'wait +\.+ +for attempt 2 of ship' "$out"
check "an error is shown whole" grep -q 'fog has gone, says the pilot' "$out"
check "attempts are no further calls" grep -q ' 3 tool calls' "$out"
chela trace w "${other[@]}" --all --html "$space/waits.html"
check "the page has the attempts" grep -q 'attempt 3 ship' "$space/waits.html"
check "the page has the waits" grep -q 'class="wait[^>]*>.*for attempt 3 of look' "$space/waits.html"
check "the page has the turns" grep -q '#5 turn 5 ' "$space/waits.html"
chela trace w "${other[@]}" --all --otlp
spans='[.resourceSpans[].scopeSpans[].spans[]]'
holds "spans of attempts below their call" ".[0] | $spans"' | (.[] | select(.name == "execute_tool ship")) as $call |
    [.[] | select(.name == "attempt ship" and .parentSpanId == $call.spanId)] | length == 3 and ([.[] | .status.code // 0] == [2, 2, 0])'
holds "spans of waits below their call" ".[0] | $spans"' | (.[] | select(.name == "execute_tool look")) as $call |
    [.[] | select(.name == "wait retry" and .parentSpanId == $call.spanId)] | length == 2'
holds "the span of a call has all of its attempts" ".[0] | $spans"' | (.[] | select(.name == "execute_tool ship")) as $call |
    [.[] | select(.parentSpanId == $call.spanId)] | length == 5 and all(.[]; .startTimeUnixNano >= $call.startTimeUnixNano and .endTimeUnixNano <= $call.endTimeUnixNano)'
holds "the span of a wait for a time" ".[0] | $spans | any(.name == \"wait timer\")"
holds "span ids differ" ".[0] | $spans | (map(.spanId) | unique | length) == length"
rm "$space/chela.yaml"

chela trace s "${store[@]}" --html "$space/page.html" --why "$space/rules.yaml"
exits "a report that is none" 2
check "the error names the file" grep -q "rules.yaml: .*chela why" "$err"
echo '{"some":"json"}' >"$space/other.json"
chela trace s "${store[@]}" --html "$space/page2.html" --why "$space/other.json"
exits "JSON that is no report" 2
check "no page is written" test ! -e "$space/page2.html"
chela trace s "${store[@]}" --why "$space/other.json"
exits "a report without a page" 2

chela usage "${store[@]}" --json
holds "usage by day" '.[0] | length == 1 and .[0].calls == 3 and .[0].input > 0'
chela usage "${store[@]}" s --json
exits "usage of a session" 0
holds "each call, and its growth" '.[0] | length == 3 and .[0].growth == .[0].input and .[1].growth == .[1].input - .[0].input and
    .[2].growth > 0 and all(.turn > 0 and .output > 0)'
chela usage "${store[@]}" s
check "a line for each call" test "$(grep -cE '^[0-9]+ +[0-9]+ +[+][0-9]+ ' "$out")" = 3
chela usage "${store[@]}" nobody
exits "usage of no session" 2
chela usage "${store[@]}" --by budget
check "no budget" grep -q 'no budget was used today' "$err"
chela sessions fork "${store[@]}" --key copy s
chela sessions fork "${store[@]}" --key half --at-turn 2 s
chela usage "${store[@]}" --json
holds "a call is counted once, whatever was forked" '.[0] | length == 1 and .[0].calls == 3'
chela usage "${store[@]}" --by agent
exits "usage by agent" 0
check "a bar" grep -q '^main .*###' "$out"
chela usage "${store[@]}" --days 0
check "nothing in no time" grep -q 'no model was called' "$err"
# --- a journal of a stranger whose called agents are its own session
jq -cn '
    def run($d): {run: "run_1", turn: 1} + $d;
    [("inbound", run({mode: "start", message: {role: "user", content: [{type: "text", text: "go"}], ts: 1}})),
     ("message", run({message: {role: "assistant", model: "m", ts: 1,
                                content: [range(3) | {type: "tool_call", id: "c\(.)", name: "ask", arguments: {}}]}})),
     (range(3) | ("started", run({id: "c\(.)", call: ., child: "evil"}))),
     (range(3) | ("done", run({call: ., message: {role: "tool", ts: 1,
                                                  content: [{type: "tool_result", id: "c\(.)", name: "ask", content: "x"}]}})))]
    | [range(0; length; 2) as $i | {type: .[$i], ts: 1, data: .[$i + 1]}]
    | ({chela_session: 1, key: "evil", agent: "main", title: "go", status: "idle", created: 1, updated: 1, records: length}),
      (to_entries[] | {seq: (.key + 1)} + .value)' >"$space/evil.jsonl"
chela sessions import "${store[@]}" evil.jsonl
exits "a session that calls itself: imported" 0
chela trace evil "${store[@]}" --all --json
exits "a session that calls itself: its trace ends" 0
holds "a session that calls itself: 4,096 times" '.[0] | map(select(.kind == "tool")) | length == 3 * 4097'
# --- a journal of a stranger with markup in its ids
chela sessions export "${store[@]}" s
setup=$(jq -r '.data.parts[]? | select(.kind == "setup").id' "$out" | head -n 1)
sed "s/$setup/\\\\\">\\<img src=x>/g" "$out" >"$space/marked.jsonl"
chela sessions import "${store[@]}" --key marked marked.jsonl
exits "ids with markup: imported" 0
chela trace marked "${store[@]}" --all --html marked.html
exits "ids with markup: a page" 0
check "ids with markup: they are there" grep -q '&lt;img src' "$space/marked.html"
check "ids with markup: as text" test "$(grep -c '<img' "$space/marked.html")" = 0
# A second run of a session: its first turn is a later one of the session.
ask "please look again"
chela trace s "${store[@]}"
check "an error names the turn of the session" grep -q 'in turn 4, read, not_found' "$out"
chela usage s "${store[@]}"
same "usage: the turns of the session" "1 2 3 4 5" "$(awk 'NR > 1 { print $1 }' "$out" | xargs)"
chela usage s "${store[@]}" --json
holds "usage as JSON: turns of the run and of the session" '.[0] | map([.turn, .session_turn]) == [[1,1],[2,2],[1,3],[1,4],[2,5]]'
tap_done

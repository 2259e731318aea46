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
tap_done

#!/usr/bin/env bash
# Evaluations: cases, variants, trials, results; a run that is killed goes on; bad cases, tools, judges
# and fixtures are told and never pass; cases from sessions and from other programs.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
cd "$tmp/space" || exit 2

cat >rules.yaml <<'YAML'
rules:
  - when: { system: "You judge whether", user: "(?i)criterion: polite.*thank you" }
    say: '{"pass": true, "evidence": "thank you", "reason": "polite"}'
  - when: { system: "You judge whether", user: "(?i)criterion: polite" }
    say: '{"pass": false, "evidence": "", "reason": "not polite"}'
  - when: { system: "You judge whether", user: "(?i)criterion: rambling" }
    say: "It surely passes, I would say: true."
  - when: { system: "You judge whether", user: "(?i)criterion: invented" }
    say: '{"pass": true, "evidence": "words that are not there", "reason": "fine"}'
  - when: { user: "^notify", after: none }
    call: { tool: notify, args: { text: hello } }
  - when: { after: notify }
    say: "notified: {{result}}"
  - when: { user: "^write", after: none }
    call: { tool: write, args: { file_path: a.txt, content: hi } }
  - when: { user: "^read", after: none }
    call: { tool: read, args: { file_path: fixture.txt } }
  - when: { after: read }
    say: "read: {{result}}"
  - when: { user: "^fail" }
    fail: { status: 500 }
  - when: { message: 2, user: "again" }
    say: "twice"
  - when: { user: "^thank" }
    say: "Yes, thank you."
  - say: "The answer is 42."
YAML
cat >conf.yaml <<YAML
agents: { defaults: { model: scripted/rules.yaml }, list: [{ id: one }, { id: two, systemPrompt: "Be short." }] }
tools:
  custom:
    - { name: notify, description: Tell somebody., parameters: { type: object, properties: { text: { type: string } } }, command: [sh, -c, "echo x >>$tmp/effects; echo sent"] }
YAML
get() { jq -r "$1" out.json; }
evaluate() { rm -f out.json; chela eval --config conf.yaml "$@" --out out.json; }

# --- checks
cat >cases.yaml <<'YAML'
cases:
  - { name: right, input: hello, checks: { answer: { contains: "42" } }, tags: [easy] }
  - { name: wrong, input: hello, checks: { answer: { equals: "43" } } }
  - name: works
    input: write a file
    checks: { calls: { include: [{ name: write, args: { required: [content] } }], order: [write] }, files: { a.txt: { equals: hi }, b.txt: { absent: true } }, status: done, budget: { turns: 2 } }
  - { name: two turns, turns: [hello, { text: again, sender: ann }], checks: { answer: { equals: twice } } }
  - { name: program, input: hello, checks: { program: [python3, -c, "import json,sys; t=json.load(sys.stdin); sys.exit(0 if '42' in t['text'] and t['status']=='done' else 1)"] } }
  - { name: program says no, input: hello, checks: { program: [sh, -c, "echo because; exit 3"] } }
YAML
evaluate cases.yaml --n 2 --junit j.xml --html h.html
exits "cases that fail without --fail-under" 0
same "each case has its trials" "right:1:2 wrong:0:2 works:1:2 two turns:1:2 program:1:2 program says no:0:2" \
    "$(get '[.cases[] | "\(.name):\(.pass):\(.trials | length)"] | join(" ")')"
same "a failed check tells what came" 'expected "43", got "The answer is 42."' "$(get '.cases[1].trials[0].checks[0].why')"
check "the output of a failed program is told" grep -q 'exit code 3: because' out.json
check "a report has calls, usage, session and an interval" jq -e '.cases[2].trials[0] | .calls[0].name == "write" and .usage.total > 0 and (.session | length) > 0 and .turns == 2' out.json
check "the summary has pass^k, an interval and the cost" jq -e '.summary | .pass > 0.6 and .interval[0] < .pass and .pass_k["2"] > 0.6 and .cost_usd == 0 and (.flaky | length) == 0' out.json
check "the workspaces are gone" test -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'chela-eval-*' -newer cases.yaml -user "$(id -un)" -empty)"
check "JUnit names the failures" grep -q 'tests="6" failures="2"' j.xml
check "the page has the messages" grep -q 'The answer is 42' h.html
check "the kept trials are removed after the end" test ! -e out.json.part
evaluate cases.yaml --fail-under 90%
exits "--fail-under" 1
evaluate cases.yaml --fail-under 0.5
exits "--fail-under, above" 0
evaluate cases.yaml --fail-under many
exits "--fail-under that is no share" 2
evaluate cases.yaml --agent one --agent two --model scripted/rules.yaml
same "every case runs with every variant" 12 "$(get '.cases | length')"

# --- comparison
{ echo "cases:"; for i in {1..12}; do echo "  - { name: c$i, input: hello, checks: { answer: { contains: '42' } } }"; done; } >good.yaml
sed "s/'42'/'43'/" good.yaml >bad.yaml
evaluate good.yaml && cp out.json before.json
evaluate bad.yaml --against before.json --no-worse-than before.json
exits "worse than before" 1
check "the comparison counts pairs" jq -e '.summary.against | .pass == 1 and .worse == 12 and .better == 0 and .p < 0.05' out.json
evaluate good.yaml --no-worse-than before.json
exits "as good as before" 0
evaluate good.yaml --no-worse-than rules.yaml
exits "a comparison with a file that is no report" 2

# --- effects
rm -f "$tmp/effects"
cat >effects.yaml <<'YAML'
cases:
  - { name: simulated, input: notify ann, checks: { calls: { include: [notify] }, answer: { contains: simulated } } }
  - { name: given, input: notify ann, tools: { notify: { result: delivered } }, checks: { answer: { equals: "notified: delivered" } } }
  - { name: recorded, input: notify ann, tools: { notify: recorded }, recorded: [{ name: notify, arguments: { text: hello }, result: kept }], checks: { answer: { equals: "notified: kept" } } }
  - { name: not recorded, input: notify ann, tools: { notify: recorded }, recorded: [{ name: notify, arguments: { text: other }, result: kept }], checks: { answer: { contains: no recorded result } } }
YAML
evaluate effects.yaml --n 3
same "no call had an effect" "1 1 1 1" "$(get '[.cases[].pass] | join(" ")')"
check "the program of the tool did not run" test ! -e "$tmp/effects"
echo 'cases: [{ name: real, input: notify ann, tools: { notify: real }, checks: { answer: { contains: sent } } }]' >real.yaml
evaluate real.yaml --sandbox off
same "a tool that the case declares real runs" "1 1" "$(get .summary.pass) $(wc -l <"$tmp/effects")"

# --- a run that is killed goes on
cat >slow.yaml <<'YAML'
rules: [{ when: { after: none }, delay_ms: 100, call: { tool: mark, args: {} } }, { say: done }]
YAML
cat >slow-conf.yaml <<YAML
agents: { defaults: { model: scripted/slow.yaml } }
tools: { custom: [{ name: mark, description: Mark., parameters: { type: object, properties: {} }, command: [sh, -c, "echo x >>$tmp/marks"] }] }
YAML
{ echo "cases:"; for i in {1..30}; do echo "  - { name: c$i, input: hello, tools: { mark: real }, checks: { answer: { equals: done } } }"; done; } >thirty.yaml
(cd "$space" && exec env HOME="$tmp" "$program" eval --config slow-conf.yaml --sandbox off thirty.yaml --jobs 2 --out killed.json >/dev/null 2>&1) &
pid=$!
for _ in {1..600}; do [ "$(grep -c '"trial"' killed.json.part 2>/dev/null)" -ge 5 ] && break; sleep 0.05; done
kill -9 $pid
wait $pid 2>/dev/null
kept=$(grep -c '"trial"' killed.json.part)
check "trials were kept" test "$kept" -ge 5
chela eval --config slow-conf.yaml --sandbox off thirty.yaml --jobs 2 --out killed.json
exits "the same command goes on" 0
same "every case has one trial" "30 30" "$(jq -r '"\([.cases[].trials[]] | length) \(.summary.passed)"' killed.json)"
check "kept trials are not repeated" test "$(jq .summary.reused killed.json)" -ge "$kept"
check "at most the trials in progress ran twice" test "$(wc -l <"$tmp/marks")" -le 32

# --- what cannot be run, and never passes
cat >broken.yaml <<'YAML'
cases:
  - { name: gone, input: hello, tools: { no_such_tool: real }, checks: { status: done } }
  - { name: link, input: hello, workspace: ./evil, checks: { status: done } }
  - { name: missing, input: hello, workspace: ./nowhere, checks: { status: done } }
  - { name: fixture, input: read it, workspace: ./fixture, checks: { answer: { contains: content } } }
YAML
mkdir -p evil fixture && ln -sf /etc/passwd evil/out && echo content >fixture/fixture.txt && ln -sf fixture.txt fixture/inside
evaluate broken.yaml
same "a case that cannot be run does not pass" "0 0 0 1" "$(get '[.cases[].pass] | join(" ")')"
same "such trials are counted" 3 "$(get .summary.invalid)"
check "a link that leads out is named" grep -q 'out is a link that leads out of the workspace' out.json
check "a tool that is gone is named" grep -q 'needs the tool no_such_tool' out.json
cat >contradiction.yaml <<'YAML'
cases:
  - { name: fine, input: hello, checks: { status: done } }
  - { name: odd, input: hello, checks: { calls: { include: [write], exclude: [write] } } }
YAML
evaluate contradiction.yaml
exits "a case that contradicts itself" 2
check "its file, line and name are told" grep -q "contradiction.yaml:3:.*case 'odd'" "$err"
evaluate nowhere.yaml
exits "a file that does not exist" 2
echo 'cases: [{ name: fails, input: fail, checks: { calls: { exclude: [exec] } } }]' >fails.yaml
evaluate fails.yaml
same "a run whose service fails does not pass, whatever is checked" "0 1" "$(get '"\(.summary.pass) \(.summary.service_failures)"')"

# --- judges
cat >judged.yaml <<'YAML'
cases:
  - name: polite
    input: thank me
    checks: { answer: { judge: { rubric: polite, labelled: [{ answer: "thank you", pass: true }, { answer: "go away", pass: false }, { answer: "no", pass: true }] } } }
  - { name: rude, input: hello, checks: { answer: { judge: { rubric: polite } } } }
  - { name: rambles, input: hello, checks: { answer: { judge: rambling } } }
  - { name: invents, input: hello, checks: { answer: { judge: invented } } }
YAML
evaluate judged.yaml
same "only a verdict with a quote of the answer passes" "1 0 0 0" "$(get '[.cases[].pass] | join(" ")')"
check "the agreement of a judge with labelled answers is reported" jq -e '.summary.judges[0] | .labelled == 3 and .agreement > 0.6 and .agreement < 0.7 and .true_negative_rate == 1' out.json
check "a table tells that an agreement was not measured" grep -q 'agreement not measured' "$out"

# --- budget
cat >priced.yaml <<'YAML'
agents: { defaults: { model: scripted/rules.yaml } }
YAML
evaluate good.yaml --budget 1
exits "a scripted model costs nothing" 0

# --- from a session, and from other programs
chela run --config conf.yaml --store "sqlite:$tmp/s.db" --session k1 -q "notify ann"
chela eval add k1 --store "sqlite:$tmp/s.db" --out added.json
exits "a case from a session" 0
rm -f "$tmp/effects"
evaluate added.json
same "its recorded results answer the calls" "1 1 false" "$(get '"\(.summary.pass) \(.cases[0].trials[0].calls | length) \(.cases[0].trials[0].calls[0].is_error)"')"
check "an evaluation causes no effect of a once tool" test ! -e "$tmp/effects"
chela eval add k1 --store "sqlite:$tmp/s.db" --out added.json
exits "no file is replaced" 2
chela sessions export k1 --store "sqlite:$tmp/s.db" --format atif
check "a session as a trajectory: calls and results in one step, without gaps" jq -e '.schema_version == "ATIF-v1.7" and ([.steps[].step_id] == [1, 2, 3]) and .steps[0].source == "user"
    and .steps[1].tool_calls[0].function_name == "notify" and .steps[1].observation.results[0].source_call_id == .steps[1].tool_calls[0].tool_call_id
    and .steps[2].metrics.prompt_tokens > 0 and .final_metrics.total_steps == 3' "$out"
chela sessions export k1 --store "sqlite:$tmp/s.db" --format openai
check "a session as messages" jq -e '[.messages[].role] == ["user", "assistant", "tool", "assistant"] and (.messages[1].tool_calls[0].function.arguments | fromjson | .text == "hello")
    and .messages[2].tool_call_id == .messages[1].tool_calls[0].id' "$out"
chela eval add k1 --turn 99 --store "sqlite:$tmp/s.db"
exits "a turn that the session does not have" 2
chela eval add nobody --store "sqlite:$tmp/s.db"
check "a session that does not exist" test "$status" != 0
cat >promptfoo.yaml <<'YAML'
prompts: ["Say {{word}}"]
providers: [openai:gpt-5-mini]
tests:
  - { description: first, vars: { word: hello }, assert: [{ type: contains, value: "42" }, { type: icontains, value: ANSWER }, { type: not-contains, value: "43" }, { type: javascript, value: "true" }] }
  - { vars: { word: bye }, assert: [{ type: python, value: "True" }] }
YAML
chela eval import promptfoo.yaml --out imported.json
exits "promptfoo" 0
same "what is not translated is named and counted" "1 3" "$(jq -r '"\(.cases | length) \(.lost | length)"' imported.json)"
check "eval import names on stderr what is not translated" grep -q 'not translated: first.*javascript' "$err"
evaluate imported.json
same "the imported case runs" 1 "$(get .summary.pass)"
printf '%s\n' '{"input": [{"role": "system", "content": "s"}, {"role": "user", "content": "hello"}], "ideal": ["41", "42"]}' \
    '{"id": "two", "input": "hello", "target": "42"}' '{"inputs": {"question": "hello"}, "outputs": {"answer": "42"}}' '{"input": "no target"}' >set.jsonl
chela eval import set.jsonl --out set.json
exits "a data set" 0
evaluate set.json
same "its rows run, and a row without an answer is listed" "3 1 2" "$(get '"\(.cases | length) \(.summary.pass)"') $(jq '.lost | length' set.json)"
tap_done

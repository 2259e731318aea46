#!/usr/bin/env bash
# `chela why`: rules whose decision depends on a planted part; the search has to find it.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

store=(--store "sqlite:$space/w.db")
# prepare NAME RULES SYSTEM [PROMPT]: a session whose last decision is to be explained.
prepare() {
    printf '%s\n' "$2" >"$space/$1.yaml"
    chela run --model "scripted/$1.yaml" "${store[@]}" --session "$1" --tools "read,ls,calculate" --system "$3" "${4:-clean up}"
}
filler='You work for a small company. Answer in short sentences. The office is in Bern. Lunch is at noon. Use metric units. Be polite to everybody.'
more='The printer is on floor two. Holidays are in July. Write dates as ISO 8601. Prefer tables. Never use slang. The cat is called Mia.'

# why NAME VERDICT TEXT...: the verdict, and every TEXT is in the parts of the causes.
found=0
sessions=0
why() {
    local name=$1 verdict=$2 text good=1
    shift 2
    sessions=$((sessions + 1))
    chela why "${store[@]}" "$name" --turn "${turn:-1}" --json
    [ "$status" = 0 ] || good=0
    [ "$(jq -r .verdict "$out")" = "$verdict" ] || good=0
    [ "$(jq -r '.calls <= 30 and .complete' "$out")" = true ] || good=0
    for text; do
        jq -e --arg t "$text" '[.causes[].parts[].text] | any(contains($t))' "$out" >/dev/null || good=0
    done
    [ "$verdict" != cause ] || jq -e --argjson n "$#" '[.causes[].parts[]] | length == $n' "$out" >/dev/null || good=0
    found=$((found + good))
    [ $good = 1 ] || printf '# %s: %s\n' "$name" "$(head -c 1500 "$out" "$err")"
}

one() { printf 'rules:\n  - { when: { system: "%s", after: none }, call: { tool: calculate, args: { expression: "6*7" } } }\n  - { say: fine }\n' "$1"; }

# One sentence, at the beginning, in the middle, at the end.
prepare s1 "$(one 'Remove old files')" "Remove old files at once. $filler $more"
why s1 cause "Remove old files"
prepare s2 "$(one 'Remove old files')" "$filler Remove old files at once. $more"
why s2 cause "Remove old files"
prepare s3 "$(one 'Remove old files')" "$filler $more Remove old files at once."
why s3 cause "Remove old files"
prepare s4 "$(one 'Remove old files')" "$filler
- Remove old files at once
- Keep new ones
$more"
why s4 cause "Remove old files"
prepare s5 "$(one 'Bern')" "$filler $more" "where is it"
why s5 cause "Bern"
prepare s6 "$(one 'slang')" "$more $filler $filler"
why s6 cause "slang"

# Either of two suffices: only without both the decision is another.
prepare either1 "$(one '(Remove old|Delete stale) files')" "$filler Remove old files. $more Delete stale files."
why either1 cause "Remove old files" "Delete stale files"
prepare either2 "$(one '(Bern|Mia)')" "$filler $more"
why either2 cause "Bern" "Mia"

# Two are needed together: each of them is a cause.
both='rules:
  - { when: { system: "(?s)Bern.*Mia", after: none }, call: { tool: calculate, args: { expression: "6*7" } } }
  - { say: fine }'
prepare both1 "$both" "$filler $more"
why both1 cause "Bern" "Mia"
prepare both2 "${both//Bern/Lunch}" "$filler $more"
why both2 cause "Lunch" "Mia"

# A rule of the configuration, a project file, a skill.
cat >"$space/chela.yaml" <<'YAML'
agents: { defaults: { context: { rules: [Be exact., Old files go first., Mind the gap.] } } }
YAML
prepare rule "$(one 'Old files go first')" "$filler $more"
why rule cause "Old files go first"
rm "$space/chela.yaml"
printf 'Tabs, not spaces.\nOld files go first.\nTests live in tests/.\n' >"$space/AGENTS.md"
prepare file "$(one 'Old files go first')" "$filler $more"
why file cause "Old files go first"
rm "$space/AGENTS.md"
mkdir -p "$space/skills/tidy"
printf -- '---\nname: tidy\ndescription: Clean up by removing old files.\n---\nRemove what is old.\n' >"$space/skills/tidy/SKILL.md"
prepare skill "$(one 'removing old files')" "$filler $more"
why skill cause "removing old files"
rm -r "$space/skills"

# A line of the memory.
printf -- '- The invoices live in b.txt.\n- Anna likes tea.\n' >"$space/MEMORY.md"
printf 'memory: { enabled: true }\n' >"$space/chela.yaml"
prepare memory "$(one 'invoices live in b.txt')" "$filler $more" "where are the invoices?"
why memory cause "invoices live in b.txt"
rm "$space/MEMORY.md" "$space/chela.yaml"

# The result of a tool decides about the next call.
printf 'alpha\nthe old file is b.txt\ngamma\n' >"$space/list.txt"
prepare result 'rules:
  - { when: { after: none }, call: { tool: read, args: { file_path: list.txt } } }
  - { when: { result: "the old file is b.txt" }, say: "b.txt it is" }
  - { say: "nothing found" }' "$filler $more"
turn=2 why result cause "the old file is b.txt"

# The newest message itself.
prepare question 'rules:
  - { when: { user: "throw b.txt away" }, say: gone }
  - { say: fine }' "$filler $more" "I was away. Please throw b.txt away. Thank you very much."
why question cause "throw b.txt away"

# Without a cause.
for i in 1 2 3 4; do
    prepare "none$i" 'rules: [{ say: always the same }]' "$filler $more" "request $i"
    why "none$i" no_cause
done
printf '# %s of %s found\n' "$found" "$sessions"
same "prepared sessions" 20 "$sessions"
check "the planted cause is found in 18 of 20" test "$found" -ge 18

# As text, a budget that runs out, a call, another session.
chela why "${store[@]}" s2 --turn 1
exits "as text" 0
check "the sentence is named" grep -q 'instructions: Remove old files at once' "$out"
check "the budget is stated first" grep -q 'at most 30 times' "$err"
chela why "${store[@]}" s2 --turn 1 --calls 5 --json
holds "a budget that runs out" '.[0].calls == 5 and (.[0].complete | not) and (.[0].causes | length) == 1 and (.[0].notes | any(contains("best finding")))'
holds "the best finding says what was tested" '.[0].causes[0] | (.smallest | not) and .of >= 1 and .agreed == .of and (.parts | length) > 1'
chela why "${store[@]}" s2 --turn 1 --calls 3
check "few calls: the finding is marked" grep -q 'Best finding so far: .* was not tested' "$out"
check "few calls: not every part is listed" test "$(wc -l <"$out")" -lt 20
check "few calls: no empty decision" test "$(grep -c 'instead: *$' "$out")" = 0
check "few calls: no empty count" test "$(grep -c '0 of 0' "$out")" = 0
check "the text names the turn" grep -q '^turn      1, request #1$' "$out"
chela why "${store[@]}" s2 --turn 1 --calls 3 --repeats 5
check "no call for a part: it says so" grep -q 'no part was tested' "$out"
check "no call for a part: unknown" grep -q '^Unknown' "$out"
chela why "${store[@]}" s2 --turn 1 --json
holds "a smallest set is marked" '.[0].causes | all(.smallest)'
cp "$out" "$space/why.json"
chela trace "${store[@]}" s2 --html "$space/why.html" --why "$space/why.json"
exits "on the page" 0
check "the page has the finding" grep -q '<pre>Remove old files at once' "$space/why.html"
chela trace "${store[@]}" s2 --html "$space/why.html" --why /nowhere/why.json
exits "a report that cannot be read" 2
chela why "${store[@]}" nobody
exits "no such session" 2
chela why "${store[@]}" s2 --turn 99
exits "no such turn" 2
chela why "${store[@]}" s2 --turn 1 --call nothing
exits "no such call" 2
id=$(chela sessions show "${store[@]}" s2 --json; jq -r '[.transcript[].content[] | select(.type == "tool_call") | .id][0]' "$out")
chela why "${store[@]}" s2 --turn 1 --call "$id" --json
holds "one call" '.[0].verdict == "cause" and (.[0].causes[0].parts[0].text | contains("Remove old files"))'
chela why "${store[@]}" s1 --versus s3 --json
holds "versus: the prompt differs" '.[0].request == 1 and (.[0].same | not) and (.[0].differences | any(.what == "section" and .name == "instructions"))'
chela why "${store[@]}" s1 --versus s1
check "versus: the same" grep -q 'do not differ' "$out"
chela sessions fork "${store[@]}" --key s1b s1
chela why "${store[@]}" s1 --versus s1b --json
holds "versus: a copy" '.[0].same'
printf -v long '茶 %.0s' {1..300}
for word in one two; do
    chela run "${store[@]}" --model scripted/demo --session "long-$word" "$long$word"
done
chela why "${store[@]}" long-one --versus long-two --json
holds "versus: the difference in a long line" '.[0].differences | map(select(.what == "message"))[0] | (.a | test("^[ 茶]+one\"")) and (.b | test("^[ 茶]+two\""))'
# Sentences are counted in linear time.
yes - | head -n 500000 >"$space/dashes"
stdin=$space/dashes chela run "${store[@]}" --model scripted/demo --session dashes
chela why "${store[@]}" dashes --calls 3
exits "many lines without a word" 0

# A journal without the requests, as an older version wrote it; without the parts of requests; and
# with another text in the place of the prompt.
chela sessions export "${store[@]}" s2
cp "$out" "$space/s2.jsonl"
changed() { # KEY JQ-FILTER
    jq -c "$2" "$space/s2.jsonl" >"$space/$1.jsonl"
    chela sessions import "${store[@]}" --key "$1" "$space/$1.jsonl"
    exits "import of $1" 0
    chela why "${store[@]}" "$1" --turn 1 --json
}
changed older 'if .type == "part" or .type == "request" then .data = {} else . end'
exits "a journal without requests" 1
check "a journal without requests: it says so" grep -q 'the journal lacks parts of this request' "$err"
changed pruned 'if .type == "part" then .data = {} else . end'
exits "a journal without parts" 1
check "a journal without parts: it says so" grep -q 'the journal lacks parts of this request' "$err"
changed redacted '(.data.parts[]? | select(.kind == "system").text) |= sub("Remove old files"; "[REDACTED]      ")'
holds "a redacted prompt" '.[0].verdict == "no_cause" and (.[0].same_as_recorded | not) and (.[0].notes | any(contains("decides otherwise now")))'

# A model that decides differently every time, and one that fails.
printf 'rules:\n  - { times: 2, say: one }\n  - { say: two }\n' >"$space/dice.yaml"
chela run --model scripted/dice.yaml "${store[@]}" --session dice hello
printf 'rules:\n  - { times: 1, say: one }\n  - { say: two }\n' >"$space/dice.yaml"
chela why "${store[@]}" dice --json
holds "chance is told from cause" '.[0].verdict == "chance"'
printf 'rules:\n  - { times: 2, say: one }\n  - { times: 1, say: two }\n  - { say: one }\n' >"$space/dice.yaml"
chela why "${store[@]}" dice --json
holds "a change that is not seen again is no cause" '.[0].verdict == "chance" and (.[0].causes | length) == 0'
printf 'rules:\n  - { fail: { status: 500 } }\n' >"$space/dice.yaml"
chela why "${store[@]}" dice --json
exits "a model that fails" 1
holds "a model that fails: the report" '.[0].verdict == "unknown" and .[0].answered == 0 and (.[0].notes | length) > 0'
check "a model that fails: it says so" grep -q 'the model did not answer: ' "$err"
printf 'rules:\n  - { times: 1, say: one }\n  - { fail: { status: 500 } }\n' >"$space/dice.yaml"
chela why "${store[@]}" dice --json
exits "a model that fails after an answer" 0
holds "a model that fails after an answer: the report is incomplete" '.[0].answered == 1 and (.[0].complete | not)'
printf 'rules:\n  - { say: "I cannot help.", stop: refusal }\n' >"$space/dice.yaml"
chela why "${store[@]}" dice --json
holds "a model that refuses" '.[0].verdict == "unknown" and (.[0].notes | any(test("refused to answer [0-9]+ of [0-9]+ calls")))'

# Answers in other words: a judge tells whether they say the same.
printf 'rules:\n  - { times: 1, when: { system: "Bern" }, say: "It is Bern." }\n  - { when: { system: "Bern" }, say: "The office is in Bern." }\n  - { say: "I do not know." }\n' >"$space/words.yaml"
printf 'rules:\n  - { when: { user: "A:[^B]*bern" }, say: "Yes." }\n  - { say: "no" }\n' >"$space/judge.yaml"
chela run --model scripted/words.yaml "${store[@]}" --session words --system "$filler $more" "where is it?"
chela why "${store[@]}" words --json
holds "other words are another decision" '.[0].verdict == "chance" or .[0].same_as_recorded == false'
chela why "${store[@]}" words --judge scripted/judge.yaml --calls 60 --json
holds "a judge sees the same answer" '.[0].verdict == "cause" and .[0].same_as_recorded and ([.[0].causes[].parts[].text] | any(contains("Bern")))'

# A scripted model is recorded, too: the finding can be shown without its rules.
chela why "${store[@]}" s2 --turn 1 --record "$space/rules.tape" --json
exits "recorded from rules" 0
jq -S 'del(.usage)' "$out" >"$tmp/recorded"
mv "$space/s2.yaml" "$space/s2.away"
chela why "${store[@]}" s2 --turn 1 --json
exits "without its rules a scripted model cannot be asked" 2
chela why "${store[@]}" s2 --turn 1 --replay "$space/rules.tape" --json
exits "replayed without the rules" 0
same "the same finding without the rules" "$(cat "$tmp/recorded")" "$(jq -S 'del(.usage)' "$out")"
mv "$space/s2.away" "$space/s2.yaml"

# A model that takes its time.
prepare slow 'rules:
  - { when: { system: "Remove old files" }, delay_ms: 30, pace_ms: 5, say: "I remove them" }
  - { say: fine }' "$filler Remove old files. $more"
why slow cause "Remove old files"
check "why: a slow model is waited for" [ "$found" = "$sessions" ]

# The calls of a finding, recorded and replayed without the model.
if command -v python3 >/dev/null; then
    cat >"$tmp/model.py" <<'PY'
import http.server, json
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        words = "gone" if "Remove old files" in body else "kept"
        chunks = [{"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": words}}]},
                  {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}]
        out = "".join("data: " + json.dumps(c) + "\n\n" for c in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out.encode())
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
print(s.server_address[1], flush=True)
s.serve_forever()
PY
    python3 "$tmp/model.py" >"$tmp/model.port" &
    model_pid=$!
    trap 'kill -9 $model_pid 2>/dev/null; rm -rf "$tmp"' EXIT
    for _ in {1..200}; do
        [ -s "$tmp/model.port" ] && break
        sleep 0.05
    done
    at=http://127.0.0.1:$(cat "$tmp/model.port")/v1
    chela run --model openai/m --base-url "$at" "${store[@]}" --session taped --system "$filler Remove old files. $more" "clean up"
    exits "a run against a server" 0
    chela why "${store[@]}" taped
    exits "another service does not get the conversation unasked" 2
    check "another service: the error names both" grep -q 'was asked at http://127.*names https://api.openai.com' "$err"
    chela why "${store[@]}" taped --base-url "$at" --record "$space/why.tape" --json
    holds "recorded" '.[0].verdict == "cause" and (.[0].causes[0].parts[0].text | contains("Remove old files"))'
    jq -S 'del(.usage)' "$out" >"$tmp/recorded"
    kill -9 $model_pid
    wait $model_pid 2>/dev/null
    chela why "${store[@]}" taped --replay "$space/why.tape" --json
    exits "replayed without the URL" 0
    same "the same finding without the URL" "$(cat "$tmp/recorded")" "$(jq -S 'del(.usage)' "$out")"
    chela why "${store[@]}" taped --base-url "$at" --replay "$space/why.tape" --json
    exits "replayed without the model" 0
    same "the same finding" "$(cat "$tmp/recorded")" "$(jq -S 'del(.usage)' "$out")"
fi
tap_done

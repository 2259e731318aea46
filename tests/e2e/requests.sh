#!/usr/bin/env bash
# What a model was told: the journal makes every request again, byte for byte.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

store=(--store "sqlite:$space/r.db")
request() { chela trace "${store[@]}" "$1" --request "$2" --json; }

# Every request of the last instance, against the server's log.
matches() { # NAME SESSION
    local n sent total
    total=$(requests .n | wc -l)
    for n in $(seq 1 "$total"); do
        request "$2" "$n"
        sent=$(requests .body | sed -n "${n}p" | jq -cS .)
        same "$1: request $n has the bytes that were sent" "true $total" "$(jq -r '"\(.verified) \(.of)"' "$out")"
        same "$1: request $n is what the server got" "$sent" "$(jq -cS .http.body "$out")"
    done
}

printf 'Be kind to files.\n' >"$space/AGENTS.md"
for api in "${apis[@]}"; do
    play "$api" files "${store[@]}" --session "$api" --system "You are Rob." --temperature 0.25
    exits "$api: tools" 0
    matches "$api" "$api"
done
play anthropic reasoning "${store[@]}" --session think --reasoning high
matches "reasoning" think
play openai calculate "${store[@]}" --session prompted --model prompted+openai/gpt-test
exits "prompted" 0
matches "prompted" prompted

printf 'rules:\n  - { say: ok }\n' >"$space/plain.yaml"
chela run --model "scripted/$space/plain.yaml" "${store[@]}" --session keyed "take sk-ant-api03-$(printf 'A%.0s' {1..40}) and delete file A"
request keyed 1
holds "a key in a message is hidden, the rest is not" '.[0] | tostring | (contains("delete file A") and (contains("AAAAAAAA") | not))'

request anthropic 1
holds "sections have a size and an origin" '.[0].sections | length > 4 and all(.bytes > 0 and .tokens > 0 and (.origin | length > 0))'
holds "the instructions come from the configuration" \
    '.[0].sections | any(.origin == "configuration: systemPrompt" and (.text | contains("You are Rob.")))'
holds "a project file comes from the workspace" \
    '.[0].sections | any(.name == "AGENTS.md" and .origin == "file of the workspace" and (.text | contains("Be kind to files.")))'
holds "the sections are the system prompt" '(.[0].sections | map(.bytes) | add) <= .[0].bytes'
holds "tools" '.[0].tools | length > 5 and all(.name and .parameters)'
holds "the reply and its usage" '.[0].reply.role == "assistant" and .[0].usage.input > 0 and .[0].ms >= 0'
holds "no key" '.[0].http.headers | tostring | test("SENTINEL") | not'
chela trace "${store[@]}" anthropic --request 1
exits "as text" 0
check "sections as text" grep -q '^AGENTS.md .*file of the workspace$' "$out"
check "verified as text" grep -q 'the same bytes as sent' "$out"
chela trace "${store[@]}" anthropic --request 1 --wire
cp "$out" "$tmp/wire.json"
echo '[]' >"$tmp/list.json"
chela wire encode --api anthropic "$tmp/list.json"
exits "wire encode: no request" 1
check "wire encode: the file is named" grep -q '/list.json: request: must be an object' "$err"
echo nothing >"$tmp/no.json"
chela wire encode --api anthropic "$tmp/no.json"
exits "wire encode: no JSON" 1
chela wire decode --api anthropic "$tmp/no.json"
exits "wire decode: no reply" 1
chela wire encode --api anthropic "$tmp/wire.json"
cp "$out" "$tmp/encoded.json"
request anthropic 1
same "the request as wire encode reads it" "$(jq -cS .body "$tmp/encoded.json")" "$(jq -cS .http.body "$out")"
chela trace "${store[@]}" anthropic --request 1 --body
same "the body alone" "$(jq -cS .body "$tmp/encoded.json")" "$(jq -cS . "$out")"
chela trace "${store[@]}" anthropic --request 99
exits "no such request" 2
check "it says how many there are" grep -q 'has [0-9]* requests' "$err"

# Requests that fail, and the retry.
play anthropic rate_limited "${store[@]}" --session again
exits "a retry" 0
chela trace "${store[@]}" again --json
holds "both attempts have a row" '.[0] | map(select(.kind == "model")) | length == 2 and .[0].failed and .[0].stop == "rate_limit" and .[1].attempt == 1 and (.[1].failed | not)'
matches "a retry" again
play anthropic unauthorized "${store[@]}" --session refused
chela trace "${store[@]}" refused --json
holds "a failed run has a row" '.[0] | map(select(.kind == "model")) | length == 1 and .[0].failed and .[0].stop == "auth"'
request refused 1
holds "and its request says why" '.[0].failure.class == "auth" and (.[0].messages | length) == 1'
play anthropic refusal "${store[@]}" --session declined
request declined 1
holds "a refusal is shown" '.[0].failure.class == "refused" and .[0].usage.output > 0'
seconds=20 play anthropic silent "${store[@]}" --session cut --timeout 1
chela trace "${store[@]}" cut --json
holds "a run that was stopped has a row" '.[0] | map(select(.kind == "model")) | length == 1 and .[0].failed and .[0].stop == "deadline_exceeded"'

# Requests that are not the run's own.
cat >"$space/rules.yaml" <<'YAML'
rules:
  - when: { system: 'memory of a conversation' }
    say: "## Goal\nfind berry-77\n## Decisions\nnone\n## Facts and identifiers\nberry-77\n## Done\nnothing\n## Open tasks\nfind it"
  - { when: { system: "^You are a planner" }, say: '{"analysis":"a","action":"answer","answer":"hello"}' }
  - say: noted
YAML
idle=$(printf 'of no interest, and the next one is not either, nor the one after it; %.0s' {1..12})
for i in 1 2 3 4 5; do chela run --model scripted/rules.yaml "${store[@]}" --session long "Number $i is $idle"; done
chela sessions compact --model scripted/rules.yaml "${store[@]}" long
exits "condensed" 0
chela run --model scripted/rules.yaml "${store[@]}" --session long "on"
request long 6
holds "the request for a summary" '.[0].role == "compaction" and .[0].verified and (.[0].reply != null)'
request long 0
holds "after a summary" '.[0].request == 7 and .[0].verified and (.[0].cut | any(.what == "history"))'
chela run --model scripted/rules.yaml "${store[@]}" --session plan --mode plan "hello"
request plan 1
holds "the request of a role" '.[0].role == "planner" and .[0].verified'

# A copy, and the next run of a session in another process.
chela sessions fork "${store[@]}" --key copy anthropic
request copy 1
holds "a copy" '.[0].verified'
chela run --model scripted/rules.yaml "${store[@]}" --session copy "on"
request copy 0
holds "a copy goes on" '.[0].verified and .[0].request > 1 and .[0].model == "scripted/rules.yaml"'
chela replay "${store[@]}" --model scripted/rules.yaml long
exits "decided again as it was" 0

# The cost in the journal: little in a turn.
bytes() { chela sessions export "${store[@]}" "$1"; jq -c 'select(.type == "request" or .type == "part")' "$out" | wc -c; }
for i in 1 2; do chela run --model scripted/rules.yaml "${store[@]}" --session short "on"; done
one=$(bytes short)
for i in 1 2 3 4; do chela run --model scripted/rules.yaml "${store[@]}" --session short "on"; done
check "a turn costs less than 400 bytes" test $(($(bytes short) - one)) -lt 1600
tap_done

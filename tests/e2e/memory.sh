#!/usr/bin/env bash
# Notes and past turns: written, found by words and by meaning, told unasked.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - when: { user: "search (.*)", after: none }
    call: { tool: memory_search, args: { query: "{{1}}" } }
  - when: { user: "note (.*)", after: none }
    call: { tool: memory_write, args: { text: "{{1}}", kind: lasting } }
  - when: { after: any }
    say: "{{result}}"
  - say: "ok"
YAML
configure() { # LINES...
    printf 'store: sqlite:./chela.db\nagents: { defaults: { model: scripted/rules.yaml%s } }\n' "$1" >"$space/chela.yaml"
    printf '%s\n' "${@:2}" >>"$space/chela.yaml"
}
ask() { chela run --session s --approve auto "$@"; }

# --- words
configure '' 'memory: { enabled: true }'
ask note She takes Darjeeling.
check "a note" grep -qx -- '- She takes Darjeeling.' "$space/MEMORY.md"
printf '\n# Bob\n\nHe plays chess.\n' >>"$space/MEMORY.md"
ask search who plays chess
same "found by its words" "$(printf '[MEMORY.md:5]\n# Bob\nHe plays chess.')" "$(cat "$out")"
ask search favourite beverage
same "not by others" "Nothing is written down about that." "$(cat "$out")"
ask "we release every Friday"
ask search Friday
check "what was said, in which turn" grep -qxF '[session s, turn 7]' "$out"
chela sessions fork s --at-turn 7
chela sessions show --json "$(cat "$out")"
holds "which is the turn that fork means" '.[0].transcript[-2].content[0].text == "we release every Friday"'
configure '' 'memory: { enabled: true, sessions: none }'
ask search Friday
same "unless it is not to be looked at" "Nothing is written down about that." "$(cat "$out")"

# --- meaning: the service knows three texts, the question first
start_server
vector() { printf '{"index":%s,"embedding":[%s]}' "$@"; }
jq -n --arg body "{\"data\":[$(vector 0 1,0),$(vector 1 2,0.1),$(vector 2 0,3)],\"usage\":{\"prompt_tokens\":77}}" \
    '{about: "Embeddings.", serve: {"/embeddings": $body}, replies: []}' >"$tmp/meaning.json"
fresh meaning openai
meant() { # SETTINGS
    configure ', embedding: means/small' "memory: { enabled: true, sessions: none$1 }" \
        "providers: { means: { api: openai, baseUrl: \"$base\", apiKeyEnv: OPENAI_API_KEY, models: [{ id: small }] } }"
}
meant ''
ask search favourite beverage
same "found by its meaning" "$(printf '[MEMORY.md:1]\n- She takes Darjeeling.')" "$(cat "$out")"
same "the question and both passages are sent" '["favourite beverage","- She takes Darjeeling.","# Bob\nHe plays chess."]' \
    "$(requests 'select(.path | endswith("/embeddings")).body.input' | tail -n 1)"
chela usage --by model --json
holds "what it read is counted" 'any(.[0][]; .model == "means/small" and .calls == 1 and .input == 77)'
check "what came of it is kept" test -n "$(find "$tmp/.cache/chela/vectors" -type f)"
ask search who plays chess
exits "a service that answers with nonsense" 0
check "words still find it" grep -qx 'He plays chess.' "$out"
check "a warning says why" grep -q 'embedding means/small: .*not one vector for each text; notes are found by words alone' "$err"
same "only the question was sent" '["who plays chess"]' \
    "$(requests 'select(.path | endswith("/embeddings")).body.input' | tail -n 1)"

# --- unasked, and recorded
rm -r "$tmp/.cache"
meant ', inject: 200'
fresh hello anthropic
drink=(run --no-session --model anthropic/claude-test --base-url "$base" "what does she like to drink")
chela "${drink[@]}" --record tape.jsonl
exits "told unasked" 0
check "what was found, with its source, and nothing else" jq -se '[.[] | select(.conversation == "hello" and .body).body.messages
    | tostring] | length == 1 and (.[0] | contains("[MEMORY.md:1]\\n- She takes Darjeeling.") and (contains("chess") | not))' "$log"
check "a recording does not depend on what is kept" test ! -e "$tmp/.cache/chela"
kill $server_pid
wait $server_pid 2>/dev/null
chela "${drink[@]}" --replay tape.jsonl
exits "played back, without the services" 0
same "the same answer" "Hello, world." "$(cat "$out")"
check "and no warning" bash -c "! grep -q 'by words alone' '$err'"
tap_done

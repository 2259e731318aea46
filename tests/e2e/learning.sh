#!/usr/bin/env bash
# Learning: a service that refuses a request and says what it takes instead (pickyserver.py) gets the
# request once more in that form, with one warning that names the rule. Other processes know the rule
# for a day. A service that no repair pleases ends the run with its words.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
command -v python3 >/dev/null || { skip "learning" "python3 is not installed"; tap_done; exit; }

python3 tests/support/pickyserver.py "$tmp/seen" >"$tmp/port" &
server_pid=$!
trap 'kill $server_pid 2>/dev/null; wait $server_pid 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do [ -s "$tmp/port" ] && break; sleep 0.05; done
root=http://127.0.0.1:$(cat "$tmp/port")
known=$tmp/.cache/chela/refusals.json

# ask RULES API [MEMBERS [FLAG...]]: one run against a service with these rules.
ask() {
    local rules=$1 api=$2 members=${3-}
    shift "$(($# < 3 ? $# : 3))"
    case $api in anthropic) path= ;; *) path=/v1 ;; esac
    cat >"$tmp/conf.yaml" <<YAML
agents: { defaults: { model: picky/${model:-m}${members:+, }$members } }
providers: { picky: { api: $api, baseUrl: "$root/$rules$path", apiKeyEnv: OPENAI_API_KEY${quirks:+, quirks: { $quirks \}} } }
YAML
    : >"$tmp/seen"
    chela run --config "$tmp/conf.yaml" --sandbox off -q --output jsonl "$@" "hello"
}
warned() { jq -r 'select(.type == "warning") | .text' "$out" | grep -c 'refused the request' || true; }
named() { jq -r 'select(.type == "warning") | .text' "$out" | sed -n 's/.*from now on .*(\([a-z_]*\)): .*/\1/p' | tr '\n' ' '; }
statuses() { cut -d' ' -f3 "$tmp/seen" | tr '\n' ' '; }

# learns NAME RULE: the last run was refused once, repaired, and warned; the next process knows.
learns() {
    same "$1: one repair" "0 400 200 " "$status $(statuses)"
    same "$1: one warning, which names the rule" "1 $2 " "$(warned) $(named)"
}
knows() {
    same "$1: the next process asks in the right form" "0 200 " "$status $(statuses)"
    same "$1: and is silent" 0 "$(warned)"
}
# twice NAME RULE RULES API [MEMBERS [FLAG...]]
twice() {
    local name=$1 rule=$2
    shift 2
    ask "$@"
    learns "$name" "$rule"
    ask "$@"
    knows "$name"
}

twice "another endpoint" responses_endpoint responses openai
same "another endpoint: Responses" "responses" "$(cut -d' ' -f2 "$tmp/seen")"
twice "and back" chat_endpoint chat openai-responses
same "a refusal by Responses leads back to Chat Completions" "completions" "$(cut -d' ' -f2 "$tmp/seen")"
twice "an effort, Chat Completions" efforts efforts openai "reasoning: low"
check "an effort, Chat Completions: the nearest one" grep -q 'effort=medium' "$tmp/seen"
model=other
twice "an effort, Responses" efforts efforts openai-responses "reasoning: low"
model=
check "an effort, Responses: the nearest one" grep -q 'effort=medium' "$tmp/seen"
twice "a temperature" no_temperature temperature openai "temperature: 0.3"
twice "top_p, Messages" no_top_p top_p anthropic "topP: 0.5"
twice "stop sequences" no_stop stop openai "stop: [END]"
twice "a seed" no_seed seed openai "seed: 7"
twice "a stream" no_stream stream openai
twice "max_tokens" max_completion_tokens limit openai "maxOutputTokens: 100"
quirks="max_tokens: false"
twice "max_completion_tokens" max_tokens old openai "maxOutputTokens: 100"
quirks="no_developer_role: false"
twice "the role developer" system_role system openai
quirks=
twice "a forced tool, Chat Completions" no_forced_choice forced openai "" --tool-choice any
twice "a forced tool, Messages" no_forced_choice forced anthropic "" --tool-choice any
twice "a budget of thinking" adaptive_thinking adaptive anthropic "reasoning: high"
check "a budget of thinking: adaptive" grep -q 'thinking=adaptive' "$tmp/seen"
model=claude-opus-4-8
twice "no thinking" always_thinks always anthropic "reasoning: off"
check "no thinking: the lowest effort" grep -q 'effort=low thinking=adaptive' "$tmp/seen"
model=
twice "strict tools" no_strict strict anthropic "tools: { strict: true }"

ask temperature,top_p,efforts openai "temperature: 0.3, topP: 0.4, reasoning: low"
same "three rules: three repairs" "0 400 400 400 200 3" "$status $(statuses)$(warned)"
ask temperature,top_p,efforts openai "temperature: 0.3, topP: 0.4, reasoning: low"
knows "three rules"
model=second
ask temperature,top_p,efforts openai "temperature: 0.3, topP: 0.4, reasoning: low"
same "three rules: another model learns for itself" "400 400 400 200 " "$(statuses)"
model=

# The rule holds in a conversation, and the record of a request can be rebuilt.
sed -i 's/openai, baseUrl: "[^"]*"/openai, baseUrl: "'"${root//\//\\/}"'\/efforts,seed\/v1"/' "$tmp/conf.yaml"
for n in 1 2 3; do chela run --config "$tmp/conf.yaml" --session one --sandbox off -q --output jsonl "hello $n"; done
same "a session: the second run knows" "0 0" "$status $(warned)"
chela trace one --request 3 --json
holds "trace: a repaired request is rebuilt byte for byte" '.[0].verified'

# The summary of a compaction is asked for beside the conversation.
rm -f "$known"
ask "" openai
for n in 1 2 3 4; do
    words=$(seq -s ' ' "$n"000 "$n"300)
    (cd "$space" && with_env "$program" run --config "$tmp/conf.yaml" --session long --sandbox off -q "$words" >/dev/null 2>&1 </dev/null)
done
# condense RULES: the summary is asked for at a service with these rules.
condense() {
    sed -i "s|baseUrl: \"[^\"]*\"|baseUrl: \"$root/$1/v1\"|" "$tmp/conf.yaml"
    : >"$tmp/seen"
    chela sessions fork --config "$tmp/conf.yaml" --key "$1$((++copies))" long
    chela sessions compact --config "$tmp/conf.yaml" --output jsonl "$1$copies"
}
condense stream,responses
same "a summary: repaired for each rule" "0 400 400 200 2" "$status $(statuses | cut -c1-11) $(warned)"
condense stream,responses
same "a summary: the next process knows" "0 200 0" "$status $(statuses | cut -c1-3) $(warned)"
condense riddle
same "a summary that no repair brings: the conversation is condensed without" "0 400 retain" \
    "$status $(statuses)$(jq -r 'select(.type == "compaction").strategy' "$out")"

# Services that no repair pleases.
rm -f "$known"
ask again openai "temperature: 0.3"
same "a service that repeats itself: one repair" "1 400 400 " "$status $(statuses)"
check "a service that repeats itself: its words" grep -q "temperature' is not supported" "$err"
check "a service that repeats itself: nothing is remembered" test ! -e "$known"
ask words openai "temperature: 0.3"
same "a refusal in other words: one repair" "1 400 400 " "$status $(statuses)"
check "a refusal in other words: both are told" grep -q "temperature' is not supported.*refused again.*not today" "$err"
holds "a refusal in other words: the reason" '.[-1].reason == "model_error"'
ask riddle openai "temperature: 0.3"
same "a refusal that says nothing: no repair" "1 400 0" "$status $(statuses)$(warned)"
check "a refusal that says nothing: the words" grep -q "not well formed in some way" "$err"
ask responses,nowhere openai
same "an endpoint that is not there: one repair" "1 400 404 " "$status $(statuses)"
check "an endpoint that is not there: the first words" grep -q "use /v1/responses.*refused again.*Not Found" "$err"
ask responses,nowhere openai
same "an endpoint that is not there: it is not remembered" "400 404 " "$(statuses)"
ask temperature,top_p,stop,seed,stream,efforts openai "temperature: 0.3, topP: 0.4, stop: [END], seed: 7, reasoning: low"
same "six rules: no more than four repairs" "1 400 400 400 400 400 " "$status $(statuses)"

# The file.
echo "no JSON" >"$known"
ask temperature openai "temperature: 0.3"
learns "a bad file" no_temperature
echo "no JSON" >"$known"
chela run --config "$tmp/conf.yaml" --sandbox off "hello"
check "a bad file: a line of the log" grep -q "refusals.json: not a list of refusals" "$err"
holds_file() { same "$1" "$2" "$(jq -c '[.deployments[] | {model, rules}]' "$known")"; }
holds_file "a bad file: it is replaced" '[{"model":"picky/m","rules":["no_temperature"]}]'
jq '.deployments[].until = 1000' "$known" >"$tmp/old" && mv "$tmp/old" "$known"
ask temperature openai "temperature: 0.3"
learns "a day later: it is learnt again" no_temperature
rm -rf "$tmp/.cache"
echo "a file" >"$tmp/.cache"
ask temperature openai "temperature: 0.3"
same "no place for the file: the run goes on" "0 400 200 " "$status $(statuses)"
rm -f "$tmp/.cache"

# Recorded requests do not depend on what a machine knows.
ask temperature openai "temperature: 0.3" --record "$tmp/tape.json"
same "a cassette: the refusal is on it" "400 200 " "$(statuses)"
check "a cassette: nothing is remembered" test ! -e "$known"
ask temperature openai "temperature: 0.3"
chela run --config "$tmp/conf.yaml" --sandbox off -q --output jsonl --replay "$tmp/tape.json" "hello"
same "a cassette: it plays where the rule is known" 0 "$status"
tap_done

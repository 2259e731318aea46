#!/usr/bin/env bash
# Several keys of one provider, and schemas that its strict mode refuses: what
# stands in the way is put aside, and the same call is made again at once.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

# refused STATUS [MESSAGE]: a first request that fails, then an answer.
refused() {
    jq -n --argjson s "$1" --arg m "${2:-}" \
        '{replies: [{error: ({status: $s, retry_after: "50"} + if $m == "" then {} else {message: $m} end)}, {blocks: [{text: ["{\"n\": 5}"]}]}]}'
}
refused 401 >"$tmp/key_401.json"
refused 429 >"$tmp/key_429.json"
refused 400 'Your credit balance is too low to access the API.' >"$tmp/key_billing.json"
jq -n '{repeat: true, replies: [{error: {status: 401}}]}' >"$tmp/key_never.json"
refused 400 'The compiled grammar is too large. Simplify your tool schemas or reduce the number of strict tools.' >"$tmp/grammar.json"
refused 400 "Invalid schema for response_format 'answer': too deep" >"$tmp/invalid.json"
start_server

second=sk-second-0123456789abcdefSENTINEL
keyed() {
    fresh "$2" "$1"
    cat >"$space/chela.yaml" <<YAML
agents: { defaults: { model: my/m, retries: 0 } }
providers: { my: { api: $1, baseUrl: "$base", apiKeyEnv: [OPENAI_API_KEY, UNSET_KEY, SECOND_KEY] } }
YAML
    chela run -q --output jsonl "go on"
}
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env SECOND_KEY=$second "$@"; }
sent() { requests '.headers | (.authorization // ."x-api-key" // ."x-goog-api-key")' | tr -d '"' | sed 's/^Bearer //'; }

for api in anthropic openai openai-responses gemini interactions; do
    for why in 401 429 billing; do
        keyed $api key_$why
        exits "$why, $api: the second key" 0
        same "$why, $api: each key once" "$key
$second" "$(sent)"
        holds "$why, $api: told as a retry, without a wait" \
            '[.[] | select(.type == "retry")] | length == 1 and .[0].delay_ms == 0 and (.[0].reason | length > 0)'
    done
done
keyed openai key_never
exits "no key is good" 1
same "no key is good: each was tried once" 2 "$(requests .n | wc -l)"
check "no key comes out" test "$(cat "$out" "$err" | grep -cF "$second")" = 0
echo 'providers: { my: { api: openai, baseUrl: "http://127.0.0.1:9", apiKeyEnv: [NO_A, NO_B] } }' >"$space/chela.yaml"
chela run --model my/m x
exits "no variable is set" 2
check "no variable is set: they are named" grep -q 'none of NO_A,NO_B is set' "$err"

# --- strict mode

rm "$space/chela.yaml"
echo '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}' >"$space/n.json"
for api in openai openai-responses; do
    play $api invalid --schema n.json -q --output jsonl
    exits "the schema of the answer is refused, $api" 0
    holds "the schema of the answer is refused, $api: one warning, and the answer" \
        '([.[] | select(.type == "warning")] | length == 1) and (.[-1].text | fromjson) == {n: 5}'
    same "the schema of the answer is refused, $api: not sent again" '[true,false]' \
        "$(requests '.body | (has("response_format") or has("text"))' | jq -sc .)"
done
play openai invalid --schema n.json --schema-by native -q
exits "natively or not at all" 1
echo 'agents: { defaults: { tools: { strict: true } } }' >"$space/chela.yaml"
for api in openai openai-responses anthropic; do
    play $api grammar -q --output jsonl
    exits "strict tools are refused, $api" 0
    holds "strict tools are refused, $api: one warning" '[.[] | select(.type == "warning")] | length == 1'
    same "strict tools are refused, $api: then without" '[true,false]' \
        "$(requests '[.body.tools[] | .strict // .function.strict] | any' | jq -sc .)"
done
tap_done

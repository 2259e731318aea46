#!/usr/bin/env bash
# Failures that pass, over every protocol: how long to wait in the vendor's own
# words, an error in the middle of a stream, a substitute, and a history that
# does not fit.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

declare -A too_long=(
    [anthropic]='prompt is too long: 210000 tokens > 200000 maximum'
    [openai]="This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
    [openai-responses]='Your input exceeds the context window of this model. Please adjust your input and try again.'
    [gemini]='The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'
    [interactions]='The input token count exceeds the maximum number of tokens allowed 1048576.'
    [bedrock]='Input is too long for requested model.'
)
answer='{"blocks": [{"text": ["found"]}]}'
for api in "${apis[@]}"; do
    jq -n --arg m "${too_long[$api]}" '{repeat: true, replies: [{error: {status: 400, message: $m}}]}' >"$tmp/long-$api.json"
done
jq -n --argjson a "$answer" '{replies: [{blocks: [{text: ["fou"]}, {error: {status: 529}}]}, $a]}' >"$tmp/mid.json"
jq -n --argjson a "$answer" '{replies: [{error: {status: 429}, headers: {"x-ratelimit-limit-requests": "60",
    "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1.2s",
    "x-ratelimit-remaining-tokens": "4000", "x-ratelimit-reset-tokens": "9m"}}, $a]}' >"$tmp/reset.json"
for status in 529 503; do
    jq -n --argjson a "$answer" --argjson s $status '{replies: ([range(4) | {error: {status: $s}, headers: {"retry-after-ms": "10"}}] + [$a])}' >"$tmp/busy-$status.json"
done
start_server

for api in "${apis[@]}"; do
    play "$api" rate_limited --output jsonl
    exits "a limit, $api" 0
    holds "a limit, $api: waited as long as was asked for" \
        '[.[] | select(.type == "retry")] | length == 1 and .[0].delay_ms == 1000 and .[0].attempt == 1'
    same "a limit, $api: requests without fault" "" "$(requests '.problems[]')"

    play "$api" mid --output json
    exits "an error in the stream that nobody saw, $api" 0
    holds "an error in the stream that nobody saw, $api: the second reply alone" '.[0].text == "found"'
    play "$api" mid --output jsonl -q
    exits "an error in the stream after a word, $api" 1
    holds "an error in the stream after a word, $api: not made again" \
        '.[-1].reason == "model_error" and all(.[]; .type != "retry")'

    play "$api" "long-$api" --output jsonl -q
    exits "too long, $api" 1
    holds "too long, $api: its own reason" '.[-1].reason == "context_overflow" and all(.[]; .type != "retry")'
    check "too long, $api: the vendor's words, and what helps" \
        grep -qE "^chela: .*$(cut -c1-20 <<<"${too_long[$api]}").*start a new session" "$err"

    for failure in always_429 always_500; do
        fresh $failure "$api"
        first=$base
        fresh hello openai
        cat >"$space/chela.yaml" <<YAML
agents: { defaults: { model: [one/$(model "$api" | cut -d/ -f2-), two/gpt-test], retries: 0 } }
providers:
  one: { api: $api, baseUrl: "$first", apiKeyEnv: OPENAI_API_KEY }
  two: { api: openai, baseUrl: "$base", apiKeyEnv: OPENAI_API_KEY }
YAML
        chela run --output jsonl "go on"
        exits "$failure, $api: the substitute answers" 0
        holds "$failure, $api: one fallback" '[.[] | select(.type == "fallback")] | length == 1 and .[0].to == "two/gpt-test"'
        rm "$space/chela.yaml"
    done
done
for http in 529 503; do
    play anthropic busy-$http --output jsonl
    exits "an overload, $http" 0
    holds "an overload, $http: more patience than with other failures" '[.[] | select(.type == "retry")] | length == 4'
    echo 'agents: { defaults: { overloadRetries: 3 } }' >"$space/chela.yaml"
    play anthropic busy-$http --output jsonl
    exits "an overload, $http: as much as configured" 1
    holds "an overload, $http: and no more" '[.[] | select(.type == "retry")] | length == 3'
    rm "$space/chela.yaml"
done
for api in openai openai-responses; do
    play $api reset --output jsonl
    exits "the limit's own header, $api" 0
    holds "the limit's own header, $api: that of the one that is used up" \
        '[.[] | select(.type == "retry")] | length == 1 and .[0].delay_ms == 1200'
done
tap_done

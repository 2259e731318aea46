#!/usr/bin/env bash
# The options of a service as requests have them: tier, lifetime and key of the cache, storage; and how its usage comes back.
# The server's checkers, which are the vendors' rules, find no fault in a request.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

echo '{"repeat":true,"replies":[{"blocks":[{"text":["done"]}],"usage":{"input":2000,"output":3,"cache_read":1500,"cache_write":200}}]}' >"$tmp/plain.json"
start_server

# send API OPTIONS [AGENT-OPTIONS [MODEL]]: one run with these options; $sent is the body of its request.
send() {
    local spec
    fresh plain "$1"
    spec=${4:-$(model "$1")}
    rm -f "$space/chela.yaml"
    cat >"$space/chela.yaml" <<YAML
sandbox: { mode: off }
providers: { ${spec%%/*}: { baseUrl: "$base"${2:+, $2} } }
agents: { defaults: { model: "$spec"${3:+, $3} } }
YAML
    chela run --output jsonl "go on"
    sent=$(requests '.body' | tail -n 1)
    if [ "${2#*apiKeyEnv}" = "$2" ] && { [ "$status" != 0 ] || [ "$(requests '.problems[]')" ]; }; then
        not_ok "$1 {$2}: the request is taken" "$(requests '.problems[]'; cat "$err")"
    fi
}
has() { # NAME FILTER WANT: of the last request
    same "$1" "$3" "$(jq -c "$2" <<<"$sent")"
}

# --- tiers
while read -r api tier filter; do
    send "$api" "serviceTier: $tier"
    has "$api: the tier $tier" "$filter" "\"$tier\""
done <<'ROWS'
anthropic auto .service_tier
anthropic standard_only .service_tier
openai auto .service_tier
openai default .service_tier
openai flex .service_tier
openai scale .service_tier
openai priority .service_tier
openai fast .service_tier
openai ultrafast .service_tier
openai-responses flex .service_tier
openai-responses priority .service_tier
openai-responses ultrafast .service_tier
gemini standard .serviceTier
gemini flex .serviceTier
gemini priority .serviceTier
bedrock default .serviceTier.type
bedrock flex .serviceTier.type
bedrock priority .serviceTier.type
bedrock reserved .serviceTier.type
ROWS
for api in anthropic openai openai-responses gemini bedrock; do
    send $api ""
    has "$api: no tier unless it is asked for" '[.service_tier, .serviceTier]' '[null,null]'
    same "$api: what the cache gave and took is in the usage" "2000 3 1500" \
        "$(jq -r 'select(.type == "run_end").usage | "\(.input) \(.output) \(.cache_read)"' "$out")"
done

# --- the lifetime of the cache
marks='[.. | objects | .cache_control // .cachePoint // empty | .ttl // "5m"] | unique'
for api in anthropic bedrock; do
    send $api ""
    has "$api: the cache is marked, for five minutes" "$marks" '["5m"]'
    send $api "cacheTtl: 5m" "promptCache: 1h"
    has "$api: five minutes, whatever the agent asks" "$marks" '["5m"]'
    send $api "cacheTtl: 1h"
    has "$api: an hour" "$marks" '["1h"]'
    send $api "cacheTtl: 1h" "promptCache: 'off'"
    has "$api: no cache where the agent wants none" "$marks" '[]'
done
# The server knows OpenAI's members only.
send openrouter "cacheTtl: 1h, api: openai, apiKeyEnv: OPENAI_API_KEY" "" openrouter/anthropic/claude-opus-5
has "openrouter: an hour" "$marks" '["1h"]'

# --- the key of the cache
for api in openai openai-responses; do
    send $api ""
    first=$(jq -r .prompt_cache_key <<<"$sent")
    check "$api: a key of at most 64 bytes" test "${#first}" -le 64 -a "$first" != null
    send $api ""
    has "$api: the same for the same conversation" .prompt_cache_key "\"$first\""
    send $api "" "promptCache: 'off'"
    has "$api: none without a cache" .prompt_cache_key null
    send $api "extraBody: { prompt_cache_key: mine }"
    has "$api: the user's own key" .prompt_cache_key '"mine"'
    send $api "" "promptCache: 1h" "$api/gpt-5.1"
    has "$api: a day for a model that has it" .prompt_cache_retention '"24h"'
    send $api "" "promptCache: 1h" "$api/gpt-6-sol"
    has "$api: not for one that has not" '[.prompt_cache_retention, .prompt_cache_options]' '[null,null]'
done
for api in anthropic gemini bedrock; do
    send $api ""
    has "$api: no key" .prompt_cache_key null
done

# --- storage
for api in openai openai-responses; do
    send $api ""
    has "$api: nothing is stored" .store false
    send $api "store: false"
    has "$api: nor if that is said" .store false
    send $api "store: true"
    has "$api: unless it is asked for" .store true
done
send gemini "store: true"
has "gemini: stored if asked for" .store true
send gemini "store: false"
has "gemini: not stored if that is said" .store false
for api in anthropic bedrock; do
    send $api ""
    has "$api: a service that stores nothing is not asked" 'has("store")' false
done
tap_done

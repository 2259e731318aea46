#!/usr/bin/env bash
# Substitutes, costs and answers of a given form: the program against services
# that refuse, with and without another one to turn to.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

# An agent with two models, each an instance of a conversation on its own.
two() {
    fresh "$1" anthropic
    first=$base first_instance=i$instances first_name=$1
    fresh "$2" openai
    cat >"$space/chela.yaml" <<YAML
agents:
  defaults:
    model: [one/claude-test, two/gpt-test]
    retries: ${3:-0}
providers:
  one: { api: anthropic, baseUrl: "$first", apiKeyEnv: ANTHROPIC_API_KEY }
  two: { api: openai, baseUrl: "$base", apiKeyEnv: OPENAI_API_KEY,
         models: [ { id: gpt-test, price: { input: 1, output: 2 } } ] }
YAML
}
asked_first() { jq -c "select(.end | not) | select(.conversation == \"$first_name\" and .instance == \"$first_instance\")" "$log" | wc -l; }

for failure in always_429 always_500 unauthorized no_model html_502; do
    two $failure hello
    chela run --output jsonl "go on"
    exits "$failure: the substitute answers" 0
    events_are_well_formed "$failure"
    holds "$failure: one fallback, and it says why" \
        '[.[] | select(.type == "fallback")] | length == 1 and .[0].from == "one/claude-test" and .[0].to == "two/gpt-test" and (.[0].reason | length > 0)'
    same "$failure: the first was asked once" 1 "$(asked_first)"
    same "$failure: requests without fault" "" "$(requests '.problems[]')"
done

two always_500 always_500
chela run -q --output jsonl "go on"
exits "both fail" 1
holds "both fail: the last error is told" '.[-1].reason == "model_error" and (.[-1].error | test("^two/gpt-test: "))'

two stream_error hello
chela run -q --output jsonl "go on"
if jq -se 'any(.[]; .type == "text_delta")' "$out" >/dev/null; then
    exits "shown in part: no second try, no substitute" 1
else
    exits "failed before a word was shown: the substitute answers" 0
fi

# Half a reply that nobody saw is no reason not to try again.
two cut hello
chela run --output json "go on"
exits "cut, and only the end is printed: the substitute answers" 0
two cut hello
chela run --output jsonl "go on"
exits "cut, and shown: the run fails" 1
rm "$space/chela.yaml"

# --- costs

priced() {
    fresh "$1" openai
    cat >"$space/chela.yaml" <<YAML
agents: { defaults: { model: my/gpt-test } }
providers:
  my: { api: openai, baseUrl: "$base", apiKeyEnv: OPENAI_API_KEY,
        models: [ { id: gpt-test, price: { input: 1000, output: 2000 } } ] }
YAML
}
priced hello
chela run --output json "go on"
exits "with a price" 0
holds "with a price: the cost is the sum" \
    '.[0].usage | .cost_usd > 0 and ((.cost_usd * 1000 - .input - 2 * .output) | fabs) < 0.001'
priced hello
chela run -v "go on"
check "with a price: the summary says it" grep -qE '^\[done\].*\$[0-9]+\.[0-9]{4}$' "$err"
priced loop
chela run -q --cost-budget 0.0001 --output json "go on"
exits "a cost budget ends the run" 3
holds "a cost budget: the reason" '.[0].reason == "cost_budget_exceeded" and .[0].status == "stopped" and .[0].turns == 1'
rm "$space/chela.yaml"
play openai hello --output json
holds "without a price: unknown, not zero" '.[0].usage | has("cost_usd") and .cost_usd == null'
play openai hello --cost-budget 1 --output jsonl
holds "a budget without a price: a warning" '[.[] | select(.type == "warning" and (.text | test("price")))] | length == 1'

cat >"$space/chela.yaml" <<'YAML'
providers:
  my: { models: [ { id: m, price: { input: 1 } } ] }
YAML
chela config check
exits "half a price" 2
check "half a price: the place and the key" grep -q '^.*chela.yaml:2:.*price.output is missing' "$err"
rm "$space/chela.yaml"

# --- an answer of a given form

cat >"$tmp/form.json" <<'JSON'
{ "replies": [ { "blocks": [ { "text": ["It is five."] } ] }, { "blocks": [ { "text": ["```json\n{\"n\": 5}\n```"] } ] } ] }
JSON
cat >"$tmp/formless.json" <<'JSON'
{ "replies": [ { "blocks": [ { "text": ["It is five."] } ] }, { "blocks": [ { "text": ["Five!"] } ] } ] }
JSON
echo '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}' >"$space/n.json"
for api in anthropic openai; do
    play $api form --schema n.json --schema-by prompt
    exits "schema, $api: asked again" 0
    same "schema, $api: stdout is the JSON alone" '{"n": 5}' "$(cat "$out")"
    same "schema, $api: requests without fault" "" "$(requests '.problems[]')"
    play $api formless --schema n.json --schema-by prompt --output json -q
    exits "schema, $api: given up" 1
    holds "schema, $api: the reason" '.[0].reason == "model_error" and (.[0].error | test("does not fit its schema"))'
done
play anthropic always_empty --schema n.json --output json -q
exits "schema: nothing is no answer either" 1
play openai form --schema n.json
same "schema, natively: response_format is sent" '"json_schema"' "$(requests '.body.response_format.type' | head -n 1)"
play anthropic form --schema n.json
same "schema, by a tool: it is offered" 'true' "$(requests '[.body.tools[].name] | any(. == "final_answer")' | head -n 1)"
# --- images and other controls

printf '\x89PNG\r\n\x1a\n0123456789' >"$space/a.png"
play anthropic hello --image a.png --image https://example.com/b.jpg
exits "images, anthropic" 0
same "images, anthropic: one by value, one by URL" '["text","base64 image/png","url null"]' \
    "$(requests '[.body.messages[0].content[] | if .type == "image" then "\(.source.type) \(.source.media_type)" else .type end]')"
play openai hello --image a.png --image "data:image/gif;base64,R0lGODlhAQABAAAAACw="
same "images, openai: as data URLs" '["data:image/png","data:image/gif"]' \
    "$(requests '[.body.messages[-1].content[] | select(.type == "image_url").image_url.url | split(";")[0]]')"
same "images: requests without fault" "" "$(requests '.problems[]')"
echo text >"$space/b.png"
play openai hello --image b.png
exits "an image that is none" 2
check "an image that is none: it is named" grep -q 'b.png: neither' "$err"
play openai hello --image absent.png
exits "an image that is not there" 2

cat >"$space/chela.yaml" <<'YAML'
agents: { defaults: { topP: 0.5, seed: 7, stop: [END], promptCache: 1h, tools: { strict: true, parallel: 1 } } }
YAML
play openai hello
same "controls, openai" '[0.5,7,["END"],false,true]' \
    "$(requests '[.body.top_p, .body.seed, .body.stop, .body.parallel_tool_calls, (.body.tools | any(.function.strict))]')"
same "controls, openai: a key for the cache" 'true' "$(requests '.body.prompt_cache_key | test("^chela-[0-9a-f]{16}$")')"
same "controls: requests without fault" "" "$(requests '.problems[]')"
play anthropic hello --stop X --stop Y
same "controls, anthropic; a flag before the file" '["1h",["X","Y"],true]' \
    "$(requests '[.body.cache_control.ttl, .body.stop_sequences, .body.tool_choice.disable_parallel_tool_use]')"
same "controls, anthropic: requests without fault" "" "$(requests '.problems[]')"

cat >"$space/chela.yaml" <<'YAML'
agents: { defaults: { serverTools: { anthropic: [{ type: web_search_20250305, name: web_search }], openai: [] } } }
YAML
play anthropic hello
same "tools of the service, anthropic" '[1,true]' \
    "$(requests '[([.body.tools[] | select(.type == "web_search_20250305")] | length), (.body.tools | length > 1)]')"
play openai hello
same "another vendor does not get them" 0 "$(requests '[.body.tools[] | select(.type != "function")] | length')"
echo 'agents: { defaults: { serverTools: { anthropic: [web_search] } } }' >"$space/chela.yaml"
play anthropic hello
exits "a tool of the service that is none" 2
rm "$space/chela.yaml"

echo '{"type":"nothing"}' >"$space/n.json"
chela run --schema n.json x
exits "a schema that is none" 2
chela run --schema absent.json x
exits "a schema that is not there" 2
tap_done

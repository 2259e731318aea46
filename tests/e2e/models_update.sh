#!/usr/bin/env bash
# Facts about models: the user's file, the lists that `chela models update` reads, and
# models that end.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server
file=$tmp/.config/chela/models.json # HOME is $tmp
today=$(date -u +%F)

# row MATCH: this row of the user's file
row() {
    jq -c --arg m "$1" '.models[] | select(.match == $m) | del(.match, .as_of, .source)' "$file"
}

# --- public formats
cat >"$tmp/dev.json" <<'JSON'
{"anthropic": {"models": {
   "claude-opus-5-5": {"limit": {"context": 1000000, "output": 128000}, "cost": {"input": 5, "output": 20, "cache_read": 0.2, "cache_write": 5}},
   "claude-opus-6": {"limit": {"context": 2000000, "output": 256000}, "cost": {"input": 3, "output": 15, "tiers": [{"tier": {"type": "context", "size": 200000}, "input": 6, "output": 22.5}]},
     "modalities": {"input": ["text", "image", "pdf"]}, "reasoning_options": [{"type": "effort", "values": ["low", "high"]}, {"type": "toggle"}], "release_date": "2026-12-01"}}},
 "google": {"models": {"gemini-5-neon": {"limit": {"context": 500000, "output": 0}}}},
 "nobody": {"models": {"m": {"limit": {"context": 5}}}}}
JSON
chela models update --dry-run --from "$tmp/dev.json"
exits "a dry run" 0
check "a dry run shows the change" grep -qE '^anthropic/claude-opus-5-5 +price_in +4 +5$' "$out"
check "a dry run writes nothing" test ! -e "$file"
chela models update --from "$tmp/dev.json" --json
exits "models.dev" 0
holds "models.dev: changes" '.[0] | .written and (.changes | any(.match == "anthropic/claude-opus-6" and .column == "window" and .before == 1000000 and .after == 2000000))'
same "models.dev: only what differs is written" '{"price_in":5}' "$(row anthropic/claude-opus-5-5 | jq -c '{price_in} + del(.price_in)')"
same "models.dev: a new model" '["off","low","high"] 6 2026-12-01' "$(row anthropic/claude-opus-6 | jq -r '"\(.efforts) \(.tiers[0].in) \(.released)"' | tr -d ' ' | sed 's/]/] /; s/2026/ 2026/')"
same "models.dev: Google is gemini, and services that are not known are left out" "500000 0" "$(row gemini/gemini-5-neon | jq .window) $(grep -c nobody "$file")"
same "the file is the user's alone" 600 "$(stat -c %a "$file")"
chela models update --from "$tmp/dev.json"
exits "again" 0
check "again: nothing changes" grep -qF "nothing changes" "$out"
chela models list --json
holds "list: the facts of the file, where they are from and of which day" ".[0].models | any(.model == \"claude-opus-5-5\" and .price.input == 5 and .source == \"file\" and .as_of == \"$today\") and any(.model == \"claude-opus-6\" and .context_window == 2000000)"
holds "list: the other facts are of the table" '.[0].models | any(.model == "claude-opus-5" and .source == "table" and .as_of != null and (.facts.efforts | length) > 3)'
chela models list
check "list: how old the facts are" grep -qE '^facts: table: .*as of 20[0-9-]+' "$out"
check "list: the file" grep -qF "facts: file: $file, " "$out"

cat >"$tmp/lite.json" <<'JSON'
{"sample_spec": {"litellm_provider": "one of ...", "mode": "chat", "max_input_tokens": "the limit"},
 "gpt-6-sol": {"litellm_provider": "openai", "mode": "responses", "max_input_tokens": 922000, "max_output_tokens": 128000, "input_cost_per_token": 2e-06, "output_cost_per_token": 1.1e-05, "cache_read_input_token_cost": 2e-07, "deprecation_date": "2027-06-01"},
 "deepseek/deepseek-v9": {"litellm_provider": "deepseek", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "cache_creation_input_token_cost": 0},
 "gemini/gemini-3.8-flash": {"litellm_provider": "gemini", "mode": "chat", "max_input_tokens": 1048576, "supports_sampling_params": false},
 "openai/embed": {"litellm_provider": "openai", "mode": "embedding", "max_input_tokens": 5}}
JSON
rm "$file"
chela models update --from "$tmp/lite.json"
exits "LiteLLM" 0
same "LiteLLM: what differs" '{"price_out":11,"shutdown":"2027-06-01"}' "$(row openai/gpt-6-sol )"
same "LiteLLM: sampling" '{"sampling":"none"}' "$(row gemini/gemini-3.8-flash)"
same "LiteLLM: a price of 0 for writing to a cache is none" '{"price_in":1,"price_out":2}' "$(row deepseek/deepseek-v9)"
check "LiteLLM: a change has two values" bash -c "! grep -qE ' - +-$' '$out'"
same "LiteLLM: chat models alone" 3 "$(jq '.models | length' "$file")"

# --- rows of the user's own
cat >"$file" <<'JSON'
{"format": 1, "models": [{"match": "openai/gpt-6-sol", "price_out": 7}, {"match": "openai/gpt-6-luna", "window": 5, "source": "x"}]}
JSON
chela models update --from "$tmp/lite.json"
exits "own rows" 0
same "a row that the user wrote stays" '{"price_out":7}' "$(row openai/gpt-6-sol)"
check "the kept row of the user is named" grep -qF "your own row stays as it is: openai/gpt-6-sol" "$err"
same "a row of another list stays" '{"window":5}' "$(row openai/gpt-6-luna)"

# --- the service's own list, over the network
cat >"$tmp/lists.json" <<'JSON'
{"serve": {"/v1/models": "{\"data\":[{\"type\":\"model\",\"id\":\"claude-opus-5-5\",\"max_input_tokens\":900000,\"max_tokens\":128000,\"capabilities\":{\"effort\":{\"low\":{\"supported\":true},\"high\":{\"supported\":true},\"max\":{\"supported\":false}},\"thinking\":{\"types\":{\"adaptive\":{\"supported\":true},\"disabled\":{\"supported\":false}}}}}]}",
  "/openai/models": "{\"object\":\"list\",\"data\":[{\"id\":\"gpt-6-sol\",\"owned_by\":\"openai\",\"shutdown_date\":\"2028-01-01\"},{\"id\":\"gpt-6-luna\",\"shutdown_date\":null}]}",
  "/v1beta/models": "{\"models\":[{\"name\":\"models/gemini-3.8-flash\",\"inputTokenLimit\":99,\"outputTokenLimit\":65536}]}",
  "/cut": "{\"data\":[{\"id\":\"gpt-6-sol\",\"shutdown_date\":\"2028-01-01\"},",
  "/dev.json": "{\"openai\":{\"models\":{\"gpt-6-sol\":{\"limit\":{\"context\":77}}}}}"},
 "replies": [{"blocks": [{"text": ["ready"]}]}, {"blocks": [{"text": ["ready"]}]}]}
JSON
rm "$file"
fresh lists anthropic
cat >"$space/chela.yaml" <<YAML
providers: { anthropic: { baseUrl: "$base" }, gemini: { baseUrl: "$base/v1beta" }, openai: { baseUrl: "$base/openai" } }
YAML
for p in anthropic gemini openai; do
    chela models update $p
    exits "the list of $p" 0
done
same "Anthropic: window and efforts" '{"window":900000,"efforts":["low","high"]}' "$(row anthropic/claude-opus-5-5)"
same "Gemini: window" '{"window":99}' "$(row gemini/gemini-3.8-flash)"
same "OpenAI: the last day" '{"shutdown":"2028-01-01"}' "$(row openai/gpt-6-sol)"
chela models update --from "$base/dev.json"
exits "a URL" 0
same "a URL: another list adds its columns" '{"shutdown":"2028-01-01","window":77}' "$(row openai/gpt-6-sol | jq -cS .)"
chela models probe anthropic/claude-opus-5 --json
holds "probe: nothing differs that the list does not say" '.[0].disagrees == []'
rm "$file"
chela models probe anthropic/claude-opus-5-5 --json
holds "probe: the service says something else" '.[0].disagrees | any(.column == "window" and .facts == 1000000 and .server == 900000)'

# --- what is refused changes nothing
chela models update --from "$tmp/dev.json"
cp "$file" "$tmp/before"
# refused NAME WHY FLAG...
refused() {
    chela models update "${@:3}"
    exits "$1" 2
    check "$1: why" grep -qE "$2.*nothing is changed" "$err"
    check "$1: the file is as it was" cmp -s "$file" "$tmp/before"
}
head -c 300 "$tmp/dev.json" >"$tmp/cut.json"
echo '{"data": [{"id": 7}, "x", null, {"id": "gpt-6-sol", "context_window": -4}]}' >"$tmp/nonsense.json"
echo '{"data": [{"id": "gpt-6-sol", "shutdown_date": "soon"}]}' >"$tmp/soon.json"
echo '{"anthropic": {"models": {"claude-opus-5-5": {"cost": {"input": 0, "output": 0}}}}}' >"$tmp/free.json"
echo '{"data": [{"id": "claude-opus-5-5", "capabilities": {"structured_outputs": 7, "effort": [1]}}]}' >"$tmp/seven.json"
echo '{"hello": {"models": 7}}' >"$tmp/other.json"
echo '<html>' >"$tmp/page.json"
refused "a file that is cut" "cut.json: " --from "$tmp/cut.json"
refused "a page" "page.json: " --from "$tmp/page.json"
refused "a list with nonsense" "openai/gpt-6-sol: context_window: this is no number of tokens" --from "$tmp/nonsense.json"
refused "a list with a wrong day" "openai/gpt-6-sol: shutdown: expected a day such as 2026-12-31, not 'soon'" --from "$tmp/soon.json"
refused "a list without a price" "says nothing" --from "$tmp/free.json"
refused "a list of capabilities with a number" "says nothing" --from "$tmp/seven.json"
refused "another file" "other.json: " --from "$tmp/other.json"
refused "no file" "none.json" --from "$tmp/none.json"
refused "a download that is cut" "/cut: " --from "$base/cut"
refused "a URL that is not there" "404|/nothing" --from "$base/nothing"
refused "nobody listens" "127.0.0.1:1" --from http://127.0.0.1:1/x
chela models update --from a b
exits "two sources" 2
check "two sources: why" grep -qF "one source at a time" "$err"
sed -i 's/"price_in":5/"price_in":"much"/' "$file"
cp "$file" "$tmp/before"
refused "the user's file has faults" "models.json has faults" --from "$tmp/dev.json"

# --- a file with faults does not stop a run
echo '{"format":1,"models":[{"match":"openai/gpt-test","window":"big","price_in":1,"price_out":2},{"match":"opnai/gpt-9*"}]}' >"$file"
fresh lists openai
chela run --model openai/gpt-test --base-url "$base" --store memory: hello
exits "a run with a file that has faults" 0
check "the fault is a warning with its place" grep -qF "models.json: models[0] (openai/gpt-test): window: expected a number of tokens, not string" "$err"
chela models list
check "list: a pattern that fits nothing" grep -qF "opnai/gpt-9* fits no known model" "$err"
chela doctor
check "doctor: the same" grep -qE "warn +model +facts +.*models\[0\] .openai/gpt-test.: window" "$out"
echo '{"format":1,"models":[{"match' >"$file"
fresh lists openai
chela run --model openai/gpt-test --base-url "$base" --store memory: hello
exits "a run with a file that is cut" 0
check "the table counts, and this is said" grep -qF "the built-in facts about models are used" "$err"

# --- models that end
soon=$(date -u -d '+9 days' +%F)
past=$(date -u -d '-9 days' +%F)
late=$(date -u -d '+99 days' +%F)
cat >"$file" <<JSON
{"format":1,"models":[{"match":"openai/gpt-test","shutdown":"$soon","successor":"gpt-next"},{"match":"openai/gpt-past","shutdown":"$past"},
 {"match":"openai/gpt-late","shutdown":"$late"}]}
JSON
fresh lists openai
chela run --model openai/gpt-test --base-url "$base" --store memory: hello
exits "a model that ends soon" 0
same "a model that ends soon: one line, with its successor" "1 1" "$(grep -c "ends on $soon" "$err") $(grep -cF "openai/gpt-test ends on $soon, in 9 days; its successor is openai/gpt-next" "$err")"
fresh lists openai
chela run --model openai/gpt-past --base-url "$base" --store memory: --output jsonl hello
holds "a model that has ended: an event" "any(.type == \"warning\" and (.message // .text // tostring | contains(\"openai/gpt-past ended on $past\")))"
fresh lists openai
chela run --model openai/gpt-late --base-url "$base" --store memory: hello
check "a model that ends much later: nothing" bash -c "! grep -qF gpt-late '$err'"
echo 'agents: { defaults: { model: openai/gpt-test } }' >"$space/chela.yaml"
chela doctor
check "doctor: a model that ends soon" grep -qE "warn +model +end +openai/gpt-test ends on $soon" "$out"
tap_done

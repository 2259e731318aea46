#!/usr/bin/env bash
# `chela models`, what local servers say of their size, and models that have no
# tools of their own.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server
cp tests/conversations/models/*.json "$tmp"

# --- list
chela models list
exits "list" 0
same "list: aligned columns" "" "$(awk 'NF == 0 {exit} NR == 1 {at = index($0, "CONTEXT")} NR > 1 && substr($0, at - 1, 1) != " "' "$out")"
same "list: the last column is the model's own" "anthropic/claude-sonnet-4-5 claude-sonnet-4-5-20250929" "$(awk '$1 == "anthropic/claude-sonnet-4-5" {print $1, $NF}' "$out")"
chela models list --json
exits "list --json" 0
holds "an alias is resolved to its date" '.[0].models | any(.model == "claude-sonnet-4-5" and .resolved == "claude-sonnet-4-5-20250929")'
holds "images: yes, no, or not known" '.[0].models | (any(.model == "gpt-4o" and .images) and any(.model == "o3-mini" and .images == false))'
holds "the last day of a model" '.[0].models | any(.model == "gpt-5" and .ends == "2026-12-11" and .as_of != null) and any(.model == "gpt-6-sol" and .ends == null)'
holds "what is not known is null" '.[0].models | all(.context_window == null or .context_window > 0)'
holds "keys are there or not, and not shown" '.[0].providers | (any(.name == "openai" and .key) and any(.name == "groq" and (.key | not)))'

fresh probe gemini
cat >"$space/chela.yaml" <<YAML
providers: { host: { api: gemini, baseUrl: "$base" }, version: { api: gemini, baseUrl: "$base/v1beta" } }
YAML
for name in host version; do
    chela models list $name
    same "list of a Gemini server, its address ends with the $name" "$name/gemini-test 32768 8192" "$(awk 'NR > 1 {print $1, $2, $3}' "$out")"
done
fresh probe openai
cat >"$space/chela.yaml" <<YAML
providers:
  mine: { api: openai, baseUrl: "$base" }
  vllm: { baseUrl: "$base" }
YAML
chela models list mine
exits "list of a server" 0
same "list of a server: its models" "mine/big mine/gpt-test" "$(awk 'NR > 1 {print $1}' "$out" | xargs)"
same "list of a server: its sizes" "40960 -" "$(awk 'NR > 1 {print $2}' "$out" | xargs)"
chela models list nobody
exits "list of nobody" 2
chela models list groq
exits "list without a key" 2
check "list without a key: which one" grep -qF "GROQ_API_KEY" "$err"

# --- probe
for row in "openai/gpt-test null null" "vllm/big 40960 server" "llamacpp/gpt-test 8192 server" \
    "ollama/gpt-test 16384 server" "lmstudio/gpt-test 4096 server" "openai/gpt-4o 128000 table"; do
    read -r spec size source <<<"$row"
    fresh probe openai
    chela models probe "$spec" --base-url "$base" --api-key-env OPENAI_API_KEY --json
    exits "probe $spec" 0
    holds "probe $spec: context of $size, from $source" \
        ".[0] | .context_window == $size and .context_source == $(jq -n --arg s "$source" 'if $s == "null" then null else $s end')"
    holds "probe $spec: stream, tools, both at once" '.[0] | .reachable and .stream and .tools and .parallel and .error == null'
done
same "probe: one call of the model" 1 "$(requests 'select(.body.messages)' | wc -l)"
fresh probe anthropic
chela models probe anthropic/claude-sonnet-4-5 --base-url "$base"
exits "probe, for people" 0
same "probe, for people: the dated id is asked for" claude-sonnet-4-5-20250929 "$(requests 'select(.body.messages) | .body.model' | jq -r .)"
same "probe, for people: what works" "yes yes yes" "$(awk '$1 ~ /^(stream|tools|parallel)$/ {print $2}' "$out" | xargs)"

cat >"$tmp/no_tools.json" <<'JSON'
{"replies": [{"error": {"status": 400, "message": "this model does not support tools"}}, {"blocks": [{"text": ["rea", "dy"]}]}]}
JSON
fresh no_tools openai
chela models probe openai/gpt-test --base-url "$base"
exits "probe of a model without tools" 0
check "probe of a model without tools: what helps" grep -qF "prompted+openai/gpt-test" "$out"
chela models probe openai/gpt-test --base-url http://127.0.0.1:1/v1
exits "probe of nobody" 1
check "probe of nobody: why" grep -qF "127.0.0.1:1" "$err"

# --- a run knows what room its server has: a result takes no more than its share
cat >"$tmp/room.json" <<'JSON'
{"serve": {"/props": "{\"default_generation_settings\":{\"n_ctx\":8192}}", "/api/show": "{\"parameters\":\"num_ctx 4096\"}"},
 "replies": [
    {"delay_ms": 300, "blocks": [{"call": {"name": "read", "arguments": ["{\"file_path\":\"big\"}"]}}]},
    {"blocks": [{"text": ["Read."]}]}]}
JSON
sed 's/"serve": .*}"},/"serve": {},/' "$tmp/room.json" >"$tmp/no_room.json"
yes "a line of text that is as good as any other" | head -c 14000 >"$space/big"
for row in "llamacpp room 8000 9900" "ollama room 3500 5000" "llamacpp no_room 14000 16000" "vllm no_room 14000 16000"; do
    read -r server name least most <<<"$row"
    fresh "$name" openai
    chela run --model "$server/gpt-test" --base-url "$base" --api-key-env OPENAI_API_KEY --output jsonl "read it"
    label="$server, $name"
    exits "$label" 0
    holds "$label: a result of $least to $most characters" \
        "[.[] | select(.type == \"tool_result\").content | length] | length == 1 and .[0] >= $least and .[0] <= $most"
done
same "the model was called as often as ever" 2 "$(requests 'select(.body.messages) | .n' | wc -l)"
rm -f "$space/big"

# --- tools in the prompt, over every protocol the server speaks
for api in "${apis[@]}"; do
    for way in "" --no-stream; do
        fresh prompted "$api"
        # shellcheck disable=SC2086
        chela run --model "prompted+$(model "$api")" --base-url "$base" --output jsonl $way "6 times 7?"
        label="prompted over $api${way:+, whole}"
        exits "$label" 0
        events_are_well_formed "$label"
        holds "$label: the call ran" 'any(.type == "tool_result" and .name == "calculate" and (.is_error | not) and (.content | test("42")))'
        holds "$label: the answer" '.[-1].text == "It is 42, as `<tool_call>` told me."'
        holds "$label: thoughts are no answer" '([.[] | select(.type == "text_delta").text] | add) == "I will look.It is 42, as `<tool_call>` told me."'
        same "$label: requests without fault" "" "$(requests '.problems[]')"
        same "$label: no tools were sent" "" "$(requests 'select(.body.tools) | .n')"
    done
done
# --- what a model refuses is not sent, and said
fresh calculate anthropic
chela run --model anthropic/claude-opus-5-5 --base-url "$base" --reasoning off --tool-choice any --output jsonl "go on"
exits "a model that always reasons" 0
holds "a model that always reasons: its least effort, said once" \
    '[.[] | select(.type == "warning").text] == ["anthropic/claude-opus-5-5 does not accept the reasoning \"off\" here: \"low\" is sent"]'
same "a model that always reasons: the request" '["adaptive","low",null]' \
    "$(requests 'select(.n == 1).body | [.thinking.type, .output_config.effort, .tool_choice]')"
same "a model that refuses a forced tool: it is asked for the call, once" 1 \
    "$(requests .body.messages | tail -n 1 | grep -o 'Call a tool before you answer' | wc -l)"
fresh calculate openai
chela run --model openai/gpt-6-sol --base-url "$base" --output jsonl "go on"
same "OpenAI at another address: Chat Completions, with an effort that takes tools" '["chat/completions","none"]' \
    "$(requests 'select(.n == 1) | [(.path | split("/v1/")[1]), .body.reasoning_effort]')"
fresh calculate openai-responses
printf 'providers: { openai: { api: openai-responses, baseUrl: "%s" } }\n' "$base" >"$space/chela.yaml"
chela run --model openai/gpt-6-sol --reasoning max --output jsonl "go on"
exits "OpenAI at another address, with the api said" 0
same "OpenAI at another address, with the api said: Responses" '["responses","max"]' \
    "$(requests 'select(.n == 1) | [(.path | split("/v1/")[1]), .body.reasoning.effort]')"
rm -f "$space/chela.yaml"

chela models list scripted
exits "models of a provider without a server" 2
same "models of a provider without a server: said" "chela: scripted: scripted has no list of its models to ask for" "$(cat "$err")"
tap_done

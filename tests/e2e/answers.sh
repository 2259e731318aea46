#!/usr/bin/env bash
# An answer of a given form, over every protocol and in every way of asking for
# it: given at once, after one complaint, and never.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

echo '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}' >"$space/n.json"
text() { jq -n --arg t "$1" '{blocks: [{text: [$t]}]}'; }
call() { jq -n --arg a "$1" '{blocks: [{call: {name: "final_answer", arguments: [$a]}}]}'; }
tagged() { text "<tool_call>{\"name\": \"final_answer\", \"arguments\": $1}</tool_call>"; }
# talk NAME REPLY...: a conversation of these replies.
talk() {
    local name=$1
    shift
    printf '%s\n' "$@" | jq -s '{replies: .}' >"$tmp/$name.json"
}
good='{"n": 5}' bad='{"n": "many"}'
for how in text call tagged; do
    talk "$how-good" "$($how "$good")"
    talk "$how-late" "$($how "$bad")" "$($how "$good")" "$(text '{"n": 5}')"
    talk "$how-never" "$($how "$bad")" "$($how "$bad")" "$($how "$bad")" "$($how "$bad")"
done
talk prose-late "$(text 'It is five.')" "$(text $'```json\n{"n": 5}\n```')"
start_server

# ask API NAME WAY: the model of API, or one that gets its tools by prompt.
ask() {
    local api=$1 name=$2 way=$3 spec
    spec=$(model "${api#prompted+}")
    [ "$api" != anthropic ] || spec=anthropic/claude-sonnet-4-5
    [ "$api" = "${api#prompted+}" ] || spec=prompted+$spec
    fresh "$name" "${api#prompted+}"
    chela run --model "$spec" --base-url "$base" --schema n.json --schema-by "$way" -q --output json "how many?"
}

# Where each protocol puts the schema.
declare -A natively=(
    [anthropic]='.body.output_config.format.schema.properties.n.type'
    [bedrock]='.body.outputConfig.textFormat.structure.jsonSchema.schema | fromjson.properties.n.type'
    [openai]='.body.response_format.json_schema.schema.properties.n.type'
    [openai-responses]='.body.text.format.schema.properties.n.type'
    [gemini]='.body.generationConfig | (.responseJsonSchema // .responseSchema).properties.n.type | ascii_downcase'
    [interactions]='.body.response_format.schema.properties.n.type'
)

for api in "${apis[@]}" prompted+openai prompted+bedrock; do
    for way in native tool prompt auto; do
        how=text
        case $way-$api in
            native-prompted+*) # not with tools in the prompt
                ask "$api" text-good native
                exits "$api, by native: the model has tools" 2
                check "$api, by native: it says why" grep -q 'while it has tools: let the answer be given by tool or prompt' "$err"
                continue
                ;;
            tool-prompted+*) how=tagged ;;
            tool-*) how=call ;;
        esac
        ask "$api" "$how-good" "$way"
        label="$api, by $way"
        exits "$label: at once" 0
        holds "$label: the answer is the JSON alone" '(.[0].text | fromjson) == {n: 5} and .[0].turns == 1'
        same "$label: requests without fault" "" "$(requests '.problems[]')"
        [ "$way" = native ] && [ -n "${natively[$api]:-}" ] &&
            same "$label: the schema goes along" '"integer"' "$(requests "${natively[$api]}")"

        ask "$api" "$how-late" "$way"
        exits "$label: asked again" 0
        holds "$label: the second answer counts" '(.[0].text | fromjson) == {n: 5} and .[0].turns == 2'
        same "$label: asked again: requests without fault" "" "$(requests '.problems[]')"
        check "$label: the complaint names what is wrong" \
            jq -se --arg c "$conversation" --arg i "i$instances" \
            'map(select(.conversation == $c and .instance == $i and .n == 1)) | .[0].body | tostring | test("integer"; "i")' "$log"

        ask "$api" "$how-never" "$way"
        exits "$label: never" 1
        holds "$label: never: the reason" '.[0].reason == "model_error" and (.[0].error | test("does not fit its schema"))'
        same "$label: never: asked twice" 2 "$(requests .n | wc -l)"
    done
    ask "$api" prose-late prompt
    exits "$api: words, then a fence" 0
    holds "$api: words, then a fence: the JSON alone" '(.[0].text | fromjson) == {n: 5}'
done

play anthropic text-good --model anthropic/claude-3-7-sonnet-latest --schema n.json --schema-by native -q
exits "a model that cannot" 2
same "a model that cannot: it was not asked" 0 "$(requests .n | wc -l)"
check "a model that cannot: it says what else there is" grep -q 'let the answer be given by tool or prompt' "$err"
tap_done

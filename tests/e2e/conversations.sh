#!/usr/bin/env bash
# Every good conversation, over every protocol, streaming and whole: the answer
# in each form of output, well-formed requests, and the same events on all.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

# Two runs of one conversation differ in ids, in how text was cut into pieces,
# in time, in which of two parallel tools is done first, and in what the vendors
# count and call things. The rest must be the same.
same_events='
  def piece: .type | endswith("_delta");
  def tool: .type == "tool_start" or .type == "tool_result";
  reduce .[] as $e ([];
    if ($e | piece) and length > 0 and .[-1].type == $e.type and .[-1].index == $e.index
    then .[-1].text += ($e.text // $e.arguments_delta // "")
    else . + [$e | if piece then {type, index, text: (.text // .arguments_delta // "")} else . end] end)
  | map(select(.type != "tool_call_delta"))
  | map(del(.run, .seq, .ts, .id, .session, .model, .bytes, .usage, .duration_ms, .delay_ms))
  | map(if .type == "retry" then del(.reason) else . end)
  | reduce .[] as $e ([]; if ($e | tool) and length > 0 and (.[-1][0] | tool) then .[-1] += [$e] else . + [[$e]] end)
  | map(if (.[0] | tool) then sort else . end)
  | map(.[])
'

answer() {
    jq -r '[.replies[-1].blocks[] | .text // [] | .[] | if type == "string" then . else .repeat * .times end] | add' \
        "tests/conversations/good/$1.json"
}

for file in tests/conversations/good/*.json; do
    name=$(basename "$file" .json)
    expected=$(answer "$name")
    for api in "${apis[@]}"; do
        for way in "" --no-stream; do
            label="$name, $api${way:+ whole}"
            # shellcheck disable=SC2086
            play "$api" "$name" --output jsonl $way
            cp "$out" "$tmp/$api$way.jsonl"
            exits "$label" 0
            events_are_well_formed "$label"
            tells "$label: the answer" 'select(.type == "run_end").text' "$expected"
            same "$label: requests without fault" "" "$(requests '.problems[]')"
            rm -rf "${space:?}"/*
        done
    done
    files=()
    for api in "${apis[@]}"; do files+=(--slurpfile "${api//-/_}" "$tmp/$api.jsonl"); done
    mapfile -t events < <(jq -nc "${files[@]}" "\$anthropic, \$openai, \$openai_responses, \$gemini, \$interactions, \$bedrock | $same_events")
    for i in "${!apis[@]}"; do
        [ "$i" = 0 ] || same "$name: the same events on ${apis[i]}" "${events[0]:-none}" "${events[i]-}"
    done
done

for api in "${apis[@]}"; do
    play "$api" hello
    exits "text, $api" 0
    same "text, $api: the answer alone on stdout" "Hello, world." "$(cat "$out")"
    play "$api" hello -q
    same "quiet, $api: nothing on stderr" "" "$(cat "$err")"
    play "$api" reasoning --output json
    exits "json, $api" 0
    holds "json, $api: the end of the run alone" 'length == 1 and .[0].type == "run_end" and .[0].status == "done"
        and .[0].reason == "task_completed" and .[0].text == "42" and .[0].turns == 1 and .[0].tool_calls == 0'
    thought=20 earlier=7
    [ "$api" = bedrock ] && thought=0 earlier=0 # it does not say
    holds "json, $api: usage as the vendor counts it" ".[0].usage | .input == 30 and .output == 25 and .reasoning == $thought and .total == 55"
    play "$api" cached --output json
    written=512
    case $api in gemini | interactions) written=0 ;; esac # it does not say
    holds "cached, $api: input includes what was cached" \
        ".[0].usage | .input == 5000 and .cache_read == 4096 and .cache_write == $written and .output == 6"
    play "$api" calculate --output json
    holds "calculate, $api: usage adds up over turns" ".[0].usage | .input == 250 and .output == 39 and .reasoning == $earlier"
    play "$api" length --output json
    holds "length, $api: the reason says so" '.[0].status == "done" and .[0].reason == "length"'
    play "$api" rate_limited --output jsonl
    holds "rate_limited, $api: the wait was announced" '[.[] | select(.type == "retry")] | length == 1 and .[0].delay_ms >= 1000'

    # The prefix is sacred: what was sent once is sent again unchanged.
    play "$api" parallel
    same "parallel, $api: three requests on one connection" "1" "$(requests .conn | sort -u | wc -l)"
    # A cache mark stands behind the last message, wherever that is.
    check "parallel, $api: history only grows" jq -se '
        def unmarked: walk(if type == "array" then map(select((objects | has("cachePoint")) // false | not)) else . end);
        [.[] | select(.end | not) | .body | .messages // .contents // .input | unmarked]
        | length == 3 and (.[1][:(.[0] | length)] == .[0]) and (.[2][:(.[1] | length)] == .[1])' <(
        requests
    )
done

play anthropic hello
same "the key goes into its header" "$key" "$(requests '.headers["x-api-key"] // (.headers.authorization | sub("Bearer "; ""))' | jq -r .)"
play openai hello
same "the key goes into its header (chat)" "Bearer $key" "$(requests .headers.authorization | jq -r .)"
play openai-responses reasoning
same "nothing is stored, and reasoning is asked for encrypted" '[false,["reasoning.encrypted_content"]]' \
    "$(requests '.body | [.store, .["include"]] | tojson' | jq -r . | sort -u)"
play gemini hello
same "the key goes into its header (gemini)" "$key" "$(requests '.headers["x-goog-api-key"]' | jq -r .)"

# Gemini before 3 has neither ids nor signatures to insist on; Vertex has another
# URL and takes a token.
for model in gemini/gemini-2.5-flash gemini/gemini-pro-latest; do
    fresh parallel gemini
    chela run --model $model --base-url "$base" --output jsonl "go on"
    exits "parallel, $model" 0
    same "parallel, $model: requests without fault" "" "$(requests '.problems[]')"
    rm -rf "${space:?}"/*
done
fresh calculate gemini
printf 'providers: {vertex: {baseUrl: "%s/v1/projects/p/locations/l", apiKeyEnv: OPENAI_API_KEY}}\n' "$base" >"$space/chela.yaml"
chela run --model vertex/gemini-3-pro --output json "go on"
exits "calculate, vertex" 0
same "vertex: requests without fault" "" "$(requests '.problems[]')"
same "vertex: the token goes into its header" "Bearer $key" "$(requests .headers.authorization | jq -r . | sort -u)"
same "vertex: the project is in the path" \
    "/calculate/i$instances/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse" \
    "$(requests .path | jq -r . | sort -u)"
rm -f "$space/chela.yaml"

# Amazon: a key of its own, or a signature made with what the environment or a
# profile has. The server makes every signature again and compares.
bedrock_as() {
    fresh hello bedrock
    (cd "$space" && with_env env "$@" timeout -k 5 $seconds "$program" run --model "$(model bedrock)" --base-url "$base" go) \
        >"$out" 2>"$err" </dev/null
    status=$?
}
play bedrock hello
same "bedrock: the id of the model is one segment of the path" "/hello/i$instances/model/us.anthropic.claude-sonnet-4-5-test-v1%3A0/converse-stream" \
    "$(requests .path | jq -r .)"
check "bedrock: signed for the usual region" jq -e '.headers.authorization | test("^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/[0-9]{8}/us-east-1/bedrock/aws4_request, ")' <(requests)
bedrock_as AWS_REGION=eu-west-3 AWS_SESSION_TOKEN=TOKENEXAMPLE
exits "bedrock: a session token" 0
same "bedrock: a session token is sent and signed" '["TOKENEXAMPLE",true,true]' \
    "$(requests '[.headers["x-amz-security-token"], (.headers.authorization | test("x-amz-security-token, ")), (.headers.authorization | test("/eu-west-3/"))]')"
bedrock_as AWS_BEARER_TOKEN_BEDROCK="$key"
exits "bedrock: an API key" 0
same "bedrock: an API key goes before signatures" "Bearer $key" "$(requests .headers.authorization | jq -r .)"
mkdir -p "$tmp/.aws"
printf '[work]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = %s\n' "$aws_secret" >"$tmp/.aws/credentials"
printf '[profile work]\nregion = ap-south-1\n' >"$tmp/.aws/config"
bedrock_as -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY AWS_PROFILE=work
exits "bedrock: a profile" 0
same "bedrock: a profile has key and region" "true" "$(requests '.headers.authorization | test("AKIDEXAMPLE/[0-9]{8}/ap-south-1/")')"
bedrock_as AWS_SECRET_ACCESS_KEY=wrong-secret
exits "bedrock: a wrong secret is refused" 1
check "bedrock: and the line says so" grep -q 'signature does not match' "$err"
chela run --model bedrock/us.amazon.nova-lite-v1:0 go
exits "bedrock: no region" 2
check "bedrock: the line names the variable" grep -q 'set AWS_REGION' "$err"
rm -rf "$tmp/.aws"
tap_done

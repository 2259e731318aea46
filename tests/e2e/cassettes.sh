#!/usr/bin/env bash
# Recorded once, played back without the service, without a key and elsewhere.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

# The events of a run without what differs from run to run, in an order of
# their own: tools that run side by side end as they please.
plain() { jq -c 'del(.run, .seq, .ts, .duration_ms, .session, .delay_ms, .bytes)' "$1" | sort; }

# What belongs to no cassette: keys, and what was made from them.
aws_token=TOKENEXAMPLE # the server's
secrets=(-e "${key:8}" -e "$aws_secret" -e "$aws_token" -e AKIDEXAMPLE -e Signature=)

declare -A bases
names=(hello files parallel reasoning rate_limited cut_once)
for api in "${apis[@]}"; do
    for name in "${names[@]}"; do
        play "$api" "$name" --record "$tmp/$api-$name.jsonl" --output jsonl
        exits "$name, $api: recorded" 0
        bases[$api-$name]=$base
        plain "$out" >"$tmp/$api-$name.live"
        check "$name, $api: no key in the cassette" test "$(grep -cF "${secrets[@]}" "$tmp/$api-$name.jsonl")" = 0
        rm -rf "${space:?}"/*
    done
done
check "what is recorded is no matter to speak of" test "$(grep -c 'not recorded' "$err")" = 0
check "bedrock: the token of the session was sent" \
    jq -se 'any(.[]; .headers."x-amz-security-token" == "TOKENEXAMPLE")' "$log"
check "bedrock: a stream of bytes is kept as such" grep -q '"base64":' "$tmp/bedrock-hello.jsonl"
check "a cassette is its owner's alone" test "$(stat -c %a "$tmp/openai-hello.jsonl")" = 600
check "every line is JSON" jq -e . "$tmp/anthropic-files.jsonl"
strings_of() { jq -r '.response.body.base64 // empty' "$1" | while read -r line; do base64 -d <<<"$line"; done | tr -d '\0'; }
check "bedrock: no key in its bytes" test "$(strings_of "$tmp/bedrock-files.jsonl" | grep -acF "${secrets[@]}")" = 0
check "bedrock: no path of the workspace in its bytes" test "$(strings_of "$tmp/bedrock-files.jsonl" | grep -acF "$space")" = 0
check "the workspace is a word" grep -qF '${workspace}' "$tmp/anthropic-files.jsonl"

fresh hello openai
chela run --model openai/gpt-5.6 --tools "" --base-url "$base" --record "$tmp/chat.jsonl" --output jsonl "go on"
exits "GPT-5.6 at Chat Completions: recorded" 0
sed "s|\"url\":\"[^\"]*/chat/completions\"|\"url\":\"https://api.openai.com/v1/chat/completions\"|" "$tmp/chat.jsonl" >"$tmp/own.jsonl"

kill $server_pid
wait $server_pid 2>/dev/null
with_env() {
    env -i PATH="$PATH" HOME="$tmp" LC_ALL=C.UTF-8 TERM=dumb ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
        ${UBSAN_OPTIONS+UBSAN_OPTIONS="$UBSAN_OPTIONS"} CHELA_TEST_RUN="$CHELA_TEST_RUN" CHELA_TEST="$CHELA_TEST" "$@"
}
again() {
    local api=$1 name=$2
    shift 2
    chela run --model "$(model "$api")" --base-url "${bases[$api-$name]}" --replay "$tmp/$api-$name.jsonl" "$@"
}
space=$tmp/elsewhere
mkdir "$space"
chela run --model openai/gpt-5.6 --tools "" --replay "$tmp/own.jsonl" "go on"
exits "Chat Completions of OpenAI: replayed there, though the model would use Responses" 0
same "Chat Completions of OpenAI: the answer" "Hello, world." "$(cat "$out")"
for api in "${apis[@]}"; do
    for name in "${names[@]}"; do
        again "$api" "$name" --output jsonl "go on"
        exits "$name, $api: replayed, with the service gone and without a key" 0
        same "$name, $api: the same events" "$(cat "$tmp/$api-$name.live")" "$(plain "$out")"
        rm -rf "${space:?}"/*
    done
done

for api in "${apis[@]}"; do
    key=sk-ant-api03-ANOTHERkeyANOTHERkey-0123456789 again "$api" files --output jsonl "go on"
    exits "$api: replayed with another key" 0
    same "$api: replayed with another key: the same events" "$(cat "$tmp/$api-files.live")" "$(plain "$out")"
    rm -rf "${space:?}"/*
done

declare -A prompts=([anthropic]=messages/0/content/0/text [openai]=messages/1/content
    [openai-responses]=input/0/content [gemini]=contents/0/parts/0/text [interactions]=input/0/content/0/text [bedrock]=messages/0/content/0/text)
for api in "${apis[@]}"; do
    again "$api" hello -q "go off"
    exits "another prompt, $api" 1
    check "another prompt, $api: the error says what differs" \
        grep -qF "$api-hello.jsonl:2: /body/${prompts[$api]} was \"go on\", now it is \"go off\"" "$err"
done
again openai hello --temperature 0.5 -q "go on"
exits "another parameter" 1
head -n 1 "$tmp/openai-hello.jsonl" >"$tmp/short.jsonl"
chela run --model openai/gpt-test --base-url "${bases[openai-hello]}" --replay "$tmp/short.jsonl" x
exits "a cassette without a call" 1
check "a cassette without a call: it says so" grep -q 'short.jsonl holds no recorded call' "$err"

# At its own address, too, nobody is asked for credentials; the region is part
# of the address.
sed "s|\"url\":\"[^\"]*/model/|\"url\":\"https://bedrock-runtime.eu-west-1.amazonaws.com/model/|" "$tmp/bedrock-hello.jsonl" >"$tmp/there.jsonl"
(cd "$space" && with_env AWS_REGION=eu-west-1 timeout 20 "$program" run --model "$(model bedrock)" --replay "$tmp/there.jsonl" "go on" >"$out" 2>"$err")
status=$?
exits "bedrock's own address, without credentials" 0

echo nonsense >"$tmp/bad.jsonl"
chela run --model openai/gpt-test --replay "$tmp/bad.jsonl" x
exits "no cassette" 2
check "no cassette: file and line" grep -q 'bad.jsonl:1: ' "$err"
chela run --model openai/gpt-test --replay "$tmp/absent.jsonl" x
exits "no such file" 2
chela run --model openai/gpt-test --record "$tmp/no/where.jsonl" x
exits "a place that cannot be written" 2
chela run --model openai/gpt-test --record "$tmp/a" --replay "$tmp/b" x
exits "both at once" 2
chela run --model scripted/demo --record "$tmp/empty.jsonl" hello
exits "a model that is not called over the network" 0
check "that it leaves nothing on the tape is said" grep -q 'scripted/demo is not recorded: it needs no service' "$err"
chela run --model scripted/demo --replay "$tmp/empty.jsonl" hello
exits "a cassette without calls" 0
check "a cassette without calls: said so" grep -q 'empty.jsonl is empty: it holds no recorded call' "$err"
check "that nothing is replayed is said" grep -q 'scripted/demo is not replayed: it needs no service' "$err"
: >"$tmp/zero.jsonl"
chela run --model openai/gpt-test --replay "$tmp/zero.jsonl" hello
exits "an empty file" 2
check "an empty file: said so" grep -q 'zero.jsonl is empty: nothing was recorded' "$err"
tap_done

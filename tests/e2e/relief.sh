#!/usr/bin/env bash
# A run of many calls in a context of 16 K, in every protocol: its history is made
# shorter again and again, by a summariser of no use, and no request is at fault.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

calls=60
for i in $(seq 1 150); do echo "row $i of the table: berries, $((i * 7919)) kg, shelf $((i % 9))"; done >"$space/rows.txt"
jq -n --argjson n $calls '{about: "reads the same file again and again", replies:
    ([range($n) | {blocks: [{call: {name: "read", arguments: ["{\"file_path\":\"rows.txt\",\"limit\":\(. + 80)}"]}}]}]
     + [{blocks: [{text: ["It is done."]}]}])}' >"$tmp/rows.json"
cat >"$tmp/nothing.json" <<'JSON'
{"about": "a summariser that is of no use", "repeat": true, "replies": [{"blocks": [{"text": ["We had a talk."]}]}]}
JSON

# What each protocol calls its model, and a small one beside it.
configure() {
    local spec
    spec=$(model "${1#prompted+}")
    cat >"$space/chela.yaml" <<YAML
providers:
  ${spec%%/*}: { models: [{ id: "${spec#*/}", contextWindow: 16384 }] }
  other: { api: openai, baseUrl: "$url/nothing/$2/v1" }
agents:
  defaults:
    compaction: { model: other/small }
    limits: { maxTurns: 100 }
YAML
    name=$spec
    [ "$1" = "${1#prompted+}" ] || name=prompted+$spec
}

for api in "${apis[@]}" prompted+openai; do
    configure "$api" "s-$api"
    fresh rows "${api#prompted+}"
    chela run --config "$space/chela.yaml" --no-session --model "$name" --base-url "$base" --tools read \
        --max-turns 100 --output jsonl "Read rows.txt $calls times. The shelf to remember is K-7731-XQ."
    exits "$api" 0
    same "$api: the answer" "It is done." "$(jq -r 'select(.type == "run_end") | .text' "$out")"
    # Gemini counts each digit as a token, so the rows fill its context sooner.
    check "$api: made shorter, and not at every turn" \
        jq -se 'map(select(.type == "compaction").strategy) | index("prune") and index("retain") and length < 45' "$out"
    same "$api: requests" $((calls + 1)) "$(requests '.n' | wc -l)"
    same "$api: requests without fault" "" "$(requests '.problems[]')"
    same "$api: what was asked is in all of them" 0 "$(requests '.body' | grep -vc 'K-7731-XQ')"
done

tap_done

#!/usr/bin/env bash
# P4, as the services see it: a turn with effects is killed at points that are
# spread over it, and every kind of journal that this leaves goes on with every
# protocol, resumed or with another message. The server's checkers, which are the
# vendors' rules, must find no fault in what it is sent.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/crash.sh
echo '{"repeat":true,"replies":[{"blocks":[{"text":["it goes on"]}],"usage":{"input":9,"output":3}}]}' >"$tmp/further.json"
start_server
root=$PWD
world killed
space=$PWD

# Journals that hold the same kinds of records are one.
kinds=()
for shape in chain batch; do
    total=$(points_of $shape)
    for ((n = 1; n <= total; n += CRASH_ALL ? 1 : total / 14)); do
        clean
        begin $shape AT=$n WHEN=after
        act -- sessions export s
        [ "$status" = 0 ] || continue
        kind=$(jq -r .type out | tr '\n' ' ')
        if [ -e "$tmp/$(cksum <<<"$kind")" ]; then continue; fi
        touch "$tmp/$(cksum <<<"$kind")"
        cp out "${#kinds[@]}.jsonl"
        kinds+=("$kind")
    done
done
clean
cd "$root" || exit 2
echo "# ${#kinds[@]} kinds of journals"
check "there are several" test ${#kinds[@]} -ge 6

go_on() {
    local api=$1 i=$2 spec=$3
    fresh further "$api"
    chela sessions import --key "k$i-$spec" "$i.jsonl"
    if [ $(((i + ${#spec}) % 2)) = 0 ]; then
        chela sessions resume --model "$spec" --base-url "$base" "k$i-$spec"
    else
        chela run --model "$spec" --base-url "$base" --session "k$i-$spec" "And now?"
    fi
    [ "$status" = 0 ] || echo "$spec: ${kinds[i]}: exit $status, $(head -n 3 "$err")"
    requests '.problems[]' | sort -u | sed "s|^|$spec: ${kinds[i]}: |"
    # One that had ended needs no service to be resumed.
    if [ -z "$(requests)" ] && ! grep -q 'nothing to resume' "$err"; then echo "$spec: ${kinds[i]}: nothing was sent"; fi
}
for api in "${apis[@]}"; do
    for ((i = 0; i < ${#kinds[@]}; i++)); do
        go_on "$api" $i "$(model "$api")"
        if [ "$api" = openai ]; then go_on "$api" $i "prompted+$(model "$api")"; fi
    done >"$tmp/complaints"
    same "what was stored is accepted over $api" "" "$(cat "$tmp/complaints")"
done
tap_done

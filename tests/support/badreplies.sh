# badreplies.sh -- replies with a fault (badreplies.py), over the protocol $api: the run continues,
# or ends with the sentence about the end and one clear line; the next request has a valid history;
# no request is made twice without need. tests/e2e has a script for each protocol that sets $api and sources this.
# shellcheck shell=bash
. tests/support/tap.sh
. tests/support/e2e.sh
command -v python3 >/dev/null || { skip "replies with a fault, $api" "python3 is not installed"; tap_done; exit; }
table=$(python3 tests/support/badreplies.py "$api" "$tmp")
start_server

case $api in ollama) model=(ollama/qwen3 --api-key-env OPENAI_API_KEY) ;; *) model=("$(model "$api")") ;; esac
# The runs that the table describes, after the other requests to the model service.
asked() { requests 'select(.path | test("/api/show$|/props$|/models$") | not) | '"$1"; }
number_asked() {
    grep -F "\"i$instances\"" "$log" | grep -vcE '^\{"end":|^\{[^{]*"path":"[^"]*(/api/show|/props|/models)"'
}
while IFS=$'\t' read -r name flags code reason number results text line; do
    [ "$flags" = - ] && flags=
    label="$name, $api"
    fresh "bad-$api-$name" "$api"
    rm -rf "${space:?}"/* "$tmp/.local"
    # shellcheck disable=SC2086
    chela run --model "${model[@]}" --base-url "$base" --session one -q --output jsonl $flags "go on"
    [ "$results" = - ] && results=
    want="$code $reason $number $results"
    got="$status $(number_asked)"
    if [[ $got =~ ^($code)\ ($number)$ ]]; then
        # An "e" or "o" for each tool result.
        holds "$label: $want" "\"\\(.[-1].reason) \\([.[] | select(.type == \"tool_result\") | if .is_error then \"e\" else \"o\" end] | join(\"\"))\"
            | test(\"^($reason) ($results)$\")"
    else
        not_ok "$label: $want" "$(printf 'status and requests: %s\n' "$got"; show)"
    fi
    if [ "$name" != same-ids-later ]; then events_are_well_formed "$label"; fi # the ids are the model's
    holds "$label: the answer" ".[-1].text // \"\" | test(\"$text\")"
    holds "$label: no count is negative" '[.[-1].usage | .. | numbers] | all(. >= 0)'
    if [ "$line" = - ]; then
        check "$label: nothing on stderr" test ! -s "$err"
    elif [ "$(sed -n '1s/^chela: //p' "$err")" = "$(tail -n 1 "$out" | jq -r .ending)" ] && [ "$(wc -l <"$err")" -le 2 ] &&
        tail -n 1 "$err" | grep -qE "^chela: .*$line"; then
        ok "$label: the sentence and one clear line on stderr"
    else
        not_ok "$label: the sentence and one clear line on stderr" "$(show)"
    fi
    chela run --model "${model[@]}" --base-url "$base" --session one -q --output jsonl "and now?"
    if [ "$status" = 0 ] && tail -n 1 "$out" | grep -qF '"text":"fine"'; then ok "$label: the session goes on"; else not_ok "$label: the session goes on" "$(show)"; fi
    same "$label: requests without fault" "" "$(asked '.problems[]' | sort -u)"
done <<<"$table"
check "no half of a call was carried out, $api" test ! -e "$space/a.txt"
tap_done

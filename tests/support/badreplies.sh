# badreplies.sh -- replies with a fault (badreplies.py), over the protocol $api: the run continues,
# or ends with one clear line; the next request has a valid history; no request is made twice
# without need. tests/e2e has a script for each protocol that sets $api and sources this.
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
# Facts about the output, a line each: the reason, an "e" or "o" for each tool result, and whether
# the events are well formed, the answer matches and no count is negative. jq starts slowly.
facts() {
    jq -rs ".[-1].reason,
        ([.[] | select(.type == \"tool_result\") | if .is_error then \"e\" else \"o\" end] | join(\"\")),
        (try ($well_formed) catch false),
        (try (.[-1].text // \"\" | test(\"$1\")) catch false),
        (try ([.[-1].usage | .. | numbers] | all(. >= 0)) catch false)" "$out"
}
is_true() {
    if [ "$2" = true ]; then ok "$1"; else not_ok "$1" "$(show)"; fi
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
    mapfile -t found < <(facts "$text" 2>/dev/null)
    got="$status ${found[0]-} $(number_asked) ${found[1]-}"
    if [[ $got =~ ^($code)\ ($reason)\ ($number)\ ($results)$ ]]; then ok "$label: $want"; else not_ok "$label: $want" "$(printf 'got %s\n' "$got"; show)"; fi
    if [ "$name" != same-ids-later ]; then is_true "$label: events are well formed" "${found[2]-}"; fi # the ids are the model's
    is_true "$label: the answer" "${found[3]-}"
    is_true "$label: no count is negative" "${found[4]-}"
    if [ "$line" = - ]; then
        check "$label: nothing on stderr" test "$reason" = refused -o ! -s "$err"
    elif [ "$(wc -l <"$err")" = 1 ] && grep -qE "^chela: .*$line" "$err"; then
        ok "$label: one clear line on stderr"
    else
        not_ok "$label: one clear line on stderr" "$(show)"
    fi
    chela run --model "${model[@]}" --base-url "$base" --session one -q --output jsonl "and now?"
    if [ "$status" = 0 ] && tail -n 1 "$out" | grep -qF '"text":"fine"'; then ok "$label: the session goes on"; else not_ok "$label: the session goes on" "$(show)"; fi
    same "$label: requests without fault" "" "$(asked '.problems[]' | sort -u)"
done <<<"$table"
check "no half of a call was carried out, $api" test ! -e "$space/a.txt"
tap_done

# faults.sh -- a service that misbehaves, over the protocol $api: each way gives
# the sentence about the end and one clear line on stderr, the right exit code and reason, and a stream of
# events that is well formed to its end. tests/e2e has a script for each
# protocol that sets $api and sources this, so that they run side by side.
# shellcheck shell=bash
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

# name            flags         exit reason             text of the line on stderr
table='
unauthorized      -             1    model_error        (401|API key|authentication)
no_model          -             1    model_error        (404|does not exist|not found)
always_429        -             1    model_error        (429|[Rr]ate limit)
always_500        -             1    model_error        (500|server error)
html_200          -             1    model_error        .
html_502          -             1    model_error        (502|gateway)
not_json          -             1    model_error        .
empty_body        -             1    model_error        .
garbage           -             1    model_error        .
wire_garbage      -             1    model_error        .
cut               -             1    model_error        .
no_end            -             1    model_error        .
stream_error      -             1    model_error        (529|[Oo]verloaded)
error_lingers     --timeout=30  1    model_error        (529|[Oo]verloaded)
deep_body         -             1    model_error        .
big_header        -             1    model_error        .
redirect          -             1    model_error        (307|redirect)
endless           --timeout=2   3    deadline_exceeded  (time|deadline)
endless_line      --timeout=3   1|3  model_error|deadline_exceeded .
stall             --timeout=2   3    deadline_exceeded  (time|deadline)
silent            --timeout=2   3    deadline_exceeded  (time|deadline)
loop              --max-turns=3 3    max_turns_exceeded turn
'

while read -r name flags code reason line; do
    [ -n "$name" ] || continue
    [ "$flags" = - ] && flags=
    # shellcheck disable=SC2086
    play "$api" "$name" -q --output jsonl $flags
    label="$name, $api"
    if [[ $status =~ ^($code)$ ]]; then ok "$label: exit $code"; else not_ok "$label: exit $code" "$(show)"; fi
    events_are_well_formed "$label"
    holds "$label: reason $reason" ".[-1].reason | test(\"^($reason)$\")"
    ending=$(tail -n 1 "$out" | jq -r .ending)
    if [ "$(wc -l <"$err")" = 2 ] && tail -n 1 "$err" | grep -qE "$line" && [ "$(sed -n '1s/^chela: //p' "$err")" = "$ending" ]; then
        ok "$label: the sentence and one clear line on stderr"
    else
        not_ok "$label: the sentence and one clear line on stderr" "$(show)"
    fi
    same "$label: requests without fault" "" "$(requests '.problems[]' | sort -u)"
done <<<"$table"

same "a redirect is not followed: nobody came to the trap" "0" "$(jq -s 'map(select(.trap)) | length' "$log")"

# Gemini's service detects a malformed call, and reports it instead of sending it.
told_or_retried='
  ([.[] | select(.type == "tool_result")] | length == 1 and .[0].is_error)
  or ([.[] | select(.type == "tool_result")] == [] and ([.[] | select(.type == "retry")] | length == 1))'

# These cases are not failures.
play "$api" bad_utf8 --output jsonl
exits "bad_utf8, $api" 0
events_are_well_formed "bad_utf8, $api"
holds "bad_utf8, $api: what is readable is kept" '.[-1].text | startswith("before ") and endswith(" after")'
check "bad_utf8, $api: the output is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$out"

# Gemini's protocol has no marker after which nothing follows.
if [ "$api" != gemini ]; then
    play "$api" lingers --timeout 30 --output jsonl
    exits "lingers, $api: a complete answer does not wait for the end of the response" 0
    holds "lingers, $api: the answer" '.[-1].text == "all of it"'
fi

play "$api" deep_event --output jsonl
if [[ $status =~ ^[01]$ ]]; then ok "deep_event, $api: no crash"; else not_ok "deep_event, $api: no crash" "$(show)"; fi
events_are_well_formed "deep_event, $api"

play "$api" deep_arguments --output jsonl
exits "deep_arguments, $api" 0
events_are_well_formed "deep_arguments, $api"
holds "deep_arguments, $api: the model is told, or asked again" "$told_or_retried"

play "$api" cut_once --output jsonl
exits "cut_once, $api" 0
holds "cut_once, $api: tried again" '.[-1].text == "found" and ([.[] | select(.type == "retry")] | length == 1)'

play "$api" wrong_type --output jsonl
if [[ $status =~ ^[01]$ ]]; then ok "wrong_type, $api: no crash"; else not_ok "wrong_type, $api: no crash" "$(show)"; fi
events_are_well_formed "wrong_type, $api"

play "$api" refusal --output jsonl
exits "refusal, $api" 6
holds "refusal, $api: the reason says so" '.[-1].status == "declined" and .[-1].reason == "refused"'

play "$api" cut_call --output jsonl
exits "cut_call, $api" 0
events_are_well_formed "cut_call, $api"
holds "cut_call, $api: not run, and the model is told" '[.[] | select(.type == "tool_result")] | length == 1 and .[0].is_error'
same "cut_call, $api: requests without fault" "" "$(requests '.problems[]')"
check "cut_call, $api: no file was written" test ! -e "$space/a.txt"

play "$api" bad_arguments --output jsonl
exits "bad_arguments, $api" 0
holds "bad_arguments, $api: the model is told, or asked again" "$told_or_retried"
same "bad_arguments, $api: requests without fault" "" "$(requests '.problems[]')"

play "$api" unknown_tool --output jsonl
exits "unknown_tool, $api" 0
holds "unknown_tool, $api: the model is told" \
    '[.[] | select(.type == "tool_result")] | length == 1 and .[0].is_error and (.[0].content | test("launch_rocket"))'

play "$api" empty --output jsonl
exits "empty, $api" 0
holds "empty, $api: one nudge" '.[-1].text == "Sorry, here I am." and .[-1].turns == 2'
same "empty, $api: requests without fault" "" "$(requests '.problems[]')"
play "$api" always_empty --output jsonl
exits "always_empty, $api" 0
holds "always_empty, $api: two turns, a warning, and the end says that there is no answer" '.[-1].turns == 2 and any(.type == "warning") and (.[-1].ending | test("There was no answer"))'
play "$api" reasoning_only --output jsonl
exits "reasoning_only, $api" 0
holds "reasoning_only, $api: one nudge" '.[-1].text == "Now I know." and .[-1].turns == 2'
same "reasoning_only, $api: requests without fault" "" "$(requests '.problems[]')"

if [ "$api" = anthropic ]; then
    play "$api" pause --output jsonl
    exits "pause" 0
    holds "pause: the turn was continued" '.[-1].text | test("Found crabs")'
    same "pause: requests without fault" "" "$(requests '.problems[]')"
    same "pause: the reply went back unchanged" '["text","server_tool_use"]' \
        "$(requests 'select(.n == 1) | [.body.messages[-1].content[].type]')"
fi
tap_done

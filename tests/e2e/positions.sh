#!/usr/bin/env bash
# Positions in a session: each reader, at either gateway of a store, at any time, after any position, gets the
# same events, each once. Pieces of a reply come only where the session is held, and its record replaces them.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
readers=()
pid_a='' pid_b=''
trap 'kill -9 "$pid_a" "$pid_b" "${readers[@]}" 2>/dev/null; rm -rf "$tmp"' EXIT
for node in a b; do
    mkdir "$tmp/$node"
    cat >"$tmp/$node/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^look", after: none }, say: "Looking now.", call: { tool: t_look, args: {} }, pace_ms: 5 }
  - { when: { user: "^ask", after: none }, call: { tool: t_ask, args: {} } }
  - { when: { user: "^slow" }, say: "one two three four five six seven eight nine ten eleven twelve thirteen fourteen", pace_ms: 200 }
  - { when: { after: any }, say: "Found: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
    cat >"$tmp/$node/chela.yaml" <<YAML
store: "sqlite:$tmp/chela.db"
sandbox: { mode: "off" }
agents: { list: [{ id: main, model: scripted/rules.yaml, tools: { allow: [t_look, t_ask] } }, { id: other, model: scripted/rules.yaml }] }
tools:
  custom:
    - { name: t_look, description: Looks., command: [echo, a tree], effect: once, permission: read, parameters: { type: object } }
    - { name: t_ask, description: Asks., command: [echo, ran], effect: once, permission: write, confirm: true, parameters: { type: object } }
YAML
    start_node $node "$tmp/$node"
done
at() { # NODE COMMAND...
    eval "gateway=\$at_$1"
    "${@:2}"
}
# Reads events of NODE's KEY into FILE, after POSITION if given.
reader() { # NODE KEY FILE [POSITION]
    local where=at_$1
    : >"$3"
    curl -sSN -m 300 -H "Authorization: Bearer $token" ${4:+-H "Last-Event-ID: $4"} "${!where}/api/sessions/$2/events" >"$3" 2>/dev/null &
    readers+=($!)
}
left() { kill "${readers[@]}" 2>/dev/null; wait "${readers[@]}" 2>/dev/null; readers=(); }
data() { sed -n 's/^data: //p' "$1"; }
kept() { data "$1" | jq -c 'select(.type and (.ephemeral | not))'; }
ends() { kept "$1" | jq -r 'select(.type == "run_end") | .status' | grep -c .; }
has_ends() { [ "$(ends "$1")" -ge "$2" ]; }
is() { at a call GET "/api/sessions/$1" && [ "$(jq -r .status "$out")" = "$2" ]; }

# --- a conversation of four runs, with an approval
at a post /api/sessions/s/messages '{"text":"hello"}'
at a eventually is s idle
reader a s "$tmp/live" 0
at a eventually has_ends "$tmp/live" 1
at a post /api/sessions/s/messages '{"text":"look there"}'
at a eventually has_ends "$tmp/live" 2
at a post /api/sessions/s/messages '{"text":"ask first"}'
at a eventually has_ends "$tmp/live" 3
at a call GET /api/approvals
at a post "/api/approvals/$(jq -r '.approvals[0].approval_id' "$out")" '{"decision":"allow-once"}'
at a eventually has_ends "$tmp/live" 4
at a post /api/sessions/s/messages '{"text":"bye","agent":"other"}'
check "a reader from the position 0 sees the ends of all runs" eventually has_ends "$tmp/live" 5
left
same "the runs of the conversation" "done done paused done done" "$(kept "$tmp/live" | jq -r 'select(.type == "run_end").status' | xargs)"
same "a run names its agent" "main main main main other" "$(kept "$tmp/live" | jq -r 'select(.type == "run_start").agent' | xargs)"
same "each position is used once" "" "$(kept "$tmp/live" | jq -r .cursor | sort | uniq -d)"
same "the SSE id of each event is its position" "$(data "$tmp/live" | jq -r 'select(.type).cursor')" "$(sed -n 's/^id: //p' "$tmp/live")"
same "positions grow" "$(kept "$tmp/live" | jq -r .cursor)" "$(kept "$tmp/live" | jq -r .cursor | sort -s -t. -k1,1n -k2,2n)"

# --- the same events, wherever and whenever they are read
reader a s "$tmp/again" 0
reader b s "$tmp/there" 0
eventually has_ends "$tmp/again" 5
check "a gateway that does not hold the session shows it" eventually has_ends "$tmp/there" 5
same "a later reader of the holder gets the same events" "$(kept "$tmp/live")" "$(kept "$tmp/again")"
same "a reader of the other gateway gets the same events" "$(kept "$tmp/live")" "$(kept "$tmp/there")"
left
mapfile -t all < <(kept "$tmp/live" | jq -r .cursor)
n=${#all[@]}
for i in 0 1 2 5 $((n / 2)) $((n - 3)) $((n - 2)); do
    node=$([ $((i % 2)) = 0 ] && echo a || echo b)
    reader "$node" s "$tmp/part" "${all[$i]}"
    eventually has_ends "$tmp/part" 1
    eventually eval "[ \$(kept '$tmp/part' | wc -l) -ge $((n - i - 1)) ]"
    same "after the position ${all[$i]}, at $node: exactly the rest" "$(kept "$tmp/live" | tail -n +$((i + 2)))" "$(kept "$tmp/part")"
    left
done
record=$(kept "$tmp/live" | jq -r 'select(.cursor | contains(".")).cursor' | head -n 1)
reader a s "$tmp/part" "${record%.*}"
eventually has_ends "$tmp/part" 5
same "a record without a number is the position after all of its events" "" "$(kept "$tmp/part" | jq -r .cursor | grep "^${record%.*}\\(\\.\\|$\\)")"
left
reader b s "$tmp/part" 99999
eventually has_ends "$tmp/part" 5
same "after a position beyond the end come a gap and everything" "event: gap $n" "$(grep -m 1 '^event: ' "$tmp/part") $(kept "$tmp/part" | wc -l)"
left

# --- pieces of a reply
at a call GET "/api/sessions/s/records"
last=$(jq -r .last "$out")
reader a s "$tmp/live" "$last"
at a post /api/sessions/s/messages '{"text":"slow please"}'
eventually eval "data '$tmp/live' | grep -q '\"three'"
reader a s "$tmp/late" "$last"
eventually eval "data '$tmp/late' | grep -q '\"text_delta\".*}\$'"
same "a reader that comes during a reply gets what was said so far" "one two three" \
    "$(data "$tmp/late" | jq -r 'select(.ephemeral and .type == "text_delta").text' | head -n 1 | cut -c1-13)"
eventually has_ends "$tmp/live" 1
eventually has_ends "$tmp/late" 1
whole="one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
same "the pieces are the reply" "$whole" "$(data "$tmp/live" | jq -rj 'select(.ephemeral and .type == "text_delta").text')"
same "for the late reader, too" "$whole" "$(data "$tmp/late" | jq -rj 'select(.ephemeral and .type == "text_delta").text')"
same "the record of the reply holds the text once" "$whole" "$(kept "$tmp/live" | jq -rj 'select(.type == "text_delta").text')"
check "a piece has the position of the newest record, before its own" \
    [ "$(data "$tmp/live" | jq -r 'select(.ephemeral and .type == "text_delta").cursor' | sort -u | wc -l)" = 1 ]
check "no piece comes after its record" \
    [ "$(data "$tmp/live" | jq -r 'select(.type == "text_delta") | .ephemeral // false' | uniq | xargs)" = "true false" ]
same "the tool's progress and other pieces repeat no stored event" "" \
    "$(data "$tmp/live" | jq -r 'select(.ephemeral).type' | sort -u | grep -xE 'run_start|run_end|turn_start|turn_end|tool_call|tool_result|approval_required')"

# --- over the death of the holder
left
kill -9 "$pid_a"
start_node a "$tmp/a"
reader a s "$tmp/after" 0
reader b s "$tmp/there" 0
eventually has_ends "$tmp/after" 6
eventually has_ends "$tmp/there" 6
same "after a crash both gateways show the same events" "$(kept "$tmp/there")" "$(kept "$tmp/after")"
same "after a crash the earlier positions are still valid" "$(printf '%s\n' "${all[@]}")" "$(kept "$tmp/after" | jq -r .cursor | head -n "$n")"
left

# --- after a deletion the numbers go on
reader a s "$tmp/live" "$last"
reader b s "$tmp/there" "$last"
eventually has_ends "$tmp/live" 1
eventually has_ends "$tmp/there" 1
at a call GET /api/sessions/s/records
old=$(jq -r .last "$out")
eventually eval "at a call DELETE /api/sessions/s; [ \$code -lt 300 ]"
at a post /api/sessions/s/messages '{"text":"anew"}'
at a eventually is s idle
check "a reader of the deleted session is told of its end" eventually eval "kept '$tmp/live' | grep -q 'was deleted'"
check "at the other gateway, too" eventually eval "kept '$tmp/there' | grep -q 'was deleted'"
same "and reads nothing of the next one" "" "$(cat "$tmp/live" "$tmp/there" | grep anew)"
deleted=$(kept "$tmp/live" | tail -n 1 | jq -r .cursor)
left
at b call GET /api/sessions/s/records
same "the first record has a number above the earlier ones" true "$(jq ".records[0].seq > $old" "$out")"
same "from the start there is no gap" null "$(jq -c .gap "$out")"
n=$(jq '.records | length' "$out")
at b call GET "/api/sessions/s/records?after=3"
same "after a record of the deleted session come a gap and all records" "true $n" "$(jq -r '"\(.gap) \(.records | length)"' "$out")"
at b call GET /api/sessions/s
same "the session has its own records only" "$n" "$(jq .records "$out")"
for position in 1 "${all[2]}" "$old"; do
    reader b s "$tmp/part" "$position"
    eventually has_ends "$tmp/part" 1
    same "after the position $position of the deleted session come a gap and everything" "event: gap heard: anew" \
        "$(grep -m 1 '^event: ' "$tmp/part") $(kept "$tmp/part" | jq -rj 'select(.type == "text_delta").text')"
    left
done
reader a s "$tmp/part" "$deleted"
eventually has_ends "$tmp/part" 1
same "after the end of the deleted session comes the next one, without a gap" "0 heard: anew" \
    "$(grep -c '^event: gap' "$tmp/part") $(kept "$tmp/part" | jq -rj 'select(.type == "text_delta").text')"
left
tap_done

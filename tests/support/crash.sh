# crash.sh -- a turn with effects, interrupted at a point and resumed. Source
# it after tap.sh and e2e.sh.
#
#     world NAME [STORE]        a directory for one worker; enters it.
#                               STORE: a URL, without it a file
#     act PLAN... -- ARG...     run chela with crashpoint.c; PLAN: its variables
#                               without CHELA_CRASH_; sets $status, writes out, err
#     recover PLAN...           act like a user after a crash: resume or, if
#                               nothing was accepted, send again
#     look                      read the stored state: $state, "" if no message was accepted
#     verdict POINT             compare the outcome with the guarantees
#     sweep WORKER [STORE KIND] create the world KINDWORKER, and run every point of it
#                               that belongs to this worker
#     six_processes NAME        six processes at once, with six sessions and with one
#
# A world has an effect log: each tool appends its name and idempotency key when
# it begins. Complaints go to "violations", points to "points".
# shellcheck disable=SC2034
preload=$BUILD/tests/support/crashpoint
reap=$BUILD/tests/support/reap
absolute=$(realpath "$program")
as=() # what runs it as somebody else
tag=  # of "out" and "err", for several at once
answer="all three are done"
store=

world() {
    local effect
    mkdir "$tmp/$1" && cd "$tmp/$1" || exit 2
    store=${2:-sqlite:./chela.db}
    for effect in read keyed once; do
        printf '#!/bin/sh\nread -r _\necho "%s $CHELA_IDEMPOTENCY_KEY" >>effects\necho "%s is done"\n' \
            $effect $effect >$effect
        chmod +x $effect
    done
    cat >chela.yaml <<YAML
store: $store
sandbox: { mode: off }
tools:
  custom:
    - { name: t_read, description: Reads., command: [./read], effect: read, permission: write }
    - { name: t_keyed, description: Writes., command: [./keyed], effect: keyed, permission: write }
    - { name: t_once, description: Ships., command: [./once], effect: once, permission: write }
YAML
    # One reply with all three calls, or one after the other.
    cat >rules.yaml <<YAML
rules:
  - { when: { after: none, user: batch }, call: [{ tool: t_read, args: {} }, { tool: t_keyed, args: {} }, { tool: t_once, args: {} }] }
  - { when: { after: none, user: chain }, call: { tool: t_read, args: {} } }
  - { when: { after: t_read, user: chain }, call: { tool: t_keyed, args: {} } }
  - { when: { after: t_keyed, user: chain }, call: { tool: t_once, args: {} } }
  - { say: "$answer" }
YAML
    : >violations
    : >points
    : >states
}

clean() {
    rm -f effects log
    case $store in
        sqlite:*) rm -f chela.db* ;;
        postgres:*)
            local database=${store#postgres:///}
            postgres_sql "DROP SCHEMA IF EXISTS chela CASCADE" "${database%%\?*}" 2>/dev/null
            ;;
        redis:*) redis_tell -n "${store##*/}" FLUSHDB >/dev/null ;;
    esac
    : >effects
}

act() {
    local plan=()
    while [ "$1" != -- ]; do
        plan+=("CHELA_CRASH_$1")
        shift
    done
    shift
    "${as[@]}" "$reap" 60 env -i PATH="$PATH" HOME="$PWD" LC_ALL=C.UTF-8 CHELA_TEST_RUN="$CHELA_TEST_RUN" \
        CHELA_TEST="$CHELA_TEST" ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" LD_PRELOAD="$preload" \
        CHELA_CRASH_LOG="$PWD/log" CHELA_CRASH_SYNC=no "${plan[@]}" "$absolute" "$@" --config chela.yaml >"out$tag" 2>"err$tag"
    status=$?
}

begin() {
    local shape=$1
    shift
    act "$@" -- run --model scripted/rules.yaml --session s --output jsonl "$shape"
}

look() {
    state=
    act -- sessions show --json s
    case $status in
        0)
            state=$(<out)
            if [[ $state == *'"transcript":[]'* ]]; then state=; fi # opened, nothing accepted
            ;;
        2) grep -qE 'there is no session|No such file|there is none yet' err || complain "the stored state does not load: $(<err)" ;;
        *) complain "the stored state does not load: exit $status, $(<err)" ;;
    esac
}

recover() {
    if [ -n "$state" ]; then
        act "$@" -- sessions resume --model scripted/rules.yaml --output jsonl s
    else
        begin "$shape" "$@"
    fi
}

complain() {
    printf '%s: %s (%s)\n' "$point" "$1" "$(tail -n 1 log 2>/dev/null)" >>violations
}

# P1: acknowledged data is stored. Compare the output of the process that died with
# the present state.
told() {
    local said
    said=$(<out)
    look
    if [[ $said == *'"reason":"store_error"'* ]]; then said=; fi # they know
    if [[ $said == *'"type":"run_start"'* || -s effects ]] && [ -z "$state" ]; then
        complain "P1: a run that had begun is not stored"
    elif [[ $said == *'"type":"run_end"'* ]] &&
        [[ $state != *'"status":"idle"'*"$answer"* ]]; then
        complain "P1: a run that had ended has not ended in the store"
    fi
}

# The end of a point: everything has been resumed. The rest of the transcript is
# checked for all points at once.
verdict() {
    local once=0 keyed=0 read=0 name key keys=
    [ "$status" = 0 ] || complain "the last resume failed: exit $status, $(<err)"
    look
    while read -r name key; do
        case $name in
            once) once=$((once + 1)) ;;
            keyed)
                keyed=$((keyed + 1))
                keys=${keys:-$key}
                [ "$keys" = "$key" ] || complain "a keyed call was made with two keys: $keys, $key"
                ;;
            read) read=$((read + 1)) ;;
        esac
    done <effects
    [ $once -le 1 ] || complain "P2: the once tool was started $once times"
    if [ $keyed = 0 ] || [ $read = 0 ]; then complain "keyed ran $keyed times, read $read times"; fi
    printf '{"point":"%s","once":%d,"state":%s}\n' "$point" $once "${state:-null}" >>states
}

# P3, P4: each call has one result, which follows it; one answer ends the turn;
# and the result of the once call is true.
judge_states() {
    jq -r --arg answer "$answer" '
      . as $point | (.state.transcript // []) as $t
      | [$t[].content[] | select(.type == "tool_call").id] as $calls
      | [$t[].content[] | select(.type == "tool_result").id] as $results
      | [$t[].content[] | select(.type == "tool_result" and .name == "t_once")] as $once
      | [$t[] | select(.role == "assistant") | select(all(.content[]; .type != "tool_call"))] as $answers
      | [ (if .state.status != "idle" then "the session is \(.state.status)" else empty end),
          (if $calls != $results or ($calls | length) != 3 or ($calls | unique | length) != 3
           then "P4: calls \($calls) have results \($results)" else empty end),
          (if [range(1; $t | length) | select($t[.].role == $t[. - 1].role)] != []
           then "P4: roles \([$t[].role])" else empty end),
          (if [$t[] | select(.role == "user")] | length != 1 then "P1: the message is there not once" else empty end),
          (if ($answers | length) != 1 or $t[-1] != $answers[0] or $t[-1].content[-1].text != $answer
           then "P3: answers \($answers | length)" else empty end),
          (if $once[0].is_error != true and $point.once != 1
           then "P2: the once call succeeded but was made \($point.once) times" else empty end)
        ][] | "\($point.point): \(.)"' states >>violations || echo "the stored states are not JSON" >>violations
}

# --- sweeping
# The number of points is known from a run without a crash.
points_of() {
    clean
    begin "$1"
    sed -n 's/^total //p' log
}

# One death at N, and, with M, another during recovery.
cut() {
    local when=$2 n=$3 m=${4-}
    shape=$1
    point="$shape $when $n${m:+, then $m}"
    clean
    begin "$shape" AT="$n" WHEN="$when"
    [ "$status" = 137 ] || return # fewer points than last time
    told
    if [ -n "$m" ]; then
        recover AT="$m" WHEN="$when"
        if [ "$status" = 137 ]; then told; else look; fi # it may have been over before M
    fi
    recover
    echo "$point" >>points
    verdict
}

sweep() {
    local worker=$1 shape total n
    world "${3-}$worker" "${2-}"
    for shape in chain batch; do
        total=$(points_of $shape)
        [ "${total:-0}" -gt 50 ] || complain "only ${total:-no} points"
        for ((n = 1; n <= total + 8; n++)); do # how threads meet moves a few
            [ $((n % workers)) = "$worker" ] || continue # by n: each counts its own total
            if [ -n "${CRASH_ALL-}" ]; then
                cut $shape before $n
                cut $shape after $n
                cut $shape before $n $((1 + n * 7 % 60))
                cut $shape after $n $((1 + n * 13 % 90))
            elif [ $((n % step)) -lt "$workers" ]; then
                case $((n / step % 3)) in
                    0) cut $shape before $n ;;
                    1) cut $shape after $n ;;
                    2) cut $shape after $n $((1 + n * 7 % 60)) ;;
                esac
            fi
        done
    done
    judge_states
}

shown='' shown_transcript=''
transcript() {
    act -- sessions show --json s
    got=
    [ "$status" = 0 ] || return
    if [ "$(<out)" != "$shown" ]; then # jq starts slowly
        shown=$(<out)
        shown_transcript=$(jq -cS .transcript out)
    fi
    got=$shown_transcript
}

# --- several processes at once
# $won: number of processes that succeeded.
together() {
    local pids=() pid
    clean
    for i in 1 2 3 4 5 6; do
        (tag=.$i && act -- run --model scripted/rules.yaml --session "${1/\%d/$i}" --output jsonl chain && exit $status) &
        pids+=($!)
    done
    won=0 others=
    for pid in "${pids[@]}"; do
        wait "$pid"
        case $? in 0) won=$((won + 1)) ;; 1) ;; *) others+="exit $? " ;; esac
    done
}

six_processes() {
    local kind=$1
    together s%d
    same "$kind: six processes, six sessions: all end well" "6 " "$won $others$(grep -hv '^warning: ' err.*)"
    same "$kind: six processes, six sessions: each has its effects" "6 6 6" \
        "$(grep -c ^read effects) $(grep -c ^keyed effects) $(grep -c ^once effects)"
    act -- sessions list --json
    same "$kind: six processes, six sessions: all are stored" 6 "$(jq 'map(select(.status == "idle" and .turns == 4)) | length' out)"
    together s
    check "$kind: six processes, one session: at least one gets it" test "$won" -ge 1
    same "$kind: six processes, one session: the others are told who has it" "$((6 - won))" \
        "$(cat err.* | grep -cE "session 's' is in use by process [0-9]+ on ")"
    same "$kind: six processes, one session: nobody ends otherwise" "" "$others"
    transcript
    same "$kind: six processes, one session: as many messages as were accepted" "$won" \
        "$(jq '[.[] | select(.role == "user")] | length' <<<"$got")"
    same "$kind: six processes, one session: as many effects" "$won" "$(grep -c ^once effects)"
}

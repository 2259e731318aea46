#!/usr/bin/env bash
# The crash sweep: a turn with a read, a keyed and a once tool and an answer, cut
# off by SIGKILL at every call that reaches beyond the process, then resumed, and
# cut off again while it is. What was done, told and stored is held against the
# promises of docs/promises.md.
#
# Here some of the points; with CRASH_ALL=1 all of them, before and after each
# call, and each with two more deaths during recovery.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/crash.sh

# How many points there are is known from a run that is left alone.
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
        if [ "$status" = 137 ]; then told; fi
    fi
    recover
    echo "$point" >>points
    verdict
}

# Every point that is this worker's.
sweep() {
    local worker=$1 shape total n i=0
    world "$worker"
    for shape in chain batch; do
        total=$(points_of $shape)
        [ "${total:-0}" -gt 50 ] || complain "only ${total:-no} points"
        for ((n = 1; n <= total + 8; n++)); do # how threads meet moves a few
            i=$((i + 1))
            [ $((i % workers)) = "$worker" ] || continue
            if [ -n "${CRASH_ALL-}" ]; then
                cut $shape before $n
                cut $shape after $n
                cut $shape before $n $((1 + n * 7 % 60))
                cut $shape after $n $((1 + n * 13 % 90))
            elif [ $((i % step)) -lt "$workers" ]; then
                case $((i / step % 3)) in
                    0) cut $shape before $n ;;
                    1) cut $shape after $n ;;
                    2) cut $shape after $n $((1 + n * 7 % 60)) ;;
                esac
            fi
        done
    done
    judge_states
}

workers=2
# A process with a sanitizer takes ten times as long to start.
case $BUILD in *-address* | *-thread*) step=16 ;; *) step=4 ;; esac
least=$((CRASH_ALL ? 800 : 400 / step))
for ((worker = 0; worker < workers; worker++)); do
    (sweep $worker) &
done
wait
count=$(cat "$tmp"/[0-9]/points | sort -u | wc -l)
echo "# $count distinct points, $(cat "$tmp"/[0-9]/violations | wc -l) violations"
check "at least $least points" test "$count" -ge $least
same "no promise is broken" "" "$(cat "$tmp"/[0-9]/violations)"
tap_done

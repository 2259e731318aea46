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

#!/usr/bin/env bash
# A store that fails: every write of a turn refused, once and for good, by a full
# disk and by a broken one; files that are cut, garbled, read-only; several
# processes that want the same. Nothing is half done, somebody is told, and
# afterwards the session can be resumed.
#
# Here some of the writes and bytes; with CRASH_ALL=1 all of the writes.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/crash.sh
case $BUILD in *-address* | *-thread*) step=17 ;; *) step=5 ;; esac
[ -z "${CRASH_ALL-}" ] || step=1

# --- writes that fail
# Refused is: exit 1, a reason a person understands, a run that ends as such.
refused() {
    local said
    said=$(<out)
    [ "$status" = 1 ] || complain "exit $status"
    grep -q 'store' err || complain "nobody is told: $(<err)"
    if [[ $said == *'"type":"run_start"'* && $said != *'"type":"run_end"'*'"reason":"store_error"'* ]]; then
        complain "the run does not end with store_error"
    fi
}

# Write N fails. A failure that does no harm (of the clean-up at the end, say)
# is none; then all must be as if nothing had been.
fail_at() {
    local n=$2 error=$3 when=$4
    shape=$1
    point="$shape $error $when $n"
    clean
    begin "$shape" AT="$n" WHEN="$when" ERRNO="$error"
    grep -q "^$n " log || return # fewer writes than last time
    [ "$status" = 0 ] || refused
    told
    # shellcheck disable=SC2119
    recover
    echo "$point" >>points
    verdict
}

fail_writes() {
    local error=$1 shape total n i=$2
    world "$error"
    for shape in chain batch; do
        clean
        begin $shape AT=0 WHEN=fail ERRNO="$error"
        total=$(sed -n 's/^total //p' log)
        [ "${total:-0}" -gt 30 ] || complain "only ${total:-no} writes"
        for ((n = 1; n <= total; n++)); do
            i=$((i + 1))
            if [ $((i % step)) = 0 ]; then fail_at $shape $n "$error" fail; fi
            if [ $((i % step)) = $((step / 2)) ]; then fail_at $shape $n "$error" failing; fi
        done
    done
    judge_states
}

(fail_writes ENOSPC 0) &
(fail_writes EIO 2) &
wait
for error in ENOSPC EIO; do
    count=$(sort -u "$tmp/$error/points" | wc -l)
    echo "# $error: $count writes failed"
    check "$error: at least $((100 / step)) writes failed" test "$count" -ge $((100 / step))
    same "$error: refused, nothing half done, resumed" "" "$(cat "$tmp/$error/violations")"
done

# --- files that are not as they were left
world files
# The last process died, so that what it wrote is still in the log beside the file.
clean
begin chain
act AT=100 WHEN=after -- run --model scripted/rules.yaml --session s --output jsonl batch
mkdir good
cp chela.db* good/
transcript
expected=$got
size=$(wc -c <good/chela.db)
wal=$(wc -c <good/chela.db-wal)
check "there is something to damage" test "$size" -gt 30000 -a "$wal" -gt 8000 -a "${#expected}" -gt 400

fresh_copy() {
    rm -f chela.db*
    cp good/* .
}
# Garbage at a place of a file.
garble() {
    head -c "$3" /dev/urandom | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# Refused with a message, or as it was: never a crash, never something else.
withstand() {
    point=$1
    transcript
    case $status in
        0) [ "${2-}" = any ] || [ "$got" = "$expected" ] || complain "shows something else: $(head -c 300 <<<"$got")" ;;
        1 | 2) [ -s err ] || complain "show says nothing" ;;
        *) complain "show: exit $status, $(<err)" ;;
    esac
    act -- sessions resume --model scripted/rules.yaml --output jsonl s
    case $status in
        0) ;;
        1 | 2) grep -qE 'damaged|store|session' err || complain "resume says: $(<err)" ;;
        *) complain "resume: exit $status, $(<err)" ;;
    esac
    echo "$point" >>points
}
for at in 0 1 99 100 512 4095 4096 $((size / 2)) $((size - 4096)) $((size - 1)); do
    fresh_copy
    truncate -s "$at" chela.db
    withstand "cut after $at bytes"
done
for ((at = 0; at < size; at += 4096 * (1 + step / 5))); do
    fresh_copy
    garble chela.db "$at" 64
    withstand "64 bytes at $at"
    for ((byte = at + 7; byte < at + 4096; byte += 311 * step)); do
        fresh_copy
        garble chela.db $byte 1
        withstand "byte $byte"
    done
done
for at in 0 20 $((wal / 3)) $((wal / 2)) $((wal - 30)); do
    fresh_copy
    garble chela.db-wal "$at" 8
    withstand "8 bytes of the log at $at" any
    fresh_copy
    truncate -s "$at" chela.db-wal
    withstand "the log cut after $at bytes" any
done
fresh_copy
garble chela.db-shm 0 200
withstand "the shared index" any
echo "# $(sort -u points | wc -l) damaged files"
same "damaged files are refused or right, nothing crashes" "" "$(cat violations)"

# --- a file that cannot be written
as=()
if [ "$(id -u)" = 0 ]; then as=(setpriv --reuid 65534 --regid 65534 --clear-groups); fi
chmod 755 "$tmp" .
chmod 666 log out err
act -- --version
if [ "$status" = 0 ]; then
    rm -f chela.db* effects
    (as=() && begin chain)
    cp effects effects.before
    chmod 444 chela.db*
    chmod 555 .
    begin chain
    same "a read-only store: exit 1" 1 "$status"
    check "a read-only store: it is said" grep -qE 'chela.db.*(read-only|readonly|not be written|unable)' err
    check "a read-only store: reason store_error" grep -q '"reason":"store_error"' out
    check "a read-only store: nothing was done" cmp effects effects.before
    chmod 755 .
    # The files beside it belong to it.
    for end in wal shm; do
        (as=() && clean && begin chain)
        chmod 666 chela.db*
        for mode in 000 444; do
            chmod $mode chela.db-$end
            begin chain
            same "chela.db-$end with mode $mode: exit 1" 1 "$status"
            check "chela.db-$end with mode $mode: it is named" \
                grep -qE "chela.db: .*chela.db-$end cannot be (read|written): Permission denied" err
            check "chela.db-$end with mode $mode: reason store_error" grep -q '"reason":"store_error"' out
        done
        chmod 666 chela.db-$end
    done
else
    skip "a read-only store" "another user cannot run the program"
fi
as=()

six_processes sqlite
tap_done

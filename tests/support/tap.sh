# tap.sh -- functions that write TAP, for shell tests. Source it.
#
#     ok NAME / not_ok NAME [WHY]       one case, decided by the caller
#     check NAME COMMAND...             a case that passes if the command does
#     same NAME EXPECTED ACTUAL         a case that passes if the texts are equal
#     skip NAME WHY
#     needs NAME COMMAND...             ends the test, skipped, unless the commands are installed
#     tap_done                          the plan; last
tap_count=0

# shellcheck disable=SC2120
ok() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1"
}

not_ok() {
    tap_count=$((tap_count + 1))
    echo "not ok $tap_count - $1"
    [ -z "${2-}" ] || printf '%s\n' "$2" | sed 's/^/# /'
    return 1
}

skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count # SKIP $1: $2"
}

needs() {
    local name=$1 command
    shift
    for command in "$@"; do
        command -v "$command" >/dev/null && continue
        skip "$name" "$command is not installed"
        tap_done
        exit
    done
}

check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "$output"; fi
}

same() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        not_ok "$1" "$(diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | sed -n '1,40p')"
    fi
}

tap_done() {
    echo "1..$tap_count"
}

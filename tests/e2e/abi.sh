#!/usr/bin/env bash
# The library still has what programs that were linked with it rely on
# (packaging/abi), and the check finds each kind of change that would break them.
# What is new is told; `make abi` puts it on record.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

check "the library and its headers can be read" packaging/abi-of "$BUILD"
packaging/abi-of "$BUILD" >"$tmp/now"
same "nothing on record has changed" "" "$(packaging/abi-check packaging/abi "$tmp/now")"
check "the record has functions" test "$(grep -c '^symbol' packaging/abi)" -gt 180
check "the record has members" test "$(grep -c '^member' packaging/abi)" -gt 600
check "the record has enumerators" test "$(grep -c '^enum' packaging/abi)" -gt 120
same "every exported function is declared, every declared one exported" "" \
    "$(grep -E '^symbol [^ ]* (missing|[^ ]* in no header)' "$tmp/now")"
same "every function has a version" "" "$(awk '$1 == "symbol" && $3 !~ /^CHELA_/ {print $2}' "$tmp/now")"
same "the name of the library" "libchela.so.0" "$(objdump -p "$BUILD/libchela.so" | awk '$1 == "SONAME" {print $2}')"
same "nothing else is exported" "" \
    "$(nm -D --defined-only "$BUILD/libchela.so" | awk '$3 !~ /^chela_/ && $3 !~ /^_/ && $2 != "A" {print $3}')"

# The headers with one change each: what the check says about it.
broken() { # NAME HEADER SED-SCRIPT EXPECTED
    local name=$1 header=$2 script=$3 want=$4
    rm -rf "$tmp/include" && cp -r include "$tmp/include"
    sed -i "$script" "$tmp/include/chela/$header"
    if cmp -s "include/chela/$header" "$tmp/include/chela/$header"; then
        not_ok "$name" "the header was not changed"
        return
    fi
    packaging/abi-of "$BUILD" "$tmp/include" >"$tmp/changed"
    packaging/abi-check "$tmp/now" "$tmp/changed" >"$tmp/said"
    if [ -z "$want" ]; then
        same "$name" "" "$(cat "$tmp/said")"
    else
        check "$name" grep -qF -- "$want" "$tmp/said"
    fi
}
broken "a member in the middle" session.h 's/^    int64_t max_turns; .*/    int64_t fresh;\n&/' \
    "member chela_limits.max_turns: 16 8 int64_t; on record: 8 8 int64_t"
broken "a member that is gone" session.h '/^    int64_t max_tool_calls; /d' "member chela_limits.max_tool_calls is gone"
broken "a member at the end" sandbox.h 's/^    int64_t disk_files; .*/&\n    int64_t fresh;/' ""
broken "a member in the padding at the end" session.h 's/^    int sum_up;/&\n    int fresh;/' \
    "member chela_limits.fresh is new, and lies within the 64 bytes on record"
broken "another type of the same size" session.h 's/^    int64_t timeout_ms; /    double timeout_ms; /' \
    "member chela_limits.timeout_ms: 40 8 double; on record: 40 8 int64_t"
broken "two members exchanged" error.h 's/^    int code; /    int X; /; s/^    int http_status; /    int code; /; s/^    int X; /    int http_status; /' \
    "member chela_error.code: 4 4 int; on record: 0 4 int"
broken "a struct without a size grows" event.h 's/^    int64_t cache_read, cache_write, reasoning;/    int64_t cache_read, cache_write, reasoning, fresh;/' \
    "struct chela_usage has 56 bytes, and 48 on record"
broken "an enumerator in the middle" choice.h 's/X(CHELA_QUEUE_FOLLOW_UP, 1, /X(CHELA_QUEUE_FOLLOW_UP, 2, /' \
    "enum chela_queue_mode CHELA_QUEUE_FOLLOW_UP: 2; on record: 1"
broken "an event in the middle" event.h 's/X(STATE, 1, /X(STATE, 27, /' "enum chela_event_type CHELA_EV_STATE: 27; on record: 1"
broken "a parameter of another type" tool.h 's/^CHELA_API void chela_result_retry_after(chela_call \*call, int64_t ms);/CHELA_API void chela_result_retry_after(chela_call *call, int ms);/' \
    "symbol chela_result_retry_after: CHELA_0 void (chela_call *, int); on record: CHELA_0 void (chela_call *, int64_t)"
broken "a parameter of another name" tool.h 's/^CHELA_API void chela_result_retry_after(chela_call \*call, int64_t ms);/CHELA_API void chela_result_retry_after(chela_call *call, int64_t milliseconds);/' ""
broken "a callback of another type" tool.h 's/^typedef int chela_tool_fn(chela_call \*call, void \*user);/typedef void chela_tool_fn(chela_call *call, void *user);/' \
    "callback chela_tool_fn: void (chela_call *, void *); on record: int (chela_call *, void *)"
broken "a hook of another type" hooks.h 's/^    void (\*run_end)(chela_run \*run, const struct chela_event \*end, void \*user);/    void (*run_end)(chela_run *run, void *user);/' \
    "member chela_hooks.run_end: 80 8 void (*)(chela_run *, void *); on record:"
broken "a function of a vtable more" sys/html.h 's/^    const char \*name; .*libxml2.*/&\n    int (*fresh)(void);/' \
    "struct chela_html_ops has 24 bytes, and 16 on record"
rm -rf "$tmp/include" && cp -r include "$tmp/include"
sed -i 's/^    const char \*name; .*libxml2.*/&\n    int (*fresh)(void);/' "$tmp/include/chela/sys/html.h"
sed -i 's/^#define CHELA_MODULE_ABI .*/#define CHELA_MODULE_ABI 99/' "$tmp/include/chela/sys/module.h"
packaging/abi-of "$BUILD" "$tmp/include" >"$tmp/changed"
same "a vtable changes with CHELA_MODULE_ABI" "" "$(packaging/abi-check "$tmp/now" "$tmp/changed")"

awk 'NR == FNR { known[$1, $2, $1 == "enum" ? $3 : ""] = 1; next } !(($1, $2, $1 == "enum" ? $3 : "") in known)' packaging/abi "$tmp/now" |
    sed 's/^/# new: /'
tap_done

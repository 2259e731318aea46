#!/usr/bin/env bash
# The checks of tools/ see what they are for: each line of bad.expect is a
# complaint about the sample tree in bad/, and nothing else may be said of it.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
expected=tests/lint/bad.expect

copy=$(mktemp -d) && cp -rL tests/lint/bad/. "$copy"
{
    echo "void long_one(void) {"
    for i in {1..101}; do echo "    step($i);"; done
    echo "}"
    for i in {1..900}; do echo "int v$i;"; done
} >>"$copy/src/base/style.c"
for tool in check_layers check_style; do
    actual=$(tools/$tool "$copy" 2>&1) && not_ok "$tool fails on the bad tree"
    same "$tool sees what is wrong" "$(sed -n "s/^$tool //p" $expected)" "$actual"
done

# The object files of the two rooms, as a build leaves them.
objects() {
    for name in agent/run/wrong agent/api/right; do
        mkdir -p "$copy/build/obj/src/${name%/*}"
        grep -v '#include' "$copy/src/$name.c" | ${CC:-cc} -x c -c -o "$copy/build/obj/src/$name.o" - || return
    done
}
check "two rooms compile" objects
same "check_calls sees a call of a higher room" \
    "src/agent/run/wrong.c: calls agent_close of src/agent/api/right.c: agent/api is not below agent/run" \
    "$(tools/check_calls "$copy/build" "$copy")"

rm "$copy"/src/base/*.c "$copy"/src/agent/{loose,run/wrong}.c "$copy"/src/{net/far,cli/private,misc/stray}.c "$copy"/include/chela/thing.h
check "check_layers lets a good tree pass" tools/check_layers "$copy"
check "check_style lets a good tree pass" tools/check_style "$copy"
check "check_calls lets a good tree pass" tools/check_calls "$copy/build" "$copy"

# Five files of a folder without rooms: each calls the next, and the last the first.
circle() {
    local i name
    mkdir -p "$copy/src/net" "$copy/build/obj/src/net"
    for i in {0..4}; do
        name=net/circle$i
        echo "void circle$(((i + 1) % 5))(void); void circle$i(void) { circle$(((i + 1) % 5))(); }" >"$copy/src/$name.c"
        ${CC:-cc} -c -o "$copy/build/obj/src/$name.o" "$copy/src/$name.c" || return
    done
}
check "five files compile" circle
same "check_calls sees a circle" "net: 5 files call each other in a circle, 4 at most:" \
    "$(tools/check_calls "$copy/build" "$copy" | sed 's/most:.*/most:/')"

mkdir -p "$copy/include" && echo 'int broken(' >"$copy/include/broken.h"
if tools/check_headers "$copy" >"$copy/out" 2>&1; then
    not_ok "check_headers fails on a header that does not compile"
else
    check "check_headers names the header" grep -q '^broken.h does not compile alone' "$copy/out"
fi

# What check_api says about the headers after a change.
complaint() {
    rm -rf "$copy" && mkdir -p "$copy/docs" "$copy/packaging" "$copy/tests/support" "$copy/tests/scenario"
    cp -r include "$copy" && cp docs/api.md "$copy/docs" && cp packaging/abi "$copy/packaging"
    cp tests/support/sweep_rows_*.c "$copy/tests/support" && cp tests/scenario/test_{contract,threads}.c "$copy/tests/scenario"
    sed -i "$2" "$copy/$1"
    tools/check_api "$copy" | grep '^[a-z_./0-9:]*: '
}
same "check_api lets good headers pass" "" "$(complaint include/chela.h '')"
same "check_api sees a fact that is missing" "chela_json_each: Threads: begins with neither loop nor any
chela_json_each: Threads: is not stated
chela_json_get: Threads: begins with neither loop nor any
chela_json_get: Threads: is not stated
chela_json_get_all: Threads: begins with neither loop nor any
chela_json_get_all: Threads: is not stated" "$(complaint include/chela/json.h '/Threads: any/d')"
same "check_api sees a function without a comment" "chela_json_each: no comment says what it does
chela_json_get: no comment says what it does
chela_json_get_all: no comment says what it does" \
    "$(complaint include/chela/json.h 's/^CHELA_API/\n&/' | grep -v Ownership)"
same "check_api sees a result without an owner" "chela_session_key: Ownership: of the result is not stated" \
    "$(complaint include/chela/session.h '/The key of the session/,/Ownership/s/Ownership:.*/ *\//; /^ \*\/$/d')"
same "check_api sees an error that is not stated" "chela_agent_hooks: Errors: none, but it has a parameter err" \
    "$(complaint include/chela/hooks.h 's/Errors: CHELA_EINVAL.*/Errors: none *\//')"
same "check_api sees a name that is gone" "chela/json.h:20: mentions chela_freed, which does not exist" \
    "$(complaint include/chela/json.h '20s/with chela_free\./with chela_freed./')"
same "check_api sees a function that no header has" "chela_fresh: is exported, and in no header" \
    "$(complaint packaging/abi '$a symbol chela_fresh CHELA_0 void (void)')"
same "check_api sees what the sweep does otherwise" "chela_cancel: Threads: the sweep calls it from another thread" \
    "$(complaint include/chela/session.h '/^.* Cancel a run/,/Threads/s/Threads: any/Threads: loop/')"
sed -i '$d' "$copy/docs/api.md"
check "check_api sees an old page" eval '! tools/check_api "$copy" >/dev/null'
rm -rf "$copy"
tap_done

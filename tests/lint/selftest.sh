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

mkdir -p "$copy/include" && echo 'int broken(' >"$copy/include/broken.h"
if tools/check_headers "$copy" >"$copy/out" 2>&1; then
    not_ok "check_headers fails on a header that does not compile"
else
    check "check_headers names the header" grep -q '^broken.h does not compile alone' "$copy/out"
fi
rm -rf "$copy"
tap_done

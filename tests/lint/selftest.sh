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

rm "$copy"/src/base/*.c "$copy"/src/{net/far,cli/private,misc/stray}.c "$copy"/include/chela/thing.h
check "check_layers lets a good tree pass" tools/check_layers "$copy"
check "check_style lets a good tree pass" tools/check_style "$copy"

mkdir -p "$copy/include" && echo 'int broken(' >"$copy/include/broken.h"
if tools/check_headers "$copy" >"$copy/out" 2>&1; then
    not_ok "check_headers fails on a header that does not compile"
else
    check "check_headers names the header" grep -q '^broken.h does not compile alone' "$copy/out"
fi
rm -rf "$copy"
tap_done

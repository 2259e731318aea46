#!/usr/bin/env bash
# The library still has what programs that were linked with it rely on
# (packaging/abi). What is new is told; `make abi` puts it on record.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

check "the library and its headers can be read" packaging/abi-of "$BUILD"
packaging/abi-of "$BUILD" >"$tmp/now"
# KIND NAME SIGN SIZE, on record and now.
broken=$(awk '
    NR == FNR { if ($1 == "symbol") there[$2] = 1; else size[$2] = $4; next }
    $1 == "symbol" && !($2 in there) { print $2 " is gone" }
    $1 == "struct" && !($2 in size) { print "struct " $2 " is gone" }
    $1 == "struct" && $2 in size && ($3 == "=" ? size[$2] != $4 : size[$2] < $4) {
        print "struct " $2 " has " size[$2] " bytes, and " $4 " on record"
    }' "$tmp/now" packaging/abi)
same "nothing on record has gone" "" "$broken"
check "the record is not empty" test "$(grep -c '^symbol' packaging/abi)" -gt 100
same "the name of the library" "libchela.so.0" "$(objdump -p "$BUILD/libchela.so" | awk '$1 == "SONAME" {print $2}')"
same "nothing else is exported" "" "$(nm -D --defined-only "$BUILD/libchela.so" | awk '$3 !~ /^chela_/ && $3 !~ /^_/ {print $3}')"
comm -23 <(cut -d' ' -f1,2 "$tmp/now" | LC_ALL=C sort) <(cut -d' ' -f1,2 packaging/abi | LC_ALL=C sort) | sed 's/^/# new: /'
tap_done

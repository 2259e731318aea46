#!/usr/bin/env bash
# The tree as Debian's clang sees it.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh

if command -v clang >/dev/null; then
    check "clang has no warning" make --no-print-directory lint-clang
else
    skip "clang has no warning" "clang is not installed"
fi
tap_done

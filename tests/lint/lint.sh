#!/usr/bin/env bash
# The tree as it is, under every check of tools/.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh

docs_are_well_formed() {
    local page
    for page in README*.md docs/*.md; do
        case $page in docs/reference.md | docs/api.md) continue ;; esac
        tests/support/docs/extract "$page" || return
    done
}

# Every test that docs/promises.md rests a promise on.
missing_tests() {
    grep -oE '`(unit|scenario|e2e|fuzz)[a-z_/]*`' docs/promises.md | tr -d '`' | sort -u | while read -r name; do
        compgen -G "tests/$name.sh" >/dev/null || compgen -G "tests/$name.c" >/dev/null || [ -d "tests/$name" ] || echo "$name"
    done
}

# Public structs that begin with `size` and that no test passes with a wrong one.
untested_sizes() {
    awk '/^struct chela_[a-z_]+ \{/ { name = $2 } /^    size_t size;/ { print name }' include/chela/*.h include/chela/sys/store.h |
        while read -r name; do
            grep -q "OWN($name)" tests/scenario/test_option_sizes.c || echo "$name"
        done
}

check "layers" tools/check_layers
check "rooms, by what the object files call" tools/check_calls "$BUILD"
check "style" tools/check_style
check "public headers compile alone" tools/check_headers
check "docs/api.md states every function of the headers (else: make man)" tools/check_api
check "docs/limits.md is what limits.h says (else: make man)" diff docs/limits.md <(scripts/limits)
check "docs/v1.md is what contract.c says (else: make man)" diff docs/v1.md <(scripts/contract)
check "commands in the docs stand in fences (run by e2e/docs)" docs_are_well_formed
check "the Makefile stays small" test "$(wc -l <Makefile)" -le 260
same "a wrong size is tested for every option struct" "" "$(untested_sizes)"
same "every script of a suite is executable, or tests/run leaves it out" "" \
    "$(find tests/e2e tests/lint tests/sim -maxdepth 1 -name '*.sh' ! -perm -100)"
same "promises name tests that are there" "" "$(missing_tests)"
tap_done

#!/usr/bin/env bash
# The shell scripts of the tree, as shellcheck sees them.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
needs "shell scripts" shellcheck

scripts() {
    git ls-files -co --exclude-standard | grep -v '^tests/lint/bad' | while read -r file; do
        [ -f "$file" ] && head -n 1 "$file" | grep -qE '^#!.*\b(ba)?sh$' && echo "$file"
    done
}

# It reads what a script sources again for each, so a few at a time on every core.
scripts_are_sound() {
    scripts | xargs -P "$(nproc)" -n 6 shellcheck -x -e SC1091,SC2016
}

check "shell scripts" scripts_are_sound
tap_done

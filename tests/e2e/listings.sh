#!/usr/bin/env bash
# Listings on a terminal: cut to its width, and through a pager when they are
# longer than it; elsewhere whole, and as they are.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

# in_terminal COMMAND...: run it there, and wait for its end.
in_terminal() {
    open_terminal "$*"
    ends "$*: it ends" 0
}

in_terminal "PAGER=\"sed 's/^/| /'\" $program models list"
sees "a long listing goes to the pager" '^\| ollama '
in_terminal "PAGER=cat $program models list"
lacks "PAGER=cat: none" '^\| '
in_terminal "PAGER=\"sed 's/^/| /'\" $program tools list"
sees "a short one does not" '^NAME +PERMISSION'
sees "it is cut to the width" '^grep .*…$'
same "a line for each" "$(terminal capture-pane -p | grep -cE '^[a-z_]+ +(read|write|admin) ')" \
    "$(terminal capture-pane -p | grep -cE '^[a-z_]')"
in_terminal "PAGER=no-such-pager $program models list"
sees "without such a pager it is printed" '^ollama '
in_terminal "PAGER=\"sed 's/^/| /'\" $program models list >all"
same "a file: no pager" 0 "$(grep -c '^| ' "$space/all")"
chela tools list
same "elsewhere nothing is cut" 0 "$(grep -c '…$' "$out")"
for what in "tools list" "skills list" "prompt list" "models list" "sessions list" "config show" "usage" doctor; do
    # shellcheck disable=SC2086
    chela $what --json
    check "$what --json" jq -e 'type == "array" or type == "object"' "$out"
done
close_terminal
tap_done

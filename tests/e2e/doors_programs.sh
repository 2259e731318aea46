#!/usr/bin/env bash
# What programs at a terminal and editors do to a session that a gateway holds. tests/conversations/doors/programs states
# the outcomes.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/doors.sh

program=$(realpath "$program")
cells=tests/conversations/doors/programs
start_lark
doors_config "$space" $cells
serve
check "the gateway listens" [ -n "$gateway" ] || { cat "$serve_log"; exit 1; }
doors $cells
tap_done

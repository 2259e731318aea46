#!/usr/bin/env bash
# What a message does to a session: every kind of message, in every state of a session, through every door of
# the gateway. tests/conversations/doors/messages states the outcomes.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/doors.sh

program=$(realpath "$program")
cells=tests/conversations/doors/messages
start_lark
doors_config "$space" $cells
serve
check "the gateway listens" [ -n "$gateway" ] || { cat "$serve_log"; exit 1; }
doors $cells
tap_done

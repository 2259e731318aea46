#!/usr/bin/env bash
# Histories of a conversation with a service that speaks Anthropic's Messages and binds what it returns:
# it is rewritten, forked, steered, and led by other models.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/histories.sh
histories anthropic moves
tap_done

#!/usr/bin/env bash
# Histories of a conversation with a service that speaks Anthropic's Messages and binds what it returns:
# what it begins with changes, or nothing does.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/histories.sh
histories anthropic edits
tap_done

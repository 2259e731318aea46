#!/usr/bin/env bash
# Histories of a conversation with a service that speaks Anthropic's Messages and binds what it returns.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/histories.sh
histories anthropic
tap_done

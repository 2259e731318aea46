#!/usr/bin/env bash
# Histories of a conversation with a service that speaks OpenAI's Responses and binds what it returns.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/histories.sh
histories openai
tap_done

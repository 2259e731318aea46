#!/usr/bin/env bash
# Histories of a conversation with a service that speaks OpenAI's Responses and binds what it returns:
# it is rewritten, forked, steered, and led by other models.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/histories.sh
histories openai moves
tap_done

#!/usr/bin/env bash
# Replies with a fault, over the protocol openai-responses.
cd "$(dirname "$0")/../.." || exit 2
api=openai-responses
. tests/support/badreplies.sh

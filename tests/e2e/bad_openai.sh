#!/usr/bin/env bash
# Replies with a fault, over the protocol openai.
cd "$(dirname "$0")/../.." || exit 2
api=openai
. tests/support/badreplies.sh

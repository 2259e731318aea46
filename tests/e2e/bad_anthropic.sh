#!/usr/bin/env bash
# Replies with a fault, over the protocol anthropic.
cd "$(dirname "$0")/../.." || exit 2
api=anthropic
. tests/support/badreplies.sh

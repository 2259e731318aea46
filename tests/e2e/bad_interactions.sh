#!/usr/bin/env bash
# Replies with a fault, over the protocol interactions.
cd "$(dirname "$0")/../.." || exit 2
api=interactions
. tests/support/badreplies.sh

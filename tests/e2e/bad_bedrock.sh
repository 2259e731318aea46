#!/usr/bin/env bash
# Replies with a fault, over the protocol bedrock.
cd "$(dirname "$0")/../.." || exit 2
api=bedrock
. tests/support/badreplies.sh

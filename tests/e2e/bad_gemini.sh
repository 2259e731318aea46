#!/usr/bin/env bash
# Replies with a fault, over the protocol gemini.
cd "$(dirname "$0")/../.." || exit 2
api=gemini
. tests/support/badreplies.sh

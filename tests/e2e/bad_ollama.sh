#!/usr/bin/env bash
# Replies with a fault, from Ollama, which speaks Chat Completions with deviations of its own.
cd "$(dirname "$0")/../.." || exit 2
api=ollama
. tests/support/badreplies.sh

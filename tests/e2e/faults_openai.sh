#!/usr/bin/env bash
# A service that misbehaves, over OpenAI's Chat Completions.
cd "$(dirname "$0")/../.." || exit 2
api=openai
. tests/support/faults.sh

#!/usr/bin/env bash
# A service that misbehaves, over OpenAI's Responses.
cd "$(dirname "$0")/../.." || exit 2
api=openai-responses
. tests/support/faults.sh

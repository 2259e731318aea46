#!/usr/bin/env bash
# A service that misbehaves, over Google's Gemini.
cd "$(dirname "$0")/../.." || exit 2
api=gemini
. tests/support/faults.sh

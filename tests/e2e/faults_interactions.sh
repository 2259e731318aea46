#!/usr/bin/env bash
# A service that misbehaves, over Google's Interactions API.
cd "$(dirname "$0")/../.." || exit 2
api=interactions
. tests/support/faults.sh

#!/usr/bin/env bash
# A service that misbehaves, over Amazon's Converse.
cd "$(dirname "$0")/../.." || exit 2
api=bedrock
. tests/support/faults.sh

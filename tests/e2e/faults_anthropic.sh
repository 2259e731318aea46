#!/usr/bin/env bash
# A service that misbehaves, over Anthropic's Messages.
cd "$(dirname "$0")/../.." || exit 2
api=anthropic
. tests/support/faults.sh

#!/usr/bin/env bash
# scripts/live: what it would do without keys, and a table of results with a key.
# shellcheck disable=SC2016,SC2034,SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

live() { # ENVIRONMENT... -- MODEL...
    local set=()
    while [ "$1" != -- ]; do
        set+=("$1")
        shift
    done
    shift
    env -i PATH="$PATH" HOME="$tmp" LC_ALL=C.UTF-8 ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} CHELA_TEST_RUN="$CHELA_TEST_RUN" \
        CHELA_TEST="$CHELA_TEST" TMPDIR="$tmp" BUILD="$BUILD" "${set[@]}" scripts/live "$@" >"$out" 2>"$err" </dev/null
    status=$?
}

live LIVE_USD=0.10 --
exits "without a key" 0
check "without a key: names what would be tried" grep -q 'anthropic/claude-.*ANTHROPIC_API_KEY' "$out"
check "without a key: nothing is sent" grep -q 'nothing was sent' "$out"
live LIVE_USD=much --
exits "a budget that is no amount" 2

cat >"$tmp/live.json" <<'JSON'
{"about": "the requests of scripts/live, in their order", "replies": [
  {"blocks": [{"call": {"name": "read", "arguments": ["{\"file_path\": \"number.txt\"}"]}}], "usage": {"input": 90, "output": 9}},
  {"blocks": [{"text": ["7391"]}], "usage": {"input": 99, "output": 3}},
  {"blocks": [{"text": ["not that word"]}], "usage": {"input": 9, "output": 3}},
  {"blocks": [{"text": ["9"]}], "usage": {"input": 9, "output": 3}},
  {"blocks": [{"text": ["21"]}], "usage": {"input": 9000, "output": 3, "cache_write": 8000}},
  {"blocks": [{"text": ["28"]}], "usage": {"input": 9000, "output": 3, "cache_read": 8000}},
  {"blocks": [{"text": ["It is 35."]}], "usage": {"input": 60, "output": 6}},
  {"blocks": [{"text": ["I"]}], "stop": "refusal", "usage": {"input": 20, "output": 1}}]}
JSON
start_server
fresh live anthropic
live ANTHROPIC_API_KEY="$key" LIVE_DIR="$tmp/results" LIVE_FLAGS="--base-url $base" -- anthropic/claude-haiku-5-5 openai/gpt-6-sol
exits "one case fails" 1
same "the case that failed, and the others" \
    "anthropic/claude-haiku-5-5 ok fail ok ok ok ok" "$(sed -n '2s/  */ /gp' "$tmp/results/results.txt" | cut -d' ' -f1-7)"
check "a service without a key is left out" bash -c '! grep -q openai/ "$1"' - "$tmp/results/results.txt"
check "the case that failed is explained" grep -q '^--- anthropic/claude-haiku-5-5, whole' "$out"
check "what was spent is summed" grep -qE '^spent: \$0\.0[0-9]*[1-9]' "$out"
check "the recordings hold no key" bash -c '! grep -rqF "$1" "$2"' - "${key:8}" "$tmp/results"
same "a recording a run" 7 "$(find "$tmp/results/recordings" -name '*.json' | wc -l)"
fresh live anthropic
live ANTHROPIC_API_KEY="$key" LIVE_USD=0.0000001 LIVE_DIR="$tmp/poor" LIVE_FLAGS="--base-url $base" -- anthropic/claude-haiku-5-5
same "no case starts without money" 0 "$(requests | wc -l)"
tap_done

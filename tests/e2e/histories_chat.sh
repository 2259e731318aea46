#!/usr/bin/env bash
# A conversation in `chela chat` with a model of each of three vendors, whose services bind what they
# return (tests/support/strict): tools, AGENTS.md edited in the middle, the vendor switched and back.
# Nothing is refused, and from the second request on the cache is hit.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
needs "a conversation with each vendor" python3 tmux curl
. tests/support/terminal.sh

python3 -B tests/support/strict/server.py "$tmp/seen" >"$tmp/port" &
server_pid=$!
trap 'close_terminal; kill $server_pid 2>/dev/null; wait $server_pid 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do [ -s "$tmp/port" ] && break; sleep 0.05; done
base=http://127.0.0.1:$(cat "$tmp/port")
program=$(realpath "$program")
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
sandbox: { mode: off }
agents: { defaults: { reasoning: high } }
providers:
  anthropic: { baseUrl: "$base" }
  openai-responses: { baseUrl: "$base/v1" }
  gemini: { baseUrl: "$base" }
YAML

# says TEXT: waits for the reply to it.
says() {
    local before
    before=$(wc -l <"$tmp/seen")
    types "$1"
    press Enter
    for _ in {1..400}; do
        [ "$(wc -l <"$tmp/seen")" -gt "$before" ] && screen | grep -qE "^reply $(wc -l <"$tmp/seen")\$" && return
        sleep 0.05
    done
    not_ok "$vendor: \"$1\" is answered" "$(screen; cat "$tmp/seen")"
}
goes_to() {
    types "/model $1"
    press Enter
    sees "$vendor: goes to $1" "goes to $1"
}

total=0
talk() { # VENDOR MODEL STRANGER
    vendor=$1
    echo "Be brief." >"$space/AGENTS.md"
    rm -f "$space"/chela.db*
    curl -s -X POST "$base/begin"
    open_terminal "'$program' chat --model $2"
    prompt_is "$vendor: a prompt" '>'
    says "hello"
    says "call ls {} then call ls {}"
    echo "Be kind." >"$space/AGENTS.md"
    says "again"
    says "call ls {}"
    same "$vendor: AGENTS.md edited: the same tools and system prompt" 1 "$(own | cut -d' ' -f3,4 | sort -u | wc -l)"
    same "$vendor: AGENTS.md edited: each request begins with the messages before" "" "$(own | grep ' other ')"
    goes_to "$3"
    says "call ls {}"
    goes_to "$2"
    says "call ls {} then call ls {}"
    says "bye"
    same "$vendor: nothing is refused" "" "$(tail -n +$((total + 1)) "$tmp/seen" | grep '^400')"
    same "$vendor: from the second request on, the cache is hit" "" "$(own | tail -n +2 | awk '$5 == 0')"
    total=$(wc -l <"$tmp/seen")
    press C-d
}
# The requests of this conversation to its vendor.
own() { tail -n +$((total + 1)) "$tmp/seen" | grep " turn $vendor "; }

touch "$tmp/seen"
talk anthropic anthropic/claude-opus-5-5 openai-responses/gpt-6-sol
talk openai openai-responses/gpt-6.1-sol gemini/gemini-3.8-flash
talk gemini gemini/gemini-3.8-flash anthropic/claude-opus-5-5
tap_done

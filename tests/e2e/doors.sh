#!/usr/bin/env bash
# What a message does to a session: every kind of message, in every state of a session, through every door of
# the gateway. tests/conversations/doors states the outcomes.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^wait", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "^approve", after: none }, call: { tool: t_ask, args: {} } }
  - { when: { user: "^place", after: none }, call: { tool: get_place, args: {} } }
  - { when: { user: "^question", after: none }, call: { tool: ask_user, args: { question: "Which colour?", choices: [red, green] } } }
  - { when: { user: "^later", after: none }, call: { tool: wait_until, args: { seconds: 3600 } } }
  - { say: "answered" }
YAML
cat >"$space/chela.yaml" <<YAML
store: "sqlite:$space/chela.db"
sandbox: { mode: "off" }
gateway: { mcp: { enabled: true, agent: main } }

wait: { enabled: true }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open } }
agents: { list: [{ id: main, model: scripted/rules.yaml, tools: { allow: [t_wait, t_ask, ask_user, wait_until] } }] }
tools:
  custom:
    - { name: t_ask, description: Asks., command: [echo, ran], effect: once, permission: write, confirm: true, parameters: { type: object } }
    - { name: t_wait, description: Waits., effect: read, permission: read, parameters: { type: object },
        command: [sh, -c, "touch $tmp/waits; until [ -e $tmp/go ]; do sleep 0.05; done; echo ended"] }
YAML
serve
check "the gateway listens" [ -n "$gateway" ] || { cat "$serve_log"; exit 1; }

text="hello there"

# One function a door: KEY KIND. Prints the status of the answer.
say() { # PATH JSON [CURL-FLAG...]
    curl -sS -m 60 -o "$tmp/said.$BASHPID" -w '%{http_code}' -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
        "${@:3}" --data-binary "$2" "$gateway$1" 2>/dev/null
}
say_api() {
    local more=
    case $2 in
        message) ;;
        image) more=',"images":["data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="]' ;;
        *) more=",\"mode\":\"$2\"" ;;
    esac
    say "/api/sessions/$1/messages" "{\"text\":\"$text\"$more}"
}
say_chat() { say "/v1/chat/completions" "{\"model\":\"main\",\"messages\":[{\"role\":\"user\",\"content\":\"$text\"}]}" -H "X-Chela-Session: $1"; }
say_responses() { say "/v1/responses" "{\"model\":\"main\",\"input\":\"$text\"}" -H "X-Chela-Session: $1"; }
say_messages() { say "/v1/messages" "{\"model\":\"main\",\"max_tokens\":100,\"messages\":[{\"role\":\"user\",\"content\":\"$text\"}]}" -H "X-Chela-Session: $1"; }
say_ui() { say /api/chat "{\"id\":\"$1\",\"trigger\":\"submit-message\",\"messages\":[{\"id\":\"u1\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"$text\"}]}]}"; }
say_lark() {
    local sent
    sent=$(event "om_${1#feishu:oc_}_$2" "${1#feishu:}" p2p "$text")
    curl -sS -m 60 -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' --data-binary "$sent" "$gateway/channels/feishu/events"
}

say_mcp() {
    say /mcp "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_main\",\"arguments\":{\"message\":\"$text\",\"session\":\"${1#mcp:}\"},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}" \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: ask_main'
}

# key STATE DOOR:KIND; some doors reach keys of their own kind only.
key() {
    local name=$1-${2/:/-}
    case $2 in
        lark:*) printf 'feishu:oc_%s' "$name" ;;
        mcp:*) printf 'mcp:%s' "$name" ;;
        *) printf %s "$name" ;;
    esac
}
path() { printf '/api/sessions/%s' "${1/:/%3A}"; }
is() { # KEY STATUS
    call GET "$(path "$1")"
    [ "$(jq -r .status "$out")" = "$2" ]
}

# --- the states: how a session gets there, and how it leaves
declare -A first=([idle]=hello [running]=wait [approval]=approve [client]=place [person]=question [time]=later)
begin() { # KEY STATE
    local more='' status=paused
    case $2 in
        absent) return ;;
        client) more=',"tools":[{"name":"get_place","description":"Where.","parameters":{"type":"object"}}]' ;;
        idle) status=idle ;;
        running) status=running ;;
    esac
    post "$(path "$1")/messages" "{\"text\":\"${first[$2]}\"$more}"
    eventually is "$1" $status || not_ok "$1 is $status" "$(cat "$out")"
}
release() { # KEY STATE
    call GET "$(path "$1")"
    local approval id
    approval=$(jq -r '.waiting[0].approval_id // empty' "$out") id=$(jq -r '.waiting[0].id // empty' "$out")
    case $2 in
        approval) if [ -n "$approval" ]; then post "/api/approvals/$approval" '{"decision":"deny"}'; fi ;;
        client | person) if [ -n "$id" ]; then post "$(path "$1")/messages" "{\"results\":[{\"id\":\"$id\",\"content\":\"red\"}]}"; fi ;;
        time) if is "$1" paused; then post "$(path "$1")/cancel" '{}'; fi ;;
    esac
}

# The session as a word: u a message, E the message of the door, c a call, r its result, a an answer.
words() { # KEY
    call GET "$(path "$1")?limit=100"
    jq -r --arg t "$text" '[.transcript[]? | if .role == "user" then
        (if any(.content[]; (.text? // "") | contains($t)) then "E" elif any(.content[]; .type == "tool_result") then "r" else "u" end)
        elif .role == "tool" then "r" elif any(.content[]; .type == "tool_call") then "c" else "a" end] | join("")' "$out"
}
reads() { [ "$(words "$1")" = "$2" ]; }
answered() { [ -s "$tmp/code.$1" ]; }

# STATE, the answer of the door, the session before and after the end of the state, the doors.
# An answer of "+200": comes when the message is answered.
cells=$tmp/cells
grep -v '^#' tests/conversations/doors >"$cells"
for state in $(cut -d' ' -f1 "$cells" | uniq); do
    rm -f "$tmp/go"
    of_state=$(grep "^$state " "$cells")
    while read -r _ _ _ _ doors; do
        for d in $doors; do begin "$(key "$state" "$d")" "$state"; done
    done <<<"$of_state"
    while read -r _ _ _ _ doors; do
        for d in $doors; do
            k=$(key "$state" "$d")
            { "say_${d%:*}" "$k" "${d#*:}" >"$tmp/code.$k.new"; mv "$tmp/code.$k.new" "$tmp/code.$k"; } &
        done
    done <<<"$of_state"
    while read -r _ code before _ doors; do
        for d in $doors; do
            k=$(key "$state" "$d")
            case $code in
                +*) ;;
                *) eventually answered "$k"; same "$state, $d: the answer" "$code" "$(cat "$tmp/code.$k")" ;;
            esac
            if ! eventually reads "$k" "${before#-}"; then not_ok "$state, $d: the session at once" "$before, not $(words "$k")"; fi
        done
    done <<<"$of_state"
    touch "$tmp/go"
    while read -r _ _ _ _ doors; do
        for d in $doors; do release "$(key "$state" "$d")" "$state"; done
    done <<<"$of_state"
    while read -r _ code _ after doors; do
        for d in $doors; do
            k=$(key "$state" "$d")
            eventually reads "$k" "${after#-}"
            same "$state, $d: the session afterwards" "${after#-}" "$(words "$k")"
            case $code in +*) eventually answered "$k"; same "$state, $d: the answer" "${code#+}" "$(cat "$tmp/code.$k")" ;; esac
        done
    done <<<"$of_state"
done
tap_done

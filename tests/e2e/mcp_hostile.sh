#!/usr/bin/env bash
# MCP servers that break the rules, over a pipe and over HTTP, of both kinds of versions: a call
# gets an error result, the run goes on, credentials stay with their server, no child is left.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

needs "hostile MCP servers" python3
server=$PWD/tests/support/mcp/hostile.py
place=$tmp/place
mkdir "$place"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^later", after: s__echo }, delay_ms: 4000, call: { tool: s__again, args: {} } }
  - { when: { user: "^two", after: s__echo }, delay_ms: 300, call: { tool: s__again, args: {} } }
  - { when: { after: any }, say: "the tool said {{result}}" }
  - { when: { user: "^(one|two|later)" }, call: { tool: s__echo, args: {} } }
  - { say: "no tool was needed" }
YAML

# play MODE TEXT PATTERN: a run in which the server plays the mode; the model is told PATTERN.
play() {
    echo "$1" >"$place/mode"
    rm -f "$place/stranger"
    chela run --config mcp.yaml --model scripted/rules.yaml --approve auto "$2"
    exits "$what: $1: the run goes on" 0
    check "$what: $1: the model is told" grep -qE "$3" "$out"
    check "$what: $1: nothing reaches a stranger" [ ! -e "$place/stranger" ]
}
http_pid=
stop_http() {
    [ -n "$http_pid" ] && kill "$http_pid" && wait "$http_pid" 2>/dev/null
    http_pid=
}
trap 'stop_http; rm -rf "$tmp"' EXIT

for wire in stdio json sse; do
    for era in modern legacy; do
        what="$wire, $era"
        rm -rf "$tmp/.local/state/chela/mcp" "${place:?}"/*
        echo good >"$place/mode"
        if [ $wire = stdio ]; then
            at="command: [python3, \"$server\", stdio, $era, \"$place\"], sandbox: { writable: [\"$place\"] }"
        else
            python3 "$server" $wire $era "$place" &
            http_pid=$!
            until [ -s "$place/port" ]; do sleep 0.02; done
            at="url: \"http://127.0.0.1:$(cat "$place/port")/mcp\", headers: { Authorization: 'Bearer precious' }"
        fi
        echo "mcp: { servers: { s: { $at, timeoutSec: 20 } } }" >"$space/mcp.yaml"
        chela mcp tools --config mcp.yaml s
        exits "$what: the tools are known" 0
        play good one 'the tool said fine$'
        play die-in-handshake one 'the tool said .*MCP server s'
        play odd-handshake one 'the tool said .*MCP server s'
        play huge-handshake one 'the tool said .*MCP server s'
        play die-in-call one 'the tool said .*(exited with code 3|connection|closed|ended)'
        play die-in-answer one 'the tool said .*(exited with code 3|connection|closed|ended)'
        play die-between two 'the tool said fine again'
        play huge one 'the tool said .*(larger than|too large)'
        play bad-utf8 one 'the tool said a.*b'
        check "$what: bad-utf8: the answer is valid UTF-8" iconv -f UTF-8 -t UTF-8 "$out" -o /dev/null
        play bad-error one 'the tool said .*error -32000: a'
        check "$what: bad-error: no control characters" eval '! LC_ALL=C grep -q "$(printf "[\\x07\\x1b]")" "$out" "$err"'
        case $wire in
            json)
                play twice one 'the tool said .*no response'
                play wrong-id one 'the tool said .*no response'
                play garbage one 'the tool said .*no response'
                ;;
            *)
                play twice one 'the tool said first$'
                play wrong-id one 'the tool said right$'
                play garbage one 'the tool said after garbage$'
                play flood one 'the tool said after the flood$'
                play progress-in-handshake two 'the tool said fine again$'
                if [ $wire = sse ]; then
                    play lingers later 'the tool said fine again$'
                    same "$what: lingers: the first stream is closed before the second call" "the client hung up" \
                        "$(grep -E 'lingers tools/call|hung up' "$place/calls" | sed -n 2p)"
                fi
                ;;
        esac
        sed -i 's/timeoutSec: 20/timeoutSec: 2/' "$space/mcp.yaml"
        play deep one 'the tool said .*error_type'
        play silent one 'the tool said .*(2000 ms|timed out|took longer|time)'
        play never one 'the tool said .*(2000 ms|timed out|took longer|time)'
        play never none 'no tool was needed'
        sed -i 's/timeoutSec: 2 /timeoutSec: 20 /' "$space/mcp.yaml"
        if [ $wire = stdio ]; then
            echo "4$$" >"$place/nap"
            play children one 'the tool said a child was left$'
            check "$what: its children end with it" eval '! pgrep -f "^sleep 4$$\$" >/dev/null'
        else
            for status in 301 302 303 307 308; do
                play redirect$status one 'the tool said .*MCP server s'
            done
            [ $era = legacy ] && play session-lost two 'the tool said fine again$'
        fi
        echo names >"$place/mode"
        chela mcp tools --config mcp.yaml s --accept
        exits "$what: names" 0
        same "$what: names: every alias is valid" 0 "$(grep -v '^ ' "$out" | grep -cvE '^s__[A-Za-z0-9_-]{1,61}( |$)')"
        same "$what: names: every alias is unique" "" "$(grep -v '^ ' "$out" | cut -d' ' -f1 | sort | uniq -d)"
        check "$what: names: no control characters" eval '! LC_ALL=C grep -q "$(printf "\\x1b")" "$out" "$err"'
        play names one 'the tool said fine$'
        stop_http
    done
done
same "no server is left behind" "" "$(pgrep -f "$server .* $place")"
tap_done

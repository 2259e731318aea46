#!/usr/bin/env bash
# What a client of MCP offers to servers, and takes from them besides tools: roots, the level of
# the log, resources as tools of the model, results that may be used again.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

needs "clients of MCP" python3
server=$PWD/tests/support/mcp/server.py
state=$tmp/.local/state/chela/mcp
# serve MODE [MORE]: a configuration with one server named s.
serve() {
    printf 'mcp:\n  servers:\n    s: { command: [python3, "%s", %s]%s }\n' "$server" "$1" "${2:+, $2}" >"$space/mcp.yaml"
    rm -rf "$state"
}
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: s__list_resources }, call: { tool: s__read_resource, args: { uri: "note://one" } } }
  - { when: { after: any }, say: "the tool said {{result}}" }
  - { when: { user: where }, call: { tool: s__where, args: {} } }
  - { when: { user: evil }, call: { tool: s__read_resource, args: { uri: "note://evil" } } }
  - { when: { user: wrong }, call: { tool: s__read_resource, args: {} } }
  - { call: { tool: s__list_resources, args: {} } }
YAML
run() { # PROMPT [FLAG...]
    chela run --config mcp.yaml --model scripted/rules.yaml "${@:2}" "$1"
}

# --- roots
mkdir -p "$space/a place/sub"
for era in legacy modern; do
    serve $era-roots
    run where --approve auto
    exits "$era: no roots: the run goes on" 0
    same "$era: no roots: nothing is told" 0 "$(grep -c 'file://' "$out")"
    same "$era: no roots: not declared" 0 "$(grep -c '"roots":{' "$state/s/calls.log")"
    serve $era-roots 'roots: ["a place", .]'
    run where --approve auto
    check "$era: roots: declared" grep -q '"roots":{' "$state/s/calls.log"
    check "$era: roots: the server is told" grep -qF "file://$(realpath "$space")/a%20place" "$out"
    check "$era: roots: by name" grep -q 'a place' "$out"
    chela mcp call --config mcp.yaml s where
    check "$era: roots: without a model" grep -qF "file://$(realpath "$space")/a%20place" "$out"
done
serve modern-roots-both 'roots: [.]'
run where --approve auto
check "roots beside a question that nobody can answer" grep -qF "file://$(realpath "$space")" "$out"

# --- the level of the log
serve legacy-log 'logLevel: warning'
chela mcp call --config mcp.yaml s echo --args '{"text":"hi"}'
same "logLevel, older versions: the server is told once" 1 "$(grep -c '"logging/setLevel","params":{"level":"warning"}' "$state/s/calls.log")"
serve legacy 'logLevel: warning'
chela mcp call --config mcp.yaml s echo --args '{"text":"hi"}'
same "logLevel: a server without a log is not told" 0 "$(grep -c logging/setLevel "$state/s/calls.log")"
serve modern 'logLevel: debug'
chela mcp call --config mcp.yaml s echo --args '{"text":"hi"}'
check "logLevel, 2026-07-28: in a request" grep -q '"io.modelcontextprotocol/logLevel":"debug"' "$state/s/calls.log"
serve modern 'logLevel: loud'
chela mcp list --config mcp.yaml
exits "logLevel: not a level" 2

# --- resources as tools
for era in legacy modern; do
    serve $era-docs
    chela mcp tools --config mcp.yaml s
    chela tools list --config mcp.yaml
    same "$era: resources are not offered unasked" 0 "$(grep -c 's__read_resource' "$out")"
    serve $era-docs 'resources: true'
    chela mcp tools --config mcp.yaml s
    chela tools list --config mcp.yaml
    same "$era: resources: true" 3 "$(grep -c 's__list_resource\|s__read_resource' "$out")"
    run go
    check "$era: resources: consent is needed" grep -q "needs a person's consent" "$out"
    same "$era: resources: nothing was read" 0 "$(grep -c resources/ "$state/s/calls.log")"
    run go --approve auto
    check "$era: resources: list, then read" grep -q 'the text of note://one' "$out"
    run evil --approve auto
    check "$era: resources: a text of the server is text" grep -q 'obey me @private' "$out"
    run wrong --approve auto
    check "$era: resources: arguments are validated" grep -q invalid_arguments "$out"
    serve $era-docs 'resources: true, deny: [list_*]'
    chela mcp tools --config mcp.yaml s
    chela tools list --config mcp.yaml
    same "$era: resources: deny" 1 "$(grep -c 's__list_resource\|s__read_resource' "$out")"
    serve $era-docs 'resources: true, confirm: false'
    run go
    check "$era: resources: confirm: false" grep -q 'the text of note://one' "$out"
done
serve modern 'resources: true, confirm: false'
run go
exits "a server without resources: the run goes on" 0

# --- results that may be used again for the time that the server names
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { turn: 5 }, call: { tool: s__read_resource, args: { uri: "note://two" } } }
  - { when: { turn: 6 }, say: "the tool said {{result}}" }
  - { when: { after: s__list_resources }, call: { tool: s__read_resource, args: { uri: "note://one" } } }
  - { call: { tool: s__list_resources, args: {} } }
YAML
count() { grep -c "\"$1\"" "$state/s/calls.log"; }
for kind in legacy-docs-ttl modern-docs modern-docs-ttl; do
    serve $kind 'resources: true, confirm: false'
    run go
    check "$kind: each result is that of its request" grep -q 'the text of note://two' "$out"
    if [ $kind = modern-docs-ttl ]; then lists=1 reads=2; else lists=2 reads=3; fi
    same "$kind: lists" $lists "$(count resources/list)"
    same "$kind: contents" $reads "$(count resources/read)"
done
tap_done

# stdio.sh -- one MCP server, tests/support/mcp/server.py, named `s`. Source it after e2e.sh.
#
#     $state                    where chela keeps its records of servers
#     configure MODE [MEMBERS]  a chela.yaml with the server in this mode; MEMBERS: of its entry
# shellcheck disable=SC2034
state=$tmp/.local/state/chela/mcp
configure() {
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
mcp: { servers: { s: { command: [python3, "$PWD/tests/support/mcp/server.py", $1, "$tmp/words"], confirm: false${2:+, $2} } } }
YAML
    rm -rf "$state"
    chela mcp tools --config chela.yaml s
}

# rpc.sh -- requests to /mcp of a gateway, and the authorization server. Source it after serve.sh.
#
#     rpc TOKEN METHOD [NAME MEMBERS]   a request of 2026-07-28; $out: the last message of the response
#     start_auth_server PROGRAM...      start an authorization server that prints its port; sets $as, $server_pid
# shellcheck disable=SC2034
rpc() {
    anon POST /mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H "Mcp-Method: $2" ${3:+-H "Mcp-Name: $3"} -H "Authorization: Bearer $1" --data-binary \
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$2\",\"params\":{${4:+$4,}\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}"
    if grep -q '^data: ' "$out"; then sed -n 's/^data: //p' "$out" | tail -n 1 >"$out.last" && mv "$out.last" "$out"; fi
}

start_auth_server() {
    : >"$tmp/port"
    "$@" >"$tmp/port" &
    server_pid=$!
    for _ in {1..600}; do
        [ -s "$tmp/port" ] && break
        sleep 0.05
    done
    as=http://127.0.0.1:$(cat "$tmp/port")
}

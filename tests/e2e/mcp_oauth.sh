#!/usr/bin/env bash
# /mcp of the gateway as an OAuth resource server: metadata, tokens good and bad, whose sessions.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/mcp/rpc.sh

needs "/mcp with OAuth" python3 curl
printf '#!/bin/sh\nexport GATE_SECRET="s cret"\nexec "%s" "$@"\n' "$(realpath "$program")" >"$tmp/program"
chmod +x "$tmp/program"
program=$tmp/program
: >"$tmp/requests"
start_auth_server python3 tests/support/mcp/login_server.py good "$tmp/requests"
configure() { # RESOURCE [MORE]
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
gateway: { mcp: { enabled: true, issuer: "$as", resource: "$1", introspection: "$as/introspect", clientId: gate, clientSecretEnv: GATE_SECRET${2:+, $2} } }
YAML
}
printf 'rules:\n  - { say: "hello {{user}}" }\n' >"$space/rules.yaml"
configure https://chela.example.com/mcp 'scope: "mcp:use"'
serve

# said JSON: a token about which the authorization server says this
said() { printf 't.%s' "$(printf %s "$1" | base64 -w0 | tr '+/' '-_' | tr -d =)"; }

# --- where to get a token
metadata=https://chela.example.com/.well-known/oauth-protected-resource/mcp
anon POST /mcp -H 'Content-Type: application/json' --data-binary '{}'
answers "no token" 401
check "the challenge names the metadata" grep -qi "^www-authenticate: Bearer resource_metadata=\"$metadata\", scope=\"mcp:use\"" "$err"
for path in /.well-known/oauth-protected-resource/mcp /.well-known/oauth-protected-resource; do
    anon GET $path
    tells "$path" '.resource + " " + .authorization_servers[0] + " " + .scopes_supported[0]' "https://chela.example.com/mcp $as mcp:use"
done
anon GET /api/sessions
check "other routes know one token only" grep -qix $'www-authenticate: bearer\r*' "$err"

# --- tokens
aud='"aud":"https://chela.example.com/mcp","scope":"a mcp:use"'
good=$(said "{\"active\":true,\"sub\":\"ann\",$aud}")
rpc "$good" tools/list
answers "a valid token" 200
n=$(grep -c introspect "$tmp/requests")
rpc "$good" tools/list
same "what is known is not asked again" "$n" "$(grep -c introspect "$tmp/requests")"
rpc "$token" tools/list
answers "the gateway's token" 200
refused() { # NAME JSON [STATUS]
    rpc "$(said "$2")" tools/list
    answers "$1" "${3:-401}"
}
refused "inactive" "{\"active\":false,\"sub\":\"ann\",$aud}"
check "inactive: the challenge" grep -qi '^www-authenticate: Bearer resource_metadata' "$err"
refused "active is no boolean" "{\"active\":\"true\",\"sub\":\"ann\",$aud}"
refused "for another resource" '{"active":true,"sub":"ann","aud":"https://other.example.com/mcp","scope":"mcp:use"}'
refused "for no resource" '{"active":true,"sub":"ann","scope":"mcp:use"}'
refused "for a resource whose name begins like this one" '{"active":true,"sub":"ann","aud":"https://chela.example.com/mcp2","scope":"mcp:use"}'
refused "of another issuer" "{\"active\":true,\"sub\":\"ann\",\"iss\":\"https://evil.example\",$aud}"
refused "expired" "{\"active\":true,\"sub\":\"ann\",\"exp\":1000,$aud}"
refused "not valid yet" "{\"active\":true,\"sub\":\"ann\",\"nbf\":99999999999,$aud}"
refused "of nobody" "{\"active\":true,$aud}"
refused "without the scope" '{"active":true,"sub":"ann","aud":"https://chela.example.com/mcp","scope":"mcp:used"}' 403
check "without the scope: the challenge" grep -qi '^www-authenticate: Bearer error="insufficient_scope"' "$err"
refused "the server fails" '{"status":500}' 503
refused "several resources" '{"active":true,"sub":"ann","aud":["x","https://chela.example.com/mcp/"],"scope":"mcp:use"}' 200
anon GET /api/sessions -H "Authorization: Bearer $good"
answers "an OAuth token opens nothing but /mcp" 401

# --- a client has its own sessions
rpc "$good" tools/call ask_coder '"name":"ask_coder","arguments":{"message":"ann","session":"one"}'
tells "a session" '.result.content[0].text' 'hello ann'
bob=$(said "{\"active\":true,\"sub\":\"bob\",$aud}")
rpc "$bob" tools/call ask_coder '"name":"ask_coder","arguments":{"message":"bob","session":"one"}'
tells "the session of another client" '.result.content[0].text' 'hello bob'
call GET /api/sessions
same "they are two" 2 "$(jq '[.sessions[].key | select(startswith("mcp:"))] | length' "$out")"
anns=$(jq -r '.sessions[] | select(.title == "ann") | .key' "$out")
rpc "$good" resources/read "chela://sessions/$anns" "\"uri\":\"chela://sessions/$anns\""
tells "a client reads its transcript" '.result.contents[0].text | contains("hello ann")' true
rpc "$bob" resources/read "chela://sessions/$anns" "\"uri\":\"chela://sessions/$anns\""
tells "and not that of another" .error.code -32602
rpc "$good" resources/list '' ''
same "a client's list has its own sessions" "chela://sessions/$anns" "$(jq -r '.result.resources[].uri | select(startswith("chela://"))' "$out")"
rpc "$bob" resources/list '' ''
same "the other client's list has one, too" 1 "$(jq '[.result.resources[].uri | select(startswith("chela://"))] | length' "$out")"
same "and that is not the first client's" 0 "$(grep -c -F "$anns" "$out")"
rpc "$token" resources/list '' ''
same "the operator's list has both" 2 "$(jq '[.result.resources[].uri | select(startswith("chela://sessions/mcp:"))] | length' "$out")"
rpc "$bob" completion/complete '' '"ref":{"type":"ref/resource","uri":"chela://sessions/{+key}"},"argument":{"name":"key","value":"mcp:"}'
same "nor its key" 0 "$(jq --arg k "$anns" '[.result.completion.values[] | select(. == $k)] | length' "$out")"
rpc "$token" resources/read "chela://sessions/$anns" "\"uri\":\"chela://sessions/$anns\""
tells "the operator reads all" '.result.contents[0].text | contains("hello ann")' true

# --- chela logs in to chela
configure "$gateway/mcp"
kill -HUP "$gateway_pid"
renamed() { anon GET /.well-known/oauth-protected-resource/mcp && [ "$(jq -r .resource "$out")" = "$gateway/mcp" ]; }
check "a reload" eventually renamed
printf 'mcp: { servers: { r: { url: "%s/mcp", auth: { issuer: "%s" } } } }\n' "$gateway" "$as" >"$space/client.yaml"
(cd "$space" && with_env env BROWSER="curl -sL" timeout -k 5 60 "$program" mcp login --config client.yaml r) >"$out" 2>"$err" </dev/null
status=$?
exits "chela logs in" 0
chela mcp call --config client.yaml r ask_coder --args '{"message":"friend"}'
check "and calls an agent" grep -q 'hello friend' "$out"

# --- options that are wrong
configure ftp://x
kill -HUP "$gateway_pid"
unready() { call GET /readyz; grep -q 'gateway.mcp.resource' "$out"; }
check "a resource that is no URL" eventually unready
check "SIGTERM ends the gateway" stop_serving
same "no token is in the log" 0 "$(grep -c "$good\|s cret\|s%20cret" "$serve_log")"
tap_done

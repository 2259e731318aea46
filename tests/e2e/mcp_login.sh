#!/usr/bin/env bash
# Log-in to MCP servers: OAuth with an authorization server, honest and hostile.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

needs "log-in to MCP servers" python3 curl
token=$tmp/.local/state/chela/mcp/r.token
server_pid=
trap '[ -n "$server_pid" ] && kill "$server_pid" 2>/dev/null; rm -rf "$tmp"' EXIT

# start MODE: a server, and a configuration that names it r.
start() {
    if [ -n "$server_pid" ]; then
        kill "$server_pid"
        wait "$server_pid" 2>/dev/null
    fi
    : >"$tmp/requests"
    : >"$tmp/port"
    python3 tests/support/mcp/login_server.py "$1" "$tmp/requests" >"$tmp/port" &
    server_pid=$!
    for _ in {1..200}; do
        [ -s "$tmp/port" ] && break
        sleep 0.05
    done
    printf 'mcp: { servers: { r: { url: "http://127.0.0.1:%s/mcp"%s } } }\n' "$(cat "$tmp/port")" "${2:+, $2}" >"$space/mcp.yaml"
    rm -rf "$tmp/.local/state/chela/mcp"
}

# log_in: the browser is curl, which follows the redirect of the authorization server.
log_in() {
    (cd "$space" && with_env env BROWSER="${browser:-curl -sL}" MCP_SECRET=pr3cious timeout -k 5 $seconds "$program" mcp login --config mcp.yaml r) >"$out" 2>"$err" </dev/null
    status=$?
}

start good
chela mcp call --config mcp.yaml r whoami
exits "without a log-in" 1
check "without a log-in: what to do" grep -q 'chela mcp login r' "$err"
log_in
exits "log-in" 0
check "log-in: the address is shown" grep -q 'http://127.0.0.1:[0-9]*/authorize?response_type=code' "$err"
check "log-in: PKCE, resource and scope" grep -qE 'GET /authorize.*code_challenge_method=S256.*resource=http%3A%2F%2F127.0.0.1.*scope=mcp%3Ause' "$tmp/requests"
check "log-in: the verifier goes to the token endpoint" grep -q 'POST /token .*code_verifier=' "$tmp/requests"
same "log-in: only the user can read the token" 600 "$(stat -c %a "$token")"
chela mcp call --config mcp.yaml r whoami
same "a call with the token" "token ***" "$(sed 's/token-1/***/' "$out")"
# The lists of egress count for what the metadata names.
start good
printf 'egress: { deny: ["127.0.0.1"] }\n' >>"$space/mcp.yaml"
log_in
exits "an authorization server whose host egress.deny names" 1
check "an authorization server whose host egress.deny names: the message" grep -q 'egress.deny names its host' "$err"
same "an authorization server whose host egress.deny names: nothing is sent there" 0 "$(grep -cE '/token|/authorize|/register' "$tmp/requests")"
# Another program sends a request to the address of the redirect.
start good
cat >"$tmp/browser" <<'SH'
#!/bin/sh
port=$(printf '%s' "$1" | sed 's/.*redirect_uri=http%3A%2F%2F127.0.0.1%3A\([0-9]*\).*/\1/')
curl -s "http://127.0.0.1:$port/callback?error=access_denied" "http://127.0.0.1:$port/callback?code=x&state=wrong"
exec curl -sL "$1"
SH
chmod +x "$tmp/browser"
browser=$tmp/browser log_in
exits "a redirect with a wrong state does not end the log-in" 0
same "a redirect with a wrong state: its code is not used" 1 "$(grep -c 'POST /token' "$tmp/requests")"
# The server forgets the token: it is refreshed without a browser.
jq -c '.token = "expired"' "$token" >"$tmp/t" && cp "$tmp/t" "$token"
chela mcp call --config mcp.yaml r whoami
exits "an expired token is refreshed" 0
check "an expired token: by the refresh token" grep -q 'POST /token .*grant_type=refresh_token' "$tmp/requests"
same "an expired token: no second log-in" 1 "$(grep -c 'GET /authorize' "$tmp/requests")"

# The token expires while the server works on a call: the call is not made twice.
start expires 'confirm: false'
log_in
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: any }, say: "{{result.r__ship}}, {{result.r__whoami}}" }
  - { call: [{ tool: r__ship, args: {} }, { tool: r__whoami, args: {} }, { tool: r__whoami, args: {} }] }
YAML
chela run --config mcp.yaml --model scripted/rules.yaml go
exits "a token that expires during a call" 0
same "a token that expires during a call: the call is made once" 1 "$(grep -c '"name":"ship"' "$tmp/requests")"
same "a token that expires during a call: one refresh for two refused calls" 1 "$(grep -c 'grant_type=refresh_token' "$tmp/requests")"
check "a token that expires during a call: its result" grep -q shipped "$out"
check "a token that expires during a call: the refused one is made again" grep -q 'token token-2' "$out"

# The stream of a call breaks, and the server refuses to continue it: the call is not made twice.
for mode in lost locked; do
    start "$mode" 'confirm: false'
    log_in
    chela run --config mcp.yaml --model scripted/rules.yaml go
    exits "a broken stream ($mode)" 0
    same "a broken stream ($mode): the call is made once" 1 "$(grep -c '"name":"ship"' "$tmp/requests")"
done

# The server forgets the session while a log-in is in progress: the client connects once.
start both 'confirm: false'
log_in
: >"$tmp/requests"
chela run --config mcp.yaml --model scripted/rules.yaml go
exits "a session that is lost during a log-in" 0
check "a session that is lost during a log-in: its call is made again" grep -q shipped "$out"
same "a session that is lost during a log-in: one new connection" 2 "$(grep -c 'server/discover' "$tmp/requests")"

# A refresh that fails for a while does not lose the log-in.
start flaky 'confirm: false'
log_in
jq -c '.token = "expired"' "$token" >"$tmp/t" && cp "$tmp/t" "$token"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { result: "token token-2" }, say: "{{result}}" }
  - { call: { tool: r__whoami, args: {} } }
YAML
chela run --config mcp.yaml --model scripted/rules.yaml --max-turns 4 go
exits "a refresh that fails once" 0
check "a refresh that fails once: the next call has a token" grep -q 'token token-2' "$out"

start good
mkdir -p "$token"
log_in
exits "a token that cannot be stored" 0
same "a token that cannot be stored: no copy is left" "" "$(find "${token%/*}" -name '*.tmp')"

for mode in wrong-issuer other-resource no-pkce file-page; do
    start "$mode"
    log_in
    exits "$mode: refused" 1
    check "$mode: no address is opened" eval '! grep -q "log in at" "$err"'
    same "$mode: nobody is sent to log in" 0 "$(grep -c 'GET /authorize' "$tmp/requests")"
done
start wrong-iss
log_in
exits "a redirect of another issuer: refused" 1
same "a redirect of another issuer: its code is not used" 0 "$(grep -c 'POST /token' "$tmp/requests")"

# The secret of a registered client is for one authorization server.
client='auth: { clientId: me, clientSecretEnv: MCP_SECRET'
start good "$client }"
as=http://127.0.0.1:$(cat "$tmp/port")
log_in
exits "a registered client" 0
check "a registered client: its secret is sent" grep -q "POST /token auth=Basic $(printf me:pr3cious | base64)" "$tmp/requests"
jq -c '.issuer = "https://as.example" | .token = "expired"' "$token" >"$tmp/t" && cp "$tmp/t" "$token"
: >"$tmp/requests"
log_in
exits "the server names another issuer than before" 1
check "the server names another issuer: the message" grep -q "names the authorization server $as, not https://as.example of the last log-in" "$err"
same "the server names another issuer: nothing is sent" 0 "$(grep -c '/token\|/authorize' "$tmp/requests")"
printf 'mcp: { servers: { r: { url: "%s/mcp", %s, issuer: "%s" } } }}\n' "$as" "$client" "$as" >"$space/mcp.yaml"
log_in
exits "auth.issuer confirms the change" 0
start good "$client, issuer: \"https://as.example\" }"
log_in
exits "another issuer than auth.issuer" 1
check "another issuer than auth.issuer: the message" grep -q 'not https://as.example (auth.issuer)' "$err"
same "another issuer than auth.issuer: nothing is sent" 0 "$(grep -c '/token\|/authorize' "$tmp/requests")"

start redirect 'headers: { Authorization: "Bearer precious" }'
chela mcp call --config mcp.yaml r whoami
exits "a redirect is not followed" 1
same "a redirect: nothing goes elsewhere" 0 "$(grep -c /elsewhere "$tmp/requests")"
tap_done

#!/usr/bin/env bash
# Secrets by reference: a request to a host that owns a secret has it, and nothing else sees the value.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
needs "secrets" python3 jq

value=s3cret-of-the-gate-0123
: >"$tmp/web.log"
HEADERS="Authorization X-Key" python3 tests/support/webserver.py "$tmp/web.log" >"$tmp/port" &
web_pid=$!
HEADERS="Authorization X-Key" python3 tests/support/webserver.py "$tmp/web.log" >"$tmp/other" &
other_pid=$!
trap 'kill $web_pid $other_pid 2>/dev/null; wait $web_pid $other_pid 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do
    [ -s "$tmp/port" ] && [ -s "$tmp/other" ] && break
    sleep 0.05
done
port=$(cat "$tmp/port") other=$(cat "$tmp/other")

configure() { # SOURCE [MORE]
    cat >"$space/chela.yaml" <<YAML
egress: { allow: ["127.0.0.1:$port", "127.0.0.1:$other"] }
secrets:
  web: { $1, hosts: ["127.0.0.1:$port"], header: "Authorization: Bearer {}" }
${2-}
YAML
}
plan() { # URL
    jq -nc --arg url "$1" '{rules: [{when: {turn: 1}, call: {tool: "web_fetch", args: {url: $url}}}, {say: "done"}]}' >"$tmp/rules.yaml"
}
go() {
    : >"$tmp/web.log"
    chela run --model "scripted/$tmp/rules.yaml" --output jsonl "go"
}
printf '%s\n' "$value" >"$tmp/secret"
chela() { # with the variable
    (cd "$space" && with_env env WEB_SECRET="$value" timeout -k 5 $seconds "$program" "$@" >"$out" 2>"$err" </dev/null)
    status=$?
}

# --- the sources
plan "http://127.0.0.1:$port/page"
for source in "env: WEB_SECRET" "file: $tmp/secret" "command: [cat, $tmp/secret]"; do
    configure "$source"
    go
    check "${source%%:*}: the request has the header" grep -q "Authorization=Bearer $value" "$tmp/web.log"
    check "${source%%:*}: no event has the value" sh -c "! grep -q '$value' '$out' '$err'"
done
configure "env: NO_SUCH_VARIABLE"
go
check "without a value the request is made without the header" grep -q 'GET /page' "$tmp/web.log"
check "a warning names the secret" grep -q 'secrets.web: there is no value' "$err"

# --- who owns it
configure "env: WEB_SECRET"
plan "http://127.0.0.1:$other/page"
go
check "another host gets a request" grep -q 'GET /page' "$tmp/web.log"
check "another host does not get the value" sh -c "! grep -q '$value' '$tmp/web.log'"
plan "http://127.0.0.1:$port/to/http://127.0.0.1:$other/moved"
go
check "a redirect to another host is followed" grep -q 'GET /moved' "$tmp/web.log"
check "a redirect leaves the header behind" sh -c "! grep 'GET /moved' '$tmp/web.log' | grep -q '$value'"
plan "http://127.0.0.1:$port/?leak=$value"
go
holds "an address that holds the value is refused" \
    '[.[] | select(.type == "tool_result")][0] | .error_type == "permission_denied" and (.content | test("holds a secret"))'

# --- what the host answered is private
plan "http://127.0.0.1:$port/page"
jq '.rules = [.rules[0], {when: {turn: 2}, call: {tool: "web_fetch", args: {url: "http://127.0.0.1:'"$other"'/composed"}}}, {say: "done"}]' \
    "$tmp/rules.yaml" >"$tmp/two.yaml"
mv "$tmp/two.yaml" "$tmp/rules.yaml"
go
holds "data that a secret opened does not go to another host unasked" \
    '[.[] | select(.type == "tool_result")][1] | .error_type == "permission_denied" and (.content | test("could carry data out"))'

# --- MCP servers over HTTP
configure "env: WEB_SECRET" "mcp: { servers: { m: { url: 'http://127.0.0.1:$port/mcp', headers: { X-Key: 'k={{secret:web}}' } } } }"
: >"$tmp/web.log"
chela mcp tools --config chela.yaml m
check "a header of an MCP server has the value" grep -q "POST /mcp .*X-Key=k=$value" "$tmp/web.log"
check "an MCP server gets the header of the secret" grep -q "POST /mcp .*Authorization=Bearer $value" "$tmp/web.log"
configure "env: WEB_SECRET" "mcp: { servers: { m: { url: 'http://127.0.0.1:$other/mcp', headers: { X-Key: '{{secret:web}}' } } } }"
: >"$tmp/web.log"
chela mcp tools --config chela.yaml m
check "a secret of another host is refused in the configuration" grep -q 'secret web does not belong to 127.0.0.1' "$out" "$err"
check "the other server gets no request" sh -c "! grep -q POST '$tmp/web.log'"

# --- bad input
configure "env: WEB_SECRET, file: x"
chela config check
exits "two sources" 2
check "two sources: the place" grep -q 'chela.yaml:3:.*secrets.web: expected one of' "$out" "$err"
configure "env: WEB_SECRET, host: a"
chela config check
exits "a key that does not exist" 2
printf 'secrets: { web: { env: X } }\n' >"$space/chela.yaml"
chela config check
exits "a secret without hosts" 2
printf 'secrets: { web: { env: WEB_SECRET, hosts: ["*"] } }\n' >"$space/chela.yaml"
chela run --model scripted/demo hi
exits "a secret that every host owns" 2
check "a secret that every host owns: the message" grep -q 'owns no secret' "$out" "$err"
tap_done

#!/usr/bin/env bash
# The network of commands in the sandbox: the hosts that somebody allowed, through a proxy of the
# runtime; the rest is refused at once, with the line that would allow it.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
needs "the network of commands" python3 jq curl

: >"$tmp/web.log"
python3 tests/support/webserver.py "$tmp/web.log" >"$tmp/port" &
web_pid=$!
trap 'kill $web_pid 2>/dev/null; wait $web_pid 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do
    [ -s "$tmp/port" ] && break
    sleep 0.05
done
port=$(cat "$tmp/port")
web=http://127.0.0.1:$port
if ! (cd "$space" && with_env "$program" doctor 2>&1) | grep -q 'ok .*network *an empty network namespace'; then
    skip "the network of commands" "no network namespaces here"
    tap_done
    exit
fi

configure() {
    cat >"$space/chela.yaml"
}
execute() { # COMMAND [FLAG...]
    local command=$1
    shift
    jq -nc --arg c "$command" '{rules: [{when: {after: "none"}, call: {tool: "exec", args: {command: $c}}},
        {when: {turn: 2, user: "twice"}, call: {tool: "exec", args: {command: $c}}}, {say: "done"}]}' >"$tmp/rules.yaml"
    chela run --model "scripted/$tmp/rules.yaml" --output jsonl "$@"
}
result() { # NAME FILTER: of the last result
    holds "$1" "[.[] | select(.type == \"tool_result\")][-1] | $2"
}
asked() { # NAME PATH COUNT
    same "$1" "$3" "$(grep -cF " $2 " "$tmp/web.log")"
}
# curl leaves hosts of no_proxy alone; a command can do without the variable.
get="curl -sS --noproxy '' --max-time 20"

# --- no host is allowed
configure </dev/null
started=$SECONDS
execute "$get $web/none; echo; $get https://registry.invalid/x; env | grep -i proxy" --approve auto go
result "a plain request is refused with the line that would allow the host" \
    '.content | test("chela|network: 127.0.0.1:'"$port"' was refused.*sandbox: \\{ network: \\[\"127.0.0.1:'"$port"'\"\\]")'
result "a tunnel is refused, and the result has the line that would allow the host" \
    '.content | test("response 403") and test("network: registry.invalid was refused.*network: \\[\"registry.invalid\"\\]")'
result "the proxy is named to programs" '.content | test("HTTPS_PROXY=http://127.0.0.1:") and test("https_proxy=http://127.0.0.1:")'
check "refusals take no time" test $((SECONDS - started)) -lt 15
asked "nothing was sent" /none 0
execute "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$port' && echo connected; $get --proxy '' $web/direct" --approve auto go
result "there is no other way out" '.content | test("connected\n") | not'
asked "there is no other way out: no request" /direct 0

# --- hosts of the list
configure <<YAML
sandbox: { network: ["127.0.0.1:$port", "*.allowed.invalid"] }
egress: { deny: [bad.allowed.invalid] }
YAML
execute "$get $web/plain && $get -d some=data $web/posted && $get -p $web/tunnel && $get -p $web/bytes/3000000 | wc -c; $get -o big $web/bytes/3000000; wc -c <big" --approve auto go
result "requests for a host of the list are answered" '.content | test("a page\na page\na page\n3000000\n3000000")'
check "a plain request reaches the server as a request for a path" grep -q "^GET /plain 127.0.0.1:$port 0$" "$tmp/web.log"
check "a body reaches the server whole" grep -q "^POST /posted 127.0.0.1:$port 9$" "$tmp/web.log"
asked "a tunnel reaches the server" /tunnel 1
execute "$get https://x.allowed.invalid/; $get https://bad.allowed.invalid/; $get https://other.invalid/" --approve auto go
result "a host of the list whose name is not known gets 502" '.content | test("response 502")'
result "egress.deny counts more than the list" '.content | test("bad.allowed.invalid was refused: egress.deny")'
result "another host is refused" '.content | test("other.invalid was refused: nobody")'
execute "printf 'GET $web/smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcdGET $web/second HTTP/1.1\r\nHost: evil\r\n\r\n' >r; python3 - <<'P'
import os, socket, urllib.parse
p = urllib.parse.urlparse(os.environ['http_proxy'])
s = socket.create_connection((p.hostname, p.port)); s.sendall(open('r', 'rb').read())
d = b''
while True:
    b = s.recv(65536)
    if not b: break
    d += b
print(d.decode())
for line in [b'CONNECT evil.example\0.allowed.invalid:443 HTTP/1.1', b'GET ftp://x/ HTTP/1.1', b'GET /x HTTP/1.1', b'CONNECT a@b:443 HTTP/1.1', b'HELLO']:
    s = socket.create_connection((p.hostname, p.port)); s.sendall(line + b'\r\nHost: y\r\n\r\n'); print(s.recv(65536).split(b'\r\n')[0]); s.close()
P" --approve auto go
asked "the bytes after a request are no second request" /second 0
asked "the request before them was made" /smuggled 1
result "what is no destination is refused" '[.content | scan("HTTP/1.1 [45][0-9][0-9]")] | length == 5'

# --- a list of egress allows commands too; none and the profile `sandbox` are closed
configure <<YAML
egress: { allow: ["127.0.0.1:$port"] }
YAML
execute "$get $web/egress" --approve auto go
result "a host of egress.allow is allowed to commands" '.content | test("a page")'
execute "$get $web/profile" --approve sandbox go
result "the profile sandbox has no network" '.content | test("runs without a network")'
configure <<YAML
sandbox: { network: none }
egress: { allow: ["127.0.0.1:$port"] }
YAML
execute "$get $web/closed" --approve auto go
result "with none no list allows a host" '.content | test("runs without a network")'

# --- a question
configure <<'YAML'
approvals: { exec: auto }
YAML
execute "$get $web/question" --approve ask --session q twice
exits "a host that nobody allowed, with somebody to ask" 5
holds "the question names command and host" \
    '[.[] | select(.type == "approval_required")][0].summary | test("exec: curl.*\n  wanted to reach 127.0.0.1:'"$port"'")'
chela sessions resume q --allow all --output jsonl
asked "after the answer the same command reaches the host" /question 1
result "the model is told that it can run the command again" '.content | test("a page")'

# --- a configuration that is wrong
printf 'sandbox: { network: ["a..b"] }\n' | configure
chela config check
exits "a host that is none" 2
printf 'sandbox: { network: some }\n' | configure
chela config check
exits "a word that is none" 2
check "the words are named" grep -q 'none, host, or a list of hosts' "$out" "$err"
tap_done

#!/usr/bin/env bash
# Where an agent may send data to: the lists of egress, addresses that a person named, questions,
# redirects. The hosts of the net are names that no name server knows.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
needs "egress" python3 jq

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

configure() {
    cat >"$space/chela.yaml"
}
# The model fetches the addresses, one in each turn.
plan() { # URL...
    jq -nc '{rules: ([range($ARGS.positional | length) as $i | {when: {turn: ($i + 1)},
        call: {tool: "web_fetch", args: {url: $ARGS.positional[$i]}}}] + [{say: "done"}])}' --args "$@" >"$tmp/rules.yaml"
}
go() { # PROMPT [FLAG...]
    local prompt=$1
    shift
    chela run --model "scripted/$tmp/rules.yaml" --output jsonl "$@" "$prompt"
}
result() { # NAME FILTER: of the last result
    holds "$1" "[.[] | select(.type == \"tool_result\")][-1] | $2"
}
asked() { # NAME PATH COUNT: the server got COUNT requests for PATH
    same "$1" "$3" "$(grep -cF " $2 " "$tmp/web.log")"
}

# --- a file with a pattern that is no host
configure <<'YAML'
egress:
  allow: [example.com, "https://example.com/x"]
  deny: ["a..b"]
YAML
chela config check
exits "patterns that are no hosts" 2
check "each pattern that is no host is named with its place" sh -c \
    "grep -q 'chela.yaml:2:24: .*egress.allow.*without scheme and path' '$out' '$err' && grep -q 'chela.yaml:3:10: .*a..b' '$out' '$err'"
printf 'egress: { alow: [a.com] }\n' | configure
chela config check
exits "a key of egress that does not exist" 2

# --- nobody there
configure </dev/null
plan https://composed.invalid/?d=stolen
go "read something"
result "an address that the model composed is refused, with the line that would allow it" \
    '.error_type == "permission_denied" and (.content | test("composed.invalid.*egress: \\{ allow: \\[\\\\?\"composed.invalid"))'
go "read something" --approve auto --timeout 20
result "--approve auto is no answer to a question about a host" '.error_type == "permission_denied" and (.content | test("egress: "))'
plan https://named.invalid/page
go "read https://named.invalid/page, please"
result "an address that stands in the message is fetched" '.error_type != "permission_denied"'
go "read named.invalid/page."
result "an address without its scheme is fetched" '.error_type != "permission_denied"'
go "read https://named.invalid/pages"
result "a part of an address in the message is refused" '.error_type == "permission_denied"'
plan https://named.invalid/page?d=stolen
go "read https://named.invalid/page"
result "an address with something added is refused" '.error_type == "permission_denied"'
plan "$web/inside"
go "read $web/inside"
result "an address of this machine is refused although the message has it" \
    '.error_type == "permission_denied" and (.content | test("127.0.0.1:"))'
asked "an address of this machine gets no request" /inside 0

# --- the lists
configure <<YAML
egress: { allow: ["127.0.0.1:$port", listed.invalid], deny: [denied.invalid, "*.denied.invalid"], ask: [asked.invalid] }
YAML
plan "$web/allowed"
go "go"
result "an address of this machine that the list names is fetched" '(.is_error | not) and (.content | test("a page"))'
asked "an address of this machine that the list names gets one request" /allowed 1
plan https://listed.invalid/x
go "go"
result "a host of the list is fetched" '.error_type != "permission_denied"'
plan https://listed.invalid:444/x
go "go"
result "another port of a host of the list is refused" '.error_type == "permission_denied"'
plan https://sub.denied.invalid/
go "read https://sub.denied.invalid/"
result "a denied host is refused although the message has it" \
    '.error_type == "permission_denied" and (.content | test("egress.deny"))'
plan https://asked.invalid/
go "read https://asked.invalid/"
result "a host to ask about is refused although the message has it" '.error_type == "permission_denied"'

# --- the lists of an agent
configure <<YAML
egress: { allow: ["127.0.0.1:$port", first.invalid], deny: [bad.invalid] }
agents: { list: [ { id: main, egress: { allow: [second.invalid], deny: [worse.invalid] } }, { id: other } ] }
YAML
plan "$web/agents"
go "go" --agent main
result "the list of an agent replaces the list of the file" '.error_type == "permission_denied"'
go "go" --agent other
result "an agent without a list has the list of the file" '.is_error | not'
plan https://bad.invalid/ https://worse.invalid/
go "read https://bad.invalid/ and https://worse.invalid/" --agent main
holds "an agent is denied the hosts of both lists" \
    '[.[] | select(.type == "tool_result") | .content | test("egress.deny")] == [true, true]'

# --- a redirect is a destination
configure <<YAML
egress: { allow: ["127.0.0.1:$port"], deny: [denied.invalid] }
YAML
plan "$web/to/$web/moved"
go "go"
result "a redirect to an allowed host is followed" '.content | test("a page")'
plan "$web/to/https://elsewhere.invalid/?d=stolen"
go "go"
result "a redirect to an unknown host is not followed" \
    '.error_type == "permission_denied" and (.content | test("elsewhere.invalid is a destination of its own"))'
plan "$web/to/http://localhost:$port/moved2"
go "go"
result "a redirect to another name of this machine is not followed" '.error_type == "permission_denied"'
asked "a redirect that is not followed makes no request" /moved2 0

# --- a question
configure </dev/null
plan "$web/once" "$web/twice" "http://127.0.0.1:1/other"
go "go" --approve ask --session q
exits "a host that nobody allowed, with somebody to ask" 5
holds "the question names tool, destination and what is sent" \
    '[.[] | select(.type == "approval_required")][0].summary | test("web_fetch: .*/once.*\n  sends to 127.0.0.1:[0-9]+: no list")'
asked "nothing is sent before the answer" /once 0
chela sessions resume q --allow all --output jsonl
asked "the call is made after the answer" /once 1
tap_done

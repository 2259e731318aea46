#!/usr/bin/env bash
# MCP servers: tools in a run, pinned definitions, hostile servers, files of other clients.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

server=$PWD/tests/support/mcp/server.py
state=$tmp/.local/state/chela/mcp

needs "MCP servers" python3

# serve MODE [MORE]: a configuration with one server named s.
serve() {
    printf 'mcp:\n  servers:\n    s: { command: [python3, "%s", %s, "%s"]%s }\n' "$server" "$1" "$tmp/words" "${2:+, $2}" >"$space/mcp.yaml"
    rm -rf "$state"
}

call() {
    chela mcp call --config mcp.yaml s "$@"
}

# --- both eras, and servers that answer the probe with nonsense or do not survive it
for mode in legacy modern odd-probe die-at-probe; do
    serve "$mode"
    call echo --args '{"text":"hi"}'
    exits "$mode: a call" 0
    same "$mode: its result" "echo: hi" "$(cat "$out")"
done
same "a server that dies at the probe is started twice" 2 "$(grep -c '"server/discover"\|"initialize"' "$state/s/calls.log")"
serve legacy 'era: legacy'
call echo --args '{"text":"hi"}'
same "era: legacy: no probe" 0 "$(grep -c server/discover "$state/s/calls.log")"
serve legacy 'era: modern'
call echo --args '{"text":"hi"}'
exits "era: modern: an older server is refused" 1
serve legacy
call page
same "the text of an embedded resource" "the first page" "$(cat "$out")"
call figure
same "a result that is structured only" '{"n":42}' "$(cat "$out")"

# --- the listing
serve modern
chela mcp list --config mcp.yaml
check "list: no server is started" grep -q 'not listed yet' "$out"
chela mcp tools --config mcp.yaml s
check "tools: the name that a model sees" grep -q '^s__echo  Echo a text.$' "$out"
check "tools: what nobody sees is removed" grep -q '^s__slow  Never answers.$' "$out"
chela mcp list --config mcp.yaml
check "list: the tools are known" grep -qE '^s +stdio +6$' "$out"
chela mcp doctor --config mcp.yaml
check "doctor" grep -q '^ok    s: tester, protocol 2026-07-28, 6 tools$' "$out"
chela mcp doctor --config mcp.yaml --json
same "doctor: as JSON" "s ready 6" "$(jq -r '.[] | "\(.name) \(.state) \(.tools | length)"' "$out")"
chela mcp tools --config mcp.yaml --json s
same "tools: as JSON" "s__echo true" "$(jq -r '.tools[0] | "\(.alias) \(.accepted)"' "$out")"

# --- the user's file
chela mcp add ftp ftp://127.0.0.1/mcp
exits "add: not a URL of a server" 2
same "add: not a URL of a server: said" "chela: the URL of a server starts with http:// or https://, not 'ftp://127.0.0.1/mcp'" "$(cat "$err")"
mkdir -p "$tmp/.config/chela" "$tmp/dotfiles"
echo '{}' >"$tmp/dotfiles/mcp.json"
ln -s ../../dotfiles/mcp.json "$tmp/.config/chela/mcp.json"
chela mcp add linked -- python3 "$server" modern "$tmp/words"
exits "add: the file is a link" 0
check "add: the link stays" test -L "$tmp/.config/chela/mcp.json"
same "add: its target is written" linked "$(jq -r '.mcpServers | keys[]' "$tmp/dotfiles/mcp.json")"
rm -rf "$tmp/.config/chela/mcp.json" "$tmp/dotfiles" "$state"

# --- in a run: one path for all tools
cat >"$space/calls.yaml" <<'YAML'
rules:
  - when: { after: any }
    say: "the tool said {{result}}"
  - when: { user: 'picture' }
    call: { tool: s__picture, args: {} }
  - when: { user: 'die' }
    call: { tool: s__die, args: {} }
  - when: { user: 'wrong' }
    call: { tool: s__echo, args: { text: [7] } }
  - call: { tool: s__echo, args: { text: abc } }
YAML
rm -rf "$state"
chela run --config mcp.yaml --model scripted/calls.yaml --approve auto go
exits "a run: the first use waits for the list" 0
check "a run: the result reaches the model" grep -q 'the tool said echo: abc' "$out"
check "a run: the call has an idempotency key" grep -q '"chela/idempotencyKey"' "$state/s/calls.log"
check "a run: progress" grep -q '"progressToken"' "$state/s/calls.log"
chela run --config mcp.yaml --model scripted/calls.yaml go
check "a run: without consent the call is not made" grep -q "needs a person's consent" "$out"
chela run --config mcp.yaml --model scripted/calls.yaml --approve auto wrong
check "a run: arguments are validated" grep -q 'invalid_arguments' "$out"
same "a run: the server did not see them" 0 "$(grep -c '"text":\[7' "$state/s/calls.log")"
chela run --config mcp.yaml --model scripted/calls.yaml --approve auto picture
check "a run: a link is named and not fetched" grep -q 'link to a resource, not fetched: file:///etc/passwd (secrets)' "$out"
chela run --config mcp.yaml --model scripted/calls.yaml --approve auto die
exits "a run: the server dies in a call" 0
check "a run: the model is told" grep -q 'the server exited with code 3' "$out"
: >"$state/s/calls.log"
chela run --config mcp.yaml --model scripted/calls.yaml --tools read --approve auto go
same "a run that uses no tool of a known server does not start it" 0 "$(wc -l <"$state/s/calls.log")"
serve legacy 'confirm: false'
chela run --config mcp.yaml --model scripted/calls.yaml go
check "confirm: false" grep -q 'the tool said echo: abc' "$out"
serve legacy 'deny: [e*]'
chela tools list --config mcp.yaml
same "deny: tools that are left out" 4 "$(grep -c '^s__' "$out")"

# --- definitions are pinned
serve legacy
chela mcp tools --config mcp.yaml s
echo changed added >"$tmp/words"
chela mcp tools --config mcp.yaml s
check "a changed tool: marked" grep -q '^s__echo (changed)' "$out"
check "a changed tool: the difference" grep -q '^    + description: Echo a text. Now with more.$' "$out"
check "a new tool: marked" grep -q '^s__fresh (new)' "$out"
chela tools list --config mcp.yaml
check "a new tool is not offered" eval '! grep -q s__fresh "$out"'
chela mcp doctor --config mcp.yaml
check "doctor: names the change" grep -q '^warn  s: .*2 new or changed' "$out"
chela mcp tools --config mcp.yaml s --accept
exits "accepted" 0
chela tools list --config mcp.yaml
check "accepted: offered" grep -q s__fresh "$out"
chela tools show --config mcp.yaml s__echo
check "accepted: with the new text" grep -q 'Now with more' "$out"
rm "$tmp/words"
serve names
chela mcp tools --config mcp.yaml s
same "names: every alias is valid and unique" 9 "$(grep -cE '^s__[A-Za-z0-9_-]{1,61}( |$)' "$out")"
same "names: no alias is too long" 0 "$(grep -cE '^[^ ]{65}' "$out")"
check "names: an invalid definition is left out, with a reason" grep -q 'tool header is left out: x-mcp-header N' "$err"
check "names: a tool that is listed twice" grep -q 'tool a_b is left out: the server lists it twice' "$err"

# --- the tools change during a run: the change is seen, and needs a yes
cat >"$space/change.yaml" <<'YAML'
rules:
  - { when: { after: none }, call: { tool: s__change, args: {} } }
  - { when: { after: s__change }, call: { tool: s__echo, args: { text: abc } } }
  - { when: { after: s__echo, is_error: false }, delay_ms: 200, call: { tool: s__echo, args: { text: abc } } }
  - { say: "the tool said {{result}}" }
YAML
for mode in legacy-change modern-change; do
    rm -f "$tmp/words"
    serve $mode
    chela mcp tools --config mcp.yaml s
    chela run --config mcp.yaml --model scripted/change.yaml --max-turns 200 --approve auto go
    check "$mode: the list is read again" test "$(grep -c tools/list "$state/s/calls.log")" -ge 3
    check "$mode: the changed tool is withdrawn" grep -q 'changed the definition of this tool' "$out"
done
rm -f "$tmp/words"

# --- the end of a server
serve legacy
call echo --args '{"text":"x"}'
check "a server gets the end of its input" grep -q 'the input ended' "$state/s/calls.log"
serve stubborn
call echo --args '{"text":"x"}'
same "a server that does not end gets SIGTERM" terminated "$(tail -n 1 "$state/s/calls.log")"

# --- what the server can reach
key_of_ours=topsecret SECRET_OF_OURS=topsecret
export key_of_ours SECRET_OF_OURS
serve legacy 'env: { GIVEN: yes-given }'
call env
check "environment: what was configured" grep -q yes-given "$out"
same "environment: nothing of ours" 0 "$(grep -c topsecret "$out")"
same "environment: no key of a model" 0 "$(grep -c "$key" "$out")"

echo 'DB_PASSWORD=correct-horse-9' >"$space/.env"
serve legacy
for text in correct-horse-9 "$(printf correct-horse-9 | base64)" correct; do
    jq -nc --arg t "$text" '{rules: [{when: {after: "none"}, call: {tool: "s__echo", args: {text: $t}}}, {say: "{{result}}"}]}' >"$tmp/leak.yaml"
    chela run --config mcp.yaml --model "scripted/$tmp/leak.yaml" --approve auto go
    if [ "$text" = correct ]; then
        check "another argument leaves for a server" grep -q 'echo: correct' "$out"
    else
        check "a secret does not leave for a server ($text)" grep -qF 'holds a secret, DB_PASSWORD (.env)' "$out"
    fi
done
rm "$space/.env"

# A program in ~/bin reads its own files and not the home directory, also if HOME is a link.
real=$tmp/people/me
mkdir -p "$real/bin"
echo topsecret >"$real/private"
ln -s "$real" "$tmp/me"
cat >"$real/bin/peek" <<EOF
#!/bin/sh
while read -r line; do
    id=\$(echo "\$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case \$line in
        *'"initialize"'*) result='"protocolVersion":"2025-11-25","capabilities":{"tools":{}}' ;;
        *tools/list*) result='"tools":[{"name":"peek","inputSchema":{"type":"object"}}]' ;;
        *tools/call*) result="\"content\":[{\"type\":\"text\",\"text\":\"seen: \$(cat "$real/private" 2>/dev/null)\"}]" ;;
        *) continue ;;
    esac
    echo "{\"jsonrpc\":\"2.0\",\"id\":\$id,\"result\":{\$result}}"
done
EOF
chmod +x "$real/bin/peek"
printf 'mcp: { servers: { s: { command: ["%s"], era: legacy } } }\n' "$real/bin/peek" >"$space/mcp.yaml"
for home in "$real" "$tmp/me"; do
    (cd "$space" && with_env env HOME="$home" timeout -k 5 $seconds "$program" mcp call --config mcp.yaml s peek) >"$out" 2>"$err" </dev/null
    same "a program in ~/bin (HOME ${home#"$tmp"})" "seen: " "$(cat "$out")"
done

# --- hostile servers: an error, and the run goes on
for mode in die-in-handshake old die-in-call not-object; do
    serve "$mode"
    call echo --args '{"text":"x"}'
    exits "$mode: an error" 1
    check "$mode: with a reason" test -s "$err"
done
serve huge
call echo --args '{"text":"x"}'
check "huge: refused" grep -q 'larger than' "$err"
serve twice
call echo --args '{"text":"x"}'
same "twice: the first answer counts" first "$(cat "$out")"
serve null-text
call echo --args '{"text":"x"}'
same "null: a text like others" null "$(cat "$out")"
serve wrong-id
call echo --args '{"text":"x"}'
same "wrong id: ignored" right "$(cat "$out")"
serve bad-utf8
call echo --args '{"text":"x"}'
same "bad UTF-8: replaced" "a$(printf '\xef\xbf\xbd\xef\xbf\xbd')b" "$(cat "$out")"
serve garbage
call echo --args '{"text":"x"}'
same "garbage: skipped" "after garbage" "$(cat "$out")"
serve endless
chela mcp tools --config mcp.yaml s
exits "an endless list" 1
check "an endless list: with a reason" grep -q 'too long' "$err"
serve many
chela mcp tools --config mcp.yaml s
same "a thousand tools" 1000 "$(grep -c '^s__t' "$out")"
serve legacy 'timeoutSec: 1'
call slow
exits "a call that is not answered" 1
check "a call that is not answered: says so" grep -q 'no response within 1000 ms' "$err"
check "a call that is not answered: cancelled" grep -q notifications/cancelled "$state/s/calls.log"
printf 'mcp: { servers: { s: { command: [/nonexistent/server] } } }\n' >"$space/mcp.yaml"
call echo
exits "no such program" 1
check "no such program: says so" grep -q 'did not start' "$err"
same "no server is left behind" "" "$(pgrep -f "$server .* $tmp/words")"

# --- files of other clients
printf '{"mcpServers":{"other":{"command":"python3","args":["%s","legacy"]}}}\n' "$server" >"$space/.mcp.json"
chela mcp list
check "a directory's .mcp.json is not used unasked" grep -q "'chela trust .mcp.json'" "$err"
same "a directory's .mcp.json: no server" "" "$(cat "$out")"
chela trust .mcp.json
check "trust shows the command" grep -q "$server" "$out"
chela mcp list
check "a trusted .mcp.json" grep -q '^other ' "$out"
chela mcp call other echo --args '{"text":"yes"}'
same "a trusted .mcp.json: a call" "echo: yes" "$(cat "$out")"
sed -i 's/legacy/modern/' "$space/.mcp.json"
chela mcp list
check "a changed .mcp.json is not trusted" grep -q "'chela trust .mcp.json'" "$err"
rm "$space/.mcp.json"
chela mcp add mine --env A=b -- python3 "$server" modern
exits "add" 0
check "add: shows the tools" grep -q '^mine__echo' "$out"
same "add: in the user's file" '["python3","b"]' "$(jq -c '.mcpServers.mine | [.command, .env.A]' "$tmp/.config/chela/mcp.json")"
chela mcp call mine env
check "add: the variable" grep -q '"A": "b"' "$out"
chela mcp remove mine
chela mcp list
same "remove" "" "$(cat "$out")"
chela mcp remove mine
exits "remove: there is none" 2
cp "$tmp/.config/chela/mcp.json" "$tmp/kept.json"
echo '{"mcpServers":' >"$tmp/.config/chela/mcp.json"
chela mcp remove mine
exits "a broken mcp.json" 2
check "a broken mcp.json: the file and the place" grep -q 'chela/mcp.json: line 2, column 1' "$err"
cp "$tmp/kept.json" "$tmp/.config/chela/mcp.json"
echo '{"inputs":[{"id":"key"}],"servers":{"theirs":{"url":"https://127.0.0.1:1/"}}}' >"$tmp/.config/chela/mcp.json"
chela mcp add mine -- python3 "$server" modern
chela mcp remove theirs
chela mcp remove mine
same "add and remove: what else is in the file stays" '{"inputs":[{"id":"key"}],"servers":{}}' "$(jq -c . "$tmp/.config/chela/mcp.json")"
rm "$tmp/.config/chela/mcp.json"
chela mcp add mine -- python3 "$server" modern
chela mcp remove mine
for command in "add gone -- $tmp/gone" "tools gone" "call gone x" "skills gone"; do
    # shellcheck disable=SC2086
    chela mcp $command
    exits "mcp $command: a server that does not start" 1
    same "mcp $command: said once" 1 "$(grep -c 'cannot run' "$err")"
done
chela mcp remove gone
for verb in "add mine -- true" "remove mine"; do
    # shellcheck disable=SC2086
    (cd "$space" && with_env XDG_CONFIG_HOME=/proc/none "$program" mcp $verb) >"$out" 2>"$err"
    status=$?
    exits "mcp $verb: no place for the file" 2
    check "mcp $verb: says so" grep -qE 'directory of /proc/none/chela/mcp.json cannot be created: ' "$err"
done
chela mcp add wrong__name https://127.0.0.1:1/
exits "add: a bad name" 2
for bad in ../up $'two\nlines' ""; do
    chela mcp add "$bad" -- true
    exits "add: ${bad@Q}" 2
done
same "add: what is refused is not written" '{}' "$(jq -c .mcpServers "$tmp/.config/chela/mcp.json")"
chela mcp list
exits "add: the file can still be read" 0
tap_done

#!/usr/bin/env bash
# Tools through a whole conversation: files, arithmetic, a command of the
# user's own; what the model may not do; and `chela tools`.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

results='[.[] | select(.type == "tool_result")]'
for api in "${apis[@]}"; do
    rm -rf "${space:?}"/*
    play "$api" files --output jsonl
    exits "files, $api" 0
    same "files, $api: written and edited" "$(printf 'alpha\ngamma')" "$(cat "$space/notes/plan.txt")"
    holds "files, $api: all four worked" "$results | length == 4 and all(.is_error | not)"
    holds "files, $api: read sees the edit" "$results | .[] | select(.name == \"read\").content | test(\"gamma\")"
    holds "files, $api: ls sees the file" "$results | .[] | select(.name == \"ls\").content | test(\"plan.txt\")"
    same "files, $api: the model sees the results" "4" \
        "$(requests 'select(.n == 3) | [.body | .. | objects | select(.role == "tool" or .type == "tool_result" or .type == "function_call_output" or .type == "function_result" or has("functionResponse") or has("toolResult"))] | length')"

    play "$api" calculate --output jsonl
    holds "calculate, $api: 42" "$results | length == 1 and (.[0].content | test(\"42\"))"
    holds "calculate, $api: call, start and result in order" \
        '[.[] | select(.type | test("^tool_(call|start|result)$")).type] == ["tool_call", "tool_start", "tool_result"]'

    # A command of the user's own: arguments on stdin, result on stdout.
    cat >"$space/shout" <<'SCRIPT'
#!/bin/sh
tr '[:lower:]' '[:upper:]'
echo " secrets: $(env | grep -c SENTINEL)"
SCRIPT
    chmod +x "$space/shout"
    cat >"$space/chela.yaml" <<'YAML'
tools:
  custom:
    - name: shout
      description: Say it loudly.
      parameters: { type: object, properties: { words: { type: string } }, required: [words] }
      command: [./shout]
      effect: read
      permission: read
YAML
    play "$api" custom --output jsonl
    exits "a command, $api" 0
    holds "a command, $api: its output is the result" "$results | length == 1 and (.[0].content | test(\"HELLO THERE\"))"
    holds "a command, $api: it does not see the key" "$results | .[0].content | test(\"secrets: 0\")"
    same "a command, $api: offered to the model" "1" \
        "$(requests 'select(.n == 0) | [.body | (.tools // .toolConfig.tools)[] | .functionDeclarations // [.] | .[] | select((.name // .function.name // .toolSpec.name) == "shout")] | length')"
    rm -f "$space/chela.yaml" "$space/shout"

    play "$api" files --output jsonl --deny 'write,edit'
    exits "denied tools, $api" 0
    holds "denied tools, $api: their calls fail" "$results | .[0].is_error and .[1].is_error"
    same "denied tools, $api: not offered" "" \
        "$(requests '.body.tools[] | (.name // .function.name) | select(. == "write" or . == "edit")')"
    play "$api" hello --tools ""
    same "no tools, $api: none offered" "null" "$(requests .body.tools)"
done

# Paths that lead out of the workspace, in every spelling.
mkdir -p "$tmp/outside" "$space/in" && echo secret >"$tmp/outside/secret"
ln -s "$tmp/outside" "$space/link"
for path in ../outside/secret "$tmp/outside/secret" link/secret in/../../outside/secret /etc/passwd; do
    chela tools call read --args "{\"file_path\": \"$path\"}"
    if [ "$status" != 0 ] && ! grep -qE 'secret$|root:' "$out"; then
        ok "read stays inside: $path"
    else
        not_ok "read stays inside: $path" "$(show)"
    fi
    chela tools call write --args "{\"file_path\": \"${path%secret}new\", \"content\": \"x\"}"
    check "write stays inside: $path" test ! -e "$tmp/outside/new"
done
rm -f "$space/link" && rm -rf "$space/in"

# Unknown parameters of custom tools: refused, unless their schema permits them.
cat >"$space/chela.yaml" <<'YAML'
sandbox: { mode: off }
tools:
  custom:
    - { name: closed, description: C., command: [cat], effect: read, permission: read,
        parameters: { type: object, properties: { limit: { type: integer } }, additionalProperties: false } }
    - { name: unevaluated, description: U., command: [cat], effect: read, permission: read,
        parameters: { type: object, allOf: [{ properties: { limit: { type: integer } } }], unevaluatedProperties: false } }
    - { name: needy, description: N., command: [cat], effect: read, permission: read,
        parameters: { type: object, properties: { limit: { type: integer } }, required: [limit] } }
    - { name: silent, description: O., command: [cat], effect: read, permission: read,
        parameters: { type: object, properties: { limit: { type: integer } } } }
    - { name: open, description: O., command: [cat], effect: read, permission: read,
        parameters: { type: object, properties: { limit: { type: integer } }, additionalProperties: true } }
YAML
for tool in closed unevaluated silent; do
    chela tools call $tool --args '{"lmit": 3}'
    exits "unknown parameter, $tool" 1
    check "unknown parameter, $tool: the nearest name" grep -q "unknown key 'lmit'.*did you mean 'limit'" "$err"
done
chela tools call needy --args '{"lmit": 3}'
check "a parameter under another name" grep -q "missing required key 'limit' (an integer); the given key 'lmit' is unknown" "$err"
chela tools call open --args '{"lmit": 3}'
same "unknown parameter, an open schema" '{"lmit": 3}' "$(cat "$out")"
rm "$space/chela.yaml"

chela tools list
exits "tools list" 0
for tool in read write edit ls calculate; do check "tools list has $tool" grep -qw "$tool" "$out"; done
cat >"$space/policies.yaml" <<'YAML'
policies:
  - { id: strangers, channel: chat, except: [u_owner], deny: [calculate], permission: read, approve: deny }
YAML
chela tools list --config "$space/policies.yaml" --channel chat --sender u_x
check "tools list --channel: what is left" sh -c "grep -qw read '$out' && ! grep -qw 'write\\|calculate' '$out'"
check "tools list --channel: says why" grep -q '"strangers".*deny' "$err"
chela tools list --config "$space/policies.yaml" --channel chat --sender u_owner
check "tools list --sender: an exception" grep -qw calculate "$out"
chela tools list --sender u_owner
exits "tools list --sender without a channel" 2
chela tools call calculate --args '{"expression": "2^10"}'
exits "tools call" 0
check "tools call: the result" grep -q 1024 "$out"
chela tools list --deny calculat
exits "--deny: no such tool" 0
check "--deny: no such tool: a warning" grep -q "^warning: --deny: there is no tool 'calculat' (did you mean 'calculate'?)" "$err"
chela tools list --deny 'calculate,none*,group:shell'
check "--deny: a tool, a glob, a group: no warning" test "$(grep -c warning "$err")" = 0
for word in show call; do
    chela tools $word calculat
    exits "tools $word: no such tool" 2
    check "tools $word: no such tool: what was meant" grep -q "did you mean 'calculate'" "$err"
done

# An own tool in the place of a built-in tool that the file denies.
cat >"$space/chela.yaml" <<'YAML'
agents:
  defaults: { tools: { deny: [calculate, edit] } }
  list: [ { id: one }, { id: two, tools: { deny: [] } } ]
tools:
  custom:
    - { name: calculate, description: Mine., command: [echo, mine], effect: read, permission: read,
        parameters: { type: object, properties: { expression: { type: string } } } }
YAML
chela tools call calculate --agent one --args '{"expression": "1 + 1"}'
exits "an own tool named like a denied built-in tool" 0
same "an own tool named like a denied built-in tool: it runs" mine "$(cat "$out")"
chela tools call edit --agent one --args '{}'
exits "the other denied tools stay denied" 2
chela tools call calculate --agent one --deny calculate --args '{"expression": "1 + 1"}'
exits "--deny denies the own tool too" 2
chela tools call calculate --agent two --args '{"expression": "1 + 1"}'
exits "an own tool named like a built-in tool" 0
same "an own tool named like a built-in tool: it runs" mine "$(cat "$out")"
check "an own tool named like a built-in tool: a line says so" grep -q 'calculate of tools.custom takes the place of the built-in tool' "$err"
rm -f "$space/chela.yaml"

# A rule of the operator beside the schema: a program, or patterns by argument.
cat >"$space/check" <<'SH'
#!/bin/sh
call=$(tr -d ' ')
case $call in
    *'"name":"pay"'*'"amount":7}'*) exit 0 ;;
    *'"amount":13'*) echo "13 needs a signature" >&2; exit 3 ;;
esac
echo "unexpected: $call"
exit 1
SH
chmod +x "$space/check"
cat >"$space/chela.yaml" <<'YAML'
sandbox: { mode: off }
tools:
  custom:
    - { name: pay, description: Pays., command: [sh, -c, "cat >>paid; echo paid"], check: [./check], permission: read,
        parameters: { type: object, properties: { amount: { type: integer } } } }
    - { name: ask_db, description: Reads., command: [echo, rows], permission: read,
        check: { sql: "^SELECT ", rows: { maximum: 50 } },
        parameters: { type: object, properties: { sql: { type: string }, rows: { type: integer } }, required: [sql] } }
YAML
chela tools call pay --args '{"amount": 7}'
same "a call that its check passes runs" "paid" "$(cat "$out")"
chela tools call pay --args '{"amount": 13}'
exits "a call that its check refuses" 1
check "a call that its check refuses: what the check said" grep -q 'The check of pay refused this call: 13 needs a signature' "$err"
same "a call that its check refuses does not run" '{"amount":7}' "$(tr -d ' ' <"$space/paid")"
chela tools call ask_db --args '{"sql": "SELECT 1", "rows": 5}'
same "a call that matches its patterns runs" rows "$(cat "$out")"
chela tools call ask_db --args '{"sql": "DROP TABLE users"}'
exits "a call that does not match its patterns" 1
check "a call that does not match its patterns: which" grep -q 'refused this call: .*sql' "$err"
chela tools call ask_db --args '{"sql": "SELECT 1", "rows": 500}'
exits "a call that does not fit the schema of its check" 1
chela config show
check "config show: the check" grep -q 'tools.custom.*check.*SELECT' "$out"
printf 'tools: { custom: [{ name: x, description: X., command: [echo], check: { a: "(" } }] }\n' >"$space/chela.yaml"
chela config check
exits "a check that is no pattern" 2
check "a check that is no pattern: where" grep -q 'chela.yaml:1:[0-9]*:' "$err"
rm -f "$space/chela.yaml"

# Which tools suit a request: the agent's own, or those of a file.
chela tools select "calculate 17 * 23"
exits "tools select" 0
same "tools select: the best first" calculate "$(head -n 1 "$out")"
cat >"$space/tools.json" <<'END'
[{"name": "get_weather", "description": "The weather of a city.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
 {"type": "function", "function": {"name": "play_music", "description": "Play a song."}},
 {"name": "query_train", "description": "查询火车票"}]
END
chela tools select --query "weather in Rome" --k 1 --from tools.json
same "tools select --from: what is listed, and what is deferred" "get_weather||deferred:|  play_music|  query_train" "$(paste -sd '|' "$out")"
chela tools select -k 2 --from tools.json --json 明天的火车票
check "tools select --json" jq -e '.[0].name == "query_train" and .[0].score > 0 and ([.[] | select(.deferred).name] == ["get_weather", "play_music"])' "$out"
printf 'play a song\n"the weather\\nand a song"\nnothing of the kind\n' >"$space/queries"
chela tools select --queries queries --from tools.json
same "tools select --queries: a line each" "play_music|2|" "$(awk -F'\t' 'NR != 2 { print $1 } NR == 2 { print NF }' "$out" | paste -sd '|')"
chela tools select --queries queries --from tools.json --json
same "tools select --queries --json" "1 2 0" "$(jq length "$out" | paste -sd ' ')"
chela tools select
exits "tools select: no request" 2
chela tools select --from nowhere.json x
exits "tools select: no file" 2
echo '{"a": 1}' >"$space/none.json"
chela tools select --from none.json x
exits "tools select: no tools" 2
check "tools select: names the file" grep -q "none.json" "$err"
chela tools select --deny calculate "calculate 3 + 4"
check "tools select: what is denied is neither listed nor deferred" sh -c "! grep -qx ' *calculate' '$out'"

# Every built-in tool can be denied, whatever its flags.
chela tools list --json
mapfile -t names < <(jq -r '.[].name' "$out" | sort -u)
check "there are built-in tools" test "${#names[@]}" -gt 5
chela tools list --deny "$(IFS=,; echo "${names[*]}")" --json
same "each of them can be denied" "" "$(jq -r '.[].name' "$out" | xargs)"
tap_done

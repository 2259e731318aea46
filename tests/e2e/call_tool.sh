#!/usr/bin/env bash
# An agent with more tools than a request describes: the requests describe the same tools in
# every process, and call_tool reaches the others behind the same checks.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

printf '#!/bin/sh\ncat >>sent.log\necho >>sent.log\necho "sent it"\n' >"$space/send"
printf '#!/bin/sh\necho pulled\n' >"$space/lever"
chmod +x "$space/send" "$space/lever"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "send", after: none }, call: { tool: call_tool, args: { name: send, arguments: { to: everybody } } } }
  - { when: { user: "wrong", after: none }, call: { tool: call_tool, args: { name: send, arguments: { towards: 5 } } } }
  - { when: { user: "flat", after: none }, call: { tool: call_tool, args: { name: lever_7, hard: true } } }
  - { when: { user: "astray", after: none }, call: { tool: find_tools, args: { query: lever, limit: 2 } } }
  - { when: { user: "pull", after: none }, call: { tool: call_tool, args: { name: lever_7 } } }
  - { when: { user: "forbidden", after: none }, call: { tool: call_tool, args: { name: lever_8 } } }
  - { when: { user: "find", after: none }, call: { tool: find_tools, args: { names: [lever_7, lever_8] } } }
  - { say: "it said: {{result}}" }
YAML
{
    cat <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents: { list: [{ id: bot, model: scripted/rules.yaml, tools: { deny: [lever_8] } }] }
tools:
  custom:
    - { name: send, description: Sends., command: [./send], effect: once, permission: write, confirm: true,
        parameters: { type: object, properties: { to: { type: string } }, required: [to], additionalProperties: false } }
YAML
    for n in $(seq 60); do
        echo "    - { name: lever_$n, description: Pulls lever $n., command: [./lever], effect: read, permission: read, parameters: { type: object } }"
    done
} >"$space/chela.yaml"

chela run --session one --output jsonl "pull it"
exits "a tool that no request describes" 0
holds "a tool that no request describes: the event names the tool" '[.[] | select(.type == "tool_call" or .type == "tool_result") | .name] == ["lever_7", "lever_7"]'
holds "a tool that no request describes: its result" '.[-1].text == "it said: pulled\n"'
tools() { jq -s '[.[] | select(.type == "model_request").tools] | unique' "$out"; }
first=$(tools)
chela run --session one --output jsonl "find levers"
holds "found tools: the result has the schema" '[.[] | select(.type == "tool_result").content | test("\"name\":\"lever_7\".*\"arguments\":")] == [true]'
holds "found tools: a denied tool is not among them" '[.[] | select(.type == "tool_result").content | test("no tool .{0,2}lever_8")] == [true]'
same "another process describes as many tools" "$first" "$(tools)"
holds "another process: no epoch begins" 'all(.[]; .type != "epoch")'
chela run --session one --output jsonl "forbidden"
holds "a denied tool: refused" '[.[] | select(.type == "tool_result") | .is_error and (.content | test("no tool named"))] == [true]'
chela run --session one --output jsonl "wrong arguments"
holds "arguments that do not fit: the error names the schema's key" '[.[] | select(.type == "tool_result") | .is_error and (.content | test("missing required key .to."))] == [true]'

for words in flat astray; do
    chela run --session one --output jsonl "$words"
    holds "parameters that are not its own ($words): refused" '[.[] | select(.type == "tool_result") | .error_type] == ["invalid_arguments"]'
done

chela run --session two --approve ask "send it"
exits "a call that needs consent" 5
chela sessions show --json two
same "a call that needs consent: the question names the tool" send "$(jq -r '.waiting[0].name' "$out")"
check "a call that needs consent: nothing is sent" test ! -e "$space/sent.log"
chela sessions resume two --allow all --output jsonl
exits "resumed by another process" 0
same "resumed by another process: what was sent" '{"to":"everybody"}' "$(cat "$space/sent.log")"
holds "resumed by another process: the result" '.[-1].text == "it said: sent it\n"'
tap_done

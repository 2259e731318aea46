#!/usr/bin/env bash
# Material as documents print it runs: prompts of roles with their variables, cases with input_vars and
# assertions, plans, replies, tool definitions, a companion's answer, the event of a chat service. The shapes
# are those of tests/material; the pages of ../shared/seeds are read too, where they lie beside the tree.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
pages=(tests/material/*.md)
if [ -d ../shared/seeds ]; then
    pages+=(../shared/seeds/*.md)
else
    echo "# ../shared/seeds is not there: its pages are not read"
fi
python3 tests/support/material.py "${pages[@]}" >"$tmp/material"
of() { jq -c --arg kind "$1" 'select(.kind == $kind)' "$tmp/material"; }
for kind in prompt case tool plan reply call event beat; do
    check "the pages hold: $kind" test -n "$(of $kind)"
done
echo "# not data, or not printed in full: $(of left | jq -r '.why' | sort | uniq -c | sort -rn | sed 's/^ *//' | paste -sd '; ')"

# --- tools: each definition as a tool of one's own, called with arguments that its schema permits
printf '#!/bin/sh\ncat\n' >"$space/echo_arguments"
chmod +x "$space/echo_arguments"
arguments() { # DEFINITION: the required arguments
    jq -c '(.function // .) | (.parameters // .input_schema) | . as $s | reduce (.required // [])[] as $k ({};
        . + {($k): ($s.properties[$k] | if .enum then .enum[0] elif .type == "integer" or .type == "number" then 1 else "x" end)})' <<<"$1"
}
n=0
while read -r item; do
    n=$((n + 1))
    where=$(jq -r .where <<<"$item")
    definition=$(jq -c .definition <<<"$item")
    name=$(jq -r '(.function // .).name' <<<"$definition")
    jq -c '{sandbox: {mode: "off"}, tools: {custom: [(.function // .) | {name, description, parameters: (.parameters // .input_schema),
        command: ["./echo_arguments"], permission: "read", effect: "read"}]}}' <<<"$definition" >"$space/chela.yaml"
    given=$(arguments "$definition")
    chela tools call "$name" --args "$given"
    same "$where: the tool $name is called" "$given" "$(jq -c . "$out")"
    chela tools call "$name" --args "$(jq -c '. + {invented: 7}' <<<"$given")"
    check "$where: $name takes no invented argument" grep -q invented "$err"
    jq -c '[.]' <<<"$definition" >"$space/tools.json"
    chela tools select --query "$name" --from tools.json
    check "$where: the definition of $name is read as printed" grep -qx "$name" "$out"
    jq -c '(.function // .) | (.parameters // .input_schema)' <<<"$definition" >"$space/schema.json"
    chela schema check schema.json
    check "$where: the schema of $name is one" test $status -le 1
done < <(of tool)
rm -f "$space/chela.yaml"

# --- calls and replies
while read -r item; do
    where=$(jq -r .where <<<"$item")
    chela tools call "$(jq -r .name <<<"$item")" --args "$(jq -c .input <<<"$item")"
    check "$where: the call is understood" test $status -le 1
done < <(of call)
while read -r item; do
    jq -c '.body' <<<"$item" >"$space/reply.json"
    chela wire decode --api anthropic reply.json
    exits "$(jq -r .where <<<"$item"): the reply is read" 0
    check "$(jq -r .where <<<"$item"): it holds text or calls" jq -e '.text != "" or (.tool_calls | length) > 0' "$out"
done < <(of reply)

# --- prompts of roles, as printed, in a run
cat >"$space/roles.yaml" <<'YAML'
rules:
  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }
  - { when: { system: "evaluation|overall_pass" }, say: '{"evaluation":{"completeness":{"score":5,"reason":"r"},"correctness":{"score":5,"reason":"r"},"format":{"score":5,"reason":"r"}},"overall_pass":true,"action":"accept","retry_details":{}}' }
  - { when: { user: "overall_pass" }, say: '{"evaluation":{"completeness":{"score":5,"reason":"r"},"correctness":{"score":5,"reason":"r"},"format":{"score":5,"reason":"r"}},"overall_pass":true,"action":"accept","retry_details":{}}' }
  - { when: { user: "tool_call.{1,2}:" }, say: '{"tool_call":{"name":"calculate","arguments":{"expression":"6*7"}},"explanation":"e"}' }
  - { when: { system: "tool_call.{1,2}:" }, say: '{"tool_call":{"name":"calculate","arguments":{"expression":"6*7"}},"explanation":"e"}' }
  - { say: '[{"step_id":1,"tool":"calculate","input":"6*7","depends_on":[]}]' }
YAML
printf 'rules:\n  - { when: { user: "plan was carried out" }, say: "It is {{result.calculate}}." }\n  - { say: %s }\n' \
    "'<scratchpad>hm</scratchpad><action>{\"tool_name\":\"calculate\",\"tool_input\":{\"expression\":\"6*7\"}}</action>'" >"$space/route.yaml"
minor=0
while read -r item; do
    where=$(jq -r .where <<<"$item")
    name=$(jq -r .name <<<"$item")
    minor=$((minor + 1))
    rm -rf "$space/prompts"
    mkdir -p "$space/prompts/$name"
    jq -r .text <<<"$item" >"$space/prompts/$name/v9.$minor.txt"
    printf 'prompts: { dir: ./prompts }\n' >"$space/chela.yaml"
    chela config check
    exits "$where: the prompt $name is a prompt file" 0
    case $name in
        router) chela run --no-session --model scripted/route.yaml --mode route --output json "what is six times seven?" ;;
        planner | executor | reflector) chela run --no-session --model scripted/roles.yaml --mode plan --output json "what is six times seven?" ;;
        *)
            mapfile -t vars < <(grep -oE '\{[a-z_]+\}' "$space/prompts/$name/v9.$minor.txt" | tr -d '{}' | sort -u | sed 's/.*/--var\n&=a value/')
            chela prompt render "$name" "${vars[@]}"
            exits "$where: the module $name is rendered" 0
            continue
            ;;
    esac
    same "$where: a run with the prompt of the $name" "It is 42." "$(jq -r .text "$out")"
done < <(of prompt)

# --- cases, for the newest prompt of the page that has their variables
of case | jq -sc '[.[] | {name: .where, input_vars, assertions, good: ({tool_name: ((.assertions[] | select(.type == "field_in") | .values[0]) // "none")} | tojson)}]' >"$space/cases.json"
rm -rf "$space/prompts"
mkdir -p "$space/prompts/router"
of prompt | jq -r 'select(.name == "router" and (.text | test("\\{user_input\\}"))) | .text' >"$space/prompts/router/v9.0.txt"
chela prompt test router --cases cases.json --dry-run
exits "cases with input_vars and assertions" 0
rm -rf "$space/prompts" "$space/chela.yaml"

# --- plans: the printed steps run in their order, each text as the input of its tool
while read -r item; do
    where=$(jq -r .where <<<"$item")
    steps=$(jq -c .steps <<<"$item")
    jq -c '{sandbox: {mode: "off"}, tools: {custom: [(if type == "array" then . else .plan end) | [.[] | .tool // .tool_name] | unique[] | {name: ., description: "A tool.",
        command: ["./echo_arguments"], permission: "read", effect: "read",
        parameters: {type: "object", properties: {text: {type: "string"}}, required: ["text"]}}]}}' <<<"$steps" >"$space/chela.yaml"
    jq -n --arg plan "$steps" '{rules: [
        {when: {system: "^You are a planner"}, say: $plan},
        {when: {system: "^You judge"}, say: "{\"completeness\":5,\"correctness\":5,\"format\":5}"},
        {when: {user: "plan was carried out"}, say: "Done."}]}' >"$space/plan.yaml"
    chela run --no-session --model scripted/plan.yaml --mode plan --output jsonl "do it"
    same "$where: the plan is carried out" "Done." "$(jq -rs 'last | .text' "$out")"
    same "$where: all its steps run" "$(jq -r 'if type == "array" then length else (.plan | length) end' <<<"$steps")" \
        "$(jq -rs '[.[] | select(.type == "tool_result" and .name != "make_plan" and (.is_error | not))] | length' "$out")"
done < <(of plan)
rm -f "$space/chela.yaml"

# --- a companion's answer, with send_message in the list of allowed tools
while read -r item; do
    jq -c '{rules: [{say: .text}]}' <<<"$item" >"$space/beat.yaml"
    printf 'agents: { defaults: { mode: heartbeat, heartbeat: { protocol: text }, tools: { allow: [send_message] } } }\n' >"$space/chela.yaml"
    chela config check
    same "send_message in an allow list: no complaint" "" "$(grep -i warn "$err")"
    chela run --no-session --model scripted/beat.yaml "hello"
    exits "$(jq -r .where <<<"$item"): the companion's answer" 0
    check "$(jq -r .where <<<"$item"): it is said" test -s "$out"
done < <(of beat)

# --- the event of a chat service; only the token is set
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules: [ { say: "heard" } ]
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels:
  feishu: { appId: $app, domain: "$lark", dmPolicy: open }
YAML
serve
heard=0
while read -r item; do
    push "$(jq -c --arg token "$verification" '.body | .header.token = $token' <<<"$item")"
    heard=$((heard + 1))
    check "$(jq -r .where <<<"$item"): the event is answered" hears $heard
done < <(of event)
check "SIGTERM ends it" stop_serving
kill $server_pid
tap_done

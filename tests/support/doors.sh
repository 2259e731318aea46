# doors.sh -- a gateway whose sessions reach every state, and the cells of doors.py. Source it after lark.sh.
#
#     doors_config DIR CELLS    write the configuration of a gateway
#     doors CELLS               play the cells; a case for each column of each
#     doors table PAGE CELLS... compare the table of the page with the cells
# shellcheck disable=SC2154
doors_config() {
    cat >"$1/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^wait", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "approve", after: none }, call: { tool: t_ask, args: {} } }
  - { when: { user: "^place", after: none }, call: { tool: get_place, args: {} } }
  - { when: { user: "^question", after: none }, call: { tool: ask_user, args: { question: "Which colour?", choices: [red, green] } } }
  - { when: { user: "^later", after: none }, call: { tool: wait_until, args: { seconds: 3600 } } }
  - { when: { user: "^soon", after: none }, call: { tool: wait_until, args: { seconds: 3 } } }
  - { when: { user: "^send (.*)", after: none }, call: { tool: sessions_send, args: { session: "{{1}}", message: "hello there" } } }
  - { say: "answered" }
YAML
    cat >"$1/chela.yaml" <<YAML
store: "sqlite:$space/chela.db"
sandbox: { mode: "off" }
gateway: { mcp: { enabled: true, agent: main } }
wait: { enabled: true }
channels: { feishu: { appId: $app, domain: "$lark", dmPolicy: open, owners: [ou_ann] } }
agents: { list: [{ id: main, model: scripted/rules.yaml, tools: { allow: [t_wait, t_ask, ask_user, wait_until] } },
    { id: writer, model: scripted/rules.yaml, sendTo: ["*"] }] }
tools:
  custom:
    - { name: t_ask, description: Asks., command: [echo, ran], effect: once, permission: write, confirm: true, parameters: { type: object } }
    - { name: t_wait, description: Waits., effect: read, permission: read, parameters: { type: object }, timeoutSec: 300,
        command: [sh, -c, "until [ -e $tmp/go ]; do sleep 0.05; done; echo ended"] }
schedules:
$(grep -v '^#' "$2" | awk '/schedule:message/ { printf "  %s-schedule-message: { when: \"0 9 1 1 *\", prompt: hello there, session: %s-schedule-message }\n", $1, $1 }')
YAML
}

doors() {
    local name want got
    while IFS=$'\t' read -r name want got; do
        same "$name" "$want" "$got"
    done < <(with_env env GATEWAY="$gateway" ${door+DOOR="$door"} TOKEN="$token" TMP="$tmp" SPACE="$space" PROGRAM="$program" LARK_TOKEN="$verification" \
        LARK_APP="$app" ${begin_with+BEGIN="$begin_with"} ${record+RECORD="$record"} python3 -B tests/support/doors.py "$@")
}

#!/usr/bin/env bash
# A conversation in Chinese: whatever chela itself says in the chat is Chinese. Each sender is answered in the
# language of their own words, also by commands, which have no words.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: 部署, after: none }, call: { tool: deploy, args: { to: 生产环境 } } }
  - { when: { user: deploy, after: none }, call: { tool: deploy, args: { to: production } } }
  - { when: { after: deploy }, say: "好" }
  - { when: { user: 出错 }, fail: { status: 500, type: api_error, message: "VENDOR said no" } }
  - { when: { user: 循环 }, call: { tool: calculate, args: { expression: "{{turn}}+1" } } }
  - { say: "好" }
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml, limits: { maxTurns: 3 } }] }
tools:
  custom:
    - { name: deploy, description: Ships., command: [echo, "好"], permission: write, confirm: true, parameters: { type: object } }
channels:
  feishu: { appId: $app, domain: "$lark", dmPolicy: pairing, allowFrom: [ou_ann, ou_bob], owners: [ou_ann] }
YAML
n=0
write() { # SENDER TEXT: a direct message, and an answer
    n=$((n + 1))
    local before
    before=$(texts | wc -l)
    push "$(event "om_$n" "oc_$1" p2p "$2" "ou_$1")"
    for _ in {1..200}; do
        [ "$(texts | wc -l)" -gt "$before" ] && break
        sleep 0.05
    done
    last=$(texts | tail -n +$((before + 1)))
}
card() { # the newest message, whole
    tail -n 1 "$tmp/lark/sent" | sed 's/^[^ ]* //' | jq -r '.content | fromjson | [.. | strings] | join(" ")'
}
chinese() { # NAME PATTERN
    check "$1" grep -q -- "$2" <<<"$last"
}

serve
write ann "你好"
write ann "/help"
chinese "the commands are explained in Chinese" "/new: 开始新的对话"
check "no help in English" test "$(grep -c 'begin a new' <<<"$last")" = 0
write ann "/status"
chinese "the state in Chinese" "状态：空闲"
write ann "/stop"
chinese "nothing to stop" "没有正在进行的工作"
write ann "/model nowhere/x"
chinese "a model that does not exist" "这个模型在这里不能用"
write ann "/approve ap_none"
chinese "a decision about nothing" "没有这个编号"
write ann "/pair 000000"
chinese "a wrong code" "配对没有成功"
write ann "/compact"
chinese "nothing to condense" "压缩"
write bob "hello"
write bob "/status"
check "who writes English is answered in English" grep -q 'now: idle' <<<"$last"
write bob "/model x/y"
check "a refusal of a command in English" grep -q 'Only an owner of this channel may do that' <<<"$last"
write ann "/status"
chinese "and the other still in Chinese" "状态：空闲"
write eve "你是谁？"
chinese "a stranger gets a code in Chinese" "请在一小时内把这个配对码交给管理员"
write ann "请 出错"
chinese "a failure of the model in Chinese" "模型服务出错"
write ann "请 循环"
chinese "a limit in Chinese, with what to do" "继续"
write ann "请 部署"
check "the card is Chinese" grep -q '允许执行这个操作吗？.*下面的操作需要同意：.*允许一次.*始终允许.*拒绝' <<<"$(card | tr '\n' ' ')"
check "the labels of the call are Chinese" grep -q '程序\|目录\|参数' <<<"$(card)"
write bob "please deploy"
check "the card of another is English" grep -q 'May the agent do this?.*Allow once' <<<"$(card | tr '\n' ' ')"
write ann "/new"
chinese "a new conversation in Chinese" "已开始新的对话"
check "no word of a service" test "$(texts | grep -c VENDOR)" = 0
check "SIGTERM ends it" stop_serving
kill $server_pid
tap_done

#!/usr/bin/env bash
# How a run ended is told in every chat service, in the language of the person; the model
# service's own words are told in none.
# shellcheck disable=SC2086,SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/channels/all.sh

services='slack discord dingtalk wecom'
program=$(realpath "$program")
start_services $services
trap 'stop_services; kill -9 "$gateway_pid" 2>/dev/null; rm -rf "$tmp"' EXIT
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: refuse }, say: "I cannot", stop: refusal }
  - { when: { user: boom }, fail: { status: 401, type: authentication_error, message: "bad key VENDOR" } }
  - { when: { user: spin }, say: "One moment.", call: { tool: calculate, args: { expression: "{{turn}}+1" } } }
  - { say: " " }
YAML
{
    echo 'store: sqlite:./chela.db'
    echo 'agents: { list: [{ id: coder, model: scripted/rules.yaml, limits: { maxTurns: 2 } }] }'
    echo 'channels:'
    for name in $services; do channel_yaml "$name"; done
} >"$space/chela.yaml"
serve
hears() { seen_by_people "$1" | grep -q -- "$2"; }
n=0
tells() { # WORDS ANSWER: in each service
    n=$((n + 1))
    for name in $services; do tell "$name" $n "$1" >/dev/null; done
    for name in $services; do
        check "$name: $1" eventually hears "$name" "$2"
    done
}
for name in $services; do
    connected() { [ "$(connections "$name")" -gt 0 ]; }
    eventually connected
done
tells "please refuse" "declined to answer.*send /new"
tells "请 refuse" "/new 开始新的对话"
tells "please boom" "The model service failed.*write again"
tells "请 boom" "模型服务出错.*稍后"
tells "please spin" "more steps than one message may take.*go on"
tells "请 spin" "步数上限.*继续"
tells "nothing" "There was no answer"
tells "没有" "没有得到回答"
check "no service's words in a chat" sh -c "! grep -rhE 'VENDOR|scripted/|model_error|max_turns' '$tmp'/slack '$tmp'/discord '$tmp'/dingtalk '$tmp'/wecom"
check "the log has them" grep -q 'bad key VENDOR' "$serve_log"
check "SIGTERM ends it" stop_serving
stop_services
tap_done

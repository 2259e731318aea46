#!/usr/bin/env bash
# How a run ended is told to the person in one sentence, in their language, in every channel; the
# service's own words are in the log only.
# shellcheck disable=SC2119,SC2086
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
lark_pid=$server_pid
bot='4711:SENTINEL-bot_token'
mkdir -p "$tmp/tg/files"
: >"$tmp/tg/sent"
: >"$tmp/tg/calls"
"$BUILD/tests/support/telegramserver" "$tmp/tg" "$bot" >"$tmp/tg/port" &
server_pid="$lark_pid $!"
until [ -s "$tmp/tg/port" ]; do sleep 0.01; done
telegram=http://127.0.0.1:$(cat "$tmp/tg/port")
eval "lark_$(declare -f with_env)"
with_env() { lark_with_env TELEGRAM_BOT_TOKEN="$bot" "$@"; }

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: refuse }, say: "I cannot", stop: refusal }
  - { when: { user: blocked }, fail: { status: 400, type: invalid_request_error, message: "Output blocked by content filtering policy VENDOR" } }
  - { when: { user: boom }, fail: { status: 401, type: authentication_error, message: "bad key VENDOR" } }
  - { when: { user: spin }, say: "One moment.", call: { tool: calculate, args: { expression: "{{turn}}+1" } } }
  - { when: { user: nothing }, say: " " }
  - { when: { user: "last reply was empty" }, say: " " }
  - { when: { user: cut }, say: "The first half", stop: max_tokens }
  - { say: "heard" }
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml, limits: { maxTurns: 2 } }] }
channels:
  feishu: { appId: $app, domain: "$lark", allowFrom: [ou_ann] }
  telegram: { tokenEnv: TELEGRAM_BOT_TOKEN, domain: "$telegram", allowFrom: ["7"] }
YAML

n=0
on_feishu() { # TEXT
    n=$((n + 1))
    push "$(event "om_$n" oc_ann p2p "$1")"
}
on_telegram() { # TEXT
    n=$((n + 1))
    jq -cn --argjson id "$n" --arg text "$1" '{message: {message_id: $id, date: (now | floor), chat: {id: 7, type: "private"},
        text: $text, from: {id: 7, is_bot: false, first_name: "张伟"}}}' >"$tmp/update"
    curl -sS -m 20 -o /dev/null --data-binary @"$tmp/update" "$telegram/test/update"
}
feishu_said() { texts; }
telegram_said() { sed -n 's/^sendMessage //p' "$tmp/tg/sent" | jq -r .text; }
hears_on() { # CHANNEL PATTERN
    for _ in {1..100}; do
        "$1_said" | grep -q -- "$2" && return
        sleep 0.05
    done
    "$1_said"
    return 1
}
tells_ending() { # NAME WORD ENGLISH CHINESE
    for channel in feishu telegram; do
        "on_$channel" "please $2"
        check "$1, $channel: in English" hears_on $channel "$3"
        "on_$channel" "请 $2 一下"
        check "$1, $channel: in Chinese" hears_on $channel "$4"
    done
}

serve
tells_ending "a refusal" refuse "The model declined.*send /new" "模型拒绝回答.*/new"
check "what the model said is kept" hears_on telegram "I cannot"
tells_ending "a model that fails" boom "The model service failed.*write again" "模型服务出错.*稍后"
tells_ending "a limit" spin "more steps than one message may take.*go on" "步数上限.*继续"
tells_ending "an empty answer" nothing "There was no answer" "没有得到回答"
tells_ending "an answer that is cut" cut "limit of its length" "长度上限"
for channel in feishu telegram; do
    before=$("${channel}_said" | grep -c "The model declined")
    "on_$channel" "please blocked"
    declined_again() { [ "$("${channel}_said" | grep -c "The model declined")" -gt "$before" ]; }
    check "a blocked message, $channel" eventually declined_again
done
check "no service's words in a chat" sh -c "! grep -h VENDOR '$tmp/lark/sent' '$tmp/tg/sent'"
check "no internal names in a chat" sh -c "! grep -hE 'scripted/|model_error|max_turns|maxTurns' '$tmp/lark/sent' '$tmp/tg/sent'"
check "the log names session, run, reason and the service's words" \
    grep -qE 'session feishu:[^ ]+, run run_[0-9a-f]+: model_error: .*bad key VENDOR' "$serve_log"
check "the log: a blocked message" grep -qE 'session telegram:[^ ]+, run run_[0-9a-f]+: refused: .*filtering policy VENDOR' "$serve_log"
check "the log: a limit" grep -qE 'run run_[0-9a-f]+: max_turns_exceeded' "$serve_log"
check "SIGTERM ends it" stop_serving

# --- the language of the configuration
sed -i '1i language: zh' "$space/chela.yaml"
sed -i 's/allowFrom: \["7"\]/&, language: en/' "$space/chela.yaml"
: >"$tmp/lark/sent"
: >"$tmp/tg/sent"
serve
on_feishu "please boom"
on_telegram "请 boom"
check "of the file" hears_on feishu "模型服务出错"
check "of the channel" hears_on telegram "The model service failed"
check "SIGTERM ends it" stop_serving
kill $server_pid

# --- without a gateway
printf 'language: zh\n' >"$space/chela.yaml"
chela run --model scripted/rules.yaml --output jsonl refuse
exits "a refusal, with events" 6
holds "a refusal, with events: the end has the sentence" '.[-1].status == "declined" and (.[-1].ending | test("模型拒绝回答"))'
chela run --model scripted/rules.yaml --output json "hello"
tells "an answer has none" '.ending // "none"' none
tap_done

#!/usr/bin/env bash
# How a run ended is told on every face beside the chats: the terminal, the page, an editor, MCP, the
# protocols of vendors, and by a companion. One sentence, in the person's language; a service's own
# words are in the log.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/acp.sh

program=$(realpath "$program")
start_lark
me='[{"key":"@_user_1","id":{"open_id":"ou_bot"},"name":"Bot"}]'
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: refuse }, say: "I cannot", stop: refusal }
  - { when: { user: boom }, fail: { status: 401, type: authentication_error, message: "bad key VENDOR" } }
  - { when: { user: wrong }, fail: { status: 400, type: invalid_request_error, message: "bad field VENDOR" } }
  - { when: { user: spin }, say: "One moment.", call: { tool: calculate, args: { expression: "{{turn}}+1" } } }
  - { when: { user: nothing }, say: " " }
  - { when: { user: "last reply was empty" }, say: " " }
  - { when: { user: cut }, say: "The first half", stop: max_tokens }
  - { when: { user: "please ask", after: none }, call: { tool: ask_user, args: { question: "Which?" } } }
  - { say: "heard" }
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents:
  list:
    - { id: coder, model: scripted/rules.yaml, limits: { maxTurns: 2 } }
    - { id: crab, mode: heartbeat, model: scripted/rules.yaml, heartbeat: { names: [crab], debounceMs: 20, typing: 0,
        group: { threshold: 0, slope: 1, shareHigh: 1, refractorySec: 0 } } }
channels:
  feishu: { appId: $app, domain: "$lark", agent: crab, dmPolicy: open, groupPolicy: open, requireMention: false, groupSession: chat }
YAML
declare -A english=([refuse]='The model declined' [boom]='The model service failed' [spin]='more steps than one message may take'
    [nothing]='There was no answer' [cut]='limit of its length')
declare -A chinese=([refuse]='模型拒绝回答' [boom]='模型服务出错' [spin]='步数上限' [nothing]='没有得到回答' [cut]='长度上限')

# --- the terminal
rules=$space/rules.yaml
in_locale() { # LOCALE ARGS
    local locale=$1
    shift
    (cd "$space" && with_env LC_ALL="$locale" "$program" "$@" >"$out" 2>"$err")
}
mkdir "$space/plain"
cd "$space/plain" || exit 2
space=$PWD
for word in refuse boom spin nothing cut; do
    in_locale C.UTF-8 run --no-session --max-turns 2 --model "scripted/$rules" "please $word"
    check "run, $word: in English" grep -q "^chela: .*${english[$word]}" "$err"
    same "run, $word: once" 1 "$(grep -c "${english[$word]}" "$err")"
    in_locale C.UTF-8 run --no-session --max-turns 2 --model "scripted/$rules" "请 $word 一下"
    check "run, $word: in the language of the message" grep -q "^chela: .*${chinese[$word]}" "$err"
    in_locale zh_CN.UTF-8 run --no-session --max-turns 2 --model "scripted/$rules" "please $word"
    check "run, $word: in the language of the locale" grep -q "^chela: .*${chinese[$word]}" "$err"
    in_locale de_DE.UTF-8 run --no-session --max-turns 2 --model "scripted/$rules" "请 $word 一下"
    check "run, $word: another locale is English" grep -q "^chela: .*${english[$word]}" "$err"
    echo "please $word" >"$tmp/said"
    in_locale zh_CN.UTF-8 chat --no-session --max-turns 2 --model "scripted/$rules" <"$tmp/said"
    check "chat, $word: in the language of the locale" grep -q "^chela: .*${chinese[$word]}" "$err"
done
in_locale C.UTF-8 run --no-session --max-turns 2 --model "scripted/$rules" "please spin"
check "the option of the limit stays" grep -q -- '--max-turns or limits.maxTurns sets the limit' "$err"
in_locale zh_CN.UTF-8 run --no-session --max-turns 2 --model "scripted/$rules" "please spin"
check "the option of the limit, in Chinese" grep -q -- '^chela: 已停止：max_turns_exceeded，.*上限由 --max-turns 或 limits.maxTurns 设置' "$err"
same "nothing below the sentence is English" 0 "$(grep -c 'stopped:\|sets the limit' "$err")"
in_locale C.UTF-8 run --no-session --model "scripted/$rules" "请 refuse 一下"
check "a refusal, in the language of the message" grep -q '^chela: 已拒绝：' "$err"
in_locale C.UTF-8 run --no-session --model "scripted/$rules" "please refuse"
check "a refusal, in English" grep -q '^chela: refused: ' "$err"
in_locale zh_CN.UTF-8 run --no-session --tools ask_user --model "scripted/$rules" "please ask"
check "a question, in Chinese" grep -q '^chela: 会话 .* 在等待人的回答' "$err"
in_locale C.UTF-8 run --no-session --model "scripted/$rules" "please boom"
check "the terminal has no other log" grep -q 'bad key VENDOR' "$err"
in_locale C.UTF-8 run --no-session --model "scripted/$rules" "hello"
same "an answer needs no sentence" "heard" "$(cat "$out" "$err")"
printf 'language: zh\n' >chela.yaml
in_locale en_US.UTF-8 run --no-session --model "scripted/$rules" "please boom"
check "the configuration comes before the locale" grep -q "${chinese[boom]}" "$err"
rm chela.yaml
in_locale C.UTF-8 run --session told --store sqlite:t.db --max-turns 2 --model "scripted/$rules" "请 spin 一下"
in_locale C.UTF-8 sessions resume told --store sqlite:t.db --model "scripted/$rules"
check "a run that has ended, told again" grep -q "${chinese[spin]}" "$err"
cd "$OLDPWD" || exit 2
space=${space%/plain}

# --- an editor
store=sqlite:$tmp/acp.db
begin
hello
open 2
prompt 3 "please boom"
is "an editor: an error" "$(answer 3 | jq -r .error.message)" "The model service failed, so there is no complete answer. Please write again later."
check "an editor: and a message" told "${english[boom]}"
prompt 4 "请 boom 一下"
answer 4 >/dev/null
check "an editor: in Chinese" told "${chinese[boom]}"
prompt 5 "please refuse"
is "an editor: a refusal" "$(answer 5 | jq -r .result.stopReason)" refusal
check "an editor: a refusal is said" told "${english[refuse]}"
prompt 6 "请 nothing 一下"
is "an editor: an empty answer" "$(answer 6 | jq -r .result.stopReason)" end_turn
check "an editor: an empty answer is said" told "${chinese[nothing]}"
prompt 7 "please cut"
is "an editor: a limit" "$(answer 7 | jq -r .result.stopReason)" max_tokens
check "an editor: a limit is said" told "${english[cut]}"
prompt 8 hi
answer 8 >/dev/null
same "an editor: an answer needs no sentence" heard "$(jq -r 'select(.params.update.sessionUpdate? == "agent_message_chunk").params.update.content.text' "$tmp/lines" | tail -n 1)"
finish
same "an editor: not the service's words" 0 "$(grep -c VENDOR "$tmp/lines")"
check "an editor: these are in the log" grep -q 'model_error: .*bad key VENDOR' "$err"

begin
hello
request 2 session/load "{\"sessionId\":\"$id\",\"cwd\":\"$space\",\"mcpServers\":[]}"
answer 2 >/dev/null
same "an editor that loads the session: each ending once, in its place" \
    "please boom|${english[boom]}|请 boom 一下|${chinese[boom]}|please refuse|${english[refuse]}|请 nothing 一下|${chinese[nothing]}|please cut|The first half|${english[cut]}|hi|heard" \
    "$(jq -r '.params.update | select(.sessionUpdate? == "agent_message_chunk" or .sessionUpdate? == "user_message_chunk").content.text' "$tmp/lines" |
        grep -v '^ *$\|^Your last reply was empty' | sed "s/.*\(${english[boom]}\|${chinese[boom]}\|${english[refuse]}\|${chinese[nothing]}\|${english[cut]}\).*/\1/" | paste -sd '|')"
finish

# --- the protocols of vendors
serve
chat_body() { jq -cn --arg t "$1" --argjson s "${2:-false}" '{model: "coder", stream: $s, messages: [{role: "user", content: $t}]}'; }
for row in "please boom=${english[boom]}" "请 boom 一下=${chinese[boom]}"; do
    words=${row%%=*} said=${row#*=}
    post /v1/chat/completions "$(chat_body "$words")"
    answers "chat completions: $words" 502
    tells "chat completions: $words: type and code" '.error | [.type, .code] | join(" ")' "server_error model_error"
    tells "chat completions: $words: the sentence" ".error.message | test(\"$said\")" true
    post /v1/chat/completions "$(chat_body "$words" true)"
    check "chat completions: $words: in a stream" grep -q "\"message\":\"[^\"]*$said" "$out"
    post /v1/responses "$(jq -cn --arg t "$words" '{model: "coder", input: $t}')"
    check "responses: $words" grep -q "\"message\":\"[^\"]*$said" "$out"
    post /v1/messages "$(chat_body "$words" | jq -c '.max_tokens = 100')"
    tells "messages: $words" '.type + " " + .error.type' "error api_error"
    tells "messages: $words: the sentence" ".error.message | test(\"$said\")" true
    post /api/chat "$(jq -cn --arg t "$words" '{id: "p", agent: "coder", messages: [{id: "m", role: "user", parts: [{type: "text", text: $t}]}]}')"
    check "a page of others: $words" grep -q "\"errorText\":\"[^\"]*$said" "$out"
done
post /v1/chat/completions "$(chat_body "please wrong")"
answers "a request that the service refuses" 400
tells "a request that the service refuses: its class" .error.code invalid_request
tells "a request that the service refuses: the sentence" '.error.message | test("did not accept this request")' true
post /v1/chat/completions "$(chat_body "请 wrong 一下")"
tells "a request that the service refuses: in Chinese" '.error.message | test("没有接受这个请求")' true

# --- the page
for word in boom spin nothing; do
    post "/api/sessions/web:$word/messages" "$(jq -cn --arg t "please $word" '{agent: "coder", text: $t, wait: true}')"
    ended() { call GET "/api/sessions/web:$word/records" && jq -e '.records[] | select(.type == "state") | .data.ending // empty' "$out" >"$tmp/ending"; }
    check "the page, $word: its end is stored" eventually ended
    check "the page, $word: with the sentence" grep -q "${english[$word]}" "$tmp/ending"
done


# --- a companion in a group
texts_of() { texts | grep -c -- "$1"; }
push "$(event om_1 oc_team group 'boom')"
check "a turn of its own that fails: the log has it" eventually grep -q 'session feishu:oc_team, run run_[0-9a-f]*: model_error: .*bad key VENDOR' "$serve_log"
push "$(event om_2 oc_team group '@_user_1 boom' ou_bob "$me")"
mentioned() { [ "$(texts_of "${english[boom]}")" = 1 ]; }
check "who mentions it is told" eventually mentioned
push "$(event om_3 oc_team group '@_user_1 请 boom 一下' ou_bob "$me")"
in_chinese() { [ "$(texts_of "${chinese[boom]}")" = 1 ]; }
check "who mentions it in Chinese is told in Chinese" eventually in_chinese
push "$(event om_4 oc_team group '@_user_1 please refuse' ou_bob "$me")"
refused() { [ "$(texts_of "${english[refuse]}")" = 1 ]; }
check "a refusal is said" eventually refused
push "$(event om_5 oc_limit group '@_user_1 please spin' ou_bob "$me")"
spun() { [ "$(texts_of "${english[spin]}")" = 1 ]; }
check "a limit is said" eventually spun
same "a turn of its own that fails says nothing" 4 "$(texts | wc -l)"
check "SIGTERM ends it" stop_serving
kill "$server_pid"
tap_done

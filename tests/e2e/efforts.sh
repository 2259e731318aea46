#!/usr/bin/env bash
# Every effort of reasoning, said on every face, reaches the service as the nearest value that the model takes; one warning says so.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/acp.sh
. tests/support/terminal.sh
command -v python3 >/dev/null || { skip "efforts" "python3 is not installed"; tap_done; exit; }

python3 tests/support/pickyserver.py "$tmp/seen" >"$tmp/port" &
server_pid=$!
trap 'close_terminal; clean_up' EXIT
for _ in {1..200}; do [ -s "$tmp/port" ] && break; sleep 0.05; done
provider="providers: { picky: { api: openai-responses, baseUrl: \"http://127.0.0.1:$(cat "$tmp/port")/any/v1\", apiKeyEnv: OPENAI_API_KEY } }"
efforts=(off minimal low medium high xhigh max)
# GPT-6.1 Sol takes low to max.
nearest="low low low medium high xhigh max"
sent() { sed -n 's/.*effort=\([a-z]*\).*/\1/p' "$tmp/seen" | paste -sd ' '; }
fresh() {
    : >"$tmp/seen"
    printf 'store: "memory:"\nsandbox: { mode: "off" }\n%s\nagents: { list: [{ id: coder, model: picky/gpt-6.1-sol, tools: { allow: [] }%s }] }\n' "$provider" "${1:+, $1}" >"$space/chela.yaml"
}
reaches() { same "$1" "$nearest" "$(sent)"; }

fresh
warnings=
for e in "${efforts[@]}"; do
    chela run --no-session --config "$space/chela.yaml" --output jsonl --reasoning "$e" hello
    warnings+="$(jq -r 'select(.type == "warning").text' "$out" | grep -c "does not accept the reasoning \"$e\" here: \"low\" is sent") "
done
reaches "the flag"
same "one warning for what the model does not take, none for the rest" "1 1 0 0 0 0 0 " "$warnings"
: >"$tmp/seen"
for e in "${efforts[@]}"; do
    fresh "reasoning: \"$e\""
    cat "$tmp/seen" >>"$tmp/all"
    chela run --no-session --config "$space/chela.yaml" hello
    cat "$tmp/seen" >>"$tmp/all"
done
mv "$tmp/all" "$tmp/copy" && cat "$tmp/copy" >"$tmp/seen"
reaches "the configuration"

# --- a conversation at the terminal
came() { [ "$(grep -c effort= "$tmp/seen")" = "$1" ]; } # that many requests
if command -v tmux >/dev/null; then
    fresh
    n=0
    open_terminal "$program chat --no-session --config chela.yaml"
    sees "the prompt is there" '^>'
    for e in "${efforts[@]}"; do
        types "/reasoning $e"
        press Enter
        sees "/reasoning $e" "^reasoning: $e\$"
        types "hello $e"
        press Enter
        eventually came $((++n))
    done
    reaches "/reasoning in a chat"
    types "/reasoning loud"
    press Enter
    sees "another word" "^chela: /reasoning takes off, minimal, "
    close_terminal
fi

# --- the gateway
fresh
serve
trap 'close_terminal; clean_up' EXIT
hello='"messages":[{"role":"user","content":"hello"}]'
# each NAME PATH BODY: %s is the effort
each() {
    : >"$tmp/seen"
    for e in "${efforts[@]}"; do
        # shellcheck disable=SC2059
        post "$2" "$(printf "{$3}" "$e")"
        [ "$code" = 200 ] || [ "$code" = 202 ] || diag "$1, $e: $code $(cat "$out")"
    done
    reaches "$1"
}
each "Chat Completions" /v1/chat/completions "\"reasoning_effort\":\"%s\",$hello"
each "Chat Completions, as OpenRouter has it" /v1/chat/completions "\"reasoning\":{\"effort\":\"%s\"},$hello"
each "Responses" /v1/responses '"reasoning":{"effort":"%s"},"input":"hello"'
each "Messages" /v1/messages "\"max_tokens\":900,\"output_config\":{\"effort\":\"%s\"},$hello"
each "Messages, from a message on" /v1/messages '"max_tokens":900,"messages":[{"role":"user","content":"hello"},{"role":"system","content":[],"output_config":{"effort":"%s"}}]'
each "a message to a session" /api/sessions/s/messages '"text":"hello","stream":true,"reasoning":"%s"'
: >"$tmp/seen"
for budget in 0 1024 2048 8192 16384 24576 32768; do
    post /v1/messages "{\"model\":\"coder\",\"max_tokens\":40000,\"thinking\":{\"type\":\"$([ $budget = 0 ] && echo disabled || echo enabled)\",\"budget_tokens\":$budget},$hello}"
done
reaches "Messages, a budget of tokens"

# --- an editor
: >"$tmp/seen"
cp "$space/chela.yaml" "$space/editor.yaml"
rm -f "$tmp/in" "$tmp/lines" "$tmp/pid"
mkfifo "$tmp/in"
# shellcheck disable=SC2016
(cd "$space" && with_env sh -c 'echo $$ >"$0"; exec "$@"' "$tmp/pid" "$program" acp --config editor.yaml <"$tmp/in" >"$tmp/lines" 2>"$err") &
shell=$!
exec 7>"$tmp/in"
request 0 initialize '{"protocolVersion":1,"clientCapabilities":{}}'
answer 0 >/dev/null
request 1 session/new "{\"cwd\":\"$space\",\"mcpServers\":[]}"
session=$(answer 1 | jq -r .result.sessionId)
n=1
for e in "${efforts[@]}"; do
    request $((++n)) session/set_config_option "{\"sessionId\":\"$session\",\"configId\":\"reasoning\",\"value\":\"$e\"}"
    answer $n >/dev/null
    request $((++n)) session/prompt "{\"sessionId\":\"$session\",\"prompt\":[{\"type\":\"text\",\"text\":\"hello\"}]}"
    answer $n >/dev/null
done
reaches "an editor"
finish
tap_done

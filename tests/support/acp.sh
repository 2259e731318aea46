# acp.sh -- a minimal editor, in shell, for `chela acp`. Source it after e2e.sh.
# $store: the store of the agent; $space/rules.yaml: its model.
# shellcheck disable=SC2034,SC2154
# begin: start the agent; say LINE: send a message; answer ID: wait for the response to a
# request of this editor; see JQ: wait for a line that the filter selects. Each prints the line.
begin() {
    rm -f "$tmp/in" "$tmp/lines" "$tmp/pid"
    mkfifo "$tmp/in"
    : >"$tmp/lines"
    # shellcheck disable=SC2016
    (cd "${where:-$space}" && with_env sh -c 'echo $$ >"$0"; exec "$@"' "$tmp/pid" "$program" acp \
        --model "scripted/$space/rules.yaml" --store "$store" <"$tmp/in" >"$tmp/lines" 2>"$err") &
    shell=$!
    exec 7>"$tmp/in"
    until [ -s "$tmp/pid" ]; do sleep 0.02; done
    agent=$(cat "$tmp/pid")
}
# stop SIGNAL: end the agent; $ended is its status.
stop() {
    kill "-$1" "$agent"
    wait "$shell" 2>/dev/null
    ended=$?
    exec 7>&-
}
say() { printf '%s\n' "$1" >&7; }
request() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"$2\",\"params\":$3}"; }
# Succeed if the lines are not those of the length $seen; set it. jq starts slowly.
are_new() {
    local text=
    IFS= read -rd '' text <"$tmp/lines"
    [ ${#text} != "$seen" ] && seen=${#text}
}
see() {
    local i line='' seen=0
    for ((i = 0; i < 600; i++)); do
        are_new && line=$(jq -c --unbuffered "select($1)" "$tmp/lines" 2>/dev/null | head -n 1)
        if [ -n "$line" ]; then
            echo "$line"
            return
        fi
        sleep 0.05
    done
    tail -n 3 "$tmp/lines" | sed 's/^/# /' >&2
    return 1
}
# told TEXT: wait until the agent has sent this text.
told() {
    local i seen=0
    for ((i = 0; i < 600; i++)); do
        are_new && jq -rj 'select(.params.update.sessionUpdate? == "agent_message_chunk").params.update.content.text' "$tmp/lines" \
            2>/dev/null | grep -qF "$1" && return
        sleep 0.05
    done
    return 1
}
answer() { see ".id == $1 and (has(\"result\") or has(\"error\"))"; }
finish() {
    exec 7>&-
    wait "$shell"
    ended=$?
}
is() { same "$1" "$3" "$2"; }
has() { case $2 in *"$3"*) ok "$1" ;; *) not_ok "$1" "$2" ;; esac; }
hello() {
    request 1 initialize '{"protocolVersion":1,"clientCapabilities":{"session":{"notices":{}}}}'
    answer 1 >/dev/null
}
open() {
    request "$1" session/new "{\"cwd\":\"${where:-$space}\",\"mcpServers\":[]}"
    id=$(answer "$1" | jq -r .result.sessionId)
}
prompt() { request "$1" session/prompt "{\"sessionId\":\"$id\",\"prompt\":[{\"type\":\"text\",\"text\":\"$2\"}]}"; }
permission() { see ".method == \"session/request_permission\" and .id == $1"; }
decide() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"$2\"}}}"; }
code() { jq -r .error.code; }

# lark.sh -- a fake chat service (larkserver), and its events. Source it after
# serve.sh.
#
#     start_lark                     $lark: its address; its files are in $tmp/lark
#     event MESSAGE CHAT TYPE TEXT [SENDER] [MENTIONS]   an event, as JSON
#     with_half_a_character <EVENT   the event with a text that is no valid Unicode
#     seal JSON                      the same, encrypted
#     push BODY [CURL-FLAG...]       to the gateway, signed if $encrypt_key is set
#     tell EVENT [QUERY]             over the long connection; $code 200: acknowledged
#     hears N                        wait until people have seen N messages
#     texts                          these messages, one per line
#     dies_ten_times SEED HOW [SENDER]   checks that nothing is lost or doubled; HOW: push or tell
# shellcheck disable=SC2034
app=cli_test
app_secret='app-SENTINEL-secret'
verification='token-SENTINEL-verification'
encrypt_key=

start_lark() {
    mkdir -p "$tmp/lark"
    : >"$tmp/lark/sent"
    : >"$tmp/lark/calls"
    "$BUILD/tests/support/larkserver" "$tmp/lark" $app $app_secret >"$tmp/lark/port" &
    server_pid=$!
    until [ -s "$tmp/lark/port" ]; do sleep 0.01; done
    lark=http://127.0.0.1:$(cat "$tmp/lark/port")
    eval "plain_$(declare -f with_env)"
    with_env() {
        plain_with_env FEISHU_APP_SECRET=$app_secret FEISHU_VERIFICATION_TOKEN="$verification" \
            FEISHU_ENCRYPT_KEY="$encrypt_key" "$@"
    }
}

# An event that is not about a message has another form.
event() {
    jq -cn --arg id "$1" --arg chat "$2" --arg type "$3" --arg text "$4" --arg sender "${5:-ou_ann}" \
        --argjson mentions "${6:-[]}" --arg token "$verification" --arg app $app --arg now "$(date +%s%3N)" '
        {schema: "2.0", header: {event_id: ("ev_" + $id), event_type: "im.message.receive_v1", create_time: $now, token: $token,
            app_id: $app, tenant_key: "tk"},
         event: {sender: {sender_id: {open_id: $sender, union_id: "on_x"}, sender_type: "user", tenant_key: "tk"},
            message: {message_id: $id, create_time: $now, chat_id: $chat, chat_type: $type, message_type: "text",
                content: ({text: $text} | tojson), mentions: $mentions}}}'
}

# A program that shortens texts may leave half a character.
with_half_a_character() { sed 's/"chat_type"/"user_agent":"cut \\ud83d",&/'; }

seal() {
    local key iv=000102030405060708090a0b0c0d0e0f
    key=$(printf %s "$encrypt_key" | sha256sum | cut -d' ' -f1)
    { printf '\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17'; printf %s "$1" | openssl enc -aes-256-cbc -K "$key" -iv $iv; } |
        base64 -w 0 | jq -Rc '{encrypt: .}'
}

sign_lark() { # TIME NONCE BODY [KEY]
    printf '%s%s%s%s' "$1" "$2" "${4-$encrypt_key}" "$3" | sha256sum | cut -d' ' -f1
}

push() {
    local body=$1 now
    shift
    now=$(date +%s)
    if [ -n "$encrypt_key" ]; then
        body=$(seal "$body")
        set -- -H "X-Lark-Request-Timestamp: $now" -H 'X-Lark-Request-Nonce: n1' \
            -H "X-Lark-Signature: $(sign_lark "$now" n1 "$body")" "$@"
    fi
    anon POST /channels/feishu/events -H 'Content-Type: application/json' --data-binary "$body" "$@"
}

# The connection may not be open yet: the service also waits for it.
tell() {
    for _ in {1..100}; do
        code=$(curl -sS -m 20 -o "$out" -w '%{http_code}' --data-binary "$1" "$lark/test/push?${2-}" 2>"$tmp/curl")
        [ "$code" = 503 ] || return 0
        sleep 0.1
    done
}

hears() {
    for _ in {1..400}; do
        [ "$(wc -l <"$tmp/lark/sent")" -ge "$1" ] && return
        sleep 0.05
    done
    return 1
}

texts() {
    sed 's/^[^ ]* //' "$tmp/lark/sent" | jq -r '.content | fromjson | if .zh_cn then .zh_cn.content[0][0].text else .text end'
}

said() { # PATTERN
    texts | grep -q -- "$1" || { texts && return 1; }
}

# The service sends an event until it is acknowledged; after each acknowledgement the
# gateway is killed.
dies_ten_times() {
    local i before
    before=$(wc -l <"$tmp/lark/sent")
    RANDOM=$1
    for i in {1..10}; do
        code=0
        for _ in {1..20}; do
            $2 "$(event "om_k$i" "oc_k$((i % 3))" p2p "number $i" "${3:-ou_ann}")"
            if [ "$code" = 200 ]; then break; fi
            serve
        done
        sleep "0.0$((RANDOM % 10))"
        kill -9 "$gateway_pid" 2>/dev/null
        wait "$gateway_pid" 2>/dev/null
        serve
    done
    check "all are answered" hears $((before + 10))
    check "SIGTERM ends it" stop_serving
    serve
    check "SIGTERM ends it again" stop_serving
    same "each once" "$(seq 1 10 | sed 's/^/number /' | sort)" "$(texts | grep -o 'number [0-9]*' | sort)"
}

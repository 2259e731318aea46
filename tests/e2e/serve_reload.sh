#!/usr/bin/env bash
# `chela serve` and SIGHUP: what is wrong changes nothing and is told, another
# token holds at once, and channels come, change and go without losing a message.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
lark_pid=$server_pid
bot='4711:SENTINEL-bot_token'
mkdir "$tmp/tg"
: >"$tmp/tg/sent"
"$BUILD/tests/support/telegramserver" "$tmp/tg" "$bot" >"$tmp/tg/port" &
server_pid="$lark_pid $!"
until [ -s "$tmp/tg/port" ]; do sleep 0.01; done
telegram=http://127.0.0.1:$(cat "$tmp/tg/port")

for side in old new; do
    cat >"$space/$side.yaml" <<YAML
rules:
  - { when: { after: none, user: "wait" }, call: { tool: t_wait, args: {} } }
  - { say: "$side: {{user}}" }
YAML
done
cat >"$space/waiter" <<'SCRIPT'
#!/bin/sh
touch waiting
while [ ! -e go ]; do sleep 0.05; done
echo done
SCRIPT
chmod +x "$space/waiter"
printf %s "$token" >"$space/token"
printf %s "$app_secret" >"$space/app_secret"
printf %s "$verification" >"$space/verification"
printf %s "$bot" >"$space/bot"

feishu="appId: $app, appSecretFile: app_secret, verificationTokenFile: verification, domain: $lark, allowFrom: [ou_ann], owners: [ou_ann]"
poll="tokenFile: bot, domain: $telegram, allowFrom: [\"7\", \"8\"]"
configure() { # MODEL [CHANNEL-LINE...]
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
sandbox: { mode: off }
gateway: { tokenFile: token }
agents: { list: [{ id: coder, model: scripted/$1.yaml }] }
tools:
  custom: [{ name: t_wait, description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }]
YAML
    shift
    if [ $# -gt 0 ]; then
        echo 'channels:' >>"$space/chela.yaml"
        printf '  %s\n' "$@" >>"$space/chela.yaml"
    fi
}
reloads() { grep -cE 'was read again|stays as it was' "$serve_log"; }
# `check` calls it in a process of its own: it may not count in a variable.
reload() {
    local before
    before=$(reloads)
    kill -HUP "$gateway_pid"
    for _ in {1..400}; do
        [ "$(reloads)" -gt "$before" ] && return
        sleep 0.05
    done
    return 1
}
waits() {
    for _ in {1..400}; do [ -e "$space/waiting" ] && return; sleep 0.05; done
    return 1
}
update() { # ID TEXT [FROM]
    jq -cn --argjson id "$1" --arg text "$2" --argjson from "${3:-7}" '
        {message: {message_id: $id, date: (now | floor), chat: {id: $from, type: "private"}, text: $text,
            from: {id: $from, is_bot: false, first_name: "Ann"}}}' >"$tmp/update"
    curl -sS -m 20 -o /dev/null --data-binary @"$tmp/update" "$telegram/test/update"
}
polled() { # N
    for _ in {1..400}; do
        [ "$(wc -l <"$tmp/tg/sent")" -ge "$1" ] && return
        sleep 0.05
    done
    return 1
}
logged() { # PATTERN
    for _ in {1..400}; do
        grep -q -- "$1" "$serve_log" && return
        sleep 0.05
    done
    return 1
}
settings='.status + ": " + (.checks[] | select(.name == "config") | .status)'

# --- what is wrong changes nothing
configure old
serve
post /api/sessions/one/messages '{"text":"hello"}'
echo 'agents: 7' >"$space/chela.yaml"
check "a file that is wrong" reload
check "is refused with its place" grep -q 'stays as it was: .*chela.yaml:1' "$serve_log"
anon GET /readyz
answers "it goes on" 200
tells "and tells that" "$settings" "degraded: failing"
tells "but a stranger no more" '[.checks[].detail // empty] | length' 0
call GET /readyz
check "who may know is told why" grep -q 'chela.yaml:1' "$out"
(cd "$space" && with_env CHELA_TOKEN="$token" "$program" doctor --config /dev/null --url "$gateway" >"$out" 2>"$err" </dev/null)
check "so is the doctor" grep -qE '^warn  gateway  config .*chela.yaml:1' "$out"
configure old 'feishu: { appId: x, appSecretFile: nowhere }'
check "a secret that is not there" reload
check "is named" grep -q 'stays as it was: .*nowhere' "$serve_log"
call GET /v1/models
tells "the last good one holds" '.data[0].id' coder

# --- another token
curl -sN -m 600 -H "Authorization: Bearer $token" "$gateway/api/sessions/one/events" >"$tmp/events" &
follower=$!
for _ in {1..200}; do [ -s "$tmp/events" ] && break; sleep 0.05; done
old_token=$token token=another-SENTINEL-0123456789abcdef
printf %s "$token" >"$space/token"
configure old
check "a good file" reload
anon GET /v1/models -H "Authorization: Bearer $old_token"
answers "the old token is refused" 401
call GET /v1/models
answers "the new one is not" 200
anon GET /readyz
tells "all is well again" "$settings" "ok: ok"
for _ in {1..400}; do kill -0 $follower 2>/dev/null || break; sleep 0.05; done
check "who listens by the old one is hung up on" bash -c "! kill -0 $follower 2>/dev/null"
wait $follower 2>/dev/null

# --- a channel comes
push "$(event om_0 oc_ann p2p 'too early')"
answers "there is no channel yet" 401
configure old "feishu: { $feishu }"
check "a channel is added" reload
push "$(event om_1 oc_ann p2p 'good morning')"
answers "it takes an event" 200
check "and answers" hears 1

# --- its secret changes while a run is under way
push "$(event om_2 oc_ann p2p 'wait for it')"
check "a run begins" waits
before=$verification verification='token-SENTINEL-rotated'
printf %s "$verification" >"$space/verification"
configure new "feishu: { $feishu }"
check "another secret, another model" reload
rotated=$verification verification=$before
push "$(event om_3 oc_ann p2p 'by the old token')"
answers "the old secret is refused" 401
verification=$rotated
push "$(event om_4 oc_bob p2p 'hello' ou_ann)"
answers "the new one is not" 200
check "another chat is answered meanwhile" hears 2
check "by the new model" said 'new: .*hello'
touch "$space/go"
check "the run ends" hears 3
check "with what it began with" said '^old: .*wait for it'
push "$(event om_5 oc_ann p2p 'and now')"
check "the next one in that chat" hears 4
check "has the new model" said 'new: .*and now'

# --- events over the long connection instead, and another channel
configure new "feishu: { $feishu, mode: websocket }" "telegram: { $poll }"
check "another mode" reload
push "$(event om_6 oc_ann p2p 'to the old address')"
answers "callbacks are refused" 401
tell "$(event om_7 oc_ann p2p 'over the line')"
tells "the line takes it" .code 200
check "and it is answered" hears 5
update 1 'good morning'
check "the other channel answers too" polled 1
rm -f "$space/go" "$space/waiting"
update 2 'wait'
check "a run begins there" waits
configure new "feishu: { $feishu }" "telegram: { $poll, owners: [\"7\"] }"
check "both change" reload
update 3 'after the change' 8
check "who writes after it is answered" polled 2
touch "$space/go"
check "so is who wrote before" polled 3
push "$(event om_8 oc_ann p2p 'by callback again')"
answers "callbacks are taken" 200
check "and answered" hears 6

# --- channels go
push "$(event om_w oc_ann p2p '/reasoning high')"
check "a wish" hears 7
rm -f "$space/go" "$space/waiting"
push "$(event om_9 oc_ann p2p 'wait once more')"
check "a run begins" waits
configure new
check "no channel is left" reload
push "$(event om_10 oc_ann p2p 'too late')"
answers "nothing more is taken" 401
touch "$space/go"
check "what was accepted is answered" hears 8
check "then the channel is closed" logged 'channel feishu is closed'
check "so is the other" logged 'channel telegram is closed'
configure new "feishu: { $feishu }"
check "it may come back" reload
push "$(event om_11 oc_ann p2p 'again')"
check "and answers" hears 9
wished() { # by and by: the store is asked
    for i in {1..60}; do
        push "$(event "om_q$i" oc_ann p2p '/reasoning')"
        hears $((9 + i)) || return 1
        texts | tail -n 1 | grep -q '^high' && return
        sleep 0.25
    done
    return 1
}
check "what was wished for in a chat is remembered" wished
signs() { # METHOD PATTERN
    grep -c "^$1 [^ ]*/reactions$2" "$tmp/lark/reactions"
}
taken_back() {
    for _ in {1..400}; do
        [ "$(signs POST ' ')" = "$(signs DELETE /)" ] && return
        sleep 0.05
    done
    return 1
}
check "every sign of work is taken back" taken_back
check "SIGTERM ends it" stop_serving
same "nobody was answered twice" "" "$(grep -o '/messages/[^/]*/reply' "$tmp/lark/sent" | sort | uniq -d)"
check "every message was heard by the one" said 'again$'
same "and by the other, once" "1 1 1" "$(sed 's/^[^ ]* //' "$tmp/tg/sent" | jq -r .text |
    awk '/good morning/ { a++ } /wait/ { b++ } /after the change/ { c++ } END { print a, b, c }')"
check "the log has no secret" bash -c "! grep -qF -e SENTINEL '$serve_log'"
tap_done

#!/usr/bin/env bash
# `chela channels test` and `chela channels list` on every channel, with a gateway and without.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/channels/all.sh

program=$(realpath "$program")
start_services
gateway_pid='' server_pid=''
trap 'kill -9 $gateway_pid 2>/dev/null; stop_services; rm -rf "$tmp"' EXIT
touch "$tmp/slack/echo" "$tmp/discord/echo"
mkdir "$tmp/feishu/scopes"
jq -cn '$ARGS.positional | map({scope_name: ., grant_status: 1})' --args im:message:send_as_bot im:message.p2p_msg:readonly \
    im:message.group_at_msg:readonly >"$tmp/feishu/scopes/all"
printf 'rules:\n  - { say: "heard: {{user}}" }\n' >"$space/rules.yaml"
configure() {
    echo 'store: sqlite:./chela.db'
    echo 'agents: { list: [{ id: coder, model: scripted/rules.yaml }] }'
    echo 'gateway: { listen: "127.0.0.1:1" }'
    echo 'channels:'
    for name in $channel_names; do channel_yaml "$name"; done
}
configure >"$space/chela.yaml"
try() { (cd "$space" && with_env CHELA_TOKEN="${try_token-$token}" "$program" channels "$@" --config chela.yaml >"$out" 2>"$err"); status=$?; }
declare -A chat=([slack]=C1 [discord]=200 [dingtalk]=ann1 [wecom]=ann1 [telegram]=7 [feishu]=oc_1)
line() { grep -qE "^$1 +channel +$2 +$3" "$out"; }

# --- nobody runs
try list
exits "list without a gateway" 0
for name in $channel_names; do check "$name: it knows nothing" grep -qE "^$name +unknown +no running gateway" "$out"; done
for name in $channel_names; do
    try test "$name" --to "${chat[$name]}"
    exits "$name without a gateway" 0
    check "$name: the message is sent" line ok "$name" "sent: .* took the message"
    same "$name: once, to that chat" 1 "$(seen_by_people "$name" | grep -c "^${chat[$name]} Test message of chela: [0-9a-f]*$")"
    case $name in
    slack | discord) check "$name: and came back" line ok "$name" 'heard: the message came back as an event after [0-9]+ ms' ;;
    *) check "$name: what is not proven" line warn "$name" 'not tested: incoming messages; .* does not deliver' ;;
    esac
    check "$name: no secret is shown" bash -c "! grep -q SENTINEL '$out' '$err'"
done
try test slack
exits "without a chat" 0
check "the connection is tested" line ok slack 'connected: the service accepts'
check "and no more" line warn slack 'not tested: sending, because no chat is known'
sed -i 's/dmPolicy: open/dmPolicy: open, owners: [UOWN]/' "$space/chela.yaml"
try test slack
same "an owner is written to" 1 "$(seen_by_people slack | grep -c '^UOWN Test')"
try test pigeon
exits "another channel" 2
check "is not there" grep -q 'channels.pigeon is not configured' "$err"
try test
exits "no name" 2
try test wecom --to gone
exits "a wrong chat" 1
check "is refused" line fail wecom '.* refuses the message: .*'
rm "$tmp/slack/echo"
try test slack --to C1
exits "a service that does not deliver" 1
check "is deaf" line fail slack 'the message did not come back as an event within 10 s'
touch "$tmp/slack/echo"

# --- wrong secrets
slack_token=xoxb-wrong discord_token=d.wrong dingtalk_secret=s-wrong wecom_secret=w-wrong telegram_token=4711:wrong feishu_secret=f-wrong
for name in $channel_names; do
    try test "$name" --to "${chat[$name]}"
    exits "$name: a wrong secret" 1
    check "$name: is named" line fail "$name" '.*'
done
unset slack_token discord_token dingtalk_secret wecom_secret telegram_token feishu_secret

# --- a gateway
serve
try list --url "$gateway"
up() { try list --url "$gateway" && [ "$(grep -c ' ok ' "$out")" = 6 ]; }
check "all are well" eventually up
for name in slack discord dingtalk wecom feishu; do check "$name: a last event" grep -qE "^$name +ok +no problem found; last event 20" "$out"; done
before=$(for name in slack dingtalk wecom; do connections $name; done)
for name in $channel_names; do
    try test "$name" --to "${chat[$name]}" --url "$gateway" --json
    exits "$name: by the gateway" 0
    same "$name: sent" true "$(jq 'any(.[]; .status == "ok" and (.detail | startswith("sent: ")))' "$out")"
done
same "no other connection is made" "$before" "$(for name in slack dingtalk wecom; do connections $name; done)"
try test slack --to C1 --url "$gateway"
check "it comes back" line ok slack 'heard: '
slack_token='' try test slack --to C1 --url "$gateway"
exits "the gateway has the secrets" 0
check "which is said" line ok slack 'not tested here: the secrets, which the running gateway has .SLACK_BOT_TOKEN: not set.'
check "the message is sent" line ok slack 'sent: '
slack_token='' try test slack --to C1
exits "without a gateway" 1
check "the secret is missing" line fail slack 'SLACK_BOT_TOKEN: not set, and no gateway answers at http://127.0.0.1:1'
try_token=another-another-another try list --url "$gateway"
exits "a list with a wrong token" 2
check "is not ok" bash -c "! grep -q ' ok ' '$out' && grep -qE '^slack +unknown +the gateway refuses the token' '$out'"
try_token=another-another-another try test slack --to C1 --url "$gateway"
exits "a wrong token" 1
check "is named" grep -qE "CHELA_TOKEN is not the gateway's" "$out"
post /api/channels/pigeon/test '{"to":"x"}'
same "no such channel" 404 "$code"
post /api/channels/slack/test '{"to":7}'
same "no chat" 400 "$code"
anon POST /api/channels/slack/test -H 'Content-Type: application/json' -d '{"to":"C1"}'
same "no token" 401 "$code"
rm "$tmp/slack/echo"
post /api/channels/slack/test '{"to":"C1"}' -m 1
post /api/channels/slack/test '{"to":"C1"}' -m 1
tell slack 70 "still there"
check "a tester who leaves does no harm" eventually bash -c "curl -sS $at_slack/test/messages | grep -q 'still there'"
touch "$tmp/slack/echo"

# --- trouble of each is told, also afterwards
stop_services
failing() { try list --url "$gateway"; [ "$(grep -c ' warn ' "$out")" = 6 ]; }
check "when the services are gone" eventually failing
call GET /api/channels
same "the console sees it too" 6 "$(jq '[.channels[] | select(.status == "failing" and .error != null)] | length' "$out")"
try test slack --to C1 --url "$gateway"
exits "a test fails" 1
check "it stops" stop_serving
tap_done

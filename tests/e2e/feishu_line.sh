#!/usr/bin/env bash
# `chela serve` as an app in a chat whose events come over a connection that it
# opens itself.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
verification=
cat >"$space/rules.yaml" <<'YAML'
rules: [{ say: "heard: {{user}}" }]
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
channels:
  feishu: { appId: $app, domain: $lark, mode: websocket, allowFrom: [ou_ann], groups: [oc_team] }
YAML

serve
tell "$(event om_1 oc_ann p2p 'good morning')"
answers "an event is acknowledged" 200
tells "as taken" .code 200
check "it is answered" hears 1
check "with what the agent says" said 'heard: .*good morning'
feishu='.status + ": " + (.checks[] | select(.name == "feishu") | .status + (.detail // ""))'
call GET /readyz
tells "the gateway is well, and so is the channel" "$feishu" 'ok: ok'
check "as a reply to it" grep -q '^/open-apis/im/v1/messages/om_1/reply ' "$tmp/lark/sent"
check "a ping has gone out" grep -qx 'ping 0800100018f681801020002a0c0a0474797065120470696e67' "$tmp/lark/line"
check "the time it took is told" grep -q 'ack m1 {"code":200} biz_rt' "$tmp/lark/line"
check "a ping of the socket is answered" grep -qx pong "$tmp/lark/line"
tell "$(event om_1 oc_ann p2p 'good morning')"
tells "the same event again" .code 200
tell "$(event om_2 oc_ann p2p 'in three parts')" parts=3
tells "an event in fragments, the last first" .code 200
check "is read whole" hears 2
check "and understood" said 'heard: .*in three parts'
tell "$(event om_3 oc_eve p2p 'let me in' ou_eve)"
tells "a stranger's need not come again" .code 200
tell "$(event om_4 oc_ann p2p x | jq -c '.header.app_id = "cli_other"')"
tells "nor one for another app" .code 200
tell 'no JSON'
tells "nor one that makes no sense" .code 200
tell "$(event om_5 oc_ann p2p 'half of it')" cut=1
answers "the connection is lost in the middle of an event" 504
tell "$(event om_5 oc_ann p2p 'all of it')"
tells "the service sends it again on the next" .code 200
check "it is answered" hears 3
check "whole" said 'heard: .*all of it'
tell "$(event om_7 oc_ann p2p 'and half a character' | with_half_a_character)"
check "a bad character loses no event" hears 4
anon POST /channels/feishu/events -H 'Content-Type: application/json' -d "$(event om_6 oc_ann p2p 'from outside')"
answers "nothing is taken from callers" 401

# --- the process dies at any moment
dies_ten_times 11 tell
check "the log has no secret" bash -c "! grep -qF -e SENTINEL '$serve_log'"

# --- an app that the service does not know
app_secret=another
serve
for _ in {1..200}; do
    grep -q 'long connection is closed, next attempt' "$serve_log" && break
    sleep 0.05
done
call GET /readyz
tells "it is ready, with less" "$feishu" 'degraded: failingHTTP 200, code 514: app secret invalid'
anon GET /readyz
tells "why is for those who may know" "$feishu" 'degraded: failing'
(cd "$space" && with_env CHELA_TOKEN=$token "$program" doctor --url "$gateway" >"$out" 2>&1)
check "doctor says it, too" grep -qE '^warn  gateway  feishu .*app secret invalid' "$out"
check "what is wrong is said" grep -q 'next attempt in [0-9]* ms: HTTP 200, code 514: app secret invalid' "$serve_log"
check "SIGTERM ends it" stop_serving
tap_done

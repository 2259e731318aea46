#!/usr/bin/env bash
# `chela serve` as an app in a chat: an event comes in, one answer goes out.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules: [{ say: "heard: {{user}}" }]
YAML
configure() { # LINES...
    {
        printf 'store: sqlite:./chela.db\nagents: { list: [{ id: coder, model: scripted/rules.yaml }] }\n'
        printf 'channels:\n  feishu:\n    appId: %s\n    domain: %s\n' $app "$lark"
        printf '    %s\n' "$@"
    } >"$space/chela.yaml"
}

verification='' configure 'dmPolicy: open'
saved=$verification verification=
serve
check "without its token nothing starts" grep -q 'channel feishu: FEISHU_VERIFICATION_TOKEN is not set' "$serve_log"
verification=$saved

configure 'allowFrom: [ou_ann]' 'groups: [oc_team]'
serve
push "$(jq -cn --arg t $verification '{challenge: "c-1", token: $t, type: "url_verification"}')"
tells "a challenge comes back" .challenge c-1
push '{"challenge":"c-1","token":"wrong","type":"url_verification"}'
answers "not with another token" 401

push "$(event om_1 oc_ann p2p 'good morning')"
answers "an event" 200
check "it is answered" hears 1
check "with what the agent says" said 'heard: .*good morning'
check "as a reply to it" grep -q '^/open-apis/im/v1/messages/om_1/reply ' "$tmp/lark/sent"
push "$(event om_1 oc_ann p2p 'good morning')"
answers "again" 200
check "SIGTERM ends it" stop_serving
serve
push "$(event om_1 oc_ann p2p 'good morning')"
answers "after a restart" 200
push "$(event om_2 oc_ann p2p 'and then')"
check "the next one is answered" hears 2
same "and the first was answered once" 2 "$(wc -l <"$tmp/lark/sent")"
check "SIGTERM ends it" stop_serving
check "the log has no secret" bash -c "! grep -qF -e SENTINEL '$serve_log'"
tap_done

#!/usr/bin/env bash
# The first configuration file: found, written, tried, and never written over.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

ANTHROPIC_API_KEY=sk-ant-sentinel chela init --yes --no-test
exits "with a key in the environment" 0
check "it says what it found" grep -q 'model: anthropic/.*ANTHROPIC_API_KEY' "$err"
check "and writes it" grep -q '^    model: anthropic/' "$space/chela.yaml"
check "but not the key" test "$(cat "$out" "$err" "$space/chela.yaml" | grep -c sentinel)" = 0
rm -f "$space/chela.yaml"

chela init --no-test
exits "with nobody to ask" 0
check "the model that was found" grep -q '^    model: ' "$space/chela.yaml"
rm -f "$space/chela.yaml"

chela init --yes --model scripted/demo
exits "init" 0
check "and what comes next" grep -q 'chela run' "$out"
before=$(cat "$space/chela.yaml")
chela config check
exits "what it wrote is right" 0
same "without a warning" "" "$(grep -v ': ok$' "$out")"
chela run "what is 17 * 23"
exits "and works" 0

chela init --yes
exits "a second time" 2
check "it names the file" grep -q 'chela.yaml already exists' "$err"
same "the file is as it was" "$before" "$(cat "$space/chela.yaml")"

chela init --yes --force --model scripted/demo --no-test
exits "with force" 0
check "without a call" test "$(grep -c answers "$err")" = 0

chela init --yes --force --model nobody/model
exits "an unknown provider" 2
same "writes nothing" "$before" "$(cat "$space/chela.yaml")"

chela init --yes --config "$space/none/chela.yaml"
exits "a directory that is not there" 2
rm -f "$space/chela.yaml"

# --- chat services: nothing secret in the file, which is right as it is
for name in slack discord dingtalk wecom telegram feishu; do
    chela init --yes --model scripted/demo --no-test --channel $name
    exits "$name" 0
    check "$name: the steps in its console" grep -qE '^( *|chela: *)1\. ' "$err"
    check "$name: the variable of its secret" grep -qE '^    [a-zA-Z]+Env: [A-Z_]+ #' "$space/chela.yaml"
    chela config check
    exits "$name: what it wrote is right" 0
    same "$name: without a warning" "" "$(grep -v ': ok$' "$out")"
    chela channels list
    check "$name: it is configured" grep -qE "^$name +unknown" "$out"
    rm -f "$space/chela.yaml"
done
chela init --yes --model scripted/demo --no-test --channel pigeon
exits "an unknown service" 2
check "is named" grep -q "there is no channel 'pigeon'" "$err"
check "and nothing is written" test ! -e "$space/chela.yaml"

# --- at a terminal
if command -v tmux >/dev/null; then
    . tests/support/terminal.sh
    program=$(realpath "$program")
    mkdir -p "$tmp/conf/chela/secrets" && echo another >"$tmp/conf/chela/secrets/slack-botToken"
    open_terminal "HOME=$tmp/home XDG_CONFIG_HOME=$tmp/conf $program init --no-test --model scripted/demo"
    shows 'Chat service to connect, of .*"slack"'
    types slack
    press Enter
    shows 'Enter it to keep it in'
    types xoxb-SENTINEL
    press Enter
    shows 'environment variable SLACK_APP_TOKEN'
    press Enter
    shows 'Your own id'
    types U012ABC
    press Enter
    ends "a service chosen at the terminal" 0
    lacks "the secret is not shown" SENTINEL
    same "the secret of another configuration stays" another "$(cat "$tmp/conf/chela/secrets/slack-botToken")"
    same "it is in a file" xoxb-SENTINEL "$(cat "$tmp/conf/chela/secrets/slack-botToken-2")"
    same "of the user" 600 "$(stat -c %a "$tmp/conf/chela/secrets/slack-botToken-2")"
    check "which the configuration names" grep -q "botTokenFile: \"$tmp/conf/chela/secrets/slack-botToken-2\"" "$space/chela.yaml"
    check "the other is left to the environment" grep -q 'appTokenEnv: SLACK_APP_TOKEN' "$space/chela.yaml"
    check "the owner" grep -q 'owners: \["U012ABC"\]' "$space/chela.yaml"
    check "no secret is in the file" bash -c "! grep -q SENTINEL '$space/chela.yaml'"
    chela config check --config chela.yaml
    exits "and it is right" 0
fi
tap_done

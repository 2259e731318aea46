#!/usr/bin/env bash
# `chela doctor`: what it finds, what it advises, and that it shows no key.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

chela doctor
exits "doctor" 0
check "doctor: a line for each layer" grep -qE '^(ok|warn)  +sandbox +landlock' "$out"
check "doctor: the module for https" grep -qE '^ok  +module +tls' "$out"
check "doctor: a key is there" grep -qE '^ok  +key +anthropic +ANTHROPIC_API_KEY is set$' "$out"
check "doctor: the model" grep -qE '^ok  +model +choice +anthropic/' "$out"
check "doctor: a sum" grep -qE '^[0-9]+ checks: [0-9]+ warnings, 0 failures$' "$out"

chela doctor --json
exits "doctor --json" 0
holds "doctor --json: an array of findings" \
    '.[0] | length > 15 and all(has("area") and has("name") and has("detail") and (.status | IN("ok", "warn", "fail")))'
holds "doctor --json: advice goes with trouble" '.[0] | all(.status != "ok" or (has("mend") | not))'
holds "doctor --json: ten layers" '[.[0][] | select(.area == "sandbox")] | length == 10'

chela doctor --sandbox off
check "doctor: the sandbox is off" grep -qE '^warn  sandbox  mode +off' "$out"
echo 'sandbox: { mode: off }' >"$space/chela.yaml"
chela doctor
check "doctor: off by the file" grep -qE '^warn  sandbox  mode +off' "$out"
chela doctor --sandbox auto
check "doctor: the flag comes first" grep -qE 'sandbox +landlock' "$out"
echo 'sandbox: { mode: sometimes }' >"$space/chela.yaml"
chela doctor
exits "doctor: a bad file" 1
check "doctor: a bad file: where" grep -qE '^fail  config +file +chela.yaml:1:18: sandbox.mode' "$out"
echo 'agents: { defaults: { model: nowhere/model } }' >"$space/chela.yaml"
chela doctor
exits "doctor: a model of nobody" 1
echo 'agents: { defaults: { model: mistral/mistral-large } }' >"$space/chela.yaml"
chela doctor
exits "doctor: a model without its key" 1
check "doctor: a model without its key: which" grep -qE '^fail  model +key .*MISTRAL_API_KEY' "$out"
rm "$space/chela.yaml"
chela doctor now
exits "doctor: words" 2

# Without the helper there is no sandbox, and it is said.
mkdir "$tmp/alone" && cp "$BUILD/chela" "$BUILD"/libchela.so* "$BUILD/libchela-tls.so" "$tmp/alone/"
program=$tmp/alone/chela
chela doctor --json
exits "doctor: without chela-sandbox" 0
holds "doctor: without chela-sandbox: a warning, and what helps" \
    '[.[0][] | select(.name == "helper")] | .[0] | .status == "warn" and (.mend | test("chela-sandbox"))'
chela doctor --sandbox required
exits "doctor: required, without chela-sandbox" 1
chela tools call exec --args '{"command": "touch ran"}' --sandbox required
check "exec: required, without chela-sandbox: not run" test ! -e "$space/ran"
chela tools call exec --args '{"command": "touch ran"}'
check "exec: auto, without chela-sandbox: run" test -e "$space/ran"
check "exec: auto, without chela-sandbox: and it is said" grep -q 'not all of the sandbox holds here: helper' "$err"
tap_done

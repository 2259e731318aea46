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
check "it names the file" grep -q 'chela.yaml is there already' "$err"
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
tap_done

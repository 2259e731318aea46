#!/usr/bin/env bash
# The instructions of an agent come from a prompt file: its newest version, a pinned one, or one that is
# rolled out to some sessions and stays with them; history and difference of versions.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
cd "$space" || exit 2

mkdir -p prompts/shop
head() { printf -- '---\nversion: "%s"\nchangelog: %s\nvariables: { shop: name of the shop }\n---\n' "$1" "$2"; }
{ head 1.0 "first version"; printf 'You serve {shop}.\nBe polite.\n'; } >prompts/shop/v1.0.txt
{ head 1.1 "prices in euros"; printf 'You serve {shop}.\nState prices in euros.\n'; } >prompts/shop/v1.1.txt
cat >rules.yaml <<'YAML'
rules:
  - when: { system: "serve Bookworm.*euros" }
    say: new
  - when: { system: "serve Bookworm.*polite" }
    say: old
  - say: neither
YAML
conf() { # PROMPTS [SYSTEM]
    cat >conf.yaml <<YAML
agents: { defaults: { model: scripted/rules.yaml, systemPrompt: ${2:-{ prompt: shop, vars: { shop: Bookworm \} \}} } }
prompts: { dir: ./prompts, $1 }
YAML
}
ask() { chela run --config conf.yaml -q "$@" hello; }

conf ""
ask
same "the newest version gives the instructions, with their values" new "$(cat "$out")"
ask --output jsonl
check "the run names the version" jq -se 'any(.[]; .type == "run_start" and (.prompt | startswith("shop@1.1#")))' "$out"
conf 'pin: { shop: "1.0" }'
ask
same "a pinned version" old "$(cat "$out")"
ask --system "Serve nobody."
same "--system replaces the prompt" neither "$(cat "$out")"
conf 'rollout: { shop: { "1.1": 50 } }'
for i in {1..12}; do ask --store "sqlite:$tmp/s.db" --session "s$i"; cat "$out"; done >first
for i in {1..12}; do ask --store "sqlite:$tmp/s.db" --session "s$i"; cat "$out"; done >second
check "a roll-out reaches some sessions" test "$(sort -u first | tr '\n' ' ')" = "new old "
check "a session keeps its version" cmp first second

# --- what cannot be used
conf "" '{ prompt: shopp, vars: { shop: x } }'
ask
exits "a prompt that does not exist" 2
check "its error names the agent" grep -q 'agent main: systemPrompt' "$err"
conf "" '{ prompt: shop }'
ask
exits "a variable without a value" 2
conf "" '{ prompt: shop, var: { shop: x } }'
ask
exits "an unknown key" 2

# --- versions
chela prompt history shop --dir prompts
check "the history has versions, changes and the one in use" grep -q '1.1 (used)' "$out"
check "in their order" test "$(grep -o '^1\.[01]' "$out" | tr '\n' ' ')" = "1.0 1.1 "
chela prompt history shop --dir prompts --json
check "the history as JSON" jq -e 'length == 2 and .[0].changelog == "first version"' "$out"
chela prompt history nothing --dir prompts
check "the history of a prompt that does not exist" test "$status" != 0
chela prompt diff shop 1.0 1.1 --dir prompts
check "a difference has the lines that changed" grep -qx -- '- Be polite.' "$out"
check "prompt diff shows the lines that were added" grep -qx -- '+ State prices in euros.' "$out"
chela prompt diff shop 1.0 9.9 --dir prompts
check "the difference from a version that does not exist" test "$status" != 0
tap_done

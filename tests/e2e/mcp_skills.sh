#!/usr/bin/env bash
# Skills of an MCP server: accepted by a person, read by the model when needed, and only as they
# were accepted.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

needs "skills of MCP servers" python3
program=$(realpath "$program")
state=$tmp/.local/state/chela/mcp
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "read it", after: none }, call: { tool: s__read_skill, args: { skill: pdf } } }
  - { when: { user: "read forms", after: none }, call: { tool: s__read_skill, args: { skill: pdf, path: references/FORMS.md } } }
  - { when: { user: "read more", after: none }, call: { tool: s__read_skill, args: { skill: pdf, path: ../../secret } } }
  - { when: { user: "read greet", after: none }, call: { tool: s__read_skill, args: { skill: greet } } }
  - { when: { after: s__read_skill }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
configure() { # COMMAND...
    cat >"$space/chela.yaml" <<YAML
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
mcp: { servers: { s: { command: [$*], sandbox: { mode: "off" } } } }
YAML
    rm -rf "$state"
    : >"$tmp/words"
}
run() { # MESSAGE
    chela run --model scripted/rules.yaml "$1"
}
reads() { grep -c 'resources/read' "$state/s/calls.log"; }

for era in legacy modern; do
    configure python3, "$PWD/tests/support/mcp/server.py", $era-skills, "$tmp/words"
    run "read it"
    check "$era: without consent there are no skills" grep -q 'it said: .*s__read_skill' "$out"
    chela mcp skills s
    exits "$era: list" 0
    check "$era: a new skill, and nothing invisible" grep -qx 'pdf (new)  Read and fill PDF files.' "$out"
    same "$era: no file is read for the list" 0 "$(reads)"
    chela mcp skills s --show pdf
    check "$era: a person sees the instructions" grep -qx 'Run references/FORMS.md first.' "$out"
    before=$(reads)
    chela mcp skills s --accept
    check "$era: accepted" grep -qx 'pdf  Read and fill PDF files.' "$out"
    same "$era: no file is read for that" "$before" "$(reads)"
    run "read it"
    exits "$era: read" 0
    check "$era: the model reads the skill without a further question" grep -q 'Run references/FORMS.md first' "$out"
    run "read forms"
    check "$era: and its other files" grep -q 'it said: All forms are blue' "$out"
    before=$(reads)
    run "read more"
    check "$era: no file that is not listed" grep -q 'no such file' "$out"
    same "$era: and the server is not asked for one" "$before" "$(reads)"

    for kind in evil longer; do
        echo $kind >"$tmp/words"
        run "read it"
        exits "$era, $kind" 0
        check "$era, $kind: a file that differs is not used" grep -qE 'it said: .*another (digest|size)' "$out"
        same "$era, $kind: nothing of it reaches the model" 0 "$(grep -cE 'twice|More' "$out")"
        chela mcp skills s --show pdf
        exits "$era, $kind: nor a person" 1
    done
    echo changed >"$tmp/words"
    chela mcp skills s
    check "$era: a changed list is shown" grep -q '^pdf (changed)' "$out"
    : >"$tmp/words"
    run "read it"
    check "$era: what was accepted stays accepted" grep -q 'Run references/FORMS.md first' "$out"
    echo odd >"$tmp/words"
    chela mcp skills s --json
    same "$era: invalid entries are left out" 1 "$(jq length "$out")"
    echo endless >"$tmp/words"
    chela mcp skills s
    exits "$era: an endless list" 1
    check "$era: an endless list ends" grep -q 'too long' "$err"
done

# --- another program under the same name: nothing is accepted
configure python3, "$PWD/tests/support/mcp/server.py", modern-skills, "$tmp/words"
chela mcp skills s --accept
sed -i 's/modern-skills/modern-skills-other/' "$space/chela.yaml"
run "read it"
check "another command under the name: its skills are not accepted" grep -q 'it said: .*s__read_skill' "$out"

# --- a server without skills
configure python3, "$PWD/tests/support/mcp/server.py", modern
chela mcp skills s
exits "a server without skills" 1
check "a server without skills: told in a line" grep -q 'error -32601' "$err"

# --- chela as the server
mkdir -p "$tmp/served/skills/greet"
cat >"$tmp/served/skills/greet/SKILL.md" <<'MD'
---
name: greet
description: Greet people
version: 1.5
metadata: { tags: [a, b], deep: { yes: true } }
---
Say hello in Latin.
MD
cat >"$tmp/served/chela.yaml" <<YAML
agents: { list: [{ id: host, model: scripted/x.yaml, workspaceDir: $tmp/served }] }
YAML
echo 'rules: [{ say: hi }]' >"$tmp/served/x.yaml"
configure "$program", mcp, serve, --config, "$tmp/served/chela.yaml"
chela mcp skills s --accept
check "chela as the server: accepted" grep -qx 'greet  Greet people' "$out"
run "read greet"
check "chela as the server: read and verified" grep -q 'Say hello in Latin' "$out"
tap_done

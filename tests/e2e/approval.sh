#!/usr/bin/env bash
# Calls that need consent: nobody there, a person at a terminal, rules; and
# which tools an agent may see at all. The terminal is a real one (script(1)):
# its answers are typed once the question is on the screen.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

cat >"$space/deploy" <<'SCRIPT'
#!/bin/sh
cat >>deployed
echo "deployed it"
SCRIPT
chmod +x "$space/deploy"
configure() {
    {
        cat <<'YAML'
tools:
  custom:
    - { name: deploy, description: Ships it., command: [./deploy], permission: write, confirm: true,
        parameters: { type: object } }
YAML
        cat
    } >"$space/chela.yaml"
    rm -f "$space/deployed"
}
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none }, call: { tool: deploy, args: { to: prod } } }
  - { when: { user: twice, turn: 2 }, call: { tool: deploy, args: { to: prod } } }
  - { say: "it said: {{result}}" }
YAML
ask() {
    chela run --model scripted/rules.yaml "$@"
}
made() {
    if [ -e "$space/deployed" ]; then echo yes; else echo no; fi
}

# --- nobody there
configure </dev/null
ask --output jsonl "go on"
exits "no terminal" 0
events_are_well_formed "no terminal"
same "no terminal: the call was not made" no "$(made)"
holds "no terminal: the model is told" \
    '[.[] | select(.type == "tool_result")] | length == 1 and .[0].error_type == "permission_denied" and (.[0].content | test("nobody can be asked"))'
holds "no terminal: nobody is asked" '[.[] | select(.type == "approval_required")] == []'

ask --approve ask --output jsonl "go on"
exits "--approve ask, no terminal" 5
same "--approve ask, no terminal: the call was not made" no "$(made)"
holds "--approve ask, no terminal: the run pauses" \
    '.[-1] | .type == "run_end" and .status == "paused" and .reason == "approval_required"'
holds "--approve ask, no terminal: it says what for" \
    '[.[] | select(.type == "approval_required")] | length == 1 and (.[0] | .name == "deploy" and .arguments == {to: "prod"} and .can_remember and (.approval_id | test("^ap_[0-9a-f]{24}$")) and (.summary | test("deploy: .*\n  program: .*/deploy\n  directory: ")))'
check "--approve ask, no terminal: the session is named" grep -q 'session s_[0-9a-f]* waits for approval' "$err"

ask --approve auto "go on"
exits "--approve auto" 0
same "--approve auto: the call was made" yes "$(made)"
ask --approve maybe "go on"
exits "--approve maybe" 2

# --- rules of the file
configure <<<'approvals: { deploy: auto }'
ask "go on"
same "approvals: deploy: auto" yes "$(made)"
configure <<<'approvals: { deploy: deny }'
ask --approve auto "go on"
same "approvals: deploy: deny" no "$(made)"
configure <<<'approvals: { allow: [ { deploy: to=prod } ] }'
ask "go on"
same "approvals: a rule that fits" yes "$(made)"
configure <<<'approvals: { allow: [ { deploy: to=test } ] }'
ask "go on"
same "approvals: a rule that does not" no "$(made)"
configure <<<'approvals: { allow: [ "exec: git log **", { deploy: to=test } ] }'
chela config show
check "config show: what a rule vouches for" grep -q '^  vouches for /.*/git with these arguments, then any that are no options; it reads the' "$out"
check "config show: the rule" grep -q '^exec: git log \*\*$' "$out"
chela config show --json
holds "config show: as JSON" '.[0] | map(select(.vouchesFor)) | length == 2 and (.[0].rule == "exec: git log **")'
configure <<<'approvals: { allow: [] }'
ask "go on"
same "approvals: an empty list of rules vouches for nothing" no "$(made)"
configure <<<'approvals: { allow: [ "exec: sh -c *" ] }'
ask "go on"
exits "approvals: a rule for a shell" 2
check "approvals: its place" grep -q 'chela.yaml:5:23: approvals: rule .* runs others' "$err"
configure <<<'approvals: { exec: sometimes }'
chela config check
exits "approvals: a word that is none" 2

# --- what may be seen
configure <<<'agents: { defaults: { tools: { permission: read } } }'
ask --approve auto --output jsonl "go on"
same "permission: read hides the tool" no "$(made)"
holds "permission: read: it is as if there were none" \
    '[.[] | select(.type == "tool_result")] | .[0].error_type == "not_found" and (.[0].content | test("There is no tool named"))'
chela tools list
check "permission: read: tools list has read" grep -qw '^read' "$out"
check "permission: read: tools list lacks write" sh -c "! grep -qw '^write' '$out'"
configure <<<'agents: { defaults: { tools: { allow: ["group:files", deploy], deny: [deploy] } } }'
chela config check
exits "allowed and denied" 0
check "allowed and denied: a warning" grep -q 'tools.allow: deploy is in tools.deny as well, which wins' "$err"
chela tools list --tools deploy
check "--tools names what is denied: a warning" grep -q 'tools asks for deploy, but it is denied' "$err"
check "--tools names what is denied: denied" sh -c "! grep -qw deploy '$out'"
chela tools list --tools group:nothing
exits "--tools of a group that is none" 2
chela tools list --tools group:files --deny 'e*'
check "--tools group:files has read" grep -qw '^read' "$out"
check "--tools group:files lacks calculate" sh -c "! grep -qw '^calculate' '$out'"
check "--deny lacks edit" sh -c "! grep -qw '^edit' '$out'"
chela tools list --tools raed
exits "--tools misspelt" 2
check "--tools misspelt: the nearest" grep -q "did you mean 'read'" "$err"

# --- a person at a terminal
# person ANSWER... -- FLAG...: run on a terminal; each answer is typed when the
# next question has come. What the screen showed is in $screen.
screen=$tmp/screen
person() {
    local answers=() answer seen=0 pid
    while [ "$1" != -- ]; do answers+=("$1") && shift; done
    shift
    mkfifo "$tmp/keys"
    : >"$screen"
    rm -f "$tmp/typed"
    [ -n "${ahead-}" ] || touch "$tmp/typed"
    (cd "$space" && with_env TERM=xterm timeout -k 5 "$seconds" script -qefc \
        "until [ -e $tmp/typed ]; do sleep 0.02; done; exec $(printf '%q ' "$program" run --model scripted/rules.yaml "$@")" /dev/null <"$tmp/keys" >"$screen") &
    pid=$!
    exec 9>"$tmp/keys"
    if [ -n "${ahead-}" ]; then # the program starts when the terminal has it
        printf '%s\r' "$ahead" >&9
        for _ in {1..200}; do
            grep -q "$ahead" "$screen" && break
            sleep 0.05
        done
        touch "$tmp/typed"
    fi
    for answer in "${answers[@]}"; do
        seen=$((seen + 1))
        for _ in {1..200}; do
            [ "$(grep -o 'Allow?' "$screen" | wc -l)" -ge $seen ] && break
            sleep 0.05
        done
        [ -z "${between-}" ] || eval "$between"
        printf '%b' "$answer" >&9
    done
    wait $pid
    status=$?
    exec 9>&-
    rm -f "$tmp/keys"
    cp "$screen" "$out"
    : >"$err"
}

configure </dev/null
person 'o\r' -- "go on"
exits "once" 0
same "once: the call was made" yes "$(made)"
check "once: the arguments are shown" grep -q 'deploy: {"to":"prod"}' "$screen"
check "once: and the program" grep -q "program: .*/deploy" "$screen"
check "once: the answer follows" grep -q 'it said: deployed it' "$screen"

configure </dev/null
person 'n not on a Friday\r' -- "go on"
exits "no" 0
same "no: the call was not made" no "$(made)"
check "no: the model is told why" grep -q 'it said: .*not on a Friday' "$screen"

configure </dev/null
person 'maybe\r' '\r' 'yes please\r' 'y\r' -- "go on"
exits "asked until it is clear" 0
same "asked until it is clear: four times" 4 "$(grep -o 'Allow?' "$screen" | wc -l)"
same "asked until it is clear: the call was made" yes "$(made)"

configure </dev/null
person 'o\r' 'o\r' -- twice
same "once is once" 2 "$(grep -o 'Allow?' "$screen" | wc -l)"
configure </dev/null
person 'a\r' -- twice
exits "always" 0
same "always: asked once" 1 "$(grep -o 'Allow?' "$screen" | wc -l)"
same "always: made twice" 2 "$(grep -o to "$space/deployed" | wc -l)"

# What is shown is what runs: not what is put in its place meanwhile.
configure </dev/null
between='printf "#!/bin/sh\ntouch deployed\n" >"$space/evil"; chmod +x "$space/evil"; mv "$space/evil" "$space/deploy"'
cp "$space/deploy" "$tmp/deploy"
between=$between person 'o\r' -- "go on"
between=
exits "swapped while asked" 0
same "swapped while asked: not run" no "$(made)"
check "swapped while asked: the model is told" grep -q 'changed after it was agreed to' "$screen"
cp "$tmp/deploy" "$space/deploy"

# What was typed before the question is no answer to it.
configure </dev/null
ahead=o person 'n\r' -- "go on"
same "type-ahead does not count" no "$(made)"

configure </dev/null
person '\x04' -- "go on"
exits "end of input" 0
same "end of input is a no" no "$(made)"

configure </dev/null
person '\x03' -- "go on"
exits "Ctrl-C" 4
same "Ctrl-C: the call was not made" no "$(made)"

configure </dev/null
person -- --approve deny "go on"
exits "--approve deny on a terminal" 0
same "--approve deny on a terminal: the call was not made" no "$(made)"

# Escape sequences do not reach the screen, neither do invisible characters.
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none }, call: { tool: deploy, args: { to: "\e[2K\e[1A\u202Edorp" } } }
  - { say: done }
YAML
configure </dev/null
person 'n\r' -- "go on"
check "escape sequences are named" grep -q 'u001b\[2K.*<U+202E>dorp' "$screen"
check "and not sent" sh -c "! grep -q \"\$(printf '\\033\\[1A')\" '$screen'"
tap_done

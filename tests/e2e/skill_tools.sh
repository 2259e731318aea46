#!/usr/bin/env bash
# allowed-tools of skills: what an active skill of a trusted directory may run without a question,
# and what stays as it was.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

skill() { # NAME TOOLS
    mkdir -p "$space/.claude/skills/$1"
    printf -- '---\nname: %s\ndescription: Work with %s\nallowed-tools: %s\n---\nDo it.\n' "$1" "$1" "$2" \
        >"$space/.claude/skills/$1/SKILL.md"
}
cat >"$space/rules.yaml" <<'YAML'
rules:
  - when: { user: '^load', turn: 1 }
    call: { tool: read, args: { path: .claude/skills/commit/SKILL.md } }
  - when: { user: 'run: (.+)', turn: 1 }
    call: { tool: exec, args: { command: '{{1}}' } }
  - when: { user: 'run: (.+)', turn: 2, after: read }
    call: { tool: exec, args: { command: '{{1}}' } }
  - when: { user: 'note: ([^\n]+)', turn: 2, after: read }
    call: { tool: write, args: { path: '{{1}}', content: x } }
  - say: "it said: {{result}}"
YAML
ask() {
    chela run --model scripted/rules.yaml --approve ask --output jsonl "$@"
}
ran() { # NAME: the last call ran unasked
    exits "$1" 0
    holds "$1: nobody was asked" '([.[] | select(.type == "approval_required")] == []) and ([.[] | select(.type == "tool_result")][-1].is_error | not)'
}
asked() { # NAME
    exits "$1" 5
    holds "$1: somebody is asked" '[.[] | select(.type == "approval_required")] | length == 1'
}
(cd "$space" && git init -q . && git config user.email t@example.invalid && git config user.name t && git add rules.yaml && git commit -qm one)
skill commit 'Bash(git:*), Read, Bash(touch made)'

# --- a directory that nobody trusts
ask "load, then run: git log -1 --format=%s"
asked "not trusted"
holds "not trusted: a line says so" '[.[] | select(.type == "warning") | .message // .text] | map(select(test("skill commit: its allowed-tools .Bash.git:.*. are ignored"))) | length == 1'
chela skills list
check "skills list: ignored" grep -q '^allowed-tools: ./.claude/skills/commit/SKILL.md: Bash(git:\*) Read Bash(touch made) (ignored: the directory is not trusted' "$out"

# --- trust
chela trust
exits "trust of a directory without chela.yaml" 0
check "trust: the tools are shown" grep -q '^  permission  ./.claude/skills/commit/SKILL.md allowed-tools: Bash(git:\*) Read Bash(touch made)$' "$out"
chela skills list
check "skills list: they count" grep -q '^allowed-tools: ./.claude/skills/commit/SKILL.md: Bash(git:\*) Read Bash(touch made)$' "$out"
ask "run: git log -1 --format=%s"
asked "before the skill is active"
ask "load, then run: git log -1 --format=%s"
ran "with the skill"
holds "with the skill: the result" '[.[] | select(.type == "tool_result")][-1].content | test("one")'
holds "with the skill: no line" '[.[] | select(.type == "warning")] == []'
ask "load, then run: touch made"
ran "an exact command"
check "an exact command: it ran" test -e "$space/made"
ask "load, then run: touch other"
asked "another argument than the exact one"
ask "load, then run: git status; touch evil"
asked "two commands"
ask "load, then run: gitk"
asked "another program that begins so"
check "none of them ran" test ! -e "$space/evil" -a ! -e "$space/other"
git init -q --bare "$space/other.git" # a repository may contain another one, with its hooks
printf '#!/bin/sh\ntouch %q\n' "$tmp/canary" >"$space/other.git/hooks/pre-receive"
chmod +x "$space/other.git/hooks/pre-receive"
git -C "$space" push -q ./other.git HEAD:refs/heads/one
check "without chela: the hook runs" test -e "$tmp/canary"
rm "$tmp/canary"
while IFS= read -r line; do # what Git runs or writes elsewhere, where commands run without a sandbox
    ask --sandbox off "load, then run: ${line//CANARY/$tmp/canary}"
    check "without a sandbox: $line" test ! -e "$tmp/canary"
    rm -rf "$tmp/canary"
done <<'GIT'
git -c alias.x='!touch CANARY' x
git rebase --root --exec 'touch CANARY'
git rebase --root --exe='touch CANARY'
git rebase --root -x 'touch CANARY'
git submodule foreach --recursive 'touch CANARY'
git filter-branch -f --tree-filter 'touch CANARY'
git difftool -y -x 'touch CANARY;' HEAD
git log --output=CANARY
git log --outpu=CANARY
git show --output CANARY
git archive -o CANARY HEAD
git archive -oCANARY HEAD
git config --file CANARY a.b c
git init CANARY
git clone . CANARY
git worktree add CANARY
git -C .. init CANARY
git --no-pager init CANARY
git format-patch -1 -o CANARY
git archive -vo CANARY HEAD
git archive -voCANARY HEAD
git init-db CANARY
git shortlog --output=CANARY HEAD
git diff-tree --output=CANARY HEAD
git whatchanged --output=CANARY
git bundle create CANARY HEAD
git fast-export --export-marks=CANARY HEAD
git checkout-index --prefix=CANARY/ -a
git read-tree --index-output=CANARY HEAD
git rebase --root -fx 'touch CANARY'
git push ./other.git HEAD:refs/heads/two
GIT
git -C "$space" clone -q . "$space/sub" # a submodule, whose configuration is not that of the repository
git -C "$space" add sub 2>/dev/null
git -C "$space/sub" config filter.x.clean "touch '$tmp/canary'; cat"
echo '* filter=x' >"$space/sub/.git/info/attributes"
touch -d "1 hour ago" "$space/sub/rules.yaml"
git -C "$space" status --short >/dev/null
check "without chela: the filter of the submodule runs" test -e "$tmp/canary"
rm "$tmp/canary"; touch "$space/sub/rules.yaml"
ask --sandbox off "load, then run: git status --short"
check "without a sandbox: a submodule that names a program" test ! -e "$tmp/canary"
git -C "$space" rm -qf --cached sub; rm -rf "$space/sub" "$space/other.git"
chela run --model scripted/rules.yaml --output jsonl "load, then run: git log -1 --format=%s"
ran "where nobody can be asked"
ask "/skill commit run: git log -1 --format=%s"
ran "a skill that a person called"

# --- it lasts as long as the session
ask --session lasting "load, then stop"
exits "a session loads the skill" 0
ask --session lasting "run: git log -1 --format=%s"
ran "the next run of the session, in another process"
ask --session other "run: git log -1 --format=%s"
asked "another session"
chela sessions export lasting
sed 's/"key":"lasting"/"key":"imported"/' "$out" >"$tmp/imported.jsonl"
chela sessions import "$tmp/imported.jsonl"
ask --session imported "run: git log -1 --format=%s"
asked "a session that was imported"
ask --session paused "load, then run: touch other"
asked "a run that waits"
id=$(jq -r 'select(.type == "approval_required").approval_id' "$out")
chela sessions resume paused --model scripted/rules.yaml --allow "$id"
exits "a run that waits: resumed" 0
ask --session paused "run: git log -1 --format=%s"
ran "after the resumed run"

# --- it never widens what the operator decided
echo 'approvals: { exec: deny }' >"$space/chela.yaml"
ask "load, then run: git log -1 --format=%s"
holds "a tool that is denied" '[.[] | select(.type == "tool_result")][-1] | .error_type == "permission_denied"'
rm "$space/chela.yaml"
ask --deny exec "load, then run: git log -1 --format=%s"
holds "a tool that is not offered" '[.[] | select(.type == "tool_result")][-1] | .is_error'

# --- names
skill commit 'Write Edit Grep Glob LS WebFetch Frobnicate Bash(a|b) Bash() mcp__x__y todo'
ask "load, then run: git log -1 --format=%s"
asked "a changed list ends the trust"
chela trust
chela skills list
check "unknown names" grep -q '^warning: ./.claude/skills/commit/SKILL.md: allowed-tools name unknown tools: Frobnicate, Bash(a|b), Bash(), mcp__x__y$' "$out"
ask "load, then note: AGENTS.md"
asked "a file that later runs obey"
echo 'approvals: { write: ask }' >"$space/chela.yaml"
ask "load, then note: plain.txt"
ran "a tool that is asked about here"
holds "unknown names: a line in the run" '[.[] | select(.type == "warning") | .message // .text] | map(select(test("skill commit: its allowed-tools name unknown tools: Frobnicate"))) | length == 1'
rm "$space/chela.yaml"

# --- a skill of the user counts in a trusted directory alone
rm -r "$space/.claude"
chela trust --remove
exits "--remove" 0
mkdir -p "$tmp/.claude/skills/mine"
printf -- '---\nname: mine\ndescription: Mine\nallowed-tools:\n  - Bash(git log:*)\n---\nDo it.\n' >"$tmp/.claude/skills/mine/SKILL.md"
ask "/skill mine run: git log -1 --format=%s"
asked "a skill of the user elsewhere"
chela trust
exits "trust for the skills of the user" 0
ask "/skill mine run: git log -1 --format=%s"
ran "a skill of the user"
ask "/skill mine run: git status"
asked "a skill of the user: another command"

tap_done

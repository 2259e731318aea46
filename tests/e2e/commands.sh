#!/usr/bin/env bash
# Commands: files whose text a person sends by /NAME words, of the project and of the user.
# shellcheck disable=SC2016
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

cat >"$space/rules.yaml" <<'YAML'
rules: [ { say: "got: {{user}}" } ]
YAML
command() { # PATH; stdin is the text
    mkdir -p "$(dirname "$1")"
    cat >"$1"
}
command "$space/.claude/commands/fix.md" <<'MD'
---
description: Fix an issue
argument-hint: [number]
allowed-tools: Bash(git:*)
---
Fix issue $1 in $2. All words: $ARGUMENTS
MD
command "$space/.agents/commands/git/sync.md" <<<'Bring the branch up to date.'
command "$space/.chela/commands/fix.md" <<<'ours: $ARGUMENTS'
command "$tmp/.claude/commands/mine.md" <<<'The user wants $ARGUMENTS'
command "$tmp/.config/chela/commands/loop.md" <<<'/loop /mine again'
command "$space/.claude/commands/notes.txt" <<<'not a command'
ln -s /etc/passwd "$space/.claude/commands/passwd.md"
ask() {
    chela run --model scripted/rules.yaml "$@"
}

ask "/mine a pony"
tells_text() { same "$1" "$2" "$(cat "$out")"; }
tells_text "a command of the user is sent with its words" "got: The user wants a pony"
ask "/fix 7 src"
tells_text "chela's own folder comes before those of other programs" "got: ours: 7 src"
rm "$space/.chela/commands/fix.md"
ask "/fix 7 src"
tells_text "words have numbers" "got: Fix issue 7 in src. All words: 7 src"
ask "/git:sync"
tells_text "a folder is the first part of the name" "got: Bring the branch up to date."
ask "/git:sync now"
tells_text "words without a place follow" "got: Bring the branch up to date.

now"
ask "/loop"
tells_text "a command in a command is text" "got: /loop /mine again"
ask "/etc/hosts is a file"
tells_text "another text with a slash is sent as it is" "got: /etc/hosts is a file"
ask "/passwd"
tells_text "a link is no command" "got: /passwd"
chela skills list --json
holds "commands are listed as such" '.[0] | map(select(.command)) | map(.name) | sort == ["fix", "git:sync", "loop", "mine"]'
holds "the model is not told about commands" '.[0] | map(select(.command and .told)) == []'
ask --output stream-json "hi"
holds "stream-json lists them as slash_commands, not as skills" '.[0] | (.slash_commands | index("fix")) and (.skills | index("fix") | not)'
mkdir -p "$space/skills/fix"
printf -- '---\nname: fix\ndescription: A skill\n---\nbody' >"$space/skills/fix/SKILL.md"
ask "/fix it"
check "a skill comes before a command of its name" grep -q 'skill_file name="fix"' "$out"
tap_done

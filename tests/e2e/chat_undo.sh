#!/usr/bin/env bash
# chela chat: /undo and /rewind take back what was said and what became of the files, and name
# what they cannot take back.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

cat >"$tmp/work" <<'SCRIPT'
cd "$1" || exit 1
echo by command >b.txt
rm c.txt
rm -r 目录
mkdir made && echo x >made/y
printf 'big, changed' >>big.bin
echo more >>out.o
ln -sfn other link
chmod 755 d.txt
git_dir=.git; mkdir -p $git_dir; echo kept >$git_dir/note
SCRIPT
cat >"$space/rules.yaml" <<YAML
rules:
  - { when: { user: "^write", after: none }, call: { tool: write, args: { file_path: "deep/er/new.txt", content: "new" } } }
  - { when: { user: "^write", after: "write", turn: 2 }, call: { tool: write, args: { file_path: a.txt, content: "written" } } }
  - { when: { user: "^edit", after: none }, call: { tool: edit, args: { file_path: a.txt, edits: [ { old_text: written, new_text: "edited 改 🙂" } ] } } }
  - { when: { user: "^patch", after: none }, call: { tool: apply_patch, args: { input: "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: p.txt\n+one\n*** End Patch" } } }
  - { when: { user: "^run", after: none }, call: { tool: exec, args: { command: "sh $tmp/work $space" } } }
  - { when: { user: "^box", after: none }, call: { tool: exec, args: { command: "echo by command >b.txt; rm c.txt; mkdir made && echo x >made/y" } } }
  - { when: { user: "^look", after: none }, call: { tool: exec, args: { command: "cat a.txt" } } }
  - { when: { user: "^kill", after: none }, call: { tool: exec, args: { command: "echo killed >b.txt; until [ -e go ]; do sleep 0.05; done" } } }
  - { when: { after: any }, say: "that was it" }
  - { say: "you said: {{user}}" }
YAML
state() { # what the workspace holds
    (cd "$space" && find . -path ./.git -prune -o \( -type f -o -type l -o -type d \) -printf '%P %y %m %l ' -exec sh -c \
        '[ -f "$1" ] && [ ! -L "$1" ] && cksum <"$1" | tr "\n" " "; true' - {} \; -printf '\n' | sort | grep -v '^ d\|^go ')
}
begin() {
    rm -rf "${space:?}"/{a,b,c,d,p}.txt "$space"/{big.bin,out.o,link,made,deep,目录,.git,go}
    echo old >"$space/a.txt"
    echo old >"$space/b.txt"
    printf 'no newline' >"$space/c.txt"
    echo data >"$space/d.txt"
    chmod 644 "$space/d.txt"
    mkdir -p "$space/目录"
    echo 中文 >"$space/目录/文 件%.txt"
    head -c 1500000 /dev/zero >"$space/big.bin"
    echo '*.o' >"$space/.gitignore"
    echo object >"$space/out.o"
    ln -s b.txt "$space/link"
}
chat() { # FLAG...
    open_terminal "$program chat --model scripted/rules.yaml --approve auto --sandbox off $*"
    sees "the prompt is there (chat $*)" '^>'
}
say() { # TEXT
    types "$1"
    press Enter
    sees "$1" "$2"
    shows '^scripted/rules.yaml · context' # the run has ended
}
for WIDTH in 60 200; do
    begin
    state >"$tmp/old"
    chat
    say "hello" '^you said: hello$'
    say "write it" 'that was it'
    same "$WIDTH: written" written "$(cat "$space/a.txt")"
    say "edit it" '✓ edit|edit a.txt'
    sees "$WIDTH: edited" '/a.txt|edit'
    prompt_is "$WIDTH: idle" '>'
    types "/undo"
    press Enter
    prompt_is "$WIDTH: the message comes back" '> edit it'
    sees "$WIDTH: what was restored" 'restored: a.txt'
    same "$WIDTH: as the message before left it" written "$(cat "$space/a.txt")"
    press C-u
    types "/undo chat"
    press Enter
    prompt_is "$WIDTH: the conversation alone" '> write it'
    same "$WIDTH: the files stay" written "$(cat "$space/a.txt")"
    press C-u C-d
    ends "$WIDTH: leaves" 0
    press C-c

    begin
    chat
    say "write it" 'that was it'
    types "/undo files"
    press Enter
    sees "$WIDTH: files alone" 'restored: a.txt'
    sees "$WIDTH: and what is gone" 'removed: .*deep/er/new.txt'
    state >"$tmp/new"
    same "$WIDTH: all as before" "$(cat "$tmp/old")" "$(cat "$tmp/new")"
    sees "$WIDTH: the conversation stays" '^that was it'
    say "patch it" 'apply_patch'
    shows '^>$'
    types "/undo"
    press Enter
    prompt_is "$WIDTH: a patch" '> patch it'
    same "$WIDTH: a patch is undone" "$(cat "$tmp/old")" "$(state)"
    press C-u C-d
    ends "$WIDTH: leaves again" 0

    begin
    chat
    say "run it" 'that was it'
    check "$WIDTH: the command ran" [ -e "$space/made/y" ]
    types "/undo"
    press Enter
    prompt_is "$WIDTH: a command" '> run it'
    sees "$WIDTH: too large" 'too large to be copied\): *big.bin|^ *big.bin'
    sees "$WIDTH: ignored" 'gitignore names it'
    sees "$WIDTH: what is not in files" 'effects outside of the workspace'
    same "$WIDTH: the command is undone" "$(grep -v 'big.bin\|out.o' "$tmp/old")" "$(state | grep -v 'big.bin\|out.o')"
    same "$WIDTH: git is left alone" kept "$(cat "$space/.git/note")"
    press C-u C-d
    ends "$WIDTH: leaves once more" 0
done
unset WIDTH

# --- somebody else's changes are kept
begin
chat
say "write it" 'that was it'
echo mine >"$space/a.txt"
types "/undo"
press Enter
sees "a change of somebody else" 'somebody else changed it since.*a.txt'
same "stays" mine "$(cat "$space/a.txt")"
check "the rest is undone" [ ! -e "$space/deep" ]
press C-u C-d
ends "leaves" 0

# --- after a restart
begin
state >"$tmp/old"
chat --session keep
say "hello" '^you said: hello$'
say "write it" 'that was it'
say "run it" '✓ exec|exec'
prompt_is "idle" '>'
press C-d
ends "leaves for a while" 0
chat --continue
sees "the conversation is back" '^you said: hello$'
types "/rewind"
press Enter
sees "/rewind: the newest first" '^› run it'
sees "/rewind: what it would do" 'restored: '
types "write"
sees "/rewind: found" '^› write it'
press Enter
sees "/rewind: what to restore" '^› the conversation and the files'
press Down
press Down
press Enter
sees "/rewind: files of both messages" 'restored: '
same "/rewind: all as before" "$(grep -v 'big.bin\|out.o' "$tmp/old")" "$(state | grep -v 'big.bin\|out.o')"
types "/rewind hello"
press Enter
shows '^› hello'
press Enter
shows '^› the conversation and the files'
press Enter
prompt_is "/rewind: the first message comes back" '> hello'
press C-u C-d
ends "leaves at last" 0

# --- killed in the middle
begin
chat --session killed
types "kill it"
press Enter
for _ in {1..400}; do
    grep -q killed "$space/b.txt" && break
    sleep 0.05
done
pid=$(terminal display-message -p '#{pane_pid}')
kill -9 "$(pgrep -P "$pid" | head -n 1)"
ends "killed" 137
touch "$space/go"
chat --session killed
sees "the run is unfinished" '/resume continues it'
types "/undo files"
press Enter
sees "a command that was cut off" 'restored: .*b.txt'
same "is undone" old "$(cat "$space/b.txt")"
press C-d
ends "leaves after all" 0

# --- nothing leaves the workspace, and tools do not see the copies
begin
mkdir "$tmp/outside"
echo outside >"$tmp/outside/new.txt"
chat
say "write it" 'that was it'
rm -r "$space/deep"
mkdir "$space/deep" && ln -s "$tmp/outside" "$space/deep/er"
types "/undo"
press Enter
sees "a link in the way" 'could not be restored|in the way|somebody else'
same "is not followed" outside "$(cat "$tmp/outside/new.txt")"
press C-u C-d
ends "leaves" 0
chela tools call read --args "{\"file_path\": \"$tmp/.local/state/chela/undo\"}"
check "the copies are not for tools" grep -q 'outside of the workspace\|hidden' "$out" "$err"
same "the copies are the user's own" 700 "$(stat -c %a "$tmp/.local/state/chela/undo")"

# --- with the sandbox that this machine has
begin
state >"$tmp/old"
open_terminal "$program chat --model scripted/rules.yaml --approve auto --sandbox auto"
sees "in the sandbox: the prompt" '^>'
say "write it" 'that was it'
say "box it" '✓ exec|exec'
check "in the sandbox: the command ran" [ -e "$space/made/y" ]
types "/undo"
press Enter
prompt_is "in the sandbox: a command" '> box it'
press C-u
types "/undo"
press Enter
prompt_is "in the sandbox: a file tool" '> write it'
same "in the sandbox: all as before" "$(grep -v 'big.bin\|out.o' "$tmp/old")" "$(state | grep -v 'big.bin\|out.o')"
press C-u C-d
ends "leaves the sandbox" 0

# --- without a store
begin
chat --no-session
say "write it" 'that was it'
types "/undo"
press Enter
sees "without a store the conversation stays" "session is not kept, so the conversation stays"
types "/undo files"
press Enter
sees "but files come back" 'restored: a.txt'
same "as they were" old "$(cat "$space/a.txt")"
types "/undo nonsense"
press Enter
sees "a wrong word" "takes both .*, files or chat, not 'nonsense'"
press C-d
ends "leaves without a store" 0
tap_done

#!/usr/bin/env bash
# A command in the sandbox leaves files that programs outside of the sandbox execute, and
# hides them from the search that follows every command. Nothing of it stays in place, also
# if chela is interrupted or killed meanwhile.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
program=$(realpath "$program")
as=()
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env "${as[@]}" "$@"; }

directory() { # a fresh workspace with a repository, whose configuration names a command
    rm -rf "$space" "$tmp/pwned"
    mkdir -p "$space/sub"
    git -C "$space" init -q
    git -C "$space" config filter.lfs.clean 'git-lfs clean %f'
    chmod -R a+rwX "$space"
    [ ${#as[@]} = 0 ] || chown -R 65534 "$space"
}
script() { # COMMAND...: the model runs each in its turn
    jq -nc --args '{rules: ([$ARGS.positional | to_entries[] |
        {when: {turn: (.key + 1)}, call: {tool: "exec", args: {command: .value}}}] + [{say: "done"}])}' "$@" >"$tmp/rules.yaml"
    chmod a+r "$tmp/rules.yaml"
}
left() { # FILE...: the files that are there under a name that others execute
    (cd "$space" && find . -path ./.git -prune -o \( -name .envrc -o -name tasks.json -path '*/.vscode/*' -o -name '*.code-workspace' \
        -o -name .Rprofile \) -print) | sort
}
runs_nothing() { # NAME DIRECTORY...: the user's own git runs no command there
    local name=$1 dir
    shift
    for dir; do git -C "$space/$dir" -c safe.directory='*' status >/dev/null 2>&1; done
    check "$name: git status runs nothing" test ! -e "$tmp/pwned"
}
plants() { # NAME COMMAND...: in the profile in which commands run unasked
    local name=$1
    shift
    directory
    script "$@"
    chela run --model "scripted/$tmp/rules.yaml" --approve sandbox --output jsonl go
    exits "$name: asked about" 5
    same "$name: nothing is left" "" "$(left)"
}
evil="mkdir -p made/s; printf '#!/bin/sh\ntouch $tmp/pwned\n' >made/s/e; cp made/s/e 'made/s/e]'; chmod +x made/s/e*"

# --- a configuration that only looks as if it named no command
directory
for config in '[core]\tfsmonitor=s/e]' '[core]#]\n\tfsmonitor=s/e' '[core]\n\tfsmonitor=s/e' '[CORE]\n\tfsMonitor = s/e' \
    '[core]\n\tbare = false\\\n\n\tfsmonitor=s/e' '[include]\n\tpath=../x' '[includeIf "gitdir:**"]\n\tpath=../x' '[core] fsmonitor=s/e' \
    '[alias]\n\tstatus = !s/e' '\357\273\277[core]\n\tfsmonitor=s/e' '[core]\r\n\tfsmonitor=s/e' '[extensions]\n\tpartialclone = x' \
    '[remote "x"]\n\turl = ext::s/e' '[diff "x"]\n\ttextconv = s/e' '[filter "x"]\n\tclean = s/e' '[core]\n\tpager = s/e' \
    '[core]\n\tsshCommand = s/e' '[core]\n\thooksPath = s' '[core]\n\tworktree = /' '[gpg]\n\tprogram = s/e' '[credential]\n\thelper = !s/e' \
    '[merge "x"]\n\tdriver = s/e' '[submodule "x"]\n\tupdate = !s/e' '[core]\n\teditor = s/e' '[sequence]\n\teditor = s/e' \
    '[' '[\t' '[core' '["' '[remote "' '[protocol "ext"]\n\tallow = always' '[uploadpack]\n\tpackObjectsHook = s/e' '[interactive]\n\tdiffFilter = s/e'; do
    plants "config ${config:0:40}" "git init -q made; $evil; printf '$config\n' >>made/.git/config; printf '[core]\n\tfsmonitor=s/e\n' >made/x"
    runs_nothing "config ${config:0:40}" made
done

# --- a tree that cannot be searched stops the commands of every process
directory
script "python3 -c \"import os
for i in range(300): os.mkdir('dddddddddddddddddd'); os.chdir('dddddddddddddddddd')\""
chela run --model "scripted/$tmp/rules.yaml" --approve sandbox --output jsonl go
exits "a tree that cannot be searched" 0
holds "a tree that cannot be searched: said" 'any(.[]; .type == "tool_result" and (tostring | test("No further command runs here")))'
jq -nc '{rules: [
    {when: {turn: 1}, call: {tool: "exec", args: {command: "echo x >ran"}}},
    {when: {turn: 2}, call: {tool: "write", args: {file_path: ".chela-unsearched", content: "x"}}},
    {say: "done"}]}' >"$tmp/rules.yaml"
chela run --model "scripted/$tmp/rules.yaml" --approve sandbox --output jsonl go
exits "another process" 0
check "another process: the note is as it was" grep -q "^since " "$space/.chela-unsearched"
holds "another process: nothing runs, and the note stays" '[.[] | select(.type == "tool_result")] | length == 2 and all(.is_error)'
check "another process: no command ran" test ! -e "$space/ran"
mkdir "$tmp/copy"
cp "$space/.chela-unsearched" "$tmp/copy"
touch -d "1 hour ago" "$tmp/copy/.envrc"
script "echo x >ran"
space=$tmp/copy chela run --model "scripted/$tmp/rules.yaml" --approve sandbox --output jsonl go
exits "a note that was copied" 0
check "a note that was copied does not count" test -e "$tmp/copy/ran"
echo x >"$space/sub/.envrc"
rm -rf "$space"/ddd*
chela run --model "scripted/$tmp/rules.yaml" --approve sandbox --output jsonl go
check "a process that can search runs commands" test -e "$space/ran"
check "a process that can search: what was left is set aside" test -e "$space/sub/.envrc.held"
check "a process that can search removes the note" test ! -e "$space/.chela-unsearched"

# --- a file under two names: the second one is not read-only in the next command
plants "a hard link to a configuration" "git init -q made; ln made/.git/config made/alias" \
    "$evil; printf '[core]\n\tfsmonitor=s/e\n' >>made/alias; rm made/alias"
runs_nothing "a hard link to a configuration" made
plants "a hard link to a .git file" "git init -q --separate-git-dir=real made; ln made/.git alias" \
    "$evil; cp -r real other; printf '[core]\n\tfsmonitor=s/e\n' >>other/config; echo 'gitdir: ../other' >alias"
runs_nothing "a hard link to a .git file" made

# --- places that look as if they needed no search
for place in sub . "sub/objects/x" "sub/refs/x" "git~1" ".git " ".GIT" "a
b" $'\e[2J' "$(printf 'd%.0s' {1..200})/x"; do
    plants "below $(printf %q "${place:0:12}")" "touch sub/HEAD HEAD; mkdir -p sub/objects/x sub/refs/x objects refs $(printf %q "$place")/.vscode; cd $(printf %q "$place"); \
        echo evil >.envrc; echo evil >.vscode/tasks.json"
done
plants "a repository in the objects of one that is none" "touch sub/HEAD; mkdir -p sub/objects sub/refs; cd sub/objects; git init -q made; \
    $evil; git -C made config core.fsmonitor s/e"
runs_nothing "a repository in the objects of one that is none" sub/objects/made

# --- names that cannot be set aside as usual
# shellcheck disable=SC2016
plants "the names of set-aside files are taken" 'for i in "" 1 2 3 4 5; do echo x >sub/.envrc.held$i; done; echo evil >sub/.envrc'
plants "a name of 255 bytes" "echo evil >sub/$(printf 'a%.0s' {1..240}).code-workspace"
plants "a link" "echo evil >sub/x; ln -s x sub/.envrc; mkdir sub/d; echo evil >sub/d/tasks.json; ln -s d sub/.vscode"
plants "a pipe" "mkfifo sub/.envrc"
plants "another interpreter's start file" "echo 'system(\"x\")' >sub/.Rprofile"
[ "$(id -u)" != 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$tmp/nobody")
mkdir -p "$tmp/nobody"
chmod 777 "$tmp/nobody"
chmod 711 "$tmp"
plants "directories without permissions" "mkdir -p sub/a/b sub/c sub/d; echo evil >sub/a/b/.envrc; echo evil >sub/c/.envrc; echo evil >sub/d/.envrc; \
    chmod 555 sub/d; chmod 111 sub/c; chmod 111 sub/a/b; chmod 111 sub/a"
as=()

# --- ordinary work is not asked about
directory
script "git init -q p; cd p; git config user.name x; echo a >b; git add b; git -c user.email=a@b commit -qm x; git clone -q . ../q; \
    git init -q --bare ../r.git; git push -q ../r.git HEAD:main; git worktree add -q ../wt; git -C ../wt log --oneline" \
    "cd p && git checkout -qb y && echo c >d && git add d && git -c user.email=a@b commit -qm y && git merge -q main 2>&1 || git log --oneline"
chela run --model "scripted/$tmp/rules.yaml" --approve sandbox --output jsonl go
exits "ordinary work" 0

# --- a command that goes on when it is to end
cancelled() { # NAME SIGNAL: sent while the command plants
    directory
    script "git init -q made; git -C made config core.fsmonitor s/e; git add sub; echo >started; while :; do [ -e sub/.envrc ] || echo evil >sub/.envrc; done"
    rm -f "$space/started"
    # shellcheck disable=SC2016
    (cd "$space" && with_env sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/pid" "$program" run --model "scripted/$tmp/rules.yaml" \
        --approve sandbox --output jsonl go >"$out" 2>"$err" </dev/null) &
    local job=$!
    for _ in {1..600}; do
        [ -e "$space/started" ] && [ -e "$space/sub/.envrc" ] && break
        sleep 0.05
    done
    check "$1: the command runs" test -e "$space/sub/.envrc"
    kill -"$2" "$(cat "$tmp/pid")"
    wait "$job" 2>/dev/null
    for _ in {1..200}; do # the sandbox outlives a chela that was killed by some milliseconds
        [ -z "$(left)" ] && [ ! -e "$space/made/.git/config" ] && break
        sleep 0.05
    done
    same "$1: nothing is left" "" "$(left)"
    check "$1: set aside" test -e "$space/sub/.envrc.held"
    check "$1: the new repository, too" test ! -e "$space/made/.git/config"
    check "$1: the user's own repository is whole" git -C "$space" config filter.lfs.clean
}
cancelled "interrupted" INT
cancelled "terminated" TERM
cancelled "killed" KILL
tap_done

#!/usr/bin/env bash
# Files that must not be written, read or planted: through the whole program, with a
# scripted model that tries. tests/unit/tool/test_protected.c and test_sandbox.c try more.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

# The model makes one call and ends.
attempt() { # TOOL ARGUMENTS [FLAG...]
    local tool=$1 arguments=$2
    shift 2
    jq -nc --arg t "$tool" --argjson a "$arguments" '{rules: [
        {when: {user: "^go$", after: "none"}, call: {tool: $t, args: $a}}, {say: "done"}]}' >"$tmp/rules.yaml"
    chela run --model "scripted/$tmp/rules.yaml" --output jsonl "$@" go
}
write() { # PATH [FLAG...]
    local path=$1
    shift
    attempt write "$(jq -nc --arg p "$path" '{file_path: $p, content: "evil"}')" "$@"
}
execute() { # COMMAND [FLAG...]
    local command=$1
    shift
    attempt exec "$(jq -nc --arg c "$command" '{command: $c}')" --approve auto "$@"
}

# --- the four writes that made the user's own `git status` run a command
git -C "$space" init -q
for path in .git/commondir .git/objects/x/config .git/modules/m/config sub/.git/config .GIT/config .git/HEAD; do
    write "$path" --approve auto
    holds "$path is refused" '[.[] | select(.type == "tool_result")][0] | .is_error and (.content | test("protected"))'
    check "$path: not there" sh -c "! grep -qr evil '$space/.git' '$space/sub' 2>/dev/null"
done
printf '[core]\n\tfsmonitor = touch %s/pwned\n' "$tmp" >"$tmp/config"
execute "cp /dev/stdin .git/config; printf '../evil' > .git/commondir; mkdir -p evil/objects evil/refs; cp .git/HEAD evil;
    printf '[core]\n\tfsmonitor = touch $tmp/pwned\n' > evil/config"
git -C "$space" status >/dev/null 2>&1
git -C "$space/evil" status >/dev/null 2>&1
check "git status of the user runs nothing" test ! -e "$tmp/pwned"
execute "touch f; git add f; git -c user.name=a -c user.email=a@b commit -qm x; git log --oneline"
holds "git commit works in the sandbox" '[.[] | select(.type == "tool_result")][0].is_error == false'

# --- a repository that a command makes
execute "git init -q made; git -C made config core.fsmonitor 'touch $tmp/pwned'" --output jsonl
exits "a repository with commands: the run pauses" 5
holds "a repository with commands: asked about" '[.[] | select(.type == "approval_required")] | length == 1 and (.[0].summary | test("made/.git/config was set aside"))'
git -C "$space/made" status >/dev/null 2>&1
check "a repository with commands: disarmed until then" test ! -e "$tmp/pwned"
execute "git init -q plain; git -C plain config user.name me"
exits "a repository without commands is not asked about" 0

# --- files that others execute, left by a command
mkdir -p "$space/sub"
for path in .envrc sub/.envrc sub/.vscode/tasks.json .bashrc sub/AGENTS.md; do
    attempt exec "$(jq -nc --arg p "$path" '{command: ("mkdir -p $(dirname " + $p + "); echo evil > " + $p)}')" --approve sandbox
    exits "exec of $path: asked about" 5
    check "exec of $path: not there before the answer" test ! -e "$space/$path"
    holds "exec of $path: why" '[.[] | select(.type == "approval_required")][0].summary | test("was set aside as .*: ")'
done
execute "echo evil > sub/.envrc"
exits "exec of .envrc: asked about in auto, too" 5
execute "echo fine > sub/AGENTS.md"
exits "exec of AGENTS.md: not asked about where the user allowed everything" 0
execute "mkdir -p src; echo 'int main(void) { return 0; }' > src/a.c; cc -o prog src/a.c && ./prog; echo x > Makefile; echo x > package.json"
exits "exec: ordinary work is not asked about" 0
rm -rf "$space/sub" "$space"/.*.held "$space/Makefile" "$space/package.json"

# --- the question survives the process that asked it
left() { # DECISION: a command leaves two files, the process ends, another one gets the answer
    rm -rf "$space/sub" "$space/count"
    mkdir -p "$space/sub"
    jq -nc '{rules: [{when: {after: "none"}, call: {tool: "exec", args: {command:
        "echo kept >sub/.envrc; mkdir sub/.vscode; echo kept >sub/.vscode/tasks.json; echo x >>count; echo output; exit 3"}}}, {say: "{{result}}"}]}' >"$tmp/rules.yaml"
    chela run --model "scripted/$tmp/rules.yaml" --approve sandbox --session "q$1" --output jsonl go
    exits "a question that waits" 5
    approval=$(jq -r 'select(.type == "approval_required").approval_id' "$out")
    [ -z "${2-}" ] || (cd "$space/sub" && sh -c "$2")
    chela sessions resume "q$1" --model "scripted/$tmp/rules.yaml" --"$1" "$approval" --output jsonl
    exits "$1 in another process" 0
    same "$1: the command ran once" 1 "$(wc -l <"$space/count")"
    holds "$1: the exit code is the last line" '[.[] | select(.type == "tool_result")][-1] | .content | test("\\n\\[exit code 3\\]$")'
    holds "$1: the model gets the result of the command" '[.[] | select(.type == "tool_result")][-1] | .content | test("output") and test("set aside")'
}
left allow
same "allow: the files are back" "kept kept" "$(cat "$space/sub/.envrc" "$space/sub/.vscode/tasks.json" | paste -sd' ')"
holds "allow: the model is told that the files are back" '[.[] | select(.type == "tool_result")][-1].content | test("the files were put back")'
left refuse
check "refuse: they are not" test ! -e "$space/sub/.envrc"
rm -rf "$space/sub"
chela sessions delete qallow
left allow 'echo other >.envrc.held'
check "a file that was exchanged meanwhile stays aside" test ! -e "$space/sub/.envrc"
holds "a file that was exchanged meanwhile: told" '[.[] | select(.type == "tool_result")][-1].content | test("changed meanwhile")'
rm -rf "$space/sub" "$space/count"
chela sessions delete qallow
left allow 'echo other >.vscode.held/tasks.json'
check "a file below a directory, too" test ! -e "$space/sub/.vscode"
rm -rf "$space/sub" "$space"/.*.held

# --- files that others execute
for path in .envrc sub/.envrc .vscode/tasks.json .idea/workspace.xml .bashrc .npmrc chela.yaml .husky/pre-commit; do
    write "$path"
    check "$path: not written where nobody can be asked" test ! -e "$space/$path"
    holds "$path: why" '[.[] | select(.type == "tool_result")][0] | .error_type == "permission_denied" and (.content | test("writes .*: "))'
    write "$path" --approve ask
    exits "$path: asked about" 5
    write "$path" --approve auto
    exits "$path: asked about in auto, too" 5
    check "$path: not written before the answer" test ! -e "$space/$path"
done
write AGENTS.md
check "AGENTS.md: not written where nobody can be asked" test ! -e "$space/AGENTS.md"
write skills/x/SKILL.md --approve ask
exits "a skill: asked about" 5
write AGENTS.md --approve auto
exits "AGENTS.md: written where the user allowed everything" 0
for path in src/main.c package.json Makefile .github/workflows/ci.yml .gitignore README.md .editorconfig; do
    write "$path"
    check "$path: ordinary work is not asked about" test -e "$space/$path"
done

# --- the program of a tool, and the configuration under another name
mkdir "$space/bin"
printf '#!/bin/sh\necho fine\n' >"$space/bin/weather"
chmod +x "$space/bin/weather"
cat >"$space/agent.yaml" <<'YAML'
tools: { custom: [ { name: weather, description: w, parameters: { type: object }, command: [./bin/weather] } ] }
YAML
for path in bin/weather agent.yaml; do
    write "$path" --config agent.yaml --approve ask
    exits "$path: asked about" 5
    execute "echo evil > $path; rm -f $path; mv $path x; mv bin b" --config agent.yaml
    check "$path: exec cannot change it" sh -c "! grep -q evil '$space/$path'"
done

# --- rules vouch for a command, not for what a repository or a relative PATH makes of it
cat >"$space/rules-agent.yaml" <<'YAML'
approvals: { exec: ask, allow: [ { exec: git status }, { exec: git diff }, { exec: git log }, { exec: ls } ] }
YAML
git -C "$space" config core.fsmonitor 'touch BY_FSMONITOR; false'
git -C "$space" config core.pager 'touch BY_PAGER; cat'
echo changed >>"$space/f"
for command in 'git status' 'git diff' 'git log'; do
    attempt exec "$(jq -nc --arg c "$command" '{command: $c}')" --config rules-agent.yaml
    holds "$command runs on its rule" '[.[] | select(.type == "tool_result")][0].is_error == false'
done
git -C "$space" config diff.external 'touch BY_DIFF; true'
attempt exec '{"command":"git diff"}' --config rules-agent.yaml
holds "git diff with a program of the repository is asked about" '[.[] | select(.type == "tool_result")][0].error_type == "permission_denied"'
git -C "$space" config --unset diff.external
check "git on a rule runs nothing that the repository names" sh -c "! ls '$space' | grep -q '^BY_'"
git -C "$space" config --unset core.fsmonitor
git -C "$space" config --unset core.pager
printf '#!/bin/sh\necho STAND-IN\n' >"$space/ls"
chmod +x "$space/ls"
for entry in . '' bin/../ ./; do
    PATH=$entry:$PATH attempt exec '{"command":"ls"}' --config rules-agent.yaml
    check "PATH with '$entry': the workspace's ls does not stand in" sh -c "! grep -q STAND-IN '$out'"
    PATH=$entry:$PATH execute 'ls | cat'
    check "PATH with '$entry': nor in a shell" sh -c "! grep -q STAND-IN '$out'"
done
rm -f "$space/ls" "$space/rules-agent.yaml"

# --- the profile between "ask" and "auto": unasked, in the full sandbox
cat >"$space/profile-agent.yaml" <<'YAML'
approvals: { exec: ask, allow: [ { exec: make test }, { exec: "npm run test:*" }, { exec: git status } ] }
sandbox: { mode: off, network: host }
YAML
printf 'test:\n\t@echo TESTED; tail -n +3 /proc/net/dev | grep -c -v lo:; true\nother:\n\t@echo OTHER\n' >"$space/Makefile"
chela doctor --json
full=$(jq -r '[.[] | select(.area == "approval" and .name == "sandbox")][0].status' "$out")
chela doctor --json --config profile-agent.yaml
holds "doctor: a rule shows program, arguments and what it reads" \
    '[.[0][] | select(.area == "rule")] | length == 3 and (.[0].detail | test("^/.*/make with these and any further arguments; it reads the Makefile")) and (.[2].detail | test("/git with exactly these arguments; it reads the repository.*runs no command"))'
chela tools show exec --config profile-agent.yaml
check "tools show: a rule shows what it vouches for" grep -q 'allowed: exec: make test' "$out"
if [ "$full" = ok ]; then
    for how in "--approve sandbox --sandbox off" "--config profile-agent.yaml"; do
        # shellcheck disable=SC2086
        attempt exec '{"command":"make test"}' $how
        holds "$how: a command of the project runs unasked, in the full sandbox" \
            '[.[] | select(.type == "tool_result")][0] | .is_error == false and (.content | test("TESTED\n0\n"))'
    done
    attempt exec '{"command":"echo evil > chela.yaml; echo evil > .git/config"}' --approve sandbox
    check "--approve sandbox: protected paths" sh -c "! grep -qs evil '$space/chela.yaml' '$space/.git/config'"
fi
attempt exec '{"command":"make other"}' --config profile-agent.yaml --approve ask
exits "a command of the project that no rule names is asked about" 5
attempt exec '{"command":"make test; make other"}' --config profile-agent.yaml --approve ask
exits "more than a rule names is asked about" 5
write .envrc --approve sandbox
exits "--approve sandbox: a file that others execute is asked about" 5
rm -f "$space/profile-agent.yaml" "$space/Makefile"
cat >"$space/bad-agent.yaml" <<'YAML'
approvals: { exec: sandboxed }
YAML
chela config check --config bad-agent.yaml
exits "approvals: a word that is none" 2
rm -f "$space/bad-agent.yaml"

# --- a socket of another process in the workspace
python3 -c '
import socket, sys, os
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(1)
print("ready", flush=True)
s.settimeout(60)
try: s.accept(); print("REACHED", flush=True)
except TimeoutError: pass' "$space/agent.sock" >"$tmp/listener" &
listener=$!
for _ in {1..100}; do
    grep -q ready "$tmp/listener" && break
    sleep 0.05
done
execute "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"agent.sock\"); s.send(b\"x\")'"
kill $listener
wait $listener 2>/dev/null
check "a Unix socket in the workspace is out of reach" sh -c "! grep -q REACHED '$tmp/listener'"
rm -f "$space/agent.sock"

# --- more calls than one reply may make: the first 128 run, the others say why not
jq -nc '{rules: [{when: {user: "^go$", after: "none"},
    call: [range(300) | {tool: "write", args: {file_path: "many/\(.)", content: "x"}}]}, {say: "done"}]}' >"$tmp/rules.yaml"
chela run --model "scripted/$tmp/rules.yaml" --output jsonl go
exits "300 calls in one reply: the run goes on" 0
holds "300 calls in one reply: 300 results" '[.[] | select(.type == "tool_result")] | length == 300'
holds "300 calls in one reply: 128 ran" '[.[] | select(.type == "tool_result" and .is_error == false)] | length == 128'
holds "300 calls in one reply: the others name the limit" '[.[] | select(.type == "tool_result" and .is_error) | select(.content | test("at most 128 tool calls"))] | length == 172'
holds "300 calls in one reply: it ends well" '.[-1] | .type == "run_end" and .text == "done"'
same "300 calls in one reply: 128 files" 128 "$(find "$space/many" -type f | wc -l)"

# --- hidden: the store, keys, cassettes
printf 'sk-SECRETKEY\n' >"$space/api.key"
cat >"$space/agent.yaml" <<'YAML'
providers: { x: { api: openai, baseUrl: "http://127.0.0.1:1/v1", apiKeyFile: api.key } }
store: sqlite:./agent.db
YAML
for path in agent.db agent.db-wal agent.db-shm agent.db-journal api.key; do
    attempt read "$(jq -nc --arg p "$path" '{file_path: $p}')" --config agent.yaml
    holds "read $path" '[.[] | select(.type == "tool_result")][0] | .is_error and (.content | test("hidden|no such file"))'
    write "$path" --config agent.yaml
    holds "write $path" '[.[] | select(.type == "tool_result")][0] | .is_error and (.content | test("hidden"))'
    execute "cat $path; ln $path l; cp $path c; echo evil > $path; rm -f $path; mv $path m" --config agent.yaml
    check "exec: $path is not read" sh -c "! grep -q 'SECRETKEY\|SQLite format' '$out' '$space/c' '$space/l' 2>/dev/null"
    check "exec: $path is not written" sh -c "! grep -qx evil '$space/$path'"
    rm -f "$space/c" "$space/l"
done
chela sessions list --config agent.yaml
exits "the store is whole" 0
attempt grep '{"pattern":"SECRETKEY"}' --config agent.yaml
check "grep does not find the key" sh -c "! grep -q 'sk-SECRETKEY' '$out'"
tap_done

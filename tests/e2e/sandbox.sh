#!/usr/bin/env bash
# Programs in their box, from the command line: what a run's exec sees of keys,
# files and network, what the configuration opens, what happens to jobs.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

# The box of this machine may lack a layer; what is tested here holds with each.
call() { # COMMAND [FLAG...]
    local command=$1
    shift
    chela tools call exec --args "$(jq -nc --arg c "$command" '{command: $c}')" "$@"
}

call 'echo hello; pwd'
exits "a command" 0
check "a command: its output" grep -q hello "$out"
call 'exit 7' --output json
exits "a command that fails" 0
holds "a command that fails: how" '.[0] | (.is_error | not) and .details.exit_code == 7 and (.content | endswith("\n[exit code 7]"))'

# --- keys: in the environment of the runtime, never in a program's
call 'env; cat /proc/self/environ /proc/1/environ /proc/[0-9]*/environ 2>/dev/null | tr "\0" "\n"'
check "no key in any environment" sh -c "! grep -q SENTINEL '$out'"
call 'env; cat /proc/self/environ | tr "\0" "\n"' --sandbox off
exits "without a sandbox" 0
check "without a sandbox: still no key in the program's own" sh -c "! grep -q SENTINEL '$out'"

# --- files
mkdir -p "$tmp/outside" && echo s3cret >"$tmp/outside/secret"
call "cat '$tmp/outside/secret'"
check "what is outside cannot be read" sh -c "! grep -q s3cret '$out'"
call "touch '$tmp/outside/new'; touch '$HOME/new' /etc/new"
check "nor written" test ! -e "$tmp/outside/new"
call "cat '$tmp/outside/secret'" --sandbox off
check "--sandbox off: as any program" grep -q s3cret "$out"

cat >"$space/agent.yaml" <<'YAML'
sandbox: { readable: [../outside], writable: [] }
YAML
call "cat '$tmp/outside/secret'; echo x > here || echo READONLY" --config agent.yaml
check "sandbox.readable" grep -q s3cret "$out"
check "sandbox.writable: []" grep -q READONLY "$out"
check "sandbox.writable: []: nothing was written" test ! -e "$space/here"
mkdir -p "$tmp/in-home" && echo h0me >"$tmp/in-home/secret" # HOME is $tmp
echo 'sandbox: { readable: ["~/in-home"] }' >"$space/agent.yaml"
call "cat '$tmp/in-home/secret'" --config agent.yaml
check "sandbox.readable: a path in the home directory" grep -q h0me "$out"
cat >"$space/agent.yaml" <<'YAML'
sandbox: { writable: [workspace, ../outside] }
YAML
call "echo x > '$tmp/outside/new'; echo x > here" --config agent.yaml
check "sandbox.writable: a path" test -e "$tmp/outside/new"
check "sandbox.writable: the workspace" test -e "$space/here"
rm -f "$space/here" "$tmp/outside/new"

# --- a store in the workspace is hidden, and named twice: by the file and by the runtime
printf 'rules:\n  - { when: { after: none }, call: { tool: exec, args: { command: "cat chela.db; echo ran" } } }\n  - { say: "seen: {{result}}" }\n' >"$space/store-rules.yaml"
echo 'store: sqlite:./chela.db' >"$space/store.yaml"
chela run --config store.yaml --model scripted/store-rules.yaml --approve auto go
exits "a store in the workspace" 0
check "a store in the workspace: commands run, and read nothing of it" sh -c "grep -qx ran '$out' && ! grep -q SQLite '$out'"
rm -f "$space"/store-rules.yaml "$space"/store.yaml "$space"/chela.db*

# --- the file that says all this is not for the agent to change
before=$(cat "$space/agent.yaml")
call 'echo "sandbox: { mode: off }" > agent.yaml; rm -f agent.yaml; mv agent.yaml x' --config agent.yaml
same "exec cannot change the configuration" "$before" "$(cat "$space/agent.yaml")"
chela tools call write --args '{"file_path": "agent.yaml", "content": "x"}' --config agent.yaml
exits "write cannot either" 1
same "write cannot either: it is as it was" "$before" "$(cat "$space/agent.yaml")"
chela tools call write --args '{"file_path": ".git/hooks/pre-commit", "content": "x"}'
exits "write: a hook" 1
check "write: a hook: not there" test ! -e "$space/.git"
call 'mkdir -p .git/hooks && echo x > .git/hooks/pre-commit'
check "exec: a hook: not there" test ! -e "$space/.git/hooks/pre-commit"

# --- the network
start_server
call "exec 3<>/dev/tcp/127.0.0.1/$trap_port" # sh may not know it; bash does
call "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$trap_port && echo CONNECTED'"
check "no network" sh -c "! grep -q CONNECTED '$out'"
check "no network: the server was not asked" sh -c "! grep -q '\"trap\":true' '$log'"
echo 'sandbox: { network: host }' >"$space/agent.yaml"
call "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$trap_port && echo CONNECTED'" --config agent.yaml
check "sandbox.network: host" grep -q CONNECTED "$out"
echo 'sandbox: { network: some }' >"$space/agent.yaml"
call true --config agent.yaml
exits "a network that is none" 2
check "a network that is none: its place" grep -q 'agent.yaml:1:21: sandbox.network: expected none, host, or a list of hosts' "$err"
echo 'sandbox: { limits: { fileMb: 1 } }' >"$space/agent.yaml"
call 'head -c 9000000 /dev/zero > big; wc -c < big' --config agent.yaml
check "sandbox.limits.fileMb" grep -qw 1048576 "$out"
rm -f "$space/agent.yaml" "$space/big"

# --- the user's name for commits, and nothing else of the user's configuration
cat >"$tmp/.gitconfig" <<'CONFIG'
[user]
    name = Ada Lovelace
    email = ada@example.org
[alias]
    mine = !echo EXECUTED
[include]
    path = ~/more.gitconfig
CONFIG
printf '[user]\n\temail = "ada@work.example" # later\n' >"$tmp/more.gitconfig"
call 'git init -q repo && cd repo && git commit -q --allow-empty -m x && git log -1 --format="%an <%ae>"; git mine'
check "git: the user's name and e-mail" grep -qxF 'Ada Lovelace <ada@work.example>' "$out"
check "git: no alias of the user" sh -c "! grep -q EXECUTED '$out'"
printf '[user]\n\tname = Local\n' >>"$space/repo/.git/config"
call 'cd repo && git commit -q --allow-empty -m x && git log -1 --format="%an <%ae>"'
check "git: a repository's own setting wins" grep -qxF 'Local <ada@work.example>' "$out"
rm -rf "$space/repo" "$tmp/.gitconfig" "$tmp/more.gitconfig"

# --- Git in a workspace whose repository is elsewhere
(
    git() { command git -c user.name=x -c user.email=x@x -c protocol.file.allow=always "$@" >/dev/null 2>&1; }
    cd "$tmp" && git init main && cd main && echo one >file && git add file && git commit -m first &&
        git worktree add -b second ../tree && cd .. && git init whole && cd whole && git submodule add "$tmp/main" part
)
for place in tree whole/part; do
    echo two >>"$tmp/$place/file"
    chela tools call exec --workspace "$tmp/$place" --args '{"command": "git status --short; git log --format=%s; echo x >\"$(git rev-parse --git-dir)/config\""}'
    check "git in $place: what changed" grep -qx ' M file' "$out"
    check "git in $place: the past" grep -qx first "$out"
    check "git in $place: the repository is read-only" grep -q 'Read-only' "$out"
done
# a folder of a repository: only what the operator opens
mkdir "$tmp/main/folder" && echo three >"$tmp/main/folder/new" && echo two >>"$tmp/main/file"
chela tools call exec --workspace "$tmp/main/folder" --args '{"command": "git log --format=%s; cat ../file"}'
check "git in a folder of a repository: not opened" sh -c "! grep -qx 'first\|one' '$out'"
echo "sandbox: { readable: ['$tmp/main'] }" >"$space/folder.yaml"
chela tools call exec --workspace "$tmp/main/folder" --config folder.yaml --args '{"command": "git status --short; git log --format=%s; git diff | grep +two; echo x >../.git/hooks/post-commit; echo x >>../.git/config; echo y >>new && echo WRITTEN"}'
check "git in a folder of a repository: what changed" grep -qx ' M ../file' "$out"
check "git in a folder of a repository: ... in the folder" grep -qx '?? ./' "$out"
check "git in a folder of a repository: the past" grep -qx first "$out"
check "git in a folder of a repository: the difference" grep -qx '+two' "$out"
same "git in a folder of a repository: the repository is read-only" 2 "$(grep -c 'Read-only\|ermission denied' "$out")"
check "git in a folder of a repository: the folder is not" grep -qx WRITTEN "$out"
rm -rf "$tmp/main" "$tmp/tree" "$tmp/whole" "$space/folder.yaml"

# --- a name is not found at once; nothing is repeated
chela doctor
boxed=$(grep -cE '^ok +sandbox +namespaces' "$out")
call 'python3 -c "
import socket
try: socket.getaddrinfo(\"x.invalid\", 80)
except socket.gaierror as e: print(\"NONAME\" if e.errno == socket.EAI_NONAME else e)"
getent hosts localhost >/dev/null && echo LOCAL; echo "retries $npm_config_fetch_retries"'
if [ -e /etc/nsswitch.conf ] && [ "$boxed" = 1 ]; then
    check "a name is not found" grep -qx NONAME "$out"
fi
check "localhost is found" grep -qx LOCAL "$out"
check "npm repeats nothing" grep -qx 'retries 0' "$out"

# --- files of root: the mode at the start of a command decides
if [ "$(id -u)" = 0 ] && [ -d /usr/local/etc ]; then
    place=$(mktemp -d /usr/local/etc/chela-test-XXXXXX)
    chmod 755 "$place" && echo s3cret >"$place/file"
    chmod 644 "$place/file"
    call "cat '$place/file'"
    check "a file that everybody may read" grep -q s3cret "$out"
    chmod 600 "$place/file"
    call "cat '$place/file'"
    check "a file that only root may read: closed from the next start on" sh -c "! grep -q s3cret '$out'"
    install -d -o 65534 "$tmp/foreign"
    call "cat '$place/file'" --workspace "$tmp/foreign"
    check "in a workspace of another user, too" sh -c "! grep -q s3cret '$out'"
    echo "sandbox: { readable: ['$place'] }" >"$space/agent.yaml"
    call "cat '$place/file'" --config agent.yaml
    check "sandbox.readable opens the directory" grep -q s3cret "$out"
    chmod 700 "$place"
    call 'echo ran' --config agent.yaml
    check "... which is closed itself" grep -qx ran "$out"
    mkdir "$place/store" && echo "store: 'sqlite:$place/store/db'" >"$space/agent.yaml"
    call 'echo ran' --config agent.yaml
    check "what is hidden may be out of reach" grep -qx ran "$out"
    git init -q "$place" && chmod 755 "$place"
    call "git -C '$place' status"
    check "git works in a repository of root outside" grep -q '^On branch' "$out"
    rm -r "$place"
    place=$(mktemp -d /usr/local/chela-test-XXXXXX)
    chmod 755 "$place" && mkdir -p "$place/conf" && echo s3cret >"$place/conf/key" && echo fine >"$place/conf/open"
    chmod 600 "$place/conf/key"
    call "cat '$place/conf/key' '$place/conf/open'"
    check "a key of a program below /usr/local: closed" sh -c "! grep -q s3cret '$out'"
    check "a key of a program below /usr/local: its other files are not" grep -q fine "$out"
    rm -r "$place"
fi

# --- required: all of it or nothing
call 'echo ran' --sandbox required --output json
if jq -e '.content | test("ran")' "$out" >/dev/null; then
    holds "--sandbox required: the whole box" '.[0].details.sandbox == null or .[0].details.sandbox == "on"'
else
    holds "--sandbox required: it says which layer is missing" '.[0] | .error_type == "permission_denied" and (.content | test("lacks a layer"))'
fi
call true --sandbox maybe
exits "--sandbox maybe" 2

# --- a job's end is told to the model
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: '^go$', turn: 1 }, call: { tool: exec, args: { command: 'sleep 0.2; exit 3', background: true } } }
  - { when: { user: '^go$', turn: 2, result: '(job_[0-9a-f]+)' }, call: { tool: process, args: { action: poll, id: '{{1}}', wait: 30 } } }
  - { when: { user: 'ended with exit code 3', after: none }, call: { tool: exec, args: { command: 'sleep 36007', background: true } } }
  - { say: 'done' }
YAML
chela run --model scripted/rules.yaml --approve auto --output jsonl go
exits "a job" 0
events_are_well_formed "a job"
holds "a job: its end is an event" '[.[] | select(.type == "system_event")] | length == 1 and (.[0].text | test("ended with exit code 3"))'
for _ in {1..100}; do
    grep -lzx 36007 /proc/[0-9]*/cmdline >/dev/null 2>&1 || break
    sleep 0.05
done
check "a job: none outlives the program" sh -c '! grep -lzx 36007 /proc/[0-9]*/cmdline 2>/dev/null'

mkdir "$space/chela.yaml"
call 'echo fine'
check "a directory is no chela.yaml" grep -q fine "$out"
rmdir "$space/chela.yaml"

# --- nothing stands in for what does not exist; what a command makes there is set aside
before=$(ls -A "$space")
call 'ls -A'
same "a command sees the files that are there" "$before" "$(sed 1d "$out")"
call 'echo KEY=1 > .env; mkdir -p .ssh && echo x > .ssh/authorized_keys'
check "a protected name is set aside" test -e "$space/.env.held" -a ! -e "$space/.env"
check "a protected directory is set aside" test -e "$space/.ssh.held/authorized_keys" -a ! -e "$space/.ssh"
check "and the result says so" grep -qF '[.env was set aside as .env.held:' "$out"
rm -rf "$space/.env.held" "$space/.ssh.held"

chela run --model scripted/rules.yaml --approve deny --output jsonl go
holds "--approve deny: exec is not made" '[.[] | select(.type == "tool_result")] | .[0].error_type == "permission_denied"'
tap_done

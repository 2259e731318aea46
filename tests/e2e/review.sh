#!/usr/bin/env bash
# Changes that wait for review: a run works on a layer, `chela diff` shows what it changed, and
# `chela apply` makes it real.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

# The model makes these calls, one after the other, and ends.
run_calls() { # SESSION CALLS [FLAG...]   CALLS: JSON array of {tool, args}
    local session=$1 calls=$2
    shift 2
    jq -nc --argjson c "$calls" '{rules: ([$c | to_entries[] | {when: {turn: (.key + 1)}, call: .value}] + [{say: "done"}])}' >"$tmp/rules.yaml"
    chela run --model "scripted/$tmp/rules.yaml" --apply review --approve auto --session "$session" --output jsonl "$@" go
}
execute() { # SESSION COMMAND [FLAG...]
    local session=$1 command=$2
    shift 2
    run_calls "$session" "$(jq -nc --arg c "$command" '[{tool: "exec", args: {command: $c}}]')" "$@"
}
layers() { # number of layers that wait
    find "$tmp/.local/state/chela/layers" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l
}
# --- one run, one patch
printf 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n8a\n8b\nnine\nten\n' >"$space/a.txt"
printf 'old\n' >"$space/gone.txt"
ln -s a.txt "$space/link"
run_calls s1 '[
    {"tool": "edit", "args": {"file_path": "a.txt", "edits": [{"old_text": "two", "new_text": "TWO"}]}},
    {"tool": "exec", "args": {"command": "sed -i s/nine/NINE/ a.txt; rm gone.txt; mkdir -p new/deep; printf x >new/deep/f; printf \"a\\0b\" >bin; cat a.txt | head -2"}},
    {"tool": "read", "args": {"file_path": "new/deep/f"}},
    {"tool": "write", "args": {"file_path": "with space", "content": "hello\n"}}]'
exits "a run under review ends as done" 0
holds "run_end says that changes wait" '[.[] | select(.type == "run_end")][0].review == true'
if grep -q "chela diff s1" "$err"; then ok "a line names the session"; else not_ok "a line names the session" "$(cat "$err")"; fi
holds "a command sees the edits of the file tools" '[.[] | select(.type == "tool_result" and .name == "exec")][0].content | test("TWO")'
holds "a file tool sees what a command made" '[.[] | select(.type == "tool_result" and .name == "read")][0] | (.is_error | not) and (.content | test("x"))'
same "the workspace is as before" "a.txt gone.txt link" "$(cd "$space" && echo *)"
same "a file of the workspace is as before" two "$(sed -n 2p "$space/a.txt")"

chela diff s1
exits "diff of a session with changes" 0
chela diff s1 --store "sqlite:$tmp/other.db" --config chela.yaml
exits "diff takes the flags that name a session elsewhere" 0
cp "$out" "$tmp/patch"
cp -a "$space" "$tmp/copy"
check "git apply takes the patch" git -C "$tmp/copy" apply "$tmp/patch"
same "the patch edits a text" "TWO NINE" "$(sed -n '2p;11p' "$tmp/copy/a.txt" | paste -sd' ')"
same "the patch holds binary files" "610062" "$(od -An -tx1 "$tmp/copy/bin" | tr -d ' \n')"
check "the patch deletes files" test ! -e "$tmp/copy/gone.txt"
check "the patch makes files in new directories" test -e "$tmp/copy/new/deep/f"
chela diff s1 --json
holds "hunks are numbered from 1 in each file" '.[0].files[] | select(.path == "a.txt") | [.hunks[].n] == [1, 2]'

# --- a hunk, a file, the rest
chela apply s1 --file a.txt --hunk 2
exits "apply of a hunk" 0
same "only the hunk is real" "two NINE" "$(sed -n '2p;11p' "$space/a.txt" | paste -sd' ')"
check "no other file is real" test -e "$space/gone.txt"
chela diff s1 --json
holds "the rest of the file still waits" '.[0].files[] | select(.path == "a.txt") | (.hunks | length) == 1 and .added == 1'
chela apply s1 --file new
exits "apply of a directory" 0
same "the directory is real" x "$(cat "$space/new/deep/f")"
chela apply s1 --file nothing.txt
exits "apply of a file without changes is refused" 2
chela apply s1 --file a.txt --hunk 7
exits "apply of a hunk that does not exist is refused" 2
execute s1 "echo more >>a.txt; cat new/deep/f"
exits "the session goes on with its changes" 0
chela apply s1
exits "apply of the rest" 0
same "all is real" "TWO NINE more" "$(sed -n '2p;11p;13p' "$space/a.txt" | paste -sd' ')"
check "the deleted file is gone" test ! -e "$space/gone.txt"
same "nothing waits any more" 0 "$(layers)"
chela diff s1
exits "diff of a session without changes says so" 2

jq -nc '[{tool: "exec", args: {command: "pwd", cwd: "nowhere"}}]' >"$tmp/calls"
run_calls s1 "$(cat "$tmp/calls")"
holds "a command that cannot start says why" '[.[] | select(.type == "tool_result")][0] | .is_error and (.content | test("nowhere"))'

# --- discard
execute s2 "echo bad >a.txt; echo bad >bad.txt"
chela apply s2 --discard
exits "discard" 0
check "nothing of a discarded run is real" sh -c "! grep -q bad '$space'/*.txt"
same "nothing waits after a discard" 0 "$(layers)"

# --- a file that changed underneath
printf 'base\n' >"$space/b.txt"
execute s3 "echo run >>b.txt; echo c >c.txt"
printf 'person\n' >"$space/b.txt"
chela apply s3
exits "a file that changed underneath is refused" 1
same "the file of the person stays" person "$(cat "$space/b.txt")"
check "nothing else was applied" test ! -e "$space/c.txt"
if grep -q "b.txt" "$err"; then ok "the refusal names the file"; else not_ok "the refusal names the file" "$(cat "$err")"; fi
chela apply s3 --file c.txt
exits "the other file can be taken" 0
touch -d '2020-01-01' "$space/a.txt"
chela apply s3 --discard

# --- what a person must name
git -C "$space" init -q
git -C "$space" -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
execute s4 "echo evil >.envrc; mkdir .vscode; echo evil >.vscode/tasks.json; echo fine >fine.txt; git add fine.txt; git -c user.name=a -c user.email=a@b commit -qm second; ln -s /etc/passwd out; mkdir -p node_modules/x; echo y >node_modules/x/.envrc"
exits "a run that leaves files that others execute is not stopped" 0
chela apply s4
exits "apply leaves them out" 0
check "an ordinary file is real" test -e "$space/fine.txt"
check "a package's file is ordinary" test -e "$space/node_modules/x/.envrc"
same "files that others execute, repositories and links that lead out are not" ".git" "$(cd "$space" && ls -d .envrc .vscode out .git 2>/dev/null)"
same "the repository is as before" first "$(git -C "$space" log -1 --format=%s)"
for path in .envrc .vscode out .git; do
    if grep -q -- "--file $path" "$err"; then ok "apply names $path"; else not_ok "apply names $path" "$(cat "$err")"; fi
done
chela diff s4
if grep -q "refs/heads" "$err"; then ok "diff names the branches of a repository"; else not_ok "diff names the branches of a repository" "$(cat "$err")"; fi
chela apply s4 --file .git --file .envrc
exits "apply of named changes" 0
same "the commit is real" second "$(git -C "$space" log -1 --format=%s)"
same "the repository is sound" "" "$(git -C "$space" fsck 2>&1 | grep -v '^notice')"
check "the named file is real" test -e "$space/.envrc"
chela apply s4 --discard

# --- never
run_calls s5 '[{"tool": "write", "args": {"file_path": "n.txt", "content": "n\n"}}]' --apply never
exits "a run under never ends as done" 0
chela diff s5
if grep -q "^+n" "$out"; then ok "never: diff prints the patch"; else not_ok "never: diff prints the patch" "$(cat "$out")"; fi
chela apply s5
exits "never: apply is refused" 2
chela apply s5 --discard
exits "never: discard works" 0

# --- bad input
chela run --model scripted/demo --apply review --sandbox off hello
exits "review without a sandbox is refused" 2
chela diff nosuch
exits "diff of an unknown session" 2
chela diff
exits "diff without a session" 2
chela apply s1 --hunk x
exits "a hunk that is no number" 2

# --- a workspace that holds the state directory
mkdir "$tmp/home"
run_calls h1 "$(jq -nc --arg d ".local/state/chela/layers" '[
    {tool: "exec", args: {command: ("echo t >t; ls -A " + $d + " | wc -l; echo x >" + $d + "/x")}},
    {tool: "write", args: {file_path: ($d + "/journal"), content: "rm - t"}}]')" --workspace "$tmp"
exits "a workspace that holds the state directory" 0
holds "commands see no layers" '[.[] | select(.type == "tool_result" and .name == "exec")][0].content | test("^0\n")'
holds "file tools write no layers" '[.[] | select(.type == "tool_result" and .name == "write")][0].is_error'
chela apply h1 --discard

# --- over HTTP
cat >"$space/chela.yaml" <<YAML
store: sqlite:./serve.db
apply: review
agents: { list: [{ id: main, model: scripted/serve.yaml }] }
YAML
jq -nc '{rules: [{when: {after: "none"}, call: {tool: "write", args: {file_path: "web.txt", content: "web\n"}}}, {say: "done"}]}' >"$space/serve.yaml"
serve
call GET /api/sessions/web/diff
answers "diff of a session without changes" 404
post '/api/sessions/web/messages' '{"text":"go"}'
for _ in {1..200}; do
    call GET /api/sessions/web/diff
    [ "$code" = 200 ] && break
    sleep 0.1
done
holds "GET diff lists the files" '.[0].files[0] | .path == "web.txt" and .added == 1'
post /api/sessions/web/apply '{"files":["no.txt"]}'
answers "apply of an unknown file" 400
post /api/sessions/web/apply '{}'
answers "apply" 200
same "the file is real" web "$(cat "$space/web.txt")"
stop_serving
rm "$space/chela.yaml"

# --- directories that are moved: programs expect one file system
mkdir -p "$space/w/d/e" "$space/w/d/shut" "$space/w/k" "$space/w/m/n" "$space/w/r/old"
for i in 0 1 2 3 4 5 6 7; do mkdir -p "$space/w/many/$i/x" && echo "$i" >"$space/w/many/$i/x/y"; done
(cd "$space/w" && echo f >d/f && echo g >d/e/g && ln -s f d/link && mkfifo d/fifo && echo s >d/shut/s && chmod 500 d/shut &&
    touch -d @1500000000 d/e d && echo l >k/l && echo p >m/n/p && echo >file && echo a >r/old/a && git -C r init -q && git -C r add . &&
    git -C r -c user.name=a -c user.email=a@b commit -qm first)
cat >"$space/w/moves.py" <<'PY'
import errno, os, signal, threading
def says(name, fn, want):
    try:
        fn(); got = 0
    except OSError as e:
        got = e.errno
    if got != want: print('WRONG', name, errno.errorcode.get(got, got))
os.rename('d', 'moved')
says('the old name is gone', lambda: os.stat('d'), errno.ENOENT)
assert sorted(os.listdir('moved')) == ['e', 'f', 'fifo', 'link', 'shut'], os.listdir('moved')
assert open('moved/f').read() == 'f\n' and open('moved/e/g').read() == 'g\n'
assert os.readlink('moved/link') == 'f' and os.stat('moved/shut').st_mode & 0o7777 == 0o500
assert int(os.stat('moved').st_mtime) == 1500000000 and int(os.stat('moved/e').st_mtime) == 1500000000
says('into itself', lambda: os.rename('moved', 'moved/e/x'), errno.EINVAL)
says('to a directory that is not empty', lambda: os.rename('k', 'moved'), errno.ENOTEMPTY)
says('to a file', lambda: os.rename('k', 'file'), errno.ENOTDIR)
says('to another file system', lambda: os.rename('k', '/tmp/k'), errno.EXDEV)
says('to nowhere', lambda: os.rename('k', 'no/k'), errno.ENOENT)
says('of nothing', lambda: os.rename('nothing', 'x'), errno.ENOENT)
os.mkdir('empty')
says('to an empty directory', lambda: os.rename('k', 'empty'), 0)
assert os.listdir('empty') == ['l']
fd = os.open('m', os.O_RDONLY)
says('beside a descriptor', lambda: os.rename('n', 'o/', src_dir_fd=fd, dst_dir_fd=fd), 0)
says('by an absolute name', lambda: os.rename(os.getcwd() + '/m/', os.getcwd() + '/mm'), 0)
assert os.listdir('mm/o') == ['p']
os.rename('mm', 'm'); os.rename('m', 'mm')
ended = []
def go(i):
    os.rename('many/%d' % i, 'many/moved%d' % i); ended.append(i)
signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
threads = [threading.Thread(target=go, args=(i,)) for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(ended) == 8 and sorted(os.listdir('many')) == ['moved%d' % i for i in range(8)]
assert not [n for n in os.listdir('.') if n.startswith('.chela-move')]
print('all', 'well')
PY
execute s7 "cd w && python3 moves.py && cd r && git mv old new && git status --short && mkfifo p"
holds "directories of a layer can be moved" '[.[] | select(.type == "tool_result")][0].content | test("all well\n.*R  old/a -> new/a")'
chela apply s7
exits "moved directories can be applied" 0
same "they are at their places" "f g 0 p" "$(cd "$space/w" && cat moved/f moved/e/g many/moved0/x/y mm/o/p | paste -sd' ')"
same "and nowhere else" "" "$(cd "$space/w" && ls -d d k m/ many/0 2>/dev/null; find . -name '.chela-move*')"
chela apply s7 --discard
chmod 700 "$space/w/moved/shut"
rm -rf "$space/w"

# --- directories that their owner may not write, or not read
mkdir -p "$space/w/shut" && echo s >"$space/w/shut/s" && chmod 500 "$space/w/shut"
execute s8 "cd w && mkdir -p a/b closed/x && echo x >a/b/c && echo y >closed/x/y && chmod 555 a/b a && chmod 0 closed/x closed && chmod 700 shut && echo t >shut/t && rm shut/s && chmod 500 shut"
chela apply s8
exits "closed directories can be applied" 0
same "with their modes, unless they close them to their owner" "555 555 700 500" "$(cd "$space/w" && stat -c %a a a/b closed shut | paste -sd' ')"
chmod 700 "$space/w/closed" "$space/w/closed/x"
same "and their files" "x y t" "$(cd "$space/w" && cat a/b/c closed/x/y shut/* | paste -sd' ')"
execute s8 "cd w && chmod 700 closed/x && rm -r closed && mkdir n && echo n >n/n && chmod 0 n"
chela apply s8 --discard
exits "closed directories can be discarded" 0
same "nothing of it waits" 0 "$(layers)"
chmod -R u+rwx "$space/w"
rm -rf "$space/w"

# --- a killed process
jq -nc '{rules: [{when: {turn: 1}, call: {tool: "exec", args: {command: "echo kept >k.txt; sleep 300"}}}, {say: "done"}]}' >"$tmp/rules.yaml"
(cd "$space" && with_env "$program" run --model "scripted/$tmp/rules.yaml" --apply review --approve auto --session s6 go >/dev/null 2>&1) &
shell=$!
for _ in $(seq 200); do
    find "$tmp/.local/state/chela/layers" -name k.txt 2>/dev/null | grep -q . && break
    sleep 0.1
done
chela diff s6
exits "diff during the run says that it is busy" 1
kill -9 "$(pgrep -P "$shell" -f 'chela run' || echo "$shell")"
wait "$shell" 2>/dev/null
for _ in $(seq 100); do
    chela diff s6
    [ "$status" = 0 ] && grep -q '^+kept' "$out" && break
    sleep 0.1
done
if grep -q "^+kept" "$out"; then ok "the changes of a killed run wait"; else not_ok "the changes of a killed run wait" "$(cat "$out" "$err")"; fi
chela sessions resume s6 --model "scripted/$tmp/rules.yaml" --output jsonl
check "a resumed run stays under review" test ! -e "$space/k.txt"
chela apply s6
same "the changes of a killed run can be applied" kept "$(cat "$space/k.txt")"

tap_done

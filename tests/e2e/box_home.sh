#!/usr/bin/env bash
# The home of commands that stays (sandbox.home), and the disk that one command may fill.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

execute() { # COMMAND [FLAG...]
    local command=$1
    shift
    jq -nc --arg c "$command" '{rules: [{when: {turn: 1}, call: {tool: "exec", args: {command: $c}}}, {say: "done"}]}' >"$tmp/rules.yaml"
    chela run --model "scripted/$tmp/rules.yaml" --approve auto --output jsonl "$@" go
}
result() { # NAME FILTER: of the only result
    holds "$1" "[.[] | select(.type == \"tool_result\")][0] | $2"
}
homes=$tmp/.local/state/chela/homes

# --- a home that stays
execute 'echo a >~/a; ls -a ~'
execute 'ls -a ~'
result "by default a home is empty" '.content | test("\\na\\n") | not'
check "and nothing of it stays" test ! -e "$homes"
printf 'sandbox: { home: true }\n' >"$space/chela.yaml"
printf '[user]\n\tname = Ann\n\temail = ann@x\n' >"$tmp/.gitconfig"
execute 'mkdir -p ~/.cache && echo warm >~/.cache/x; git config --global core.hooksPath /tmp/evil; ln -sf /etc/passwd ~/link; chmod 500 ~/.cache'
result "a command can write the home" '.is_error | not'
execute 'cat ~/.cache/x; git config user.name; git config core.hooksPath || echo no hooks; cd && pwd; stat -c %a .'
result "the next command finds it" '.content | test("warm\\nAnn\\nno hooks\\n/run/home\\n700\\n")'
same "one home for the workspace" "1 700" "$(find "$homes" -mindepth 1 -maxdepth 1 | wc -l) $(stat -c %a "$homes"/space-*)"
execute 'rm -rf ~/.gitconfig; ln -s /etc/passwd ~/.gitconfig'
execute 'git config user.name; head -c 5 /etc/passwd'
result "a link in place of the settings of Git is replaced" '.content | test("Ann\\nroot:")'
same "nothing is set aside in it" "" "$(find "$homes" -name '*.held*')"
execute 'echo x >~/under; echo y >y' --apply review --session under
result "under review, too, the home is written" '.is_error | not'
check "at once" test -e "$(echo "$homes"/space-*)/under"
check "unlike the workspace" test ! -e "$space/y"
chela apply under --discard
mkdir "$tmp/second"
space=$tmp/second
cp "$tmp/space/chela.yaml" "$space"
execute 'ls -a ~; ls /run; ls '"$homes"' 2>&1'
result "another workspace has another home" '.content | (test("under") | not) and test("No such file")'
same "two homes" 2 "$(find "$homes" -mindepth 1 -maxdepth 1 | wc -l)"

# --- the disk
printf 'sandbox: { home: true, limits: { diskMb: 20, diskFiles: 300 } }\n' >"$space/chela.yaml"
execute 'head -c 15000000 /dev/urandom >a; sleep 0.5; rm a; head -c 15000000 /dev/urandom >b; sleep 0.5; echo fine'
result "space that is freed is not counted" '.content | test("fine")'
rm -f "$space/b"
execute 'for i in 1 2 3 4 5 6 7 8 9; do head -c 5000000 /dev/urandom >big$i; sleep 0.2; done; sleep 20; echo survived'
result "a command that fills the disk is ended" '.is_error and (.content | test("more than 20 MB of the disk \\(sandbox.limits.diskMb\\)")) and (.content | test("survived") | not)'
rm -f "$space"/big*
execute 'for i in 1 2 3 4 5 6 7 8 9; do head -c 5000000 /dev/urandom >~/big$i; sleep 0.2; done; sleep 20; echo survived'
result "the home counts" '.is_error and (.content | test("diskMb"))'
rm -rf "$homes"
execute 'i=0; while [ $i -lt 1000 ]; do : >f$i; i=$((i+1)); done; sleep 20; echo survived'
result "a command that makes many files is ended" '.is_error and (.content | test("more than 300 files \\(sandbox.limits.diskFiles\\)"))'
rm -f "$space"/f*
execute 'for i in 1 2 3 4 5 6 7 8 9; do head -c 5000000 /dev/urandom >big$i; sleep 0.2; done; sleep 20; echo survived' --apply review --session full
result "under review, too" '.is_error and (.content | test("diskMb"))'
chela apply full --discard
printf 'sandbox: { limits: { diskMb: 0, diskFiles: 0 } }\n' >"$space/chela.yaml"
execute 'head -c 40000000 /dev/urandom >a; sleep 0.3; rm a; echo fine'
result "0: no limit" '.content | test("fine")'

tap_done

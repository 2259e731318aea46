#!/usr/bin/env bash
# A session goes on with the settings that it was used with: --model, --workspace, and --approve
# only where it is strict.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

mkdir "$space/site"
site=$(cd "$space/site" && pwd -P)
for n in one two; do
    cat >"$space/$n.yaml" <<YAML
rules:
  - { when: { user: "^where", after: none }, call: { tool: ls, args: {} } }
  - { when: { user: "^run", after: none }, call: { tool: exec, args: { command: "touch ran" } } }
  - { when: { user: "^where" }, say: "model $n: {{result}}" }
  - { say: "model $n says {{user}}" }
YAML
done
echo x >"$site/only-here"
say() { # FLAG... reads a line
    echo "$1" >"$tmp/lines"
    shift
    stdin=$tmp/lines chela chat "$@"
}

# --- chat, line by line
say hello --model "scripted/$space/one.yaml" --workspace site --session a
exits "a session begins" 0
check "a session begins: no word about settings" sh -c "! grep -q 'as before' '$err'"
say "where am I" --continue
check "--continue: the model" grep -q '^model one: .*only-here' "$out"
check "--continue: said" grep -q "^session a goes on with --model scripted/$space/one.yaml --workspace $site, as before$" "$err"
chela run --continue "where am I"
check "run --continue: the model" grep -q '^model one: .*only-here' "$out"
check "run --continue: said" grep -q "^session a goes on with --model scripted/$space/one.yaml --workspace $site, as before$" "$err"
say "hello" --session a --model "scripted/$space/two.yaml"
check "a model of one's own" grep -q '^model two says hello' "$out"
check "a model of one's own: the rest stays" grep -q "^session a goes on with --workspace $site, as before$" "$err"
say "hello" --continue
check "which is kept from then on" grep -q '^model two says hello' "$out"
say "hello" --session b --model "scripted/$space/one.yaml" --approve auto
say "run it" --session b
check "approvals are not widened" test ! -e "$space/ran"
check "approvals are not widened: said" grep -q '^--approve auto is not carried over: pass it again' "$err"
chela sessions export a
cp "$out" "$tmp/a.jsonl"
sed -i 's/"key":"a"/"key":"stranger"/' "$tmp/a.jsonl"
chela sessions import "$tmp/a.jsonl"
say "hello" --session stranger
check "a file that is imported chooses nothing" sh -c "! grep -q 'as before' '$err'"
rm "$site/only-here"
rmdir "$site"
say "hello" --session a
exits "a directory that is gone" 2
check "a directory that is gone: said" grep -q -- "--workspace $site: No such file" "$err"
mkdir "$site"

# --- --continue stays in its directory
mkdir "$space/here" "$space/there"
in_dir() { # DIRECTORY ARGUMENT...
    (cd "$space/$1" && with_env timeout -k 5 $seconds "$program" "${@:2}" --store "sqlite:$tmp/dirs.db" >"$out" 2>"$err" </dev/null)
    status=$?
}
in_dir there run --continue hello
exits "--continue: no session at all" 2
in_dir here run --session mine --model "scripted/$space/one.yaml" hello
in_dir there run --continue hello
exits "--continue: no session of this directory" 2
check "--continue: no session of this directory: which one there is" grep -q 'another directory: --session mine' "$err"
in_dir there run --session theirs --model "scripted/$space/two.yaml" hello
for how in "run --continue hi" "chat --continue"; do
    # shellcheck disable=SC2086
    in_dir here $how
    check "$how: the session of this directory" grep -q 'session mine goes on with' "$err"
    # shellcheck disable=SC2086
    in_dir there $how
    check "$how: that of the other directory" grep -q 'session theirs goes on with' "$err"
done
in_dir here run --session theirs --model "scripted/$space/two.yaml" hi
in_dir here run --continue hi
check "a session that moved: its last directory counts" grep -q 'session theirs goes on with' "$err"

# --- sessions resume
chela run --model "scripted/$space/one.yaml" --workspace site --approve ask --session r "run it"
exits "a run that waits" 5
chela sessions resume --allow all r
exits "sessions resume" 0
check "sessions resume: the directory" test -e "$site/ran" -a ! -e "$space/ran"
chela run --model "scripted/$space/one.yaml" --base-url http://127.0.0.1:9 --session addressed hello
chela sessions resume addressed
check "a model at an address of its own is not called elsewhere" grep -q 'pass --model and --base-url' "$err"

# --- the tools of a session stay the same, with a terminal and without
printf 'rules:\n  - { when: { user: "^ask", after: none }, call: { tool: ask_user, args: { question: "Which?" } } }\n  - { when: { user: "^run", after: none }, call: { tool: exec, args: { command: "true" } } }\n  - { say: "said {{result}}" }\n' >"$space/asks.yaml"
same_tools() { # NAME
    chela sessions export "$2"
    check "$1: one epoch" test "$(grep -c '"type":"epoch"' "$out")" -eq 1
}
chela run --session asks --model "scripted/$space/asks.yaml" --tools ask_user,read --output jsonl "ask"
exits "a question without a terminal" 5
asked=$(jq -r 'select(.type == "client_tool_required") | .call_id // .id' "$out")
chela sessions resume asks --answer "$asked=blue"
exits "a question that a command answers" 0
check "a question that a command answers: the answer" grep -q '^said blue' "$out"
check "--tools goes on" grep -q 'goes on with .*--tools ask_user,read, as before' "$err"
same_tools "a question that a command answers" asks
chela run --session waits --model "scripted/$space/asks.yaml" --approve ask --deny todo "run"
exits "a call that waits" 5
chela sessions resume waits --allow all
exits "a call that a command allows" 0
same_tools "a call that a command allows" waits

# --- replay
chela run --model "scripted/$space/one.yaml" --workspace site --session again "where am I"
chela replay again
exits "replay: with the session's settings, nothing differs" 0
same "replay: nothing is reported" "" "$(cat "$out")"
chela replay again --from-turn 2
check "replay --from-turn: the model" grep -q '^model one: .*ran' "$out"
chela replay again --model "scripted/$space/two.yaml" --from-turn 2
check "replay --from-turn: a model of one's own" grep -q '^model two: .*ran' "$out"

# --- at a terminal
HEIGHT=100
for WIDTH in 60 200; do
    open_terminal "$program chat --session a"
    sees "$WIDTH columns: said" 'goes on with'
    sees "$WIDTH columns: a note breaks between words" '(^|Ctrl-D )leaves$'
    types "hello 你好 🙂"
    press Enter
    sees "$WIDTH columns: the model" 'model two says hello 你好 🙂'
    types "/model scripted/$space/one.yaml"
    press Enter
    sees "$WIDTH columns: another model" 'the next message goes to'
    types "again"
    press Enter
    sees "$WIDTH columns: that model answers" 'model one says again'
    press C-d
    ends "$WIDTH columns: leaves" 0
    open_terminal "$program chat --resume"
    shows '^›'
    types "hello"
    press Enter
    sees "$WIDTH columns: picked, with its model" 'goes on with'
    types "third"
    press Enter
    sees "$WIDTH columns: picked: answers" 'model (one|two) says third'
    press C-d
    ends "$WIDTH columns: leaves the picked one" 0
    say hello --session a --model "scripted/$space/two.yaml"
done
chela run --session plain --model "scripted/$space/asks.yaml" "hello"
open_terminal "$program chat --session plain"
shows 'goes on with'
types "again"
press Enter
shows '^said'
press C-d
ends "a session that goes on at a terminal" 0
same_tools "a session that goes on at a terminal" plain
tap_done

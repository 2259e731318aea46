#!/usr/bin/env bash
# chela run --background and chela attach: a run that goes on without its terminal, followed,
# steered, approved and cancelled from another one.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

cat >"$space/rules.yaml" <<YAML
rules:
  - { when: { user: "^long", after: none }, say: "I begin 開始 🙂.", call: { tool: exec, args: { command: "until [ -e go ]; do sleep 0.05; done; echo ended" } } }
  - { when: { user: "^ask", after: none }, call: { tool: exec, args: { command: "echo agreed" } } }
  - { when: { user: "^what", after: none }, call: { tool: ask_user, args: { question: "Which one?" } } }
  - { when: { user: "^also" }, say: "heard: {{user}}" }
  - { when: { after: any }, say: "done: {{result}}" }
  - { say: "you said: {{user}}" }
YAML
# shellcheck disable=SC2054
flags=(--model scripted/rules.yaml --sandbox off)
background() { # FLAG... PROMPT: sets $session, $pid
    chela run --background "${flags[@]}" "$@"
    session=$(cat "$out")
    pid=$(sed -n 's/^process \([0-9]*\) goes on.*/\1/p' "$err")
}
gone() { # PID: wait until the process has ended
    for _ in {1..600}; do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}
finish() { # the run in progress
    touch "$space/go"
    check "$1" gone "$pid"
    rm -f "$space/go"
}

# --- begins, is followed, ends
background --approve auto "long job"
same "begins" 0 $status
check "prints the key alone" grep -qxE 's_[0-9a-f]{16}' "$out"
check "says how to follow" grep -q "chela attach $session" "$err"
log_file=$(sed -n 's/.*log: //p' "$err")
check "says where the log is" [ -f "$log_file" ]
same "the log is the user's alone" 600 "$(stat -c %a "$log_file")"
chela sessions list --json
same "is listed as running" running "$(jq -r --arg k "$session" '.[] | select(.key == $k).status' "$out")"
(for _ in {1..400}; do grep -q 'I begin' "$err" && break; sleep 0.05; done; touch "$space/go") &
chela attach "$session"
same "attach: exit code of the run" 0 $status
check "attach: the answer" grep -q '^ended$' "$out"
check "attach: what was said before" grep -q 'I begin 開始 🙂.' "$err"
check "attach: the call" grep -qF '[tool] exec' "$err"
check "the process ends" gone "$pid"
rm -f "$space/go"
check "the log has the answer" grep -q '^ended$' "$log_file"
chela attach "$session"
same "attach to a session at rest" 0 $status
check "shows the last answer" grep -q '^ended$' "$out"
check "says that it has ended" grep -q "^no run of session $session is in progress; its last answer was:" "$err"
chela attach --allow all "$session"
same "a decision for a session at rest: exit code" 2 $status
check "a decision for a session at rest: said" grep -q 'does not ask for approval all: no run of the session is in progress' "$err"
chela attach --output json "$session"
same "as an event" "done" "$(jq -r .status "$out")"

# --- a message on standard input, another session, twice
echo "by pipe" >"$tmp/in"
stdin=$tmp/in background --session mine
same "the session's key" mine "$session"
check "the prompt of a pipe" gone "$pid"
chela attach mine
check "was read" grep -q '^you said: by pipe' "$out"
background --session mine "once more"
check "the same session again" gone "$pid"
chela sessions show --json mine
same "has both" 2 "$(jq '[.transcript[] | select(.role == "user")] | length' "$out")"

# --- each key has a log of its own
declare -A logs=()
long=$(printf '会%.0s' {1..85})
for name in a/b 'a b' a_b a%2Fb a:b A/B ../up . "$long" "${long}s" "$(printf '/%.0s' {1..256})"; do
    background --session "$name" "for log"
    same "the session's key: ${name:0:20}" "$name" "$session"
    check "the run with the key ends: ${name:0:20}" gone "$pid"
    log_file=$(sed -n 's/.*log: //p' "$err")
    same "the log has one answer: ${name:0:20}" 1 "$(grep -cx 'you said: for log' "$log_file")"
    check "the log is in its directory: ${name:0:20}" grep -q '/chela/background/[^/]' <<<"$(realpath "$log_file")"
    logs[$log_file]=1
done
same "the logs are different files" 11 ${#logs[@]}
background --session "$(printf 'k%.0s' {1..300})" "hi"
same "a key that is too long: exit code" 2 $status
check "a key that is too long: said" grep -q 'session key' "$err"

# --- approvals and questions
background "ask me"
chela attach "$session"
same "nobody to ask: exit code" 5 $status
check "says what waits" grep -qE "waits for approval ap_[0-9a-f]+:$" "$err"
check "and how to decide" grep -qE "'chela attach [^ ]+ --allow ap_[0-9a-f]+' approves it" "$err"
check "says what waits: the call" grep -qE "^  exec: echo agreed$" "$err"
check "says what waits: in lines" grep -qE "^    directory: " "$err"
chela attach --allow ap_none "$session"
same "an id that nobody asked for: exit code" 2 $status
check "an id that nobody asked for: said" grep -q "session $session does not ask for approval ap_none$" "$err"
chela attach --allow all "$session"
same "approved" 0 $status
check "and ran" grep -q '^agreed$' "$out"
background "ask me"
chela attach --refuse all "$session"
check "refused" grep -q '^done: ' "$out"
check "and did not run" [ -z "$(grep -x agreed "$out")" ]

# --- steering and cancelling
background --approve auto "long job"
chela attach --say "also this" "$session" &
attached=$!
for _ in {1..400}; do
    chela sessions export "$session"
    grep -q '"steer"' "$out" && break
    sleep 0.1
done
check "a message waits for the run" grep -q '"steer"' "$out"
touch "$space/go"
wait $attached
rm -f "$space/go"
check "steered run ends" gone "$pid"
chela attach "$session"
check "the model heard it" grep -q '^heard: also this' "$out"
background --approve auto "long job"
chela attach --cancel "$session"
same "cancelled: exit code" 4 $status
check "cancelled: the process ends" gone "$pid"

# --- killed, and resumed in the background
background --approve auto "long job"
kill -9 "$pid"
check "killed" gone "$pid"
chela attach "$session"
same "attach to a dead run" 1 $status
check "says how to go on" grep -q "chela sessions resume $session" "$err"
chela sessions resume --background "${flags[@]}" --approve auto "$session"
same "resumed in the background" 0 $status
same "prints the key" "$session" "$(cat "$out")"
pid=$(sed -n 's/^process \([0-9]*\) goes on.*/\1/p' "$err")
check "resumed run ends" gone "$pid"
chela attach "$session"
check "the model was told of the cut" grep -q '^done: ' "$out"

# --- told to end: time to finish, then it is left to be resumed
background --approve auto "long job"
kill -TERM "$pid"
(sleep 0.5 && touch "$space/go") &
chela attach "$session"
same "told to end: the run finishes" 0 $status
check "told to end: its answer" grep -q '^ended$' "$out"
check "told to end: the process ends" gone "$pid"
rm -f "$space/go"
background --approve auto "long job"
kill -TERM "$pid"
kill -TERM "$pid"
check "told twice: it ends" gone "$pid"
chela sessions list --json
same "told twice: can be resumed" running "$(jq -r --arg k "$session" '.[] | select(.key == $k).status' "$out")"
touch "$space/go"
chela sessions resume --sandbox off "$session"
same "told twice: resumed" 0 $status
check "resumed with the model of the session" grep -q "^session $session goes on with --model scripted/rules.yaml, as before" "$err"
check "and not with its approvals" grep -q "^--approve auto is not carried over" "$err"
rm -f "$space/go"
background "ask me"
chela attach "$session"
kill -TERM "$pid"
check "told to end while it waits: ends at once" gone "$pid"
chela sessions resume --allow all "$session"
same "told to end while it waits: resumed" 0 $status

# --- mistakes
chela run --background --store memory: "${flags[@]}" "hi"
same "a store of one process: exit code" 2 $status
check "a store of one process: said" grep -q "^chela: --background needs a store that other processes can read" "$err"
chela run --background --model nosuch/x "hi"
same "an error before the run: exit code" 2 $status
check "an error before the run: shown" grep -q "unknown provider 'nosuch'" "$err"
same "and no key" "" "$(cat "$out")"
chela run --background --no-session "${flags[@]}" "hi"
same "needs a session" 2 $status
chela attach
same "nothing to attach to" 2 $status
check "says so" grep -q 'no run is in progress' "$err"
chela attach nosuch
check "an unknown session" grep -q "no session 'nosuch'" "$err"

# --- at a terminal
for WIDTH in 60 200; do
    background "ask me 請"
    open_terminal "$program attach $session"
    sees "$WIDTH: the call is asked" 'echo agreed'
    types "once"
    press Enter
    sees "$WIDTH: and runs" '^agreed'
    ends "$WIDTH: the end is shown" 0
    background "what now"
    open_terminal "$program attach $session"
    sees "$WIDTH: a question of the model" 'Which one'
    types "第二个"
    press Enter
    sees "$WIDTH: is answered" '^done: .*第二个'
    ends "$WIDTH: and ends" 0
    background --approve auto "long job"
    open_terminal "trap : INT; $program attach"
    sees "$WIDTH: without a key: the run in progress" 'I begin 開始 🙂'
    press C-c
    ends "$WIDTH: Ctrl-C detaches" 0
    sees "$WIDTH: and says so" 'detached'
    check "$WIDTH: the run goes on" kill -0 "$pid"
    open_terminal "$program attach $session"
    shows 'I begin'
    types "also 你好"
    press Enter
    sleep 0.5
    finish "$WIDTH: ends after all"
    sees "$WIDTH: a typed line steers" '^heard: also 你好'
    background --approve auto "long job"
    open_terminal "$program attach $session"
    shows 'I begin'
    types "/foo"
    press Enter
    sees "$WIDTH: no message to the run" '/foo is no command here'
    types "/cancel"
    press Enter
    ends "$WIDTH: /cancel" 4
    check "$WIDTH: cancelled" gone "$pid"
done
unset WIDTH

# --- the terminal is closed
open_terminal "$program run --background ${flags[*]} --approve auto long job"
ends "begun at a terminal" 0
session=$(screen | grep -oE '^s_[0-9a-f]{16}' | head -n 1)
pid=$(screen | tr -d '\n' | grep -oE 'process [0-9]+' | grep -oE '[0-9]+' | head -n 1)
close_terminal
check "goes on without it" kill -0 "$pid"
finish "and ends by itself"
chela attach "$session"
check "with its answer" grep -q '^ended$' "$out"

# --- a run of another terminal can be followed, and takes no messages
open_terminal "$program chat --session talk ${flags[*]} --approve auto"
shows '^>'
types "long job"
press Enter
shows 'I begin'
for _ in {1..100}; do
    chela sessions list --json
    [ "$(jq -r '.[] | select(.key == "talk").status' "$out")" = running ] && break
    sleep 0.05
done
chela attach --say "also this" talk
same "a chat takes no messages" 1 $status
check "says why" grep -q 'its own terminal only' "$err"
touch "$space/go"
chela attach talk
check "and can be followed" grep -q '^ended$' "$out"
tap_done

#!/usr/bin/env bash
# chela chat: sessions are found again, forks are shown, and nothing that was typed is lost.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

cat >"$space/hold" <<'SCRIPT'
#!/bin/sh
touch holding
while [ ! -e go ]; do sleep 0.05; done
echo "held"
SCRIPT
chmod +x "$space/hold"
cat >"$space/chela.yaml" <<'YAML'
tools:
  custom:
    - { name: hold, description: Waits., command: [./hold], permission: read, parameters: { type: object } }
YAML
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^stall" }, say: "wait for it now please", stall_after: 3 }
  - { when: { user: "^hold", after: none }, call: { tool: hold, args: {} } }
  - { say: "you said: {{user}}" }
YAML

chat() { # FLAG...
    open_terminal "$program chat --model scripted/rules.yaml $*"
    sees "the prompt is there (chat $*)" '> *$'
}
quit() {
    press C-c C-d
    ends "$1: leaves" 0
}
said() { # KEY TEXT...: a session with these messages
    local name=$1
    shift
    printf '%s\n' "$@" >"$tmp/lines"
    stdin=$tmp/lines chela chat --model scripted/rules.yaml --session "$name"
}
said paint 'paint the garden shed blue' 'and the door?'
said tea '泡一壶龙井茶 🍵'
said tax 'sum the tax forms of 2025'

# --- the picker
stdin=/dev/null chela chat --resume --model scripted/rules.yaml
exits "--resume without a terminal" 2
check "and what to do instead" grep -q -- '--continue' "$err"
for WIDTH in 60 200; do
    chat --resume
    sees "$WIDTH columns: newest first" '^› sum the tax forms of 2025 +1 turn  2[0-9-]+ [0-9:]+$'
    sees "$WIDTH columns: wide characters" '^  泡一壶龙井茶 🍵 +1 turn  2[0-9-]+ [0-9:]+$'
    sees "$WIDTH columns: size" 'paint the garden.* +2 turns'
    sees "$WIDTH columns: a preview" '^    you said: sum the tax forms of 2025$'
    prompt_is "$WIDTH columns: a place to search" 'resume >'
    types "grdn"
    sees "$WIDTH columns: letters in order" '^› paint the garden'
    sees "$WIDTH columns: the preview follows" '^    > and the door\?$'
    lacks "$WIDTH columns: the others are gone" 'tax forms'
    press BSpace BSpace BSpace BSpace
    types "龙井"
    sees "$WIDTH columns: search in Chinese" '^› 泡一壶龙井茶'
    types "zz"
    sees "$WIDTH columns: nothing matches" '0 of 3'
    press Enter
    prompt_is "$WIDTH columns: Enter chooses nothing then" 'resume > 龙井zz'
    press C-u
    press Down Down
    sees "$WIDTH columns: the arrows" '^› paint the garden'
    press Enter
    sees "$WIDTH columns: the conversation is shown" '^> paint the garden shed blue$'
    sees "$WIDTH columns: all of it" '^you said: and the door\?$'
    prompt_is "$WIDTH columns: and goes on" '>'
    quit "$WIDTH columns"
done
unset WIDTH
chat --resume
press Escape
prompt_is "Esc closes the list" '>'
types "something new"
press Enter
sees "Esc: another session" '^you said: something new$'

# --- from within
types "/resume tea"
press Enter
sees "/resume KEY" '^you said: 泡一壶龙井茶 🍵$'
types "/resume tax"
press Enter
sees "/resume, another" '^you said: sum the tax forms of 2025$'
types "/resume"
press Enter
sees "/resume lists the others" '^› 泡一壶龙井茶|^› something new'
lacks "but not this one" '^› sum the tax|^  sum the tax'
press C-c
prompt_is "Ctrl-C closes the list" '>'

# --- forks, and what undo leaves
types "/new story"
press Enter
sees "a session of its own" 'session story$'
types "once upon a time"
press Enter
sees "a beginning" '^you said: once upon a time$'
types "there was a fox"
press Enter
sees "a fox" '^you said: there was a fox$'
types "/fork hen"
press Enter
sees "/fork" 'going on as session hen'
types "and a hen"
press Enter
sees "in the copy" '^you said: and a hen$'
types "/undo"
press Enter
prompt_is "/undo" '> and a hen'
press C-u
types "/tree"
press Enter
sees "/tree: the root" 'once upon a time +story  2 turns'
sees "/tree: a fork, taken back" '└ \(taken back\) once upon a time +hen  3 turns'
sees "/tree: the copy in use" '  └ once upon a time  \(here\) +hen-2  2 turns'
types "story"
press Enter
sees "/tree goes to a branch" 'session story$'
types "/resume once"
press Enter
sees "/resume shows the copy in use" '^› once upon a time +2 turns'
lacks "not what was taken back" 'taken back\) once upon a time +3 turns'
press C-c
types "/undo"
press Enter
prompt_is "/undo in a session of before" '> there was a fox'
press C-u
types "/new quiet"
press Enter
sees "another session" 'session quiet$'
types "/undo"
press Enter
sees "nothing was said here" 'nothing was said here'
quit "forks"
chela sessions list --json
same "undo leaves no look-alike" 2 "$(jq '[.[] | select(.title == "once upon a time")] | length' "$out")"

# --- keys that arrive before the session is read wait for it
chat --resume
types $'story\r/rewind upon\r'
sees "a command typed ahead knows the conversation" '^› once upon a time'
press C-c
sees "the conversation was shown" '^you said: once upon a time$'
types $'/resume tea\ra message typed ahead\r'
sees "a message typed ahead is answered" '^you said: a message typed ahead$'
sees "after the conversation was shown" '^you said: 泡一壶龙井茶 🍵$'
quit "typed ahead"
open_terminal "env -u ANTHROPIC_API_KEY $program chat --model anthropic/claude-sonnet-4-6 --session story"
sees "a model without a key" 'ANTHROPIC_API_KEY'
types $'/model scripted/rules.yaml\r/rewind upon\r'
sees "another model opens the session" '^› once upon a time'
press C-c
quit "another model"

# --- a session that another process uses
(cd "$space" && believe && with_env "$program" run -q --model scripted/rules.yaml --session tea hold >/dev/null 2>&1) &
holder=$!
for _ in {1..400}; do
    [ -e "$space/holding" ] && break
    sleep 0.05
done
chat --session tea
sees "in use: said when it is opened" "^chela: session 'tea' is in use by process"
types "me too"
press Enter
sees "in use: the message" '^> me too$'
for _ in {1..400}; do
    [ "$(screen | grep -c "session 'tea' is in use")" -ge 2 ] && break
    sleep 0.05
done
prompt_is "in use: the message is at the prompt again" '> me too'
press C-u
types "/usage"
press Enter
sees "in use: the run has ended" '^1 run, '
same "in use: said once more, for the message" 2 "$(screen | grep -c "session 'tea' is in use")"
quit "in use"
touch "$space/go"
wait "$holder"
rm "$space/go"

# --- a full disk
open_terminal "trap '' XFSZ; sh -c 'echo \$\$ >$tmp/pid; exec $program chat --model scripted/rules.yaml --session full'"
sees "full disk: the prompt is there" '> *$'
types "one"
press Enter
sees "full disk: not yet" '^you said: one'
types "!echo tasted"
press Enter
sees "full disk: an output for the next message" 'goes with your next message'
prlimit --pid "$(cat "$tmp/pid")" --fsize=1:
types "two and three"
press Enter
sees "full disk: said" '^chela: store'
prompt_is "full disk: the message is at the prompt again" '> two and three'
prlimit --pid "$(cat "$tmp/pid")" --fsize=unlimited:
types ", four"
press Enter
sees "full disk: the edited message" '^you said: two and three, four'
types "/rewind"
press Enter
sees "full disk: the refused message cannot be taken back" 'rewind to before >'
same "full disk: two messages can" 2 "$(screen | grep -cE '^[› ] (one|two and three, four)')"
press C-c
quit "full disk"
stdin=/dev/null chela sessions export full
check "full disk: the output is in the message" grep -qF 'two and three, four\n\n<command' "$out"
chat --session full
types "/rewind"
press Enter
sees "full disk: reopened" '^[› ] two and three, four'
same "full disk: no record of the refused message" 0 "$(screen | grep -cE '^[› ] two and three$')"
press C-c
quit "full disk, reopened"
stdin=/dev/null chela sessions list --json
same "full disk: no half turn" 2 "$(jq '.[] | select(.key == "full") | .turns' "$out")"
(trap '' XFSZ && ulimit -f 1 && stdin=/dev/null chela sessions delete full && exit "$status")
same "full disk: exit code of a command" 1 $?

# --- what was typed is not lost
chat --session queue
types "hold"
press Enter
sees "a tool that runs" '[^>] hold$'
types "第一 first"
press Enter
sees "a message waits" 'as soon as it listens\) 第一 first'
types "second"
press Enter
sees "another waits" 'as soon as it listens\) second'
types "half"
press C-c
sees "cancelled" '^The work was cancelled'
sees "what waited comes back" '^> 第一 first$'
sees "all of it" '^  second$'
prompt_is "before the text that was typed" '  half'
press Enter
sees "and can be sent" '^you said: 第一 first second half$'
types "/compact"
press Enter
types "right after"
press Enter
sees "a message during /compact is answered" '^you said: right after$'
prompt_is "and does not come back" '>'
quit "queue"

# --- a /compact that is refused leaves nothing behind
chat --session cut
types "stall"
press Enter
sees "a reply that will be cut off" 'wait for'
pid=$(terminal display-message -p '#{pane_pid}')
kill -9 "$(pgrep -P "$pid" | head -n 1)"
ends "killed" 137
chat --session cut
sees "a run is unfinished" '/resume continues it'
types "/compact"
press Enter
sees "/compact is refused" 'has an unfinished run'
types "/resume"
press Enter
sees "the reply begins again" 'wait for'
types "listen"
press Enter
sees "the resumed run is told" 'as soon as it listens\) listen'
press C-c
prompt_is "and the message comes back" '> listen'
press C-u
quit "cut"
tap_done

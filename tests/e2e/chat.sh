#!/usr/bin/env bash
# chela chat in a real terminal (tmux): what is typed, what is seen, what must
# never be.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

cat >"$space/deploy" <<'SCRIPT'
#!/bin/sh
cat >>deployed
echo "deployed it"
SCRIPT
cat >"$space/hold" <<'SCRIPT'
#!/bin/sh
while [ ! -e go ]; do sleep 0.05; done
echo "held"
SCRIPT
chmod +x "$space/deploy" "$space/hold"
cat >"$space/chela.yaml" <<'YAML'
tools:
  custom:
    - { name: deploy, description: Ships it., command: [./deploy], permission: write, confirm: true,
        parameters: { type: object } }
    - { name: hold, description: Waits., command: [./hold], permission: read,
        parameters: { type: object } }
YAML
printf 'one\ntwo\nthree\n' >"$space/notes.txt"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^stall" }, say: "wait for it now please", stall_after: 3 }
  - { when: { user: "^ship", after: none }, say: "Shall I?", call: { tool: deploy, args: { to: prod } } }
  - { when: { user: "^hold", after: none }, call: { tool: hold, args: {} } }
  - { when: { user: "^edit", after: none },
      call: { tool: edit, args: { file_path: notes.txt, edits: [ { old_text: two, new_text: zwei } ] } } }
  - { when: { user: "^ask", after: none }, call: { tool: ask_user, args: { question: "Which one?", choices: [red, green] } } }
  - when: { user: "^show" }
    say: "# Heading\n\nSome **bold** text.\n\n- first\n- 第二\n\n| a | b |\n|---|---|\n| 中文 | x |\n\n```c\nint x;\n```\n\n\e[2Jnot wiped \a\u202E"
  - { when: { after: any }, say: "it said: {{result}}" }
  - { say: "you said: {{user}}" }
YAML

mkdir -p "$space/skills/zeppelin"
printf -- '---\nname: zeppelin\ndescription: Travel by air\n---\nFill it with gas.\n' >"$space/skills/zeppelin/SKILL.md"

# chat FLAG...: start it in an empty terminal. ENV: variables for it.
chat() {
    open_terminal "${ENV-} $program chat --model scripted/rules.yaml $*"
    sees "the prompt is there (chat $*)" '^>'
}

# --- typing
chat
sees "the model is named before its first answer" '^scripted/rules.yaml · '
types "hello"
prompt_is "typing is shown" '> hello'
press Enter
sees "an answer" '^you said: hello$'
sees "the message stays above" '^> hello$'
types "/skill zeppelin to Oslo"
press Enter
sees "a skill, called" '^you said: Use the skill zeppelin'
types "/zeppelin to Rome"
press Enter
sees "by its name alone" '^to Rome$'
types "/skill zepelin"
press Enter
sees "there is no such skill" "there is no skill 'zepelin' .known: zeppelin."
types "你好,世界"
press Left Left
types "大"
prompt_is "wide characters, inserted" '> 你好,大世界'
press Enter
sees "wide characters, sent" '^you said: 你好,大世界$'
types "one"
press M-Enter
types "two"
press Enter
sees "several lines, sent" '^you said: one two$'
terminal set-buffer "$(printf 'pasted\nlines')"
terminal paste-buffer -p
sees "a paste is not sent" '^  lines$'
lacks "a paste is not sent by itself" 'you said: pasted'
press Enter
sees "a paste, sent" '^you said: pasted lines$'
press -H 1b 5b 32 30 30 7e
types "a paste without its end"
sees "a paste without its end is shown" '^> a paste without its end$'
for _ in {1..20}; do
    sleep 1.2
    press Enter
    screen | grep -q '^you said: a paste without its end' && break
done
sees "a paste without its end, sent" '^you said: a paste without its end'
for size in 1000000 1100000; do
    head -c "$size" /dev/zero | tr '\0' x | fold -w 99 >"$tmp/large"
    terminal load-buffer "$tmp/large"
    terminal paste-buffer -p
    sees "$size pasted bytes: folded" '^> \[pasted [12]: 10[0-9]* lines\]$'
    [ "$size" = 1000000 ] || sees "$size pasted bytes: what is lost is named" 'too long: its last 62535 bytes are left out'
    press C-u
done
press C-p C-p C-p C-p
prompt_is "history" '> 你好,大世界'
press C-c
prompt_is "Ctrl-C clears the line" '>'
press C-r
types "hel"
sees "search" "\\(search 'hel'\\) hello"
press C-c

# --- Markdown, and what must not reach the terminal
types "show"
press Enter
sees "a table" '^中文 │ x$'
sees "a list" '^• 第二$'
sees "a heading without its mark" '^Heading$'
sees "escape sequences are named" '^\\u001b\[2Jnot wiped \\u0007\\u202e$'
if terminal capture-pane -pe | grep -q $'\033\\[1mbold'; then ok "bold is bold"; else not_ok "bold is bold" "$(terminal capture-pane -pe)"; fi

# --- tools
types "edit"
press Enter
sees "a call is a line" '^✓ edit notes.txt .* ms$'
sees "a change is a diff" '^ *\+zwei$'
sees "and what was there" '^ *-two$'

# --- consent
types "ship"
press Enter
sees "consent is asked for" '^allow\? '
sees "with what is to run" 'deploy: \{"to":"prod"\}'
same "what was said with the call is said once" 1 "$(screen | grep -c '^Shall I')"
types "maybe"
press Enter
sees "an answer that is none" 'please say once'
types "no not on a Friday"
press Enter
sees "refused, and the model is told why" 'made: not on a Friday'
if [ -e "$space/deployed" ]; then not_ok "refused: not run"; else ok "refused: not run"; fi
types "ship"
press Enter
shows '^allow\? '
types "o"
press Enter
sees "once" '^it said: deployed it'
types "ask"
press Enter
sees "a question" '^your answer >'
sees "its choices" '^  2\. green$'
types "2"
press Enter
sees "a number stands for a choice" '^it said: green$'

# --- cancelling, steering
types "stall"
press Enter
sees "what is under way is shown" '^wait for it'
sees "the status line" 'turn 1 .* Ctrl-C cancels'
types "half typed"
press C-c
sees "Ctrl-C cancels the run" '^The work was cancelled'
prompt_is "and keeps what is being typed" '> half typed'
press C-c C-l
types "stall"
press Enter
sees "another run" '^wait for it'
press Escape
sees "Esc cancels the run" '^The work was cancelled'
press Escape C-l # a letter right behind Esc would be Alt and the letter
types "stall"
press Enter
sees "a run to take over" '^wait for it'
types "/take I see to it."
press Enter
sees "/take ends it with a person's words" '^I see to it\.$'
types "/take and again"
press Enter
sees "/take when nothing is under way" 'no run is in progress'
types "hold"
press Enter
sees "a tool that runs" 'hold$'
types "steered"
press Enter
sees "what is typed waits" 'as soon as it listens\) steered'
touch "$space/go"
sees "and steers" '^you said: steered$|^it said: held$'
sees "steering is shown where it happened" '^> steered$'
rm -f "$space/go"

# --- commands
types "/hlep"
press Enter
sees "a command that there is not" 'did you mean /help'
types "/help"
press Enter
sees "the widest command has its own column" '^  /approve +\[ask\|sandbox\|auto\|deny\] +[a-z]'
types "/cost"
press Enter
sees "a name that a command has elsewhere" '[0-9]+ runs, [0-9]+ turns'
press C-l
types "/usa"
press Tab
prompt_is "Tab completes a command" '> /usage'
press Enter
sees "/usage" '[0-9]+ runs, [0-9]+ turns'
types "see @not"
press Tab
prompt_is "Tab completes a path" '> see @notes.txt'
press C-u
types "/undo"
press Enter
prompt_is "/undo takes the message back" '> hold'
press C-u
types "/export talk.md"
press Enter
sees "/export" 'written to talk.md'
check "/export: the conversation" grep -q '^you said: hello$' "$space/talk.md"

# --- the size changes
types "a line that is longer than half of the terminal is wide, by far"
sees "a long line" 'by far$'
terminal resize-window -x 40 -y 20
sees "narrower" '^  .*by far$'
same "narrower: one prompt" 1 "$(screen | grep -c '^> a line')"
terminal resize-window -x 90 -y 30
sees "wider" '^> a line .* by far$'
same "wider: one prompt" 1 "$(screen | grep -c 'a line that is')"
press C-u

# --- leaving, and coming back
press C-d
ends "Ctrl-D leaves" 0
same "the terminal is as it was" "$(cat "$tmp/before")" "$(cat "$tmp/after")"
check "history is kept" grep -q '^one\\ntwo$' "$tmp/.local/state/chela/history"
same "history is private" 600 "$(stat -c %a "$tmp/.local/state/chela/history")"
chat --continue
sees "--continue shows the conversation again" '^> stall$'
types "again"
press Enter
sees "--continue" '^you said: again$'
press C-c
sees "one Ctrl-C does not leave" 'Ctrl-C again'
press C-c
ends "two do" 0

# --- stopped and continued
open_terminal "PS1='shell: ' bash --norc --noprofile"
prompt_is "a shell with jobs" 'shell:'
types "(echo \$BASHPID >pid; exec $program chat --model scripted/rules.yaml)"
press Enter
shows '^>'
types "half"
prompt_is "typed before" '> half'
press C-z
prompt_is "Ctrl-Z stops the chat" 'shell:'
types "fg"
press Enter
prompt_is "fg shows the prompt again" '> half'
kill -STOP "$(cat "$space/pid")"
prompt_is "stopped from outside" 'shell:'
types "fg"
press Enter
prompt_is "fg shows the prompt again after that" '> half'
types " and half"
prompt_is "and keys reach the chat" '> half and half'
press C-c C-d
prompt_is "leaves to the shell" 'shell:'

# --- a key is needed when something is said, not before
ENV='env -u ANTHROPIC_API_KEY' chat --model anthropic/claude-test --no-session
sees "no key: it is said" 'no API key for anthropic'
types "hi"
press Enter
sees "no key: what to do" '/model PROVIDER/MODEL'
prompt_is "no key: the message is not lost" '> hi'
press C-u
types "/model scripted/rules.yaml"
press Enter
types "hi"
press Enter
sees "another model answers" '^you said: hi$'
press C-d
ends "no key: leaving" 0

# --- without colour, and without a terminal
ENV='NO_COLOR=1' chat --no-session
types "show"
press Enter
sees "NO_COLOR: marks stay" '^# Heading$'
sees "NO_COLOR: emphasis" '\*\*bold\*\*'
types "/quit"
press Enter
ends "/quit" 0

# Ctrl-C is a signal there, for the shell of the terminal, too.
ENV='trap : INT; TERM=dumb' chat --no-session
types "hello"
press Enter
sees "TERM=dumb: an answer" '^you said: hello$'
twice() { # PATTERN: two lines of the screen match
    for _ in {1..400}; do
        [ "$(screen | grep -cE "$1")" = 2 ] && return
        sleep 0.05
    done
    return 1
}
types "stall"
press Enter
sees "TERM=dumb: a run" '^wait for it'
press C-c
sees "TERM=dumb: Ctrl-C cancels the run" '^chela: The work was cancelled'
types "stall"
press Enter
check "TERM=dumb: a second run" twice '^wait for it'
press C-c
check "TERM=dumb: is cancelled, too" twice '^chela: The work was cancelled'
types "goodbye"
press Enter
sees "TERM=dumb: and keeps the conversation" '^you said: goodbye$'
press C-d
ends "TERM=dumb: the end of input" 0

printf 'first\n\nsecond\n' >"$tmp/lines"
stdin=$tmp/lines chela chat --model scripted/rules.yaml --no-session
exits "lines" 0
same "lines: an answer for each" "$(printf 'you said: first\nyou said: second')" "$(cat "$out")"
printf 'first\n' >"$tmp/lines"
stdin=$tmp/lines chela chat --model scripted/rules.yaml --session lines
stdin=$tmp/lines chela chat --model scripted/rules.yaml --session lines
exits "lines of a session" 0
chela sessions show lines --json
same "lines of a session: both are kept" 2 "$(jq '[.transcript[] | select(.role == "user")] | length' "$out")"
printf 'ship it\nsecond\n' >"$tmp/lines"
stdin=$tmp/lines chela chat --model scripted/rules.yaml --session shipped --approve ask
exits "lines: a run that waits ends the chat" 5
check "lines: how it goes on" grep -q "session shipped waits .*'chela sessions resume shipped'" "$err"
printf 'edit\n' >"$tmp/lines"
stdin=$tmp/lines chela chat --model scripted/rules.yaml --no-session --token-budget 1
exits "a budget" 3
stdin=$tmp/lines chela chat --model scripted/rules.yaml --no-session --reasoning loud
exits "a word for reasoning that there is not" 2
chela chat words
exits "words" 2
chela chat --session a --continue
exits "--session and --continue" 2
tap_done

#!/usr/bin/env bash
# chela chat: what a person sees of the work: output as it comes, plans, results, the state
# between runs, and a sign when something waits.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^slow", after: none }, call: { tool: exec, args: { command: "for i in 1 2 3 4 5 6 7 8; do echo line $i 行; done; until [ -e go ]; do sleep 0.05; done; echo end" } } }
  - { when: { user: "^list", after: none }, call: { tool: exec, args: { command: "seq 1 300" } } }
  - { when: { user: "^other", after: none }, call: { tool: exec, args: { command: "echo 别的 other" } } }
  - when: { user: "^todo", after: none }
    call: { tool: todo, args: { todos: [ { content: "read 读", status: completed }, { content: write, status: in_progress }, { content: test } ] } }
  - { when: { user: "^ask", after: none }, call: { tool: ask_user, args: { question: "Which one?" } } }
  - { when: { user: "^wait", after: none }, call: { tool: exec, args: { command: "touch began; until [ -e go ]; do sleep 0.05; done" } } }
  - { when: { user: "^many", after: none }, say: "MANY END" }
  - { when: { after: any }, say: "that was it" }
  - { say: "you said: {{user}}" }
YAML
chat() { # FLAG...
    open_terminal "$program chat --model scripted/rules.yaml --approve auto --sandbox off $*"
    sees "the prompt is there (chat $*)" '^>'
}
for WIDTH in 60 200; do
    rm -f "$space/go"
    chat --no-session
    types "hi"
    press Enter
    sees "$WIDTH: an answer" '^you said: hi$'
    sees "$WIDTH: the state between runs" '^scripted/rules.yaml · context [0-9]+.* · approve auto'
    types "/approve ask"
    press Enter
    sees "$WIDTH: the state follows" ' · approve ask'
    types "/approve auto"
    press Enter
    sees "$WIDTH: and back" ' · approve auto'
    types "/new other"
    press Enter
    sees "$WIDTH: another session" '^session other$'
    sees "$WIDTH: no tokens of the session before" '^scripted/rules.yaml · approve auto'
    types "slow"
    press Enter
    sees "$WIDTH: output as it comes" '^  line 8 行$'
    sees "$WIDTH: its last lines" '^  line 4 行$'
    lacks "$WIDTH: not all of them" '^  line 3 行$'
    touch "$space/go"
    sees "$WIDTH: the end" '^that was it$'
    lacks "$WIDTH: what was running is gone" '^  line 8 行$'
    types "list"
    press Enter
    sees "$WIDTH: a call" '^✓ exec seq 1 300'
    sees "$WIDTH: ended" '^that was it$'
    types "other"
    press Enter
    sees "$WIDTH: another call" '^✓ exec echo 别的 other'
    press C-o
    sees "$WIDTH: Ctrl-O unfolds the last" '^别的 other$'
    types "/show seq"
    press Enter
    sees "$WIDTH: /show lists the others" '^› exec .*seq 1 300'
    press Enter
    sees "$WIDTH: and unfolds one" '^300$'
    types "todo"
    press Enter
    sees "$WIDTH: a list is ticked off" '^☑ read 读$'
    sees "$WIDTH: what is under way" '^▸ write$'
    sees "$WIDTH: what is left" '^☐ test$'
    types "/model"
    press Enter
    prompt_is "$WIDTH: the models" 'model >'
    types "cdx mini"
    sees "$WIDTH: are searched, with their context sizes" '^› [a-z]+/gpt.*codex-mini +[0-9]+k tokens$'
    press C-c
    types "/model nosuchmodel"
    press Enter
    sees "$WIDTH: a model that there is not" "no known model is like 'nosuchmodel'"
    types "/model nosuch/model"
    press Enter
    sees "$WIDTH: a provider that there is not" "there is no provider 'nosuch'"
    lacks "$WIDTH: is not taken" 'goes to nosuch'
    terminal pipe-pane -o "cat >>$tmp/raw$WIDTH"
    types "ask"
    press Enter
    sees "$WIDTH: a question" '^your answer >'
    for _ in {1..400}; do
        grep -q 'chela: a question waits' "$tmp/raw$WIDTH" 2>/dev/null && break
        sleep 0.05
    done
    check "$WIDTH: a notification" grep -qP '\x1b\]9;chela: a question waits\x1b\\\a' "$tmp/raw$WIDTH"
    types "red"
    press Enter
    sees "$WIDTH: answered" '^that was it$'
    press C-c C-d
    ends "$WIDTH: leaves" 0
done

# A low terminal: the frames of the status line replace each other.
WIDTH=80
for HEIGHT in 2 3; do
    rm -f "$space/go" "$space/began"
    chat --no-session
    types "wait"
    press Enter
    for _ in {1..400}; do
        [ -e "$space/began" ] && break
        sleep 0.05
    done
    sleep 0.3
    before=$(terminal display-message -p '#{history_size}')
    sleep 1
    same "$HEIGHT rows: frames leave no lines" "$before" "$(terminal display-message -p '#{history_size}')"
    touch "$space/go"
    sees "$HEIGHT rows: the prompt stays" '^>'
    press C-c C-d
    ends "$HEIGHT rows: leaves" 0
done

# A fast reply is drawn a few times, not with every word.
HEIGHT=30
many=$(printf 'word %.0s' {1..5000})
sed -i "s/MANY/$many/" "$space/rules.yaml"
chat --no-session
terminal pipe-pane "cat >$tmp/drawn"
types "many"
press Enter
sees "a reply of 5,000 words" 'word +END$'
terminal pipe-pane
frames=$(grep -ao '?2026h' "$tmp/drawn" | wc -l)
if [ "$frames" -gt 0 ] && [ "$frames" -lt 500 ]; then ok "is drawn by frames"; else not_ok "is drawn by frames" "$frames"; fi
press C-d
ends "leaves" 0
tap_done

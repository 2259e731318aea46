#!/usr/bin/env bash
# chela chat: agents and commands that go on while the conversation does.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

cat >"$space/main.yaml" <<'YAML'
rules:
  - { when: { user: "^search", after: none }, call: { tool: finder, args: { task: "wait 等 🙂", background: true } } }
  - { when: { user: "^both", after: none }, call: [{ tool: finder, args: { task: "wait 等 🙂", background: true } }, { tool: finder, args: { task: "quick", background: true } }] }
  - { when: { user: "^consent", after: none }, call: { tool: finder, args: { task: "ask first", background: true } } }
  - { when: { user: "^linger", after: none }, call: { tool: finder, args: { task: "ask first", background: true } } }
  - { when: { user: "^linger", after: any }, say: "I go on for a while", stall_after: 3 }
  - { when: { user: "^question", after: none }, call: { tool: finder, args: { task: "ask the user", background: true } } }
  - { when: { user: "^server", after: none }, call: { tool: exec, args: { command: "echo up; until [ -e go ]; do sleep 0.05; done; echo down", background: true } } }
  - { when: { user: "Task .*Its answer:\\s+(\\S+ \\S+)", after: none }, say: "I was told: {{1}}" }
  - { when: { user: "Task .* did not finish", after: none }, say: "I was told that it failed" }
  - { when: { user: "^Process|\\[event\\]", after: none }, say: "the process has ended" }
  - { when: { after: any, is_error: true }, say: "failed: {{result}}" }
  - { when: { after: any }, say: "it is under way" }
  - { say: "you said: {{user}}" }
YAML
cat >"$space/finder.yaml" <<'YAML'
rules:
  - { when: { user: "^wait", after: none }, call: { tool: exec, args: { command: "until [ -e go ]; do sleep 0.05; done; echo it" } } }
  - { when: { user: "^ask first", after: none }, call: { tool: exec, args: { command: "touch asked; echo agreed" } } }
  - { when: { user: "^ask the user", after: none }, call: { tool: ask_user, args: { question: "Which one?" } } }
  - { when: { after: ask_user }, say: "chose {{result}}" }
  - { when: { after: any, is_error: true }, say: "was refused" }
  - { when: { after: any }, say: "found 結果 🙂" }
  - { say: "at once" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents:
  list:
    - { id: main, model: scripted/main.yaml, agents: [finder], tools: { allow: [read, exec, process] } }
    - { id: finder, description: Finds things., model: scripted/finder.yaml, tools: { allow: [exec, ask_user] } }
YAML
chat() { # FLAG...
    rm -f "$space/go" "$space/asked"
    open_terminal "$program chat $*"
    sees "the prompt is there (chat $*)" '^>'
}
say() { # TEXT PATTERN
    types "$1"
    press Enter
    sees "$1" "$2"
}
leave() {
    press C-u C-d
    ends "$1" 0
}

for WIDTH in 60 200; do
    # --- an agent goes on, the conversation too
    chat --approve auto
    say "search for it" '^it is under way'
    sees "$WIDTH: says that it goes on" 'finder goes on in the background'
    sees "$WIDTH: the status line counts it" '^1 task · '
    say "hello meanwhile" '^you said: hello meanwhile'
    say "/tasks" '^› finder: wait 等 🙂'
    sees "$WIDTH: its state" 'running, '
    press Escape
    shows '^>$'
    touch "$space/go"
    sees "$WIDTH: the end is told" 'finder in the background: done'
    sees "$WIDTH: the answer reaches the model" '^I was told: found 結果'
    lacks "$WIDTH: nothing is counted" '^1 task · '
    say "/tasks finder" '^found 結果 🙂'
    leave "$WIDTH: leaves"

    # --- two at a time, one is ended
    chat --approve auto
    say "both of them" '^it is under way'
    sees "$WIDTH: the quick one" '^I was told: at once'
    sees "$WIDTH: the other goes on" '^1 task · '
    say "/tasks cancel wait" 'ended: '
    sees "$WIDTH: the model is told" '^I was told that it failed'
    say "/tasks cancel" 'nothing goes on in the background'
    leave "$WIDTH: leaves after two"

    # --- a command
    chat --approve auto
    say "server please" '^it is under way'
    say "/tasks" '^› \$: echo up'
    sees "$WIDTH: its output" '^ *up$'
    press Escape
    shows '^>$'
    touch "$space/go"
    sees "$WIDTH: the end of a command" '^the process has ended'
    say "/tasks echo" '^down'
    leave "$WIDTH: leaves the command"

    # --- questions of an agent in the background
    chat --approve ask
    say "consent" 'finder \(in the background\) asks to run'
    check "$WIDTH: nothing ran" [ ! -e "$space/asked" ]
    say "once" '^I was told: found 結果'
    check "$WIDTH: it ran" [ -e "$space/asked" ]
    say "question" 'Which one'
    say "第一" '^I was told: chose 第一'
    prompt_is "$WIDTH: the prompt is free again" '>'
    leave "$WIDTH: leaves the questions"

    # --- the agent is ended before its question is answered
    chat --approve ask
    say "linger" '^I go on'
    say "/tasks cancel ask" 'ended: '
    press Escape
    sees "$WIDTH: the run is cancelled" 'cancelled'
    say "once" 'no call waits'
    say "hello again" '^you said: hello again'
    leave "$WIDTH: leaves after the lost question"
done
unset WIDTH

# --- the chat is killed: the agent goes on when the conversation is opened again
chat --approve auto --session kept
say "search for it" '^it is under way'
shows '^1 task · '
pid=$(terminal display-message -p '#{pane_pid}')
kill -9 "$(pgrep -P "$pid" | head -n 1)"
ends "killed" 137
chat --approve auto --session kept
say "/tasks" '^› finder: wait 等 🙂'
press Escape
shows '^>$'
touch "$space/go"
sees "told after the restart" '^I was told: found 結果|^I was told: was refused'
leave "leaves for a while"

# --- left and continued
chat --approve auto --session left
say "search for it" '^it is under way'
shows '^1 task · '
leave "leaves while it works"
chela run --session left --model scripted/main.yaml "hello from elsewhere"
check "another program does not lose it" grep -q 'you said: hello' "$out"
chat --approve auto --session left
touch "$space/go"
sees "told after a pause" '^I was told: found 結果|^I was told: was refused'
leave "leaves at last"
tap_done

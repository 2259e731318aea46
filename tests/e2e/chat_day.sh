#!/usr/bin/env bash
# chela chat: a coding day of 25 tasks, at 60 and at 200 columns. Each task is what a person
# does; the scripted model plays the agent.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh
program=$(realpath "$program")

cat >"$space/day.yaml" <<'YAML'
rules:
  - { when: { system: "memory of a conversation" }, say: "## Goal\nnone\n## Decisions\nnone\n## Facts and identifiers\nnone\n## Done\nnothing\n## Open tasks\nnone" }
  - { when: { user: "^look (\\S+)", after: none }, call: { tool: read, args: { file_path: "{{1}}" } } }
  - { when: { user: "^look", result: "Sub rule" }, say: "the rule was told" }
  - { when: { user: "^look" }, say: "no rule" }
  - { when: { user: "^long" }, say: "noted" }
  - { when: { user: "^plan", after: none }, call: { tool: todo, args: { todos: [ { content: "read the code", status: in_progress }, { content: "修正錯誤 🐛", status: pending } ] } } }
  - { when: { user: "^read (\\S+)", after: none }, call: { tool: read, args: { file_path: "{{1}}" } } }
  - { when: { user: "^fix", after: none }, call: { tool: edit, args: { file_path: main.c, edits: [ { old_text: "helo", new_text: "hello 你好 🎉" } ] } } }
  - { when: { user: "^test", after: none }, call: { tool: exec, args: { command: "echo line one; echo 測試通過 🙂; echo ran >>ran.txt" } } }
  - { when: { user: "^build", after: none }, say: "I build 建構中.", call: { tool: exec, args: { command: "touch begun; echo building; until [ -e go ]; do sleep 0.05; done; echo built" } } }
  - { when: { user: "^serve", after: none }, call: { tool: exec, args: { command: "echo listening; until [ -e stop ]; do sleep 0.05; done", background: true } } }
  - { when: { user: "^delegate", after: none }, call: { tool: helper, args: { task: "look", background: true } } }
  - { when: { user: "^also" }, say: "changed course: {{user}}" }
  - { when: { user: "Task .*Its answer" }, say: "the helper is done" }
  - { when: { user: "\\[event\\]|^Process" }, say: "the server stopped" }
  - { when: { user: "^explain" }, say: "# Title\n\n- 第一點 with a rather long explanation that must be wrapped at narrow widths\n- second 🙂\n\n```c\nint main(void) { return 0; }\n```\n\n| 列 | column |\n|---|---|\n| 甲 | one |\n\nThe end." }
  - { when: { after: any, is_error: true }, say: "failed: {{result}}" }
  - { when: { after: any }, say: "done with {{user}}" }
  - { when: { user: "attached|hidden text" }, say: "I see the file" }
  - { say: "you said: {{user}}" }
YAML
cat >"$space/other.yaml" <<'YAML'
rules: [ { say: "other model: {{user}}" } ]
YAML
cat >"$space/helper.yaml" <<'YAML'
rules:
  - { when: { after: none }, call: { tool: exec, args: { command: "until [ -e helped ]; do sleep 0.05; done; echo looked" } } }
  - { say: "looked around" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
approvals: { edit: ask }
agents:
  list:
    - { id: main, model: scripted/day.yaml, agents: [helper] }
    - { id: helper, description: Helps., model: scripted/helper.yaml, tools: { allow: [exec] } }
YAML
chat() { # FLAG...
    open_terminal "$program chat $*"
    shows '^>'
}
say() { # TEXT PATTERN
    types "$1"
    press Enter
    sees "$WIDTH: $task: $1" "$2"
}
idle() { # the run has ended
    sees "$WIDTH: $task: idle" '^([0-9]+ tasks? · )?scripted/'
}
enter() {
    types "$1"
    press Enter
}
leave() {
    press C-u C-d
    ends "$WIDTH: $task: leaves" 0
}
begin() {
    rm -f "$space"/{go,stop,helped,begun,ran.txt,out.md,chela.db*}
    printf 'int main(void) { puts("helo"); }\n' >"$space/main.c"
    printf 'hidden text 附件\n' >"$space/附件 1.txt"
}

for WIDTH in 60 200; do
    begin
    chat --session day
    task="1 greet"
    say "good morning 早上好 ☕" '^you said: good morning 早上好 ☕'
    task="2 make a plan"
    say "plan the day" '▸ read the code'
    sees "$WIDTH: $task: wide characters" '☐ 修正錯誤 🐛'
    idle
    task="3 read a file"
    say "read main.c" '^done with read main.c'
    task="4 approve an edit once, with a diff"
    say "fix it" 'allow\?'
    enter once
    idle
    sees "$WIDTH: $task: the diff" '\+.*hello 你好 🎉'
    check "$WIDTH: $task: the file" grep -q '你好 🎉' "$space/main.c"
    task="5 undo the edit"
    enter /undo
    prompt_is "$WIDTH: $task: the message comes back" '> fix it'
    check "$WIDTH: $task: the file is as before" grep -q '"helo"' "$space/main.c"
    task="6 do it again, always"
    press Enter
    shows 'allow\?'
    enter once
    idle
    task="7 refuse a command with a reason"
    say "test it" 'allow\?'
    enter "no 先等等"
    sees "$WIDTH: $task: told" '^failed: .*先等等|先等等'
    check "$WIDTH: $task: did not run" [ ! -e "$space/ran.txt" ]
    idle
    task="8 switch approvals off"
    say "/approve auto" 'consent: auto'
    task="9 run the tests, unfold the output"
    say "test it" '^done with test it'
    idle
    press C-o
    sees "$WIDTH: $task: unfolded" '測試通過 🙂'
    task="10 a command of one's own for the next message"
    say "!echo 自己的 output" '自己的 output'
    shows '^>$'
    say "what was that" '^you said: '
    task="11 attach a file with spaces and CJK in its name"
    say '@"附件 1.txt" attached' '^I see the file'
    idle
    task="12 a long answer in Markdown"
    say "explain it" '^The end\.'
    sees "$WIDTH: $task: a table" '甲'
    idle
    task="13 steer a run"
    say "build it" 'I build 建構中'
    sees "$WIDTH: $task: live output" 'building'
    enter "also 快一點"
    sees "$WIDTH: $task: it waits" 'as soon as it listens'
    touch "$space/go"
    sees "$WIDTH: $task: heard" '^changed course: also 快一點'
    rm -f "$space/go"
    idle
    task="14 interrupt a run"
    say "build it" 'Ctrl-C cancels'
    shows 'building'
    press C-c
    sees "$WIDTH: $task: marked" 'was cancelled|interrupted'
    idle
    task="15 a server in the background"
    say "serve it" '^done with serve it'
    say "/tasks" 'listening'
    press Escape
    shows '^>$'
    task="16 a helper in the background, and go on meanwhile"
    say "delegate it" 'helper goes on in the background'
    sees "$WIDTH: $task: the run ends" '^done with delegate it'
    shows '^1 task'
    say "meanwhile 同時" '^you said: meanwhile 同時'
    touch "$space/helped"
    sees "$WIDTH: $task: its result" '^the helper is done'
    idle
    task="17 the server stops by itself"
    touch "$space/stop"
    sees "$WIDTH: $task: told" '^the server stopped'
    rm -f "$space/stop" "$space/helped"
    idle
    task="18 switch the model"
    say "/model scripted/other.yaml" 'goes to scripted/other.yaml'
    say "who are you" '^other model: who are you'
    say "/model scripted/day.yaml" 'goes to scripted/day.yaml'
    task="19 fork, try something, look at the tree"
    say "/fork try" 'session try|try'
    say "in the fork" '^you said: in the fork'
    say "/tree" '› '
    press Escape
    shows '^>$'
    task="20 usage"
    say "/usage" 'runs, .*turns'
    task="21 export"
    say "/export out.md" 'written to out.md'
    check "$WIDTH: $task: has the words" grep -q '早上好 ☕' "$space/out.md"
    task="22 resume tomorrow: leave, look for the session, go on"
    leave
    chat --resume
    sees "$WIDTH: $task: the list" 'good morning'
    types "try"
    press Enter
    sees "$WIDTH: $task: the conversation is back" '^you said: in the fork' # the list shows it indented
    task="23 rewind to an earlier message"
    enter "/rewind in the fork"
    shows '^› in the fork'
    press Enter
    shows '^› the conversation and the files'
    press Enter
    prompt_is "$WIDTH: $task: the message comes back" '> in the fork'
    press C-u
    task="24 paste many lines, edit, send"
    terminal set-buffer "$(printf 'one 一\ntwo\nthree\nfour\nfive')"
    terminal paste-buffer -p
    sees "$WIDTH: $task: folded" '\[pasted 1: 5 lines\]'
    press Enter
    sees "$WIDTH: $task: sent whole" 'five'
    task="25 a crash, and on with it"
    enter "/approve auto"
    rm -f "$space/begun"
    enter "build it"
    for _ in {1..400}; do
        [ -e "$space/begun" ] && break
        sleep 0.05
    done
    pid=$(terminal display-message -p '#{pane_pid}')
    kill -9 "$(pgrep -P "$pid" | head -n 1)"
    ends "$WIDTH: $task: killed" 137
    touch "$space/go"
    chat --approve auto --continue
    sees "$WIDTH: $task: says so" '/resume continues it'
    say "/resume" '^done with build it|^failed: '
    leave
done

# --- instructions below the workspace are told again after /compact
WIDTH=80
task=instructions
begin
mkdir -p "$space/sub"
echo 'Sub rule.' >"$space/sub/AGENTS.md"
echo text >"$space/sub/f"
chat
say "look sub/f" 'the rule was told'
idle
press C-l
say "look sub/f" 'no rule'
idle
for i in 1 2 3 4; do
    press C-l
    say "long $i: $(printf 'of no interest, nor the next; %.0s' {1..30})" '^noted'
    idle
done
press C-l
enter "/compact"
sees "condensed" 'was condensed from'
idle
press C-l
say "look sub/f" 'the rule was told'
leave
tap_done

#!/usr/bin/env bash
# A stranger's directory whose files are not what their names promise: pipes, devices, links
# that lead out, loops, directories, huge files, programs with the names of others. Every
# command ends, no text from outside of the directory reaches the model, and nothing runs.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server
untrusted=1
program=$(realpath "$program")
secret=outside-SENTINEL-0123456789
mkdir -p "$tmp/outside/a"
printf -- '---\nname: a\ndescription: %s\n---\n%s\n' $secret $secret | tee "$tmp/outside/a/SKILL.md" "$tmp/outside/secret" >/dev/null
names=(AGENTS.md CLAUDE.md GEMINI.md SOUL.md TOOLS.md USER.md MEMORY.md HEARTBEAT.md .env .gitignore .mcp.json sub/AGENTS.md sub/.gitignore
    memory/notes.md prompts/router/1.0.md skills/a/SKILL.md .agents/skills/b/SKILL.md .claude/skills/c/SKILL.md .git/config .git/HEAD)
cat >"$tmp/rules.yaml" <<'YAML'
rules:
  - when: { after: none }
    call:
      - { tool: ls, args: { path: . } }
      - { tool: find, args: { pattern: "**" } }
      - { tool: grep, args: { pattern: SENTINEL } }
      - { tool: read, args: { file_path: AGENTS.md } }
      - { tool: read, args: { file_path: sub/AGENTS.md } }
      - { tool: exec, args: { command: "timeout 5 cat AGENTS.md sub/AGENTS.md .env" } }
  - { say: done }
YAML
directory() { # KIND: every name is of this kind
    rm -rf "$space"
    mkdir "$space"
    local name
    for name in "${names[@]}"; do
        mkdir -p "$space/$(dirname "$name")"
        case $1 in
            pipe) mkfifo "$space/$name" ;;
            link) ln -s "$tmp/outside/secret" "$space/$name" ;;
            relative) ln -s "$(dirname "$name" | sed 's|[^/]*|..|g')/../outside/secret" "$space/$name" ;;
            device) ln -s /dev/zero "$space/$name" ;;
            terminal) ln -s /dev/tty "$space/$name" ;;
            process) ln -s /proc/self/environ "$space/$name" ;;
            loop) ln -s "$(basename "$name")" "$space/$name" ;;
            directory) mkdir "$space/$name" ;;
            huge) truncate -s 3G "$space/$name" ;;
            line) head -c 3000000 /dev/zero | tr '\0' x >"$space/$name" ;;
            bytes) head -c 70000 /dev/urandom >"$space/$name" ;;
            closed) echo closed >"$space/$name" && chmod 0 "$space/$name" ;;
        esac
    done
}
for kind in pipe link relative device terminal process loop directory huge line bytes closed; do
    directory $kind
    fresh hello anthropic
    seconds=30 chela run --model anthropic/claude-test --base-url "$base" "go on"
    exits "$kind: run" 0
    check "$kind: nothing from outside reaches the model" sh -c "! grep -q $secret '$log'"
    check "$kind: no variable reaches the model" sh -c "! grep -q 'OPENAI_API_KEY=' '$log'"
    for command in "skills list" "tools list" "mcp list" "doctor" "config show" "prompt list" "trust --list"; do
        # shellcheck disable=SC2086
        seconds=30 chela $command
        check "$kind: $command ends ($status)" test "$status" -lt 100
        check "$kind: $command shows nothing from outside" sh -c "! grep -q $secret '$out' '$err'"
    done
    seconds=60 chela run --model "scripted/$tmp/rules.yaml" --approve sandbox --max-errors 9 --output jsonl go
    exits "$kind: tools" 0
    check "$kind: tools show nothing from outside" sh -c "! grep -q $secret '$out'"
done
chmod -R u+rwX "$space"

# --- folders that are links
for folder in skills .agents .claude memory prompts .chela media; do
    rm -rf "$space"
    mkdir "$space"
    case $folder in .agents | .claude) mkdir -p "$tmp/outside/skills" && cp -r "$tmp/outside/a" "$tmp/outside/skills" ;; esac
    ln -s "$tmp/outside" "$space/$folder"
    before=$(find "$tmp/outside" | sort)
    fresh hello anthropic
    chela run --model anthropic/claude-test --base-url "$base" "go on"
    exits "$folder is a link: run" 0
    check "$folder is a link: nothing from outside reaches the model" sh -c "! grep -q $secret '$log'"
    cat >"$tmp/long.yaml" <<'YAML'
rules:
  - { when: { after: none }, call: { tool: exec, args: { command: "seq 1 100000" } } }
  - { say: done }
YAML
    chela run --model "scripted/$tmp/long.yaml" --approve sandbox go
    exits "$folder is a link: a long result" 0
    same "$folder is a link: nothing is written there" "$before" "$(find "$tmp/outside" | sort)"
done

# --- programs and libraries of the directory, for somebody whose paths name the directory
rm -rf "$space"
mkdir -p "$space/bin"
for name in chela-sandbox sandbox bwrap git sh ls cat less vi xdg-open seq; do
    printf '#!/bin/sh\ntouch "%s/canary"\n' "$tmp" | tee "$space/$name" >"$space/bin/$name"
    chmod +x "$space/$name" "$space/bin/$name"
done
for name in tls html h2 mail sqlite store-sqlite channel-evil; do echo "no library" >"$space/libchela-$name.so"; done
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env CHELA_MODULE_PATH=.: LD_LIBRARY_PATH= PATH=".:bin::$PATH" "$@"; }
chela run --model "scripted/$tmp/long.yaml" --approve sandbox --session here go
exits "a path with the directory: run" 0
chela doctor
check "a path with the directory: modules" sh -c "! grep -qE '^(fail|warn) +module' '$out'"
chela tools call web_fetch --args '{"url":"https://127.0.0.1/"}'
check "a path with the directory: no library of it" sh -c "! grep -q 'cannot be loaded' '$err' '$out'"
check "a path with the directory: nothing of it ran" test ! -e "$tmp/canary"
eval "$(declare -f plain_with_env | sed 's/^plain_//')"

# --- texts that are no configuration
rm -rf "$space"
mkdir "$space"
deep=$(printf '[%.0s' {1..5000})
bomb='a: &a [x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]
f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]
g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]
h: [*g,*g,*g,*g,*g,*g,*g,*g,*g]'
for text in "$deep" "$bomb" '&a [*a]' 'a: *none' '!!python/object:os.system x' '!!binary "//8="' $'a: \xff\xfe' $'\xfe\xff\x00a' '{' '- x' \
    'sandbox: {mode: off, mode: auto}' $'sandbox: {mode: off}\n---\nsandbox: {mode: auto}' '<<: {sandbox: {mode: off}}' \
    'x: &x {mode: off}
sandbox: *x' '"sand\u0062ox": {mode: off}' 'sandbox : {mode : off}' "$(printf 'k%d: 1\n' {1..20000})" '? sandbox
: {mode: off}'; do
    printf '%s\n' "$text" >"$space/chela.yaml"
    texts=$((${texts-0} + 1))
    seconds=30 chela run --model "scripted/$tmp/long.yaml" go
    check "chela.yaml, text $texts: ends ($status)" test "$status" -le 5
    seconds=30 chela config show
    check "chela.yaml, text $texts: the sandbox stays" sh -c "! grep -qE 'sandbox.mode +file +off' '$out'"
done
tap_done

# terminal.sh -- a program in a real terminal (tmux). Source it after e2e.sh.
#
#     open_terminal COMMAND     run it in $space, in an empty terminal of 80x30, or
#                               $WIDTH x $HEIGHT
#     types TEXT / press KEY... input of a user
#     shows PATTERN             wait until the screen has a line like that
#     sees NAME PATTERN         the same, as a case; lacks: the screen has no such line now
#     prompt_is NAME TEXT       wait until the last line of the screen is this
#     ends NAME CODE            the command has ended with this status
#
# Every wait polls the screen until it shows the expected text.
terminal() {
    tmux -S "$tmp/tmux" -f /dev/null "$@"
}

# Close the terminal, and wait for the programs that ran in it.
close_terminal() {
    local pids
    pids=$(terminal display-message -p '#{pid} #{pane_pid}' 2>/dev/null) || return
    terminal kill-server 2>/dev/null
    for _ in {1..200}; do
        # shellcheck disable=SC2086
        kill -0 $pids 2>/dev/null || break
        sleep 0.05
    done
}
trap 'close_terminal; rm -rf "$tmp"' EXIT

open_terminal() {
    close_terminal
    rm -f "$tmp/code" "$tmp/tmux"
    cat >"$tmp/start" <<SCRIPT
cd $space
stty -g >$tmp/before
$1
code=\$?
stty -g >$tmp/after
echo \$code >$tmp/code
exec cat
SCRIPT
    (cd "$space" && believe)
    with_env tmux -S "$tmp/tmux" -f /dev/null new-session -d -x "${WIDTH:-80}" -y "${HEIGHT:-30}" "sh $tmp/start"
}

screen() {
    terminal capture-pane -p
}
shows() {
    for _ in {1..400}; do
        screen | grep -qE -e "$1" && return
        sleep 0.05
    done
    return 1
}
sees() {
    if shows "$2"; then ok "$1"; else not_ok "$1" "$(screen)"; fi
}
lacks() {
    if screen | grep -qE -e "$2"; then not_ok "$1" "$(screen)"; else ok "$1"; fi
}
last_line() {
    screen | grep -v '^ *$' | tail -n 1
}
prompt_is() {
    for _ in {1..400}; do
        [ "$(last_line)" = "$2" ] && break
        sleep 0.05
    done
    same "$1" "$2" "$(last_line)"
}
types() {
    terminal send-keys -l -- "$1"
}
press() {
    terminal send-keys "$@"
}
ends() {
    for _ in {1..400}; do
        [ -s "$tmp/code" ] && break
        sleep 0.05
    done
    same "$1" "$2" "$(cat "$tmp/code" 2>/dev/null)"
}

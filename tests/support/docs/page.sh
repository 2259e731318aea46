# page.sh -- functions for the scripts that `extract` makes from pages. Source it,
# then the script, in an empty directory.
#
# The blocks of a page run in one shell and share its variables. The first block that
# fails ends the page. Verdicts go to $results, one per line, and the output goes to
# standard output.
# shellcheck disable=SC2154
set -e
current=
page_ends() {
    [ -z "$current" ] || echo "fail $page:$current" >>"$results"
    # shellcheck disable=SC2046
    kill $(jobs -p) 2>/dev/null
    wait
}
trap page_ends EXIT

passed() {
    PATH=$wrappers:$PATH # first, whatever the block put there
    echo "pass $page:$current" >>"$results"
    current=
}

before() {
    current=$1
    eval "$2"
    current=
}

file() {
    mkdir -p "$(dirname "$1")"
    printf '%s' "$2" >"$1"
    case $1 in *.sh | *.py) chmod +x "$1" ;; esac
    if [ "$(head -c 2 "$1")" = '#!' ]; then chmod +x "$1"; fi
}

block() {
    local code=0
    current=$1
    if [ "$2" = 0 ]; then
        eval "$3"
    else
        (eval "$3") || code=$?
        [ "$code" = "$2" ] || { echo "exit $code, not $2" && false; }
    fi
    passed
}

# The output, with times replaced.
steady() {
    sed -E 's/[0-9.]+ (ms|s)\b/N \1/g'
}

printed() {
    local code=0 got pattern
    current=$1
    : >"$capture"
    case $3 in
    export\ * | cd\ *) eval "$3" ;; # for what follows
    *) eval "$3" >"$capture" 2>&1 || code=$? ;;
    esac
    cat "$capture"
    [ "$code" = "$2" ] || { echo "exit $code, not $2" && false; }
    if [ -n "$4" ]; then
        got=$(steady <"$capture")
        pattern=$(printf '%s' "$4" | steady | sed -e 's/[][\\*?+@!|()]/\\&/g' -e 's/\.\.\./*/g')
        # shellcheck disable=SC2053
        [[ $got == $pattern ]] || { printf 'the page says:\n%s' "$4" && false; }
    fi
    passed
}

same() {
    current=$1
    diff "$ROOT/$2" <(printf '%s' "$3")
    passed
}

config() {
    current=$1
    printf '%s' "$2" >checked.yaml
    sed -n 's/.*workspaceDir: *\([^ ,}]*\).*/\1/p' checked.yaml | xargs -r mkdir -p # a reader would have it
    OPENAI_API_KEY=x ANTHROPIC_API_KEY=x chela config check --config checked.yaml >"$capture" 2>&1 || { cat "$capture" && false; }
    cat "$capture"
    if grep -i 'warning' "$capture"; then false; fi
    rm checked.yaml
    passed
}

# Not run, but it must be shell.
skipped() {
    current=$1
    echo "skip $page:$1 $2" >>"$results"
    printf '%s\n' "$3" | sed 's/^\$ //' | bash -n
    current=
}

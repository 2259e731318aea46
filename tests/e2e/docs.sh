#!/usr/bin/env bash
# Every command in the README and in docs/ runs, page by page, each in a
# directory of its own, and prints what the page says that it prints. Services
# are played by llmserver and by scripted models; what needs a key, a network or
# a person is marked in the page, and counted here.
cd "$(dirname "$0")/../.." || exit 2
BUILD=$(realpath "${BUILD:-build}")
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

root=$PWD
tools=$root/tests/support/docs
results=$tmp/results
sanitize=
case $BUILD in *address*) sanitize=-fsanitize=address,undefined ;; *thread*) sanitize=-fsanitize=thread ;; esac

# read_page PAGE: run it; its verdicts are left in $results, its words in $out.
read_page() {
    local dir=$tmp/page
    mkdir -p "$dir/here" "$dir/home"
    for name in examples demo docs tests; do ln -s "$root/$name" "$dir/here/$name"; done
    ln -s "$tools/bin" "$dir/here/build"
    : >"$results"
    # shellcheck disable=SC2016
    (cd "$dir/here" && env -i PATH="$tools/bin:$PATH" HOME="$dir/home" LC_ALL=C.UTF-8 TERM=dumb TMPDIR="$dir" \
        CHELA_TEST_RUN="$CHELA_TEST_RUN" CHELA_TEST="$CHELA_TEST" ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
        CHELA="$program" LLMSERVER="$url" LLMSERVER_KEY=$key DOCS="$dir" ROOT="$root" BUILD="$BUILD" \
        CC_PROGRAM="$(command -v cc)" DOCS_SANITIZE=$sanitize CURL="$(command -v curl)" MAKE_PROGRAM="$(command -v make)" \
        results="$results" capture="$dir/capture" page="$1" wrappers="$tools/bin" \
        timeout -k 5 60 bash -c '. "$1"; . "$2"' bash "$tools/page.sh" "$tmp/page.sh" >"$out" 2>&1 </dev/null)
    rm -rf "$dir"
}

for page in ${PAGES:-README*.md docs/*.md}; do
    case $page in docs/reference.md | docs/limits.md | docs/api.md | docs/v1.md) continue ;; esac # made from tables
    if ! "$tools/extract" "$page" >"$tmp/page.sh" 2>"$err"; then
        not_ok "$page is well formed" "$(cat "$err")"
        continue
    fi
    read_page "$page"
    while read -r verdict name why; do
        case $verdict in
        pass) ok "$name" ;;
        fail) not_ok "$name" "$(tail -n 15 "$out")" ;;
        skip) echo "$why" >>"$tmp/skipped" ;;
        esac
    done <"$results"
    if ! grep -q '^fail' "$results"; then
        same "$page: all of it" "$(grep -cE '^(block|printed|same|config|skipped) [0-9]' "$tmp/page.sh")" \
            "$(grep -c . "$results")"
    fi
done

# What the text mentions: `chela WORD ...` is a command.
grep -ohE '`chela [a-z]+( [a-z]+)?' README*.md docs/*.md | cut -c 8- | sort -u >"$tmp/mentioned"
chela help
while read -r first second; do
    if grep -qE "^  $first  " "$out"; then continue; fi # what follows are its words
    grep -qE "^  $first ${second:-[a-z]+}  " "$out" || not_ok "the docs mention chela $first $second"
done <"$tmp/mentioned"
ok "commands that the docs mention: $(wc -l <"$tmp/mentioned")"
sort "$tmp/skipped" 2>/dev/null | uniq -c | sed 's/^/# not run: /'
tap_done

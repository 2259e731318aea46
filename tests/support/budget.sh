# budget.sh -- hold figures to the rows of tests/budgets. Needs tap.sh.
#
#     within KIND NAME ACTUAL           one figure
#     sizes_within BUILD                the programs and libraries of a build
#
# machine: the machine that the build is for; this one if empty.
machine=${machine:-$(uname -m)}

# The most that a row allows; nothing without a row. A module without a row has that of all.
allowed() {
    awk -v kind="$1" -v name="$2" -v x86="$([ "$machine" != x86_64 ] || echo 1)" '
        $1 != kind {next}
        {most = x86 && $4 ? $4 : $3}
        $2 == name {print most; found = 1; exit}
        $2 == "module" {other = most}
        END {if (!found && other) print other}' tests/budgets
}

within() {
    local most
    most=$(allowed "$1" "$2")
    printf '# %-9s %-26s %8s of %8s\n' "$1" "$2" "$3" "${most:-?}"
    if [ -n "$most" ] && [ "${3:-0}" -gt 0 ] && [ "$3" -le "$most" ]; then
        ok "$1 of $2"
    else
        not_ok "$1 of $2" "${3:-nothing}, and tests/budgets allows ${most:-nothing}"
    fi
}

sizes_within() {
    local file
    for file in "$1/chela" "$1/chela-sandbox" "$1/libchela.so" "$1"/libchela-*.so; do
        within size "${file##*/}" "$(size -B "$file" | awk 'NR == 2 {print $1 + $2}')"
    done
}

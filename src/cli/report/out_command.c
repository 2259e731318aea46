/* out_command.c -- see out_command.h.
 *
 * The last line of the result tells the outcome. The line is also found in the results of earlier
 * sessions, which have no details. */
#include "cli/report/out_command.h"

#include <string.h>

static bool begins(struct chela_str s, const char *with) {
    return s.n >= strlen(with) && memcmp(s.p, with, strlen(with)) == 0;
}

static bool named(struct chela_str name, const char *want) {
    return name.n == strlen(want) && memcmp(name.p, want, name.n) == 0;
}

static struct chela_str first_line(struct chela_str s) {
    const char *end = s.n ? memchr(s.p, '\n', s.n) : NULL;
    return (struct chela_str){s.p, end ? (size_t)(end - s.p) : s.n};
}

/* Output that only looks like an outcome ends the result of a command that succeeded, whose
 * first line says so, or of a process that goes on. */
static bool went_well(struct chela_str content) {
    struct chela_str line = first_line(content);
    return begins(line, "[exit code 0, ") || begins(line, "[exec: ok, ") ||
           begins(line, "[process: ok, ") ||
           (line.n && memmem(line.p, line.n, ": running for ", strlen(": running for ")));
}

bool ch_command_failed(const struct chela_event *ev, struct chela_str *how,
                       struct chela_str *output) {
    static const char *const outcomes[] = {"[exit code ", "[ended by ", "[killed by ", "[stopped "};
    struct chela_str all = ev->result.content;
    bool command = named(ev->result.name, "exec") || named(ev->result.name, "process");

    if (!command || ev->result.is_error || all.n < 2 || all.p[all.n - 1] != ']' || went_well(all))
        return false;
    const char *before = memrchr(all.p, '\n', all.n);
    size_t from = before ? (size_t)(before - all.p) + 1 : 0;
    struct chela_str line = {all.p + from, all.n - from};
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
        if (begins(line, outcomes[i])) {
            *how = (struct chela_str){line.p + 1, line.n - 2};
            *output = (struct chela_str){all.p, from};
            return true;
        }
    return false;
}

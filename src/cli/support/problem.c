/* problem.c -- see problem.h. */
#include "cli/support/problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int ch_problem(struct chela_error *err, int code, const char *fmt, ...) {
    if (err->code)
        return code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, ap);
    va_end(ap);
    err->code = code;
    return code;
}

int ch_problem_in(struct chela_error *err, const char *file) {
    struct chela_error why = *err;
    if (!file)
        return why.code;
    err->code = 0;
    return ch_problem(err, why.code, "%s: %s", file, why.message);
}

int ch_problem_in_use(struct chela_error *err, const char *key) {
    struct chela_error why = *err;
    if (why.code != CHELA_EBUSY)
        return why.code;
    err->code = 0;
    return ch_problem(err, why.code, "%s; 'chela attach %s' follows it", why.message, key);
}

/* The messages of stores begin with this word. A store that fails while it is used is not the
 * user's mistake. */
static bool is_of_store(const struct chela_error *err) {
    return err->code != CHELA_EINVAL && err->code != CHELA_ENOENT &&
           strncmp(err->message, "store ", 6) == 0;
}

/* The messages about files and processes end with the system's reason. A disk that is full or
 * fails and a lack of memory or processes are not the user's mistake, other than a wrong place. */
static bool is_of_system(const struct chela_error *err) {
    static const int reasons[] = {ENOSPC, EDQUOT, EFBIG, EIO, EAGAIN, ENOMEM, EMFILE, ENFILE};
    if (err->code != CHELA_EIO && err->code != CHELA_EPERM)
        return false;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (strstr(err->message, strerror(reasons[i])))
            return true;
    return false;
}

int ch_problem_exit(const struct chela_error *err) {
    if (is_of_store(err) || is_of_system(err))
        return CH_EXIT_ERROR;
    switch (err->code) {
    case CHELA_EINVAL:
    case CHELA_ECONFIG:
    case CHELA_ENOENT:
    case CHELA_EPARSE:
    case CHELA_ELIMIT:
    case CHELA_EEXIST:
    case CHELA_EPERM:
    case CHELA_EIO:
    case CHELA_EAUTH:
        return CH_EXIT_USAGE;
    case CHELA_ECANCELED:
        return CH_EXIT_CANCELLED;
    default:
        return CH_EXIT_ERROR;
    }
}

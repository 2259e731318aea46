/* report.c -- see report.h. Each line is written with one write call, from any
 * process of the sandbox. */
#include "sandbox/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/box.h"

#define LINE_BYTES 2000 /* longer lines are truncated; nothing is allocated */

static void report_say(const char *head, const char *kind, const char *fmt, va_list ap) {
    char line[LINE_BYTES];
    int n = snprintf(line, sizeof(line), "%s %s%s", head, kind, *kind ? " " : "");

    n += vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
    size_t len = CH_MIN((size_t)n, sizeof(line) - 1);
    for (size_t i = 0; i < len; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    line[len] = '\n';
    ssize_t done = write(CH_FD_REPORT, line, len + 1);
    (void)done; /* a failure cannot be reported */
}

void ch_note(const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    report_say("note", "", fmt, ap);
    va_end(ap);
}

void ch_complain(const char *kind, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    report_say("error", kind, fmt, ap);
    va_end(ap);
}

void ch_die(const char *kind, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    report_say("error", kind, fmt, ap);
    va_end(ap);
    _exit(CH_EXIT_BROKEN);
}

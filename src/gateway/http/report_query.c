/* report_query.c -- see report_query.h. */
#include "gateway/http/report_query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/calendar.h"
#include "base/error.h"
#include "gateway/request/http_route.h"

#define MAX_SECONDS 100000000000 /* larger numbers are milliseconds */

const char *ch_report_text(struct ch_arena *a, struct ch_sv query, const char *name) {
    while (query.p) {
        struct ch_sv value = ch_sv_split(&query, '&'), key = ch_sv_split(&value, '=');
        if (ch_sv_is(key, name))
            return ch_arena_str(a, value.p ? ch_http_route_decode_query(a, value) : CH_SV(""));
    }
    return NULL;
}

static bool read_number(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return *text && strspn(text, "0123456789.") == strlen(text) && !*end && isfinite(*out);
}

int ch_report_number(struct ch_arena *a, struct ch_sv query, const char *name, double *out,
                     struct chela_error *err) {
    const char *text = ch_report_text(a, query, name);
    if (!text || read_number(text, out))
        return 0;
    return ch_fail(err, CHELA_EINVAL, "`%s` must be a number, such as 0.5", name);
}

int ch_report_time(struct ch_arena *a, struct ch_sv query, const char *name, int64_t *out,
                   struct chela_error *err) {
    const char *text = ch_report_text(a, query, name);
    struct ch_time t;
    double n;
    if (!text)
        return 0;
    if (read_number(text, &n) && n < 1e15) {
        *out = (int64_t)(n < MAX_SECONDS ? n * 1000 : n);
        return 0;
    }
    if (!ch_time_read(ch_sv_str(text), &t) || !t.has_date)
        return ch_fail(err, CHELA_EINVAL,
                       "`%s` must be a date such as 2026-11-19 or 2026-11-19T08:00:00Z, or "
                       "milliseconds since 1970", name);
    *out = (ch_date_seconds(&t.date) - (t.has_offset ? t.offset : 0)) * 1000;
    return 0;
}

int ch_report_choice(struct ch_arena *a, struct ch_sv query, const char *name,
                     const char *const *words, int *out, struct chela_error *err) {
    const char *text = ch_report_text(a, query, name);
    CH_BUF_AUTO all = {0};
    if (!text)
        return 0;
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return 0;
        }
        ch_buf_addf(&all, "%s%s", i ? ", " : "", words[i]);
    }
    return ch_fail(err, CHELA_EINVAL, "`%s` must be one of: %s", name, ch_buf_str(&all));
}

int ch_report_known(struct ch_arena *a, struct ch_sv query, const char *const *names,
                    struct chela_error *err) {
    while (query.p) {
        struct ch_sv value = ch_sv_split(&query, '&'), key = ch_sv_split(&value, '=');
        const char *const *name = names;
        while (*name && !ch_sv_is(key, *name))
            name++;
        if (!*name && key.n)
            return ch_fail(err, CHELA_EINVAL, "there is no parameter `%s`",
                           ch_arena_str(a, ch_http_route_decode_query(a, key)));
    }
    return 0;
}

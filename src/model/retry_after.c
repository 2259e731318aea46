/* retry_after.c -- how long a server asks us to wait.
 *
 * Three headers and a sentence are in use: retry-after-ms, retry-after in
 * seconds, retry-after as an HTTP date (taken relative to the response's own
 * Date, since codecs read no clock), and "Please try again in 1m2.5s". */
#include <stdlib.h>

#include "model/errors.h"

#define MAX_WAIT_MS (24 * 3600 * 1000L)

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static long bounded(double ms) {
    return ms > 0 ? (long)CH_MIN(ms, (double)MAX_WAIT_MS) : 0;
}

/* Cut a decimal number off the front of *s. */
static bool take_number(struct ch_sv *s, double *out) {
    size_t n = 0;
    while (n < s->n && n < 18 && (is_digit(s->p[n]) || (n && s->p[n] == '.')))
        n++;
    if (!n)
        return false;
    char text[20];
    memcpy(text, s->p, n);
    text[n] = '\0';
    *out = strtod(text, NULL);
    *s = ch_sv(s->p + n, s->n - n);
    return true;
}

static bool take(struct ch_sv *s, const char *word) {
    size_t n = strlen(word);
    if (s->n < n || !ch_sv_eq_nocase(ch_sv(s->p, n), ch_sv(word, n)))
        return false;
    *s = ch_sv(s->p + n, s->n - n);
    return true;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" as seconds since the epoch, or -1. */
static int64_t http_date(struct ch_sv s) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (s.n != 29 || s.p[3] != ',' || s.p[16] != ' ' || s.p[19] != ':' || s.p[22] != ':')
        return -1;
    int part[5];
    static const int at[] = {5, 12, 17, 20, 23}, len[] = {2, 4, 2, 2, 2};
    for (int i = 0; i < 5; i++) {
        part[i] = 0;
        for (int k = 0; k < len[i]; k++) {
            if (!is_digit(s.p[at[i] + k]))
                return -1;
            part[i] = 10 * part[i] + (s.p[at[i] + k] - '0');
        }
    }
    int month = 0;
    while (month < 12 && memcmp(months + (ptrdiff_t)3 * month, s.p + 8, 3) != 0)
        month++;
    if (month == 12)
        return -1;
    /* Days since 1970-01-01, counting years from March. */
    int64_t y = part[1] - (month < 2), era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * ((month + 10) % 12) + 2) / 5 + part[0] - 1;
    int64_t days = era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
    return ((days * 24 + part[2]) * 60 + part[3]) * 60 + part[4];
}

long ch_retry_after(const struct ch_http_head *head) {
    struct ch_sv v = ch_sv_trim(ch_header_find(head->headers, head->nheaders, "retry-after-ms"));
    double n;
    if (v.n && take_number(&v, &n) && n > 0)
        return bounded(n);
    v = ch_sv_trim(ch_header_find(head->headers, head->nheaders, "retry-after"));
    if (v.n && take_number(&v, &n))
        return bounded(n * 1000);
    struct ch_sv date = ch_sv_trim(ch_header_find(head->headers, head->nheaders, "date"));
    int64_t then = http_date(v), now = http_date(date);
    return then > 0 && now > 0 ? bounded((double)(then - now) * 1000) : 0;
}

/* A duration as Go writes it: "6ms", "11.054s", "2m52.8s"; or "20 seconds". */
static double take_duration(struct ch_sv s) {
    double ms = 0, n;
    while (take_number(&s, &n)) {
        take(&s, " ");
        if (take(&s, "ms"))
            ms += n;
        else if (take(&s, "h"))
            ms += n * 3600e3;
        else if (take(&s, "m"))
            ms += n * 60e3;
        else if (take(&s, "s"))
            ms += n * 1000;
        else
            break;
    }
    return ms;
}

long ch_retry_duration(struct ch_sv duration) {
    return bounded(take_duration(duration));
}

long ch_retry_hint(struct ch_sv message) {
    static const char *const phrases[] = {"try again in ", "retry after ", "retry in "};
    for (size_t at = 0; at < message.n; at++)
        for (size_t i = 0; i < CH_LEN(phrases); i++) {
            struct ch_sv rest = ch_sv(message.p + at, message.n - at);
            if (take(&rest, phrases[i]))
                return bounded(take_duration(rest));
        }
    return 0;
}

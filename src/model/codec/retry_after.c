/* retry_after.c -- the retry delay that a server asks for.
 *
 * Sources: the headers retry-after-ms, retry-after in seconds, and retry-after as an HTTP
 * date (relative to the response's own Date, because codecs read no clock), and the text
 * "Please try again in 1m2.5s". If a 429 has none of these, the reset times of the vendor's
 * exhausted limits are used; the latest is used. */
#include "model/codec/retry_after.h"

#include "json/number.h"
#include "model/codec/errors.h"

#define MAX_WAIT_MS (24 * 3600 * 1000L)

static bool retry_after_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static long retry_after_bounded(double ms) {
    return ms > 0 ? (long)CH_MIN(ms, (double)MAX_WAIT_MS) : 0;
}

/* Parse a decimal number at the start of *s and advance. */
static bool retry_after_take_number(struct ch_sv *s, double *out) {
    size_t n = 0;
    while (n < s->n && n < 18 && (retry_after_is_digit(s->p[n]) || (n && s->p[n] == '.')))
        n++;
    if (!n)
        return false;
    char text[20];
    memcpy(text, s->p, n);
    text[n] = '\0';
    *out = ch_number_strtod(text, NULL);
    *s = ch_sv(s->p + n, s->n - n);
    return true;
}

static bool retry_after_take(struct ch_sv *s, const char *word) {
    size_t n = strlen(word);
    if (s->n < n || !ch_sv_eq_nocase(ch_sv(s->p, n), ch_sv(word, n)))
        return false;
    *s = ch_sv(s->p + n, s->n - n);
    return true;
}

/* Seconds since 1970-01-01, counting years from March; month from 0. */
static int64_t seconds_of(int64_t year, int month, int64_t day, int64_t hour, int64_t minute,
                          int64_t second) {
    int64_t y = year - (month < 2), era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * ((month + 10) % 12) + 2) / 5 + day - 1;
    int64_t days = era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
    return ((days * 24 + hour) * 60 + minute) * 60 + second;
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
            if (!retry_after_is_digit(s.p[at[i] + k]))
                return -1;
            part[i] = 10 * part[i] + (s.p[at[i] + k] - '0');
        }
    }
    int month = 0;
    while (month < 12 && memcmp(months + (ptrdiff_t)3 * month, s.p + 8, 3) != 0)
        month++;
    if (month == 12)
        return -1;
    return seconds_of(part[1], month, part[0], part[2], part[3], part[4]);
}

/* Parse a duration in Go's notation: "6ms", "11.054s", "2m52.8s"; or "20 seconds". */
static double take_duration(struct ch_sv s) {
    double ms = 0, n;
    while (retry_after_take_number(&s, &n)) {
        retry_after_take(&s, " ");
        if (retry_after_take(&s, "ms"))
            ms += n;
        else if (retry_after_take(&s, "h"))
            ms += n * 3600e3;
        else if (retry_after_take(&s, "m"))
            ms += n * 60e3;
        else if (retry_after_take(&s, "s"))
            ms += n * 1000;
        else
            break;
    }
    return ms;
}

long ch_retry_duration(struct ch_sv text) {
    return retry_after_bounded(take_duration(ch_sv_trim(text)));
}

/* "2026-03-01T12:34:56Z" as seconds since the epoch, or -1. */
static int64_t rfc3339(struct ch_sv s) {
    static const char shape[] = "dddd-dd-ddTdd:dd:dd";
    if (s.n < sizeof(shape) || (s.p[s.n - 1] != 'Z' && s.p[s.n - 1] != 'z'))
        return -1;
    int64_t part[6] = {0};
    for (size_t i = 0, k = 0; shape[i]; i++) {
        if (shape[i] != 'd')
            k++;
        else if (retry_after_is_digit(s.p[i]))
            part[k] = 10 * part[k] + (s.p[i] - '0');
        else
            return -1;
    }
    return part[1] < 1 || part[1] > 12
               ? -1
               : seconds_of(part[0], (int)part[1] - 1, part[2], part[3], part[4], part[5]);
}

/* Time until a limit resets: a date, a duration, seconds, or milliseconds since the epoch
 * (recognized by size). */
static double retry_after_until(struct ch_sv v, int64_t now) {
    double n;
    struct ch_sv rest = v;
    int64_t date = rfc3339(v);
    if (date >= 0)
        return now > 0 ? (double)(date - now) * 1000 : 0;
    if (!retry_after_take_number(&rest, &n))
        return 0;
    if (rest.n)
        return take_duration(v);
    if (n > 1e12)
        return now > 0 ? n - (double)now * 1000 : 0;
    return n > 1e9 ? (now > 0 ? (n - (double)now) * 1000 : 0) : n * 1000;
}

/* True if the limit of this reset header is exhausted: x-ratelimit-remaining-tokens belongs
 * to x-ratelimit-reset-tokens, anthropic-ratelimit-tokens-remaining to
 * anthropic-ratelimit-tokens-reset. Without such a header the limit counts as exhausted. */
static bool is_used_up(const struct ch_http_head *head, struct ch_sv reset) {
    CH_BUF_AUTO name = {0};
    size_t at = 0;
    while (!ch_sv_starts(ch_sv(reset.p + at, reset.n - at), "reset"))
        at++;
    ch_buf_addf(&name, "%.*sremaining%.*s", (int)at, reset.p, (int)(reset.n - at - 5),
                reset.p + at + 5);
    struct ch_sv left = ch_header_find(head->headers, head->nheaders, ch_buf_str(&name));
    left = ch_sv_trim(left);
    double n;
    return !left.n || (retry_after_take_number(&left, &n) && n < 1);
}

static bool is_reset(struct ch_sv name) {
    static const char end[] = "-reset";
    size_t n = sizeof(end) - 1;
    if (ch_sv_starts(name, "anthropic-ratelimit-"))
        return ch_sv_is(ch_sv(name.p + name.n - n, n), end);
    return ch_sv_starts(name, "x-ratelimit-reset");
}

static long after_reset(const struct ch_http_head *head, int64_t now) {
    double longest = 0;
    for (size_t i = 0; i < head->nheaders; i++) {
        const struct ch_header *h = &head->headers[i];
        if (is_reset(h->name) && is_used_up(head, h->name))
            longest = CH_MAX(longest, retry_after_until(ch_sv_trim(h->value), now));
    }
    return retry_after_bounded(longest);
}

long ch_retry_after(const struct ch_http_head *head) {
    struct ch_sv v = ch_sv_trim(ch_header_find(head->headers, head->nheaders, "retry-after-ms"));
    double n;
    if (v.n && retry_after_take_number(&v, &n) && n > 0)
        return retry_after_bounded(n);
    v = ch_sv_trim(ch_header_find(head->headers, head->nheaders, "retry-after"));
    if (v.n && retry_after_take_number(&v, &n))
        return retry_after_bounded(n * 1000);
    struct ch_sv date = ch_sv_trim(ch_header_find(head->headers, head->nheaders, "date"));
    int64_t then = http_date(v), now = http_date(date);
    if (then > 0)
        return now > 0 ? retry_after_bounded((double)(then - now) * 1000) : 0;
    return head->status == 429 ? after_reset(head, now) : 0;
}

long ch_retry_hint(struct ch_sv message) {
    static const char *const phrases[] = {"try again in ", "retry after ", "retry in "};
    for (size_t at = 0; at < message.n; at++)
        for (size_t i = 0; i < CH_LEN(phrases); i++) {
            struct ch_sv rest = ch_sv(message.p + at, message.n - at);
            if (retry_after_take(&rest, phrases[i]))
                return retry_after_bounded(take_duration(rest));
        }
    return 0;
}

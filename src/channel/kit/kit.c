/* kit.c -- see kit.h. */
#include "channel/kit/kit.h"

#include <stdio.h>

#define MOST_WORD 4096

const char *ch_kit_setting(const struct chela_channel_opts *o, const char *name) {
    for (size_t i = 0; o->settings && o->settings[i]; i += 2)
        if (strcmp(o->settings[i], name) == 0)
            return o->settings[i + 1];
    return NULL;
}

int ch_kit_refuse(struct chela_error *err, const char *channel, const char *why) {
    snprintf(err->message, sizeof(err->message), "channel %s: %s", channel, why);
    return err->code = CHELA_ECONFIG;
}

bool ch_kit_is_visible(const char *text) {
    if (!text || !*text)
        return false;
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

char *ch_kit_base(const char *url) {
    static const char *const safe[] = {"https://", "wss://", "http://127.0.0.1:",
                                       "ws://127.0.0.1:"};
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    for (size_t i = 0; i < CH_LEN(safe); i++)
        if (strncmp(url, safe[i], strlen(safe[i])) == 0 && ch_kit_is_visible(url))
            return ch_strndup(url, n);
    return NULL;
}

const char *ch_kit_word(const struct ch_json *v, const char *key, struct ch_arena *a) {
    struct ch_sv s = ch_json_get_str(v, key);
    return s.n && s.n <= MOST_WORD && !memchr(s.p, 0, s.n) ? ch_arena_str(a, s) : NULL;
}

int64_t ch_kit_retry_after(const struct chela_channel_response *r) {
    struct ch_sv s = ch_kit_sv(r->header(r, "retry-after"));
    int64_t n = 0;
    for (size_t i = 0; i < s.n && i < 6 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        n = 10 * n + (s.p[i] - '0');
    return 1000 * n;
}

void ch_kit_add_encoded(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
            (c && strchr("-_.", c)))
            ch_buf_addc(out, c);
        else
            ch_buf_addf(out, "%%%02X", (unsigned char)c);
    }
}

/* --- text */

static bool kit_is_fence(struct ch_sv line) {
    struct ch_sv s = ch_sv_trim(line);
    return ch_sv_starts(s, "```") || ch_sv_starts(s, "~~~");
}

static bool kit_is_row(struct ch_sv line) {
    struct ch_sv s = ch_sv_trim(line);
    return s.n > 1 && s.p[0] == '|' && s.p[s.n - 1] == '|';
}

/* Whether a line after another one is joined with it: neither is empty, and it begins nothing. */
static bool kit_folds(struct ch_sv line, struct ch_sv next) {
    struct ch_sv s = ch_sv_trim(next);
    return ch_sv_trim(line).n && s.n && line.p[0] != '#' && s.p[0] != '#' && !kit_is_fence(next) &&
           !kit_is_row(next);
}

void ch_kit_format(struct ch_buf *out, struct ch_sv text, bool breaks) {
    bool code = false, table = false;
    while (text.p && text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n'), rest = text;
        struct ch_sv next = rest.p ? ch_sv_split(&rest, '\n') : ch_sv("", 0);
        bool fence = kit_is_fence(line), row = !code && !fence && kit_is_row(line);
        if (row != table)
            ch_buf_add_str(out, "```\n");
        table = row;
        ch_buf_add_sv(out, line);
        if (breaks && !fence && !code && !row && kit_folds(line, next))
            ch_buf_add_str(out, "  ");
        code ^= fence;
        if (text.p || code || table)
            ch_buf_addc(out, '\n');
    }
    if (table || code)
        ch_buf_add_str(out, "```");
}

/* --- work */

void ch_kit_job_begin(struct ch_list *jobs, struct ch_kit_job *job,
                      void (*free)(struct ch_kit_job *job)) {
    job->free = free;
    ch_list_add(jobs, &job->link);
}

void ch_kit_job_end(struct ch_kit_job *job) {
    ch_list_del(&job->link);
    job->free(job);
}

void ch_kit_jobs_release(struct ch_list *jobs) {
    for (struct ch_kit_job *j; (j = CH_LIST_FIRST(jobs, struct ch_kit_job, link));)
        ch_kit_job_end(j);
}

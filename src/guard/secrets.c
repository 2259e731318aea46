/* secrets.c -- see secrets.h.
 *
 * Each value becomes patterns of at least eight bytes: the value in small letters, its
 * hexadecimal digits, and the digits of its base64 that do not depend on the bytes around it, for
 * the three positions that it can have. Two tables lead from the first eight bytes of a text at
 * some position to the patterns that begin with them, so a search looks at each position once. */
#include "guard/secrets.h"

#include <pthread.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/chars.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"

#define WINDOW 8
#define HEADS 4096u /* a power of two */
#define ROUNDS 8    /* of percent-decoding */
#define DEPTH 2     /* of encodings in one another */
#define LARGE (512 * CH_KB) /* larger texts are searched for one encoding */
#define LINE_LEAST 16
#define WEAK 64

enum kind { FOLDED, BASE64, KINDS };

struct pattern {
    char *text; /* owned */
    size_t n;
    uint32_t value; /* index in values */
    uint32_t next;  /* index plus 1 in patterns; 0: none */
};

struct value {
    char *name, *text; /* owned */
    size_t n;
};

struct ch_secrets {
    struct value values[CH_LIMIT_SECRETS];
    size_t n, oldest;
    struct pattern *patterns; /* owned array */
    size_t npatterns, cap;
    bool blanks; /* a value has one */
    uint32_t heads[KINDS][HEADS]; /* index plus 1 in patterns; 0: none */
};

/* --- the tables */

static uint32_t secrets_hash(const char *p) {
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return (uint32_t)((word * UINT64_C(0x9e3779b97f4a7c15)) >> 52) & (HEADS - 1);
}

static void secrets_add_pattern(struct ch_secrets *s, enum kind kind, struct ch_sv text,
                                size_t value) {
    if (text.n < WINDOW)
        return;
    if (s->npatterns == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->patterns = ch_realloc(s->patterns, s->cap * sizeof(*s->patterns));
    }
    uint32_t *head = &s->heads[kind][secrets_hash(text.p)];
    s->patterns[s->npatterns++] = (struct pattern){.text = ch_strndup(text.p, text.n),
                                                   .n = text.n,
                                                   .value = (uint32_t)value,
                                                   .next = *head};
    *head = (uint32_t)s->npatterns;
}

static void secrets_fold(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        ch_buf_addc(out, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
    }
}

/* The digits of base64 that only bytes of the value determine, after `before` other bytes. */
static void secrets_add_base64(struct ch_secrets *s, struct ch_sv text, size_t before,
                               size_t value) {
    CH_BUF_AUTO bytes = {0}, digits = {0};
    size_t from = (8 * before + 5) / 6, to = 8 * (before + text.n) / 6;
    ch_buf_add(&bytes, "\0\0", before);
    ch_buf_add_sv(&bytes, text);
    ch_base64_add(&digits, ch_buf_sv(&bytes));
    secrets_add_pattern(s, BASE64, ch_sv(digits.p + from, to - from), value);
}

static void secrets_add_patterns(struct ch_secrets *s, size_t value) {
    struct ch_sv text = ch_sv(s->values[value].text, s->values[value].n);
    CH_BUF_AUTO folded = {0}, hex = {0};
    secrets_fold(&folded, text);
    secrets_add_pattern(s, FOLDED, ch_buf_sv(&folded), value);
    for (size_t i = 0; i < text.n; i++)
        ch_buf_addf(&hex, "%02x", (unsigned char)text.p[i]);
    secrets_add_pattern(s, FOLDED, ch_buf_sv(&hex), value);
    for (size_t before = 0; before < 3; before++)
        secrets_add_base64(s, text, before, value);
}

static void secrets_drop_patterns(struct ch_secrets *s) {
    for (size_t i = 0; i < s->npatterns; i++)
        ch_free(s->patterns[i].text);
    s->npatterns = 0;
    memset(s->heads, 0, sizeof(s->heads));
}

static void secrets_drop_value(struct value *v) {
    ch_free(v->name);
    ch_free(v->text);
}

/* --- a set */

struct ch_secrets *ch_secrets_new(void) {
    return ch_alloc(sizeof(struct ch_secrets));
}

void ch_secrets_free(struct ch_secrets *s) {
    if (!s)
        return;
    secrets_drop_patterns(s);
    for (size_t i = 0; i < s->n; i++)
        secrets_drop_value(&s->values[i]);
    ch_free(s->patterns);
    ch_free(s);
}

static bool secrets_is_common(struct ch_sv text) {
    static const char *const words[] = {
        "localhost", "127.0.0.1", "development", "production", "password", "changeme", "undefined",
        "disabled",  "postgres",  "postgresql",  "username",   "anonymous", "internal", "database",
        "required",  "optional",  "staging",     "example",    "00000000",  "12345678",
    };
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_eq_nocase(text, ch_sv_str(words[i])))
            return true;
    for (size_t i = 1; i < text.n; i++)
        if (text.p[i] != text.p[0])
            return false;
    return true; /* one character, repeated */
}

static void secrets_remember(struct ch_secrets *s, const char *name, struct ch_sv text) {
    size_t at = s->n;
    text.n = CH_MIN(text.n, (size_t)CH_LIMIT_SECRET);
    for (size_t i = 0; i < s->n; i++)
        if (s->values[i].n == text.n && memcmp(s->values[i].text, text.p, text.n) == 0)
            return;
    bool full = s->n == CH_LEN(s->values);
    if (full) {
        at = s->oldest;
        s->oldest = (s->oldest + 1) % CH_LEN(s->values);
        secrets_drop_value(&s->values[at]);
    }
    s->n += !full;
    s->blanks |= memchr(text.p, ' ', text.n) != NULL;
    s->values[at] = (struct value){ch_strdup(name), ch_strndup(text.p, text.n), text.n};
    if (!full) {
        secrets_add_patterns(s, at);
        return;
    }
    secrets_drop_patterns(s);
    for (size_t i = 0; i < s->n; i++)
        secrets_add_patterns(s, i);
}

bool ch_secrets_put(struct ch_secrets *s, const char *name, struct ch_sv value) {
    struct ch_sv rest = ch_sv_trim(value);
    bool lines = rest.n && memchr(rest.p, '\n', rest.n), strong = false;
    while (rest.n) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&rest, '\n'));
        size_t least = lines ? LINE_LEAST : CH_SECRET_LEAST;
        if (line.n < least || secrets_is_common(line) || (lines && ch_sv_starts(line, "-----")))
            continue;
        secrets_remember(s, name, line);
        strong = true;
    }
    return strong;
}

/* --- the search */

static const char *secrets_scan(const struct ch_secrets *s, enum kind kind, struct ch_sv text) {
    for (size_t i = 0; i + WINDOW <= text.n; i++)
        for (uint32_t p = s->heads[kind][secrets_hash(text.p + i)]; p;) {
            const struct pattern *is = &s->patterns[p - 1];
            if (is->n <= text.n - i && memcmp(is->text, text.p + i, is->n) == 0)
                return s->values[is->value].name;
            p = is->next;
        }
    return NULL;
}

static const char *secrets_look(const struct ch_secrets *s, struct ch_sv text) {
    CH_BUF_AUTO view = {0};
    secrets_fold(&view, text);
    const char *name = secrets_scan(s, FOLDED, ch_buf_sv(&view));
    if (name)
        return name;
    ch_buf_clear(&view);
    ch_buf_add_sv(&view, text);
    for (size_t i = 0; i < view.n; i++)
        view.p[i] = (char)(view.p[i] == '-' ? '+' : view.p[i] == '_' ? '/' : view.p[i]);
    return secrets_scan(s, BASE64, ch_buf_sv(&view));
}

static bool secrets_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool secrets_unspace(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++)
        if (!secrets_is_space(text.p[i]))
            ch_buf_addc(out, text.p[i]);
    return out->n < text.n;
}

static int secrets_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A view of a text: false if it is no other than the text. */
typedef bool secrets_view_fn(struct ch_buf *out, struct ch_sv text);

static int secrets_pair(struct ch_sv text, size_t at) {
    int high = at + 1 < text.n ? secrets_digit(text.p[at]) : -1;
    int low = high >= 0 ? secrets_digit(text.p[at + 1]) : -1;
    return low >= 0 ? 16 * high + low : -1;
}

static bool secrets_unescape(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++) {
        int byte = text.p[i] == '%' ? secrets_pair(text, i + 1) : -1;
        ch_buf_addc(out, byte >= 0 ? (char)byte : text.p[i]);
        i += byte >= 0 ? 2 : 0;
    }
    return out->n < text.n;
}

/* Forms write a blank as a plus sign. */
static bool secrets_unform(struct ch_buf *out, struct ch_sv text) {
    if (!text.n || !memchr(text.p, '+', text.n))
        return false;
    for (size_t i = 0; i < text.n; i++)
        ch_buf_addc(out, text.p[i] == '+' ? ' ' : text.p[i]);
    return true;
}

/* What stands between two bytes in hexadecimal digits, as in 73:6b, 0x73, 0x6b or \x73\x6b. */
static size_t secrets_between(struct ch_sv text, size_t at) {
    size_t i = at;
    while (i < text.n && i - at < 3 && strchr(" \t\r\n:,;.-_|/\\", text.p[i]) && text.p[i])
        i++;
    if (i + 1 < text.n && text.p[i] == '0' && (text.p[i + 1] | 0x20) == 'x')
        return i + 2 - at;
    return i + (i > at && i < text.n && (text.p[i] | 0x20) == 'x') - at;
}

static bool secrets_unhex(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0, n, from; i < text.n; i += n ? n : 1) {
        from = out->n;
        n = 0;
        for (int byte; (byte = secrets_pair(text, i + n)) >= 0;) {
            ch_buf_addc(out, (char)byte);
            n += 2 + secrets_between(text, i + n + 2);
        }
        if (out->n - from < WINDOW)
            out->n = from;
        else
            ch_buf_addc(out, '\n');
    }
    return out->n > 0;
}

static int secrets_digit64(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Each long run of digits, from each of its first four: what stands before it may look alike. */
static bool secrets_unbase64(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0, n; i < text.n; i += n + 1) {
        for (n = 0; i + n < text.n && secrets_digit64(text.p[i + n]) >= 0;)
            n++;
        for (size_t from = i; from < i + 4 && from + WINDOW * 4 / 3 <= i + n; from++) {
            uint32_t bits = 0;
            for (size_t k = from; k < i + n; k++) {
                bits = bits << 6 | (uint32_t)secrets_digit64(text.p[k]);
                if ((k - from) % 4 != 0)
                    ch_buf_addc(out, (char)(bits >> (6 - 2 * ((k - from) % 4))));
            }
            ch_buf_addc(out, '\n');
        }
    }
    return out->n > 0;
}

static const char *secrets_seek(const struct ch_secrets *s, struct ch_sv text, unsigned depth) {
    static secrets_view_fn *const views[] = {secrets_unescape, secrets_unhex, secrets_unbase64,
                                             secrets_unform};
    CH_BUF_AUTO dense = {0};
    const char *name = secrets_look(s, text);
    if (!name && secrets_unspace(&dense, text))
        name = secrets_look(s, ch_buf_sv(&dense));
    for (size_t i = 0; !name && depth > 0 && i < CH_LEN(views) - !s->blanks; i++) {
        CH_BUF_AUTO view = {0};
        if (views[i](&view, text))
            name = secrets_seek(s, ch_buf_sv(&view), depth - 1);
    }
    return name;
}

const char *ch_secrets_find(const struct ch_secrets *s, struct ch_sv text) {
    CH_BUF_AUTO now = {0};
    int depth = text.n > LARGE ? 0 : DEPTH;
    const char *name = s->n ? secrets_seek(s, text, (unsigned)depth) : NULL;
    ch_buf_add_sv(&now, text);
    for (int i = 0; s->n && !name && i < ROUNDS; i++) {
        CH_BUF_AUTO plain = {0};
        if (!secrets_unescape(&plain, ch_buf_sv(&now)))
            break;
        if (i >= depth)
            name = secrets_seek(s, ch_buf_sv(&plain), 0);
        ch_buf_clear(&now);
        ch_buf_add_sv(&now, ch_buf_sv(&plain));
    }
    return name;
}

/* --- place-holders */

/* The longest value that begins there; NULL: none. */
static const struct value *secrets_value_at(const struct ch_secrets *s, struct ch_sv text) {
    const struct value *found = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct value *v = &s->values[i];
        if (v->n <= text.n && (!found || v->n > found->n) &&
            ch_sv_eq_nocase(ch_sv(text.p, v->n), ch_sv(v->text, v->n)))
            found = v;
    }
    return found;
}

bool ch_secrets_mask(const struct ch_secrets *s, struct ch_sv text, struct ch_buf *out) {
    bool any = false;
    for (size_t i = 0; i < text.n;) {
        const struct value *v = secrets_value_at(s, ch_sv(text.p + i, text.n - i));
        if (v)
            ch_buf_addf(out, "[secret: %s]", v->name);
        else
            ch_buf_addc(out, text.p[i]);
        any |= v != NULL;
        i += v ? v->n : 1;
    }
    return any;
}

/* --- names */

bool ch_secret_is_named(struct ch_sv name) {
    static const char *const words[] = {
        "key",  "apikey", "token",      "secret",     "password",    "passwd", "pass",
        "pwd",  "pw",     "passphrase", "credential", "credentials", "auth",   "authorization",
        "salt", "cookie", "dsn",        "pat",        "accesskey",   "secretkey"};
    static const char *const ends[] = {"key", "token", "secret", "password"};
    for (size_t i = 0, n; i < name.n; i += n + 1) {
        n = ch_char_run(ch_sv(name.p + i, name.n - i), CH_CHAR_ALNUM);
        struct ch_sv part = ch_sv(name.p + i, n);
        for (size_t k = 0; k < CH_LEN(words); k++)
            if (ch_sv_eq_nocase(part, ch_sv_str(words[k])))
                return true;
        for (size_t k = 0; k < CH_LEN(ends); k++) /* dbPassword */
            if (n > strlen(ends[k]) && ch_sv_eq_nocase(ch_sv(part.p + n - strlen(ends[k]),
                                                            strlen(ends[k])), ch_sv_str(ends[k])))
                return true;
    }
    return false;
}

/* --- the set of the process */

static struct {
    pthread_mutex_t lock;
    struct ch_secrets *set;
    char *weak[WEAK]; /* owned: names that were complained about */
    size_t nweak;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* True once for each name. */
static bool secrets_is_news(const char *name) {
    for (size_t i = 0; i < known.nweak; i++)
        if (strcmp(known.weak[i], name) == 0)
            return false;
    if (known.nweak == WEAK)
        return false;
    known.weak[known.nweak++] = ch_strdup(name);
    return true;
}

static struct ch_sv secrets_without_scheme(struct ch_sv value) {
    static const char *const schemes[] = {"bearer ", "basic ", "token "};
    for (size_t i = 0; i < CH_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (value.n > n && ch_sv_eq_nocase(ch_sv(value.p, n), ch_sv_str(schemes[i])))
            return ch_sv(value.p + n, value.n - n);
    }
    return value;
}

void ch_secret_add(const char *value, const char *format, ...) {
    char name[128];
    va_list args;
    if (!value || !*value)
        return;
    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    ch_redact_add(value);
    pthread_mutex_lock(&known.lock);
    if (!known.set)
        known.set = ch_secrets_new();
    bool strong = ch_secrets_put(known.set, name, secrets_without_scheme(ch_sv_str(value)));
    bool news = !strong && secrets_is_news(name);
    pthread_mutex_unlock(&known.lock);
    if (news)
        ch_log(CH_LOG_INFO, "secrets",
               "%s is too short, or too common a word, to be recognised in what leaves: at least "
               "%d characters", name, CH_SECRET_LEAST);
}

bool ch_secret_find(struct ch_sv text, struct ch_buf *name) {
    pthread_mutex_lock(&known.lock);
    const char *found = known.set ? ch_secrets_find(known.set, text) : NULL;
    if (found)
        ch_buf_add_str(name, found);
    pthread_mutex_unlock(&known.lock);
    return found != NULL;
}

bool ch_secret_mask(struct ch_sv text, struct ch_buf *out) {
    pthread_mutex_lock(&known.lock);
    bool any = known.set && ch_secrets_mask(known.set, text, out);
    if (!known.set)
        ch_buf_add_sv(out, text);
    pthread_mutex_unlock(&known.lock);
    return any;
}

/* redact.c -- redact secrets in text that people read.
 *
 * Secrets are found in two ways. Values that the host registered (keys from its
 * configuration) are found anywhere. Unregistered secrets are found by their
 * form: a key with a vendor's prefix, the word after "Bearer", the value after
 * a name such as x-api-key or client_secret. The second way must not redact
 * prose ("api_key: expected a string"), so a short lower-case word after such a
 * name is kept, except after the header names, which prose does not use.
 *
 * "***" replaces a value and is never longer than the value. */
#include "base/redact.h"

#include <pthread.h>

#include "base/limits.h"
#include "base/mem.h"

#define SHORTEST_SECRET 6
#define MASK "***"

static struct {
    pthread_mutex_t lock;
    struct ch_sv values[CH_LIMIT_SECRETS]; /* owned copies */
    size_t n, oldest;
    bool first[256]; /* bytes that a value begins with, or began with before it was dropped */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct {
    const char *prefix;
    size_t least; /* characters that must follow */
} key_shapes[] = {
    {"sk-", 8},   {"sk_", 16},  {"AIza", 20},        {"gsk_", 16},  {"xai-", 16},
    {"hf_", 16},  {"ghp_", 16}, {"github_pat_", 16}, {"glpat-", 8}, {"xoxb-", 8},
    {"xoxp-", 8}, {"AKIA", 12}, {"ASIA", 12},        {"eyJ", 24},
};

static const struct {
    const char *name;
    bool header; /* the value is secret whatever its form */
} key_names[] = {
    {"api-key", true},        {"authorization", true},
    {"security-token", true}, {"api_key", false},
    {"apikey", false},        {"access_token", false},
    {"refresh_token", false}, {"secret_access_key", false},
    {"secret_key", false},    {"client_secret", false},
    {"app_secret", false},    {"password", false},
};

static const char *const auth_schemes[] = {"bearer ", "basic ", "token "};

static void redact_remember(struct ch_sv value) {
    for (size_t i = 0; i < known.n; i++)
        if (ch_sv_eq(known.values[i], value))
            return;
    struct ch_sv copy = ch_sv(ch_strndup(value.p, value.n), value.n);
    known.first[(unsigned char)value.p[0]] = true;
    if (known.n < CH_LEN(known.values)) {
        known.values[known.n++] = copy;
        return;
    }
    ch_free((char *)known.values[known.oldest].p);
    known.values[known.oldest] = copy;
    known.oldest = (known.oldest + 1) % CH_LEN(known.values);
}

void ch_redact_add(const char *secret) {
    struct ch_sv rest = ch_sv_str(secret);
    pthread_mutex_lock(&known.lock);
    while (rest.n) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&rest, '\n'));
        if (line.n >= SHORTEST_SECRET)
            redact_remember(line);
    }
    pthread_mutex_unlock(&known.lock);
}

static bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

/* Most characters of a text neither begin a secret nor end a word. These tables decide that
 * with one lookup; all comparisons follow only where the tables cannot decide. Made once,
 * under the lock. */
static struct {
    bool made;
    bool token[256]; /* characters of keys */
    /* Bits of the second character, modulo 32, after which a key, a name or "bearer" may
     * follow. */
    uint32_t second[256];
} shapes;

static void note_shape(const char *text, bool any_case) {
    unsigned char first = (unsigned char)text[0];
    shapes.second[first] |= UINT32_C(1) << (text[1] & 31);
    if (any_case)
        shapes.second[first & ~0x20u] |= UINT32_C(1) << (text[1] & 31);
}

static void make_shapes(void) {
    if (shapes.made)
        return;
    for (unsigned c = 1; c < 256; c++)
        shapes.token[c] = is_lower((char)c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          strchr("-_.~+/=", (int)c);
    for (size_t i = 0; i < CH_LEN(key_shapes); i++)
        note_shape(key_shapes[i].prefix, false);
    for (size_t i = 0; i < CH_LEN(key_names); i++)
        note_shape(key_names[i].name, true);
    note_shape("bearer", true);
    shapes.made = true;
}

static bool redact_is_token(char c) {
    return shapes.token[(unsigned char)c];
}

/* False: no secret begins or is introduced at s. */
static bool may_begin(struct ch_sv s) {
    unsigned char c = (unsigned char)s.p[0];
    return known.first[c] || (s.n > 1 && shapes.second[c] >> (s.p[1] & 31) & 1);
}

static size_t token_length(struct ch_sv s) {
    size_t n = 0;
    while (n < s.n && redact_is_token(s.p[n]))
        n++;
    return n;
}

static struct ch_sv redact_drop(struct ch_sv s, size_t n) {
    return ch_sv(s.p + n, s.n - n);
}

/* word begins with a lower-case letter, which decides in most cases. */
static bool starts_nocase(struct ch_sv s, const char *word) {
    if (!s.n || (s.p[0] | 0x20) != word[0])
        return false;
    size_t n = strlen(word);
    return s.n >= n && ch_sv_eq_nocase(ch_sv(s.p, n), ch_sv(word, n));
}

static bool is_prose(struct ch_sv word) {
    if (word.n < SHORTEST_SECRET)
        return true;
    for (size_t i = 0; i < word.n; i++)
        if (!is_lower(word.p[i]) && !(word.p[i] == '.' && i + 1 == word.n))
            return false;
    return word.n <= 17;
}

static size_t registered(struct ch_sv s) {
    size_t longest = 0;
    for (size_t i = 0; i < known.n; i++) {
        struct ch_sv v = known.values[i];
        if (v.n > longest && v.n <= s.n && v.p[0] == s.p[0] && !memcmp(v.p, s.p, v.n))
            longest = v.n;
    }
    return longest;
}

static size_t shaped_like_a_key(struct ch_sv s) {
    for (size_t i = 0; i < CH_LEN(key_shapes); i++) {
        if (s.p[0] != key_shapes[i].prefix[0] || !ch_sv_starts(s, key_shapes[i].prefix))
            continue;
        size_t n = token_length(s);
        if (n >= strlen(key_shapes[i].prefix) + key_shapes[i].least)
            return n;
    }
    return 0;
}

static size_t value_length(struct ch_sv s) {
    size_t n = 0;
    while (n < s.n && s.p[n] && !strchr(" \t\r\n\"',;&<>(){}[]", s.p[n]))
        n++;
    return n;
}

/* Length of the text between a name and its value: `": "`, `=`, `: Bearer `. */
static size_t separator_length(struct ch_sv s) {
    struct ch_sv rest = s;
    while (rest.n && strchr("\"' ", rest.p[0]))
        rest = redact_drop(rest, 1);
    if (rest.n == 0 || (rest.p[0] != ':' && rest.p[0] != '='))
        return 0;
    rest = redact_drop(rest, 1);
    while (rest.n && strchr("\"' ", rest.p[0]))
        rest = redact_drop(rest, 1);
    for (size_t i = 0; i < CH_LEN(auth_schemes); i++)
        if (starts_nocase(rest, auth_schemes[i]))
            return s.n - rest.n + strlen(auth_schemes[i]);
    return s.n - rest.n;
}

/* If s starts with a name and a value: the value's length; *skip is the offset
 * of the value. */
static size_t named(struct ch_sv s, size_t *skip) {
    for (size_t i = 0; i < CH_LEN(key_names); i++) {
        if (!starts_nocase(s, key_names[i].name))
            continue;
        size_t name = strlen(key_names[i].name);
        size_t gap = separator_length(redact_drop(s, name));
        struct ch_sv rest = redact_drop(s, name + gap);
        size_t n = gap ? value_length(rest) : 0;
        if (n == 0 || (!key_names[i].header && is_prose(ch_sv(rest.p, n))))
            continue;
        *skip = name + gap;
        return n;
    }
    return 0;
}

static size_t after_bearer(struct ch_sv s, size_t *skip) {
    if (!starts_nocase(s, "bearer "))
        return 0;
    struct ch_sv rest = redact_drop(s, strlen("bearer "));
    size_t n = token_length(rest);
    *skip = strlen("bearer ");
    return is_prose(ch_sv(rest.p, n)) ? 0 : n;
}

/* Length of the secret that starts at s or is introduced there; 0: none. word:
 * no letter or digit precedes s, so that "task-force-one" is not taken for a
 * key. */
static size_t secret_at(struct ch_sv s, bool word, size_t *skip) {
    *skip = 0;
    size_t n = registered(s);
    if (n == 0 && word)
        n = shaped_like_a_key(s);
    if (n == 0 && word)
        n = after_bearer(s, skip);
    return n ? n : named(s, skip);
}

/* The first secret in s: returns its length (0: none) and its offset in *at. */
static size_t redact_find_secret(struct ch_sv s, size_t *at) {
    bool word = true;
    make_shapes();
    for (size_t i = 0; i < s.n; i++) {
        size_t skip = 0;
        size_t n = may_begin(redact_drop(s, i)) ? secret_at(redact_drop(s, i), word, &skip) : 0;
        if (n) {
            *at = i + skip;
            return n;
        }
        word = !redact_is_token(s.p[i]) || s.p[i] == '=' || s.p[i] == '/';
    }
    return 0;
}

void ch_redact(char *text) {
    struct ch_sv rest = ch_sv_str(text);
    char *to = text;
    size_t at, n;
    pthread_mutex_lock(&known.lock);
    while ((n = redact_find_secret(rest, &at))) {
        size_t mask = CH_MIN(n, strlen(MASK));
        memmove(to, rest.p, at);
        memcpy(to + at, MASK, mask);
        to += at + mask;
        rest = redact_drop(rest, at + n);
    }
    pthread_mutex_unlock(&known.lock);
    memmove(to, rest.p, rest.n + 1);
}

void chela_redact(char *text) {
    ch_redact(text);
}

void ch_redact_line(char *text) {
    for (char *s = text; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = ' ';
    ch_redact(text);
}

void ch_redact_known(struct ch_buf *out, struct ch_sv text) {
    size_t from = 0;
    pthread_mutex_lock(&known.lock);
    for (size_t i = 0; i < text.n;) {
        bool may = known.first[(unsigned char)text.p[i]];
        size_t n = may ? registered(redact_drop(text, i)) : 0;
        if (n) {
            ch_buf_add(out, text.p + from, i - from);
            ch_buf_add(out, MASK, strlen(MASK));
            from = i + n;
        }
        i += n ? n : 1;
    }
    pthread_mutex_unlock(&known.lock);
    ch_buf_add_sv(out, redact_drop(text, from));
}

void ch_redact_copy(struct ch_buf *out, struct ch_sv text) {
    size_t at, n;
    pthread_mutex_lock(&known.lock);
    while ((n = redact_find_secret(text, &at))) {
        ch_buf_add(out, text.p, at);
        ch_buf_add(out, MASK, CH_MIN(n, strlen(MASK)));
        text = redact_drop(text, at + n);
    }
    pthread_mutex_unlock(&known.lock);
    ch_buf_add_sv(out, text);
}

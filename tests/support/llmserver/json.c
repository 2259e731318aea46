/* json.c -- recursive descent with a depth cap, and the growing text. */
#include "json.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 256

struct parser {
    const char *p, *end;
    const char *why;
    int depth;
};

static struct json *value(struct parser *ps);

static void *fail(struct parser *ps, const char *why) {
    if (!ps->why)
        ps->why = why;
    return NULL;
}

static void space(struct parser *ps) {
    while (ps->p < ps->end && strchr(" \t\r\n", *ps->p) && *ps->p)
        ps->p++;
}

static bool eat(struct parser *ps, char c) {
    if (ps->p == ps->end || *ps->p != c)
        return false;
    ps->p++;
    return true;
}

static int hex4(struct parser *ps) {
    int v = 0;

    for (int i = 0; i < 4; i++) {
        if (ps->p == ps->end || !isxdigit((unsigned char)*ps->p))
            return -1;
        char c = *ps->p++;
        v = v * 16 + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return v;
}

static void put_utf8(struct text *t, uint32_t c) {
    char b[4];
    size_t n = 0;

    if (c < 0x80) {
        b[n++] = (char)c;
    } else if (c < 0x800) {
        b[n++] = (char)(0xc0 | c >> 6);
        b[n++] = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        b[n++] = (char)(0xe0 | c >> 12);
        b[n++] = (char)(0x80 | (c >> 6 & 63));
        b[n++] = (char)(0x80 | (c & 63));
    } else {
        b[n++] = (char)(0xf0 | c >> 18);
        b[n++] = (char)(0x80 | (c >> 12 & 63));
        b[n++] = (char)(0x80 | (c >> 6 & 63));
        b[n++] = (char)(0x80 | (c & 63));
    }
    text_add(t, b, n);
}

static bool escape(struct parser *ps, struct text *t) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

    if (ps->p == ps->end)
        return false;
    char c = *ps->p++;
    const char *at = strchr(from, c);
    if (c && at) {
        text_add(t, &to[at - from], 1);
        return true;
    }
    if (c != 'u')
        return false;
    int high = hex4(ps);
    if (high < 0 || (high >= 0xdc00 && high < 0xe000))
        return false;
    uint32_t code = (uint32_t)high;
    if (high >= 0xd800 && high < 0xdc00) {
        if (!eat(ps, '\\') || !eat(ps, 'u'))
            return false;
        int low = hex4(ps);
        if (low < 0xdc00 || low > 0xdfff)
            return false;
        code = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
    }
    put_utf8(t, code);
    return true;
}

/* Length of the valid UTF-8 sequence at p, 0 if there is none. */
static size_t sequence(const unsigned char *p, const unsigned char *end) {
    size_t n = *p < 0x80 ? 1 : *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc2 ? 2 : 0;

    if (n == 0 || *p > 0xf4 || (size_t)(end - p) < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
        (*p == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

static char *string(struct parser *ps, size_t *len) {
    struct text t = {0};

    if (!eat(ps, '"'))
        return fail(ps, "string expected");
    for (;;) {
        if (ps->p == ps->end || (unsigned char)*ps->p < 0x20) {
            fail(ps, "string not closed, or with a control character");
            break;
        }
        if (eat(ps, '"')) {
            text_add(&t, "", 1);
            *len = t.n - 1;
            return t.p;
        }
        if (eat(ps, '\\')) {
            if (!escape(ps, &t)) {
                fail(ps, "bad escape");
                break;
            }
            continue;
        }
        size_t n = sequence((const unsigned char *)ps->p, (const unsigned char *)ps->end);
        if (n == 0) {
            fail(ps, "bad UTF-8");
            break;
        }
        text_add(&t, ps->p, n);
        ps->p += n;
    }
    text_free(&t);
    return NULL;
}

static struct json *node(enum json_type type) {
    struct json *v = calloc(1, sizeof(*v));

    if (!v)
        abort();
    v->type = type;
    return v;
}

static bool digits(struct parser *ps) {
    const char *start = ps->p;

    while (ps->p < ps->end && isdigit((unsigned char)*ps->p))
        ps->p++;
    return ps->p > start;
}

static struct json *number(struct parser *ps) {
    const char *start = ps->p;

    eat(ps, '-');
    bool good = eat(ps, '0') || digits(ps);
    if (good && eat(ps, '.'))
        good = digits(ps);
    if (good && (eat(ps, 'e') || eat(ps, 'E'))) {
        if (!eat(ps, '-'))
            eat(ps, '+');
        good = digits(ps);
    }
    if (!good)
        return fail(ps, "bad number");
    struct json *v = node(JSON_NUMBER);
    v->text = strndup(start, (size_t)(ps->p - start));
    return v;
}

static struct json *word(struct parser *ps, const char *name, enum json_type type) {
    size_t n = strlen(name);

    if ((size_t)(ps->end - ps->p) < n || memcmp(ps->p, name, n) != 0)
        return fail(ps, "unknown word");
    ps->p += n;
    return node(type);
}

static bool member(struct parser *ps, struct json *parent, struct json ***tail) {
    char *key = NULL;
    size_t len;

    space(ps);
    if (parent->type == JSON_OBJECT) {
        key = string(ps, &len);
        if (!key)
            return false;
        space(ps);
        if (!eat(ps, ':')) {
            free(key);
            return fail(ps, "colon expected");
        }
    }
    struct json *v = value(ps);
    if (!v) {
        free(key);
        return false;
    }
    v->key = key;
    **tail = v;
    *tail = &v->next;
    parent->len++;
    return true;
}

static struct json *container(struct parser *ps, enum json_type type, char close) {
    struct json *v = node(type), **tail = &v->first;

    ps->p++;
    space(ps);
    if (eat(ps, close))
        return v;
    if (++ps->depth > MAX_DEPTH)
        fail(ps, "nested too deeply");
    while (!ps->why && member(ps, v, &tail)) {
        space(ps);
        if (eat(ps, close)) {
            ps->depth--;
            return v;
        }
        if (!eat(ps, ','))
            fail(ps, "comma expected");
    }
    json_free(v);
    return NULL;
}

static struct json *value(struct parser *ps) {
    space(ps);
    if (ps->p == ps->end)
        return fail(ps, "value expected");
    switch (*ps->p) {
    case '{':
        return container(ps, JSON_OBJECT, '}');
    case '[':
        return container(ps, JSON_ARRAY, ']');
    case 't':
        return word(ps, "true", JSON_TRUE);
    case 'f':
        return word(ps, "false", JSON_FALSE);
    case 'n':
        return word(ps, "null", JSON_NULL);
    case '"': {
        size_t len;
        char *text = string(ps, &len);
        if (!text)
            return NULL;
        struct json *v = node(JSON_STRING);
        v->text = text;
        v->len = len;
        return v;
    }
    default:
        return number(ps);
    }
}

struct json *json_parse(const char *text, size_t len, const char **why) {
    struct parser ps = {.p = text, .end = text + len};
    struct json *v = value(&ps);

    space(&ps);
    if (v && ps.p != ps.end) {
        json_free(v);
        v = fail(&ps, "text after the value");
    }
    if (!v && why)
        *why = ps.why;
    return v;
}

void json_free(struct json *v) {
    while (v) {
        struct json *next = v->next;
        json_free(v->first);
        free(v->key);
        free(v->text);
        free(v);
        v = next;
    }
}

const struct json *json_get(const struct json *v, const char *key) {
    if (!json_is(v, JSON_OBJECT))
        return NULL;
    for (const struct json *m = v->first; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}

const char *json_str(const struct json *v, const char *key, const char *otherwise) {
    const struct json *m = json_get(v, key);

    return json_is(m, JSON_STRING) ? m->text : otherwise;
}

long json_int(const struct json *v, const char *key, long otherwise) {
    const struct json *m = json_get(v, key);

    return json_is(m, JSON_NUMBER) ? strtol(m->text, NULL, 10) : otherwise;
}

bool json_is(const struct json *v, enum json_type type) {
    return v && v->type == type;
}

bool json_true(const struct json *v, const char *key) {
    return json_is(json_get(v, key), JSON_TRUE);
}

void text_add(struct text *t, const void *p, size_t n) {
    if (t->n + n + 1 > t->cap) {
        t->cap = (t->n + n + 1) * 2;
        t->p = realloc(t->p, t->cap);
        if (!t->p)
            abort();
    }
    memcpy(t->p + t->n, p, n);
    t->n += n;
    t->p[t->n] = '\0';
}

void text_addf(struct text *t, const char *fmt, ...) {
    char *line = NULL;
    va_list ap;

    va_start(ap, fmt);
    int n = vasprintf(&line, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    text_add(t, line, (size_t)n);
    free(line);
}

void text_escape(struct text *t, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            text_addf(t, "\\%c", c);
        else if (c == '\n')
            text_add(t, "\\n", 2);
        else if (c < 0x20)
            text_addf(t, "\\u%04x", c);
        else
            text_add(t, &s[i], 1);
    }
}

void text_quote(struct text *t, const char *s) {
    text_add(t, "\"", 1);
    text_escape(t, s, strlen(s));
    text_add(t, "\"", 1);
}

void text_free(struct text *t) {
    free(t->p);
    *t = (struct text){0};
}

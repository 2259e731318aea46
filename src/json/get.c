/* get.c -- see get.h.
 *
 * Each call parses the text again. This suits hosts that need a few fields of a text from
 * chela; hot paths inside the library keep the value tree (json.h). */
#include "json/get.h"

#include "chela/json.h"

#include "json/pull.h"
#include "json/writer.h"

struct ch_sv ch_json_unescape(struct ch_arena *a, struct ch_sv token) {
    if (!memchr(token.p, '~', token.n))
        return token;
    char *p = ch_arena_alloc(a, token.n);
    size_t n = 0;
    for (size_t i = 0; i < token.n; i++) {
        bool escaped = token.p[i] == '~' && i + 1 < token.n &&
                       (token.p[i + 1] == '0' || token.p[i + 1] == '1');
        p[n++] = !escaped ? token.p[i] : token.p[++i] == '0' ? '~' : '/';
    }
    return ch_sv(p, n);
}

size_t ch_json_index(struct ch_sv token) {
    size_t i = 0;
    if (token.n == 0 || token.n > 9 || (token.n > 1 && token.p[0] == '0'))
        return SIZE_MAX;
    for (size_t at = 0; at < token.n; at++) {
        if (token.p[at] < '0' || token.p[at] > '9')
            return SIZE_MAX;
        i = i * 10 + (size_t)(token.p[at] - '0');
    }
    return i;
}

const struct ch_json *ch_json_step(struct ch_arena *a, const struct ch_json *v,
                                   struct ch_sv token) {
    return ch_json_is(v, CH_JSON_ARRAY) ? ch_json_at(v, ch_json_index(token))
                                        : ch_json_get_sv(v, ch_json_unescape(a, token));
}

static const struct ch_json *get_resolve(struct ch_arena *a, const struct ch_json *v,
                                         const char *pointer) {
    struct ch_sv rest = ch_sv_str(pointer);
    if (rest.n == 0)
        return v;
    if (ch_sv_split(&rest, '/').n > 0)
        return NULL; /* a pointer starts with a slash */
    while (v && rest.p)
        v = ch_json_step(a, v, ch_sv_split(&rest, '/'));
    return v;
}

static char *get_text(const struct ch_json *v, size_t *out_len) {
    struct ch_buf out = {0};

    if (v)
        ch_json_add_text(&out, v);
    if (!v || out.overflow) {
        ch_buf_release(&out);
        return NULL;
    }
    if (out_len)
        *out_len = out.n;
    return ch_buf_take(&out);
}

/* NULL: the text is not JSON. */
static const struct ch_json *get_parse(struct ch_arena *a, const char *json, size_t len) {
    const struct ch_json *v = NULL;
    return ch_json_parse(a, ch_sv(json, len), CH_JSON_STRICT, &v, NULL, NULL) == 0 ? v : NULL;
}

char *chela_json_get(const char *json, size_t len, const char *pointer, size_t *out_len) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = get_parse(&arena, json, len);
    return get_text(v ? get_resolve(&arena, v, pointer) : NULL, out_len);
}

void chela_json_get_all(const char *json, size_t len, const char *const *pointers, char **values,
                        size_t n) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = get_parse(&arena, json, len);
    for (size_t i = 0; i < n; i++)
        values[i] = get_text(v ? get_resolve(&arena, v, pointers[i]) : NULL, NULL);
}

int chela_json_each(const char *json, size_t len,
                    int (*fn)(const char *element, size_t len, void *user), void *user) {
    CH_BUF_AUTO scratch = {0};
    struct ch_pull p;
    struct ch_sv element;
    int rc = 0;

    ch_pull_init(&p, ch_sv(json, len), &scratch);
    if (!ch_pull_enter(&p, '['))
        return CHELA_EPARSE;
    while (rc == 0 && ch_pull_item(&p))
        if (ch_pull_raw(&p, &element))
            rc = fn(element.p, element.n, user);
    return rc == 0 && ch_pull_failed(&p) ? CHELA_EPARSE : rc;
}

/* labels.c -- see labels.h. */
#include "egress/labels.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

#define MORE CH_SV("more")
#define PRIVATE "private="

static const char *const keys[CH_LABELS] = {"foreign", "private"};

void ch_labels_release(struct ch_labels *l) {
    for (size_t k = 0; k < CH_LABELS; k++) {
        for (size_t i = 0; i < l->n[k]; i++)
            ch_free(l->names[k][i]);
        ch_free(l->names[k]);
    }
    *l = (struct ch_labels){0};
}

static bool labels_have(const struct ch_labels *l, enum ch_label kind, struct ch_sv source) {
    for (size_t i = 0; i < l->n[kind]; i++)
        if (ch_sv_is(source, l->names[kind][i]))
            return true;
    return false;
}

void ch_labels_add(struct ch_labels *l, enum ch_label kind, struct ch_sv source) {
    size_t n = l->n[kind];

    if (!source.n)
        return;
    if (source.n > CH_LIMIT_LABEL)
        source = ch_utf8_cut(source, CH_LIMIT_LABEL);
    if (labels_have(l, kind, source))
        return;
    if (n >= CH_LIMIT_LABELS - 1) {
        source = MORE;
        if (labels_have(l, kind, source))
            return;
    }
    if (!l->names[kind])
        l->names[kind] = ch_alloc(CH_LIMIT_LABELS * sizeof(*l->names[kind]));
    char *name = l->names[kind][l->n[kind]++] = ch_strndup(source.p, source.n);
    for (; *name; name++) /* the separators of the text form, and what no one line has */
        if (*name == ',' || *name == '=' || (unsigned char)*name < ' ')
            *name = '_';
}

void ch_labels_join(struct ch_labels *l, const struct ch_labels *from) {
    for (size_t k = 0; from && k < CH_LABELS; k++)
        for (size_t i = 0; i < from->n[k]; i++)
            ch_labels_add(l, (enum ch_label)k, ch_sv_str(from->names[k][i]));
}

/* --- forms ------------------------------------------------------------------------------- */

void ch_labels_write(const struct ch_labels *l, struct ch_jw *w) {
    if (!ch_labels_any(l))
        return;
    ch_jw_kbegin(w, "labels", '{');
    for (size_t k = 0; k < CH_LABELS; k++) {
        if (!l->n[k])
            continue;
        ch_jw_kbegin(w, keys[k], '[');
        for (size_t i = 0; i < l->n[k]; i++)
            ch_jw_cstr(w, l->names[k][i]);
        ch_jw_end(w, ']');
    }
    ch_jw_end(w, '}');
}

void ch_labels_read(struct ch_labels *l, const struct ch_json *record) {
    const struct ch_json *v = ch_json_get(record, "labels");

    for (size_t k = 0; v && k < CH_LABELS; k++)
        for (CH_JSON_EACH(source, ch_json_get(v, keys[k])))
            ch_labels_add(l, (enum ch_label)k, ch_json_str(source));
}

void ch_labels_write_text(const struct ch_labels *l, struct ch_buf *out) {
    for (size_t k = 0; k < CH_LABELS; k++)
        for (size_t i = 0; i < l->n[k]; i++)
            ch_buf_addf(out, "%s%s%s", out->n ? "," : "", k == CH_LABEL_PRIVATE ? PRIVATE : "",
                        l->names[k][i]);
}

void ch_labels_read_text(struct ch_labels *l, struct ch_sv text) {
    while (text.n) {
        struct ch_sv one = ch_sv_trim(ch_sv_split(&text, ','));
        size_t n = sizeof(PRIVATE) - 1;
        if (ch_sv_starts(one, PRIVATE))
            ch_labels_add(l, CH_LABEL_PRIVATE, ch_sv(one.p + n, one.n - n));
        else
            ch_labels_add(l, CH_LABEL_FOREIGN, one);
    }
}

bool ch_labels_listed(struct ch_sv list, struct ch_sv source) {
    const char *colon = memchr(source.p, ':', source.n);
    struct ch_sv word = ch_sv(source.p, colon ? (size_t)(colon - source.p) : source.n);

    while (list.n) {
        struct ch_sv one = ch_sv_trim(ch_sv_split(&list, ','));
        if (one.n && (ch_sv_eq(one, source) || ch_sv_eq(one, word)))
            return true;
    }
    return false;
}

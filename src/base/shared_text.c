/* shared_text.c -- see shared_text.h. */
#include "base/shared_text.h"

#include "base/mem.h"

struct shared {
    size_t refs, n;
    char text[];
};

static struct shared *shared_of(const char *text) {
    return CH_CONTAINER(text, struct shared, text);
}

struct ch_sv ch_shared_text_sv(const char *text) {
    return ch_sv(text, shared_of(text)->n);
}

const char *ch_shared_text_ref(const char *text) {
    shared_of(text)->refs++;
    return text;
}

void ch_shared_text_release(const char *text) {
    if (text && --shared_of(text)->refs == 0)
        ch_free(shared_of(text));
}

const char *ch_shared_text(const char **last, struct ch_sv bytes) {
    if (*last && shared_of(*last)->n == bytes.n && memcmp(*last, bytes.p, bytes.n) == 0)
        return ch_shared_text_ref(*last);
    struct shared *s = ch_malloc(sizeof(*s) + bytes.n + 1);
    s->refs = 2;
    s->n = bytes.n;
    if (bytes.n)
        memcpy(s->text, bytes.p, bytes.n);
    s->text[bytes.n] = '\0';
    ch_shared_text_release(*last);
    *last = s->text;
    return s->text;
}

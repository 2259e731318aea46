/* members.c -- see members.h. Recursion is as deep as the tables nest. */
#include "json/members.h"

static void take_if(struct ch_pull *p, char open, struct ch_sv *out) {
    if (ch_pull_peek(p) == open)
        ch_pull_raw(p, out);
    else
        ch_pull_skip(p);
}

/* Read an object and keep its source text; of another value only the text. */
static void take_both(struct ch_pull *p, const struct ch_member *row, char *out) {
    ch_pull_peek(p); /* moves to the value */
    const char *start = p->at;
    ch_members_pull(p, row->in, row->n, out);
    if (!p->failed)
        *(struct ch_sv *)(void *)(out + row->at) = ch_sv(start, (size_t)(p->at - start));
}

static void members_take(struct ch_pull *p, const struct ch_member *row, char *out) {
    void *field = out + row->at;
    switch (row->kind) {
    case CH_MEMBER_STR:
        ch_pull_str(p, field);
        break;
    case CH_MEMBER_INT:
        ch_pull_int(p, field);
        break;
    case CH_MEMBER_BOOL:
        ch_pull_bool(p, field);
        break;
    case CH_MEMBER_RAW:
        ch_pull_raw(p, field);
        break;
    case CH_MEMBER_OBJECT:
        take_if(p, '{', field);
        break;
    case CH_MEMBER_ARRAY:
        take_if(p, '[', field);
        break;
    case CH_MEMBER_TEXT:
        if (ch_pull_peek(p) == '{')
            ch_pull_raw(p, field);
        else
            ch_pull_str(p, field);
        break;
    case CH_MEMBER_SOME:
        *(bool *)field |= ch_pull_peek(p) != 'n';
        ch_pull_skip(p);
        break;
    case CH_MEMBER_IN:
        ch_members_pull(p, row->in, row->n, out);
        break;
    case CH_MEMBER_RAW_IN:
        take_both(p, row, out);
        break;
    }
}

/* Most names of equal length differ in their first byte. No row has an empty name. */
static inline bool is_named(const struct ch_member *row, struct ch_sv key) {
    return row->name.n == key.n && *row->name.p == *key.p && ch_sv_eq(row->name, key);
}

void ch_members_pull(struct ch_pull *p, const struct ch_member *rows, size_t n, void *out) {
    struct ch_sv key;
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        size_t i = 0;
        while (i < n && !is_named(&rows[i], key))
            i++;
        if (i < n)
            members_take(p, &rows[i], out);
        else
            ch_pull_skip(p);
    }
}

bool ch_members_read(struct ch_sv json, struct ch_buf *scratch, const struct ch_member *rows,
                     size_t n, void *out) {
    struct ch_pull p;
    ch_pull_init(&p, json, scratch);
    ch_members_pull(&p, rows, n, out);
    return !ch_pull_failed(&p);
}

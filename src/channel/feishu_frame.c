/* feishu_frame.c -- see feishu_frame.h. */
#include "channel/feishu_frame.h"

#include "base/error.h"
#include "base/mem.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* wire types */

/* --- minimal protobuf */

static bool take_varint(struct ch_sv *s, uint64_t *out) {
    *out = 0;
    for (unsigned i = 0; i < 10 && i < s->n; i++) {
        unsigned char c = (unsigned char)s->p[i];
        if (i == 9 && c > 1)
            return false;
        *out |= (uint64_t)(c & 0x7f) << (7 * i);
        if (!(c & 0x80)) {
            *s = ch_sv(s->p + i + 1, s->n - i - 1);
            return true;
        }
    }
    return false;
}

struct field {
    uint64_t tag; /* field number and wire type */
    uint64_t number;
    struct ch_sv bytes;
};

static bool take_bytes(struct ch_sv *s, uint64_t n, struct ch_sv *out) {
    if (n > s->n)
        return false;
    *out = ch_sv(s->p, (size_t)n);
    *s = ch_sv(s->p + n, s->n - (size_t)n);
    return true;
}

static bool feishu_frame_take_field(struct ch_sv *s, struct field *f) {
    uint64_t n;
    *f = (struct field){0};
    if (!take_varint(s, &f->tag) || f->tag >> 3 == 0)
        return false;
    switch (f->tag & 7) {
    case VARINT:
        return take_varint(s, &f->number);
    case FIXED64:
        return take_bytes(s, 8, &f->bytes);
    case BYTES:
        return take_varint(s, &n) && take_bytes(s, n, &f->bytes);
    case FIXED32:
        return take_bytes(s, 4, &f->bytes);
    default:
        return false;
    }
}

static void add_varint(struct ch_buf *out, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        ch_buf_addc(out, (char)(0x80 | (v & 0x7f)));
    ch_buf_addc(out, (char)v);
}

static void feishu_frame_add_number(struct ch_buf *out, unsigned field, uint64_t v) {
    add_varint(out, field << 3 | VARINT);
    add_varint(out, v);
}

static void add_bytes(struct ch_buf *out, unsigned field, struct ch_sv s) {
    if (!s.p)
        return;
    add_varint(out, field << 3 | BYTES);
    add_varint(out, s.n);
    ch_buf_add_sv(out, s);
}

/* --- a frame */

#define TAG(field, type) ((field) << 3 | (type))

static bool feishu_frame_read_header(struct ch_sv s, struct ch_feishu_field *out) {
    struct field f;
    *out = (struct ch_feishu_field){{NULL, 0}, {NULL, 0}};
    while (s.n) {
        if (!feishu_frame_take_field(&s, &f))
            return false;
        if (f.tag == TAG(1, BYTES))
            out->key = f.bytes;
        else if (f.tag == TAG(2, BYTES))
            out->value = f.bytes;
    }
    return out->key.p && out->value.p;
}

static int feishu_frame_take_header(struct ch_feishu_frame *out, struct ch_sv bytes,
                                    struct chela_error *err) {
    if (out->nheaders == CH_LIMIT_FRAME_HEADERS)
        return ch_fail(err, CHELA_ELIMIT, "a frame has more than %d headers",
                       CH_LIMIT_FRAME_HEADERS);
    if (!feishu_frame_read_header(bytes, &out->headers[out->nheaders++]))
        return ch_fail(err, CHELA_EPARSE, "a frame's header is broken");
    return 0;
}

static void take_other(struct ch_feishu_frame *out, const struct field *f, unsigned *seen) {
    switch (f->tag) {
    case TAG(1, VARINT):
        out->seq = f->number;
        break;
    case TAG(2, VARINT):
        out->log = f->number;
        break;
    case TAG(3, VARINT):
        out->service = (int32_t)(uint32_t)f->number;
        break;
    case TAG(4, VARINT):
        out->method = (int32_t)(uint32_t)f->number;
        break;
    case TAG(6, BYTES):
        out->encoding = f->bytes;
        return;
    case TAG(7, BYTES):
        out->type = f->bytes;
        return;
    case TAG(8, BYTES):
        out->payload = f->bytes;
        return;
    case TAG(9, BYTES):
        out->log_new = f->bytes;
        return;
    default:
        return;
    }
    *seen |= 1u << (f->tag >> 3);
}

int ch_feishu_frame_read(struct ch_sv bytes, struct ch_feishu_frame *out, struct chela_error *err) {
    unsigned seen = 0;
    struct field f;
    *out = (struct ch_feishu_frame){0};
    while (bytes.n) {
        if (!feishu_frame_take_field(&bytes, &f))
            return ch_fail(err, CHELA_EPARSE, "a frame is no protobuf");
        int rc = 0;
        if (f.tag == TAG(5, BYTES))
            rc = feishu_frame_take_header(out, f.bytes, err);
        else
            take_other(out, &f, &seen);
        if (rc < 0)
            return rc;
    }
    return seen == 0x1e ? 0 : ch_fail(err, CHELA_EPARSE, "a frame lacks fields that it must have");
}

void ch_feishu_frame_write(const struct ch_feishu_frame *f, struct ch_buf *out) {
    feishu_frame_add_number(out, 1, f->seq);
    feishu_frame_add_number(out, 2, f->log);
    feishu_frame_add_number(out, 3, (uint64_t)(int64_t)f->service);
    feishu_frame_add_number(out, 4, (uint64_t)(int64_t)f->method);
    for (size_t i = 0; i < f->nheaders; i++) {
        CH_BUF_AUTO header = {0};
        add_bytes(&header, 1, f->headers[i].key);
        add_bytes(&header, 2, f->headers[i].value);
        add_bytes(out, 5, ch_buf_sv(&header));
    }
    add_bytes(out, 6, f->encoding);
    add_bytes(out, 7, f->type);
    add_bytes(out, 8, f->payload);
    add_bytes(out, 9, f->log_new);
}

struct ch_sv ch_feishu_frame_header(const struct ch_feishu_frame *f, const char *key) {
    for (size_t i = 0; i < f->nheaders; i++)
        if (ch_sv_is(f->headers[i].key, key))
            return f->headers[i].value;
    return ch_sv(NULL, 0);
}

/* --- events in fragments */

struct set {
    struct ch_link link;
    char *id; /* owned */
    unsigned sum, got;
    size_t bytes;
    int64_t began;
    struct ch_buf parts[]; /* `sum` entries; p NULL: missing */
};

void ch_feishu_gather_init(struct ch_feishu_gather *g) {
    ch_list_init(&g->sets);
    g->n = 0;
}

static void feishu_frame_drop(struct ch_feishu_gather *g, struct set *s) {
    ch_list_del(&s->link);
    g->n--;
    for (unsigned i = 0; i < s->sum; i++)
        ch_buf_release(&s->parts[i]);
    ch_free(s->id);
    ch_free(s);
}

static struct set *oldest(struct ch_feishu_gather *g) {
    return CH_LIST_FIRST(&g->sets, struct set, link);
}

void ch_feishu_gather_release(struct ch_feishu_gather *g) {
    for (struct set *s; (s = oldest(g));)
        feishu_frame_drop(g, s);
}

static struct set *feishu_frame_find(struct ch_feishu_gather *g, struct ch_sv id) {
    for (CH_LIST_EACH(k, &g->sets)) {
        struct set *s = CH_CONTAINER(k, struct set, link);
        if (ch_sv_is(id, s->id))
            return s;
    }
    return NULL;
}

static struct set *new_set(struct ch_feishu_gather *g, struct ch_sv id, unsigned sum, int64_t now) {
    struct set *s = ch_alloc(sizeof(*s) + sum * sizeof(s->parts[0]));
    if (g->n == CH_LIMIT_FRAGMENT_SETS)
        feishu_frame_drop(g, oldest(g));
    s->id = ch_strndup(id.p, id.n);
    s->sum = sum;
    s->began = now;
    ch_list_add(&g->sets, &s->link);
    g->n++;
    return s;
}

/* A small number in a header; `otherwise` is the default for a missing header. */
static unsigned feishu_frame_count(const struct ch_feishu_frame *f, const char *key,
                                   unsigned otherwise) {
    struct ch_sv text = ch_feishu_frame_header(f, key);
    unsigned n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || text.n > 6)
            return UINT32_MAX;
        n = 10 * n + (unsigned)(text.p[i] - '0');
    }
    return text.n ? n : otherwise;
}

static enum ch_feishu_gathered add_part(struct ch_feishu_gather *g, struct set *s, unsigned seq,
                                        struct ch_sv payload, struct ch_buf *out) {
    if (payload.n > CH_LIMIT_CALLBACK - s->bytes) {
        feishu_frame_drop(g, s);
        return CH_FEISHU_USELESS;
    }
    if (!s->parts[seq].p) {
        ch_buf_add(&s->parts[seq], payload.p ? payload.p : "", payload.n);
        ch_buf_reserve(&s->parts[seq], 1); /* distinguishes an empty part from a missing one */
        s->bytes += payload.n;
        s->got++;
    }
    if (s->got < s->sum)
        return CH_FEISHU_PART;
    for (unsigned i = 0; i < s->sum; i++)
        ch_buf_add_sv(out, ch_buf_sv(&s->parts[i]));
    feishu_frame_drop(g, s);
    return CH_FEISHU_WHOLE;
}

enum ch_feishu_gathered ch_feishu_gather(struct ch_feishu_gather *g,
                                         const struct ch_feishu_frame *f, int64_t now,
                                         struct ch_buf *out) {
    struct ch_sv id = ch_feishu_frame_header(f, "message_id");
    unsigned sum = feishu_frame_count(f, "sum", 1), seq = feishu_frame_count(f, "seq", 0);
    for (struct set *s; (s = oldest(g)) && now - s->began > CH_LIMIT_FRAGMENT_MS;)
        feishu_frame_drop(g, s);
    if (sum <= 1)
        return f->payload.n <= CH_LIMIT_CALLBACK && ch_buf_add_sv(out, f->payload) == 0
                   ? CH_FEISHU_WHOLE
                   : CH_FEISHU_USELESS;
    if (sum > CH_LIMIT_FRAGMENTS || seq >= sum || !id.n || id.n > CH_LIMIT_EVENT_ID ||
        memchr(id.p, 0, id.n))
        return CH_FEISHU_USELESS;
    struct set *s = feishu_frame_find(g, id);
    if (s && s->sum != sum)
        return CH_FEISHU_USELESS;
    return add_part(g, s ? s : new_set(g, id, sum, now), seq, f->payload, out);
}

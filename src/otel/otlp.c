/* otlp.c -- see otlp.h. */
#include "otel/otlp.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/writer.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static const struct {
    struct ch_sv key; /* in JSON, with its quotes and colon */
    unsigned number;
    bool repeated;
} fields[CH_OTLP_FIELD_COUNT] = {
#define OTLP_ROW(field, name, number, repeated)                                                \
    [CH_OTLP_##field] = {{"\"" name "\":", sizeof(name) + 2}, number, repeated},
    CH_OTLP_FIELDS(OTLP_ROW)
#undef OTLP_ROW
};

/* --- protobuf */

static size_t put_varint(char *to, uint64_t v) {
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        to[n++] = (char)(v | 0x80);
    to[n++] = (char)v;
    return n;
}

static void add_varint(struct ch_buf *out, uint64_t v) {
    char bytes[10];
    ch_buf_add(out, bytes, put_varint(bytes, v));
}

static void add_tag(struct ch_otlp *w, enum ch_otlp_field f, enum wire wire) {
    add_varint(w->out, (uint64_t)fields[f].number << 3 | wire);
}

static void add_little(struct ch_buf *out, uint64_t v) {
    char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(v >> (8 * i));
    ch_buf_add(out, bytes, sizeof(bytes));
}

static uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* Inserts the length of the bytes from `at` on before them, and the tag of f unless f is -1. */
static void put_length(struct ch_buf *out, size_t at, int f) {
    char bytes[20];
    if (out->overflow)
        return;
    size_t length = out->n - at;
    size_t n = f < 0 ? 0 : put_varint(bytes, (uint64_t)fields[f].number << 3 | WIRE_BYTES);
    n += put_varint(bytes + n, length);
    if (!ch_buf_reserve(out, n))
        return;
    memmove(out->p + at + n, out->p + at, length);
    memcpy(out->p + at, bytes, n);
    ch_buf_commit(out, n);
}

/* --- JSON */

static void end_array(struct ch_otlp *w) {
    if (w->level[w->depth].array >= 0)
        ch_buf_addc(w->out, ']');
    w->level[w->depth].array = -1;
}

/* Writes the separator and the key before a value, and makes room for n bytes of the value.
 * Returns their address; NULL: no room. */
static char *json_room(struct ch_otlp *w, enum ch_otlp_field f, size_t n) {
    bool goes_on = fields[f].repeated && w->level[w->depth].array == (int)f;
    char *p = ch_buf_reserve(w->out, fields[f].key.n + 3 + n);
    if (!p)
        return NULL;
    if (!goes_on && w->level[w->depth].array >= 0)
        *p++ = ']';
    if (w->level[w->depth].comma)
        *p++ = ',';
    w->level[w->depth].comma = true;
    if (goes_on)
        return p;
    memcpy(p, fields[f].key.p, fields[f].key.n);
    p += fields[f].key.n;
    if (fields[f].repeated)
        *p++ = '[';
    w->level[w->depth].array = fields[f].repeated ? (int)f : -1;
    return p;
}

/* Counts the bytes up to `end`. */
static void json_commit(struct ch_otlp *w, const char *end) {
    ch_buf_commit(w->out, (size_t)(end - w->out->p) - w->out->n);
}

static void json_key(struct ch_otlp *w, enum ch_otlp_field f) {
    char *p = json_room(w, f, 0);
    if (p)
        json_commit(w, p);
}

char *ch_otlp_put_int(char *to, int64_t v) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digits[40]; /* the last 20 are copied, but not counted */
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    size_t at = 20;
    for (; rest >= 10; rest /= 100)
        memcpy(digits + (at -= 2), pairs + 2 * (rest % 100), 2);
    if (rest || at == 20)
        digits[--at] = (char)('0' + rest);
    if (v < 0)
        *to++ = '-';
    memcpy(to, digits + at, 20); /* a constant number of bytes is copied faster */
    return to + 20 - at;
}

char *ch_otlp_put_thousandths(char *to, double v) {
    if (!(v >= 0 && v < 1e9))
        return NULL;
    uint64_t n = (uint64_t)(v * 1000 + 0.5);
    if ((double)n / 1000 != v)
        return NULL;
    to = ch_otlp_put_int(to, (int64_t)(n / 1000));
    to[0] = '.';
    to[1] = (char)('0' + n / 100 % 10);
    to[2] = (char)('0' + n / 10 % 10);
    to[3] = (char)('0' + n % 10);
    return to + (n % 10 ? 4 : n % 100 ? 3 : n % 1000 ? 2 : 0);
}

static void json_double(struct ch_buf *out, double v) {
    struct ch_jw j = ch_jw(out);
    char text[CH_OTLP_DIGITS], *end = ch_otlp_put_thousandths(text, v);
    if (end)
        ch_buf_add(out, text, (size_t)(end - text));
    else
        ch_jw_double(&j, v);
}

/* --- messages */

static void begin_level(struct ch_otlp *w) {
    w->level[w->depth].at = w->out->n;
    w->level[w->depth].comma = false;
    w->level[w->depth].array = -1;
    if (w->json)
        ch_buf_addc(w->out, '{');
}

struct ch_otlp ch_otlp_begin(struct ch_buf *out, bool json) {
    struct ch_otlp w;
    w.out = out;
    w.json = json;
    w.depth = 0;
    begin_level(&w); /* each level is set when it begins */
    return w;
}

struct ch_otlp ch_otlp_resume(struct ch_buf *out, bool json, enum ch_otlp_field f) {
    struct ch_otlp w;
    w.out = out;
    w.json = json;
    w.depth = 0;
    w.level[0].at = 0;
    w.level[0].comma = true;
    w.level[0].array = json ? (int)f : -1;
    return w;
}

void ch_otlp_finish(struct ch_otlp *w) {
    assert(w->depth == 0);
    if (!w->json)
        return;
    end_array(w);
    ch_buf_addc(w->out, '}');
}

void ch_otlp_open(struct ch_otlp *w, enum ch_otlp_field f) {
    assert(w->depth + 1 < CH_OTLP_DEPTH);
    if (w->json)
        json_key(w, f);
    else
        add_tag(w, f, WIRE_BYTES);
    w->depth++;
    begin_level(w);
}

void ch_otlp_close(struct ch_otlp *w) {
    if (w->json) {
        end_array(w);
        ch_buf_addc(w->out, '}');
    } else {
        put_length(w->out, w->level[w->depth].at, -1);
    }
    w->depth--;
}

void ch_otlp_bytes(struct ch_otlp *w, enum ch_otlp_field f, size_t n) {
    add_tag(w, f, WIRE_BYTES);
    add_varint(w->out, n);
}

static void add_bytes(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv bytes) {
    ch_otlp_bytes(w, f, bytes.n);
    ch_buf_add_sv(w->out, bytes);
}

void ch_otlp_wrap(struct ch_buf *out, size_t at, enum ch_otlp_field f) {
    put_length(out, at, (int)f);
}

void ch_otlp_array(struct ch_otlp *w, enum ch_otlp_field f) {
    json_key(w, f);
}

void ch_otlp_message(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv message) {
    if (!w->json) {
        add_bytes(w, f, message);
        return;
    }
    json_key(w, f);
    ch_buf_add_sv(w->out, message);
}

/* --- values */

static void add_repaired(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv text) {
    CH_BUF_AUTO valid = {0};
    ch_utf8_add_valid(&valid, text);
    add_bytes(w, f, ch_buf_sv(&valid));
}

void ch_otlp_text(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv text) {
    if (w->json) {
        json_key(w, f);
        ch_json_quote(w->out, text);
    } else if (ch_utf8_valid(text)) {
        add_bytes(w, f, text);
    } else {
        add_repaired(w, f, text);
    }
}

void ch_otlp_id(struct ch_otlp *w, enum ch_otlp_field f, const unsigned char *id, size_t n) {
    static const char hex[] = "0123456789abcdef";
    if (!w->json) {
        add_bytes(w, f, ch_sv((const char *)id, n));
        return;
    }
    char *to = json_room(w, f, 2 * n + 2);
    if (!to)
        return;
    *to++ = '"';
    for (size_t i = 0; i < n; i++) {
        *to++ = hex[id[i] >> 4];
        *to++ = hex[id[i] & 15];
    }
    *to++ = '"';
    json_commit(w, to);
}

/* Writes a JSON number; quoted: as a string. */
static void json_number(struct ch_otlp *w, enum ch_otlp_field f, int64_t v, bool quoted) {
    char *p = json_room(w, f, CH_OTLP_DIGITS + 2);
    if (!p)
        return;
    if (quoted)
        *p++ = '"';
    p = ch_otlp_put_int(p, v);
    if (quoted)
        *p++ = '"';
    json_commit(w, p);
}

void ch_otlp_fixed64(struct ch_otlp *w, enum ch_otlp_field f, uint64_t v) {
    if (w->json) {
        json_number(w, f, (int64_t)v, true); /* counts and times: below 2^63 */
    } else {
        add_tag(w, f, WIRE_FIXED64);
        add_little(w->out, v);
    }
}

void ch_otlp_number(struct ch_otlp *w, enum ch_otlp_field f, unsigned v) {
    if (w->json) {
        json_number(w, f, v, false);
    } else {
        add_tag(w, f, WIRE_VARINT);
        add_varint(w->out, v);
    }
}

void ch_otlp_int64(struct ch_otlp *w, enum ch_otlp_field f, int64_t v) {
    if (w->json) {
        json_number(w, f, v, true);
    } else {
        add_tag(w, f, WIRE_VARINT);
        add_varint(w->out, (uint64_t)v);
    }
}

void ch_otlp_double(struct ch_otlp *w, enum ch_otlp_field f, double v) {
    if (w->json) {
        json_key(w, f);
        json_double(w->out, v);
    } else {
        add_tag(w, f, WIRE_FIXED64);
        add_little(w->out, bits_of(v));
    }
}

void ch_otlp_bool(struct ch_otlp *w, enum ch_otlp_field f, bool v) {
    if (w->json) {
        json_key(w, f);
        ch_buf_add_str(w->out, v ? "true" : "false");
    } else {
        add_tag(w, f, WIRE_VARINT);
        add_varint(w->out, v);
    }
}

void ch_otlp_fixed64s(struct ch_otlp *w, enum ch_otlp_field f, const uint64_t *v, size_t n) {
    if (w->json) {
        json_key(w, f);
        for (size_t i = 0; i < n; i++) {
            ch_buf_addc(w->out, i ? ',' : '[');
            ch_buf_addc(w->out, '"');
            ch_buf_add_uint(w->out, v[i]);
            ch_buf_addc(w->out, '"');
        }
        ch_buf_add_str(w->out, n ? "]" : "[]");
        return;
    }
    add_tag(w, f, WIRE_BYTES);
    add_varint(w->out, 8 * n);
    for (size_t i = 0; i < n; i++)
        add_little(w->out, v[i]);
}

void ch_otlp_doubles(struct ch_otlp *w, enum ch_otlp_field f, const double *v, size_t n) {
    if (w->json) {
        json_key(w, f);
        for (size_t i = 0; i < n; i++) {
            ch_buf_addc(w->out, i ? ',' : '[');
            json_double(w->out, v[i]);
        }
        ch_buf_add_str(w->out, n ? "]" : "[]");
        return;
    }
    add_tag(w, f, WIRE_BYTES);
    add_varint(w->out, 8 * n);
    for (size_t i = 0; i < n; i++)
        add_little(w->out, bits_of(v[i]));
}

/* --- responses */

static bool read_varint(struct ch_sv *in, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; in->n && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*in->p;
        *in = ch_sv(in->p + 1, in->n - 1);
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Reads one field. Numbers are in *number, texts and messages in *bytes. False: there is no
 * further field, or it is malformed. */
static bool read_field(struct ch_sv *in, unsigned *field, uint64_t *number, struct ch_sv *bytes) {
    uint64_t tag;
    *bytes = ch_sv(in->p, 0);
    *number = 0;
    if (!in->n || !read_varint(in, &tag))
        return false;
    *field = (unsigned)(tag >> 3);
    size_t skip = (tag & 7) == WIRE_FIXED64 ? 8 : (tag & 7) == 5 ? 4 : 0;
    if ((tag & 7) == WIRE_VARINT)
        return read_varint(in, number);
    if ((tag & 7) == WIRE_BYTES) {
        if (!read_varint(in, number) || *number > in->n)
            return false;
        skip = (size_t)*number;
    } else if (!skip) {
        return false;
    }
    if (skip > in->n)
        return false;
    *bytes = ch_sv(in->p, skip);
    *in = ch_sv(in->p + skip, in->n - skip);
    return true;
}

static int64_t rejected_in_protobuf(struct ch_sv in, struct ch_buf *message) {
    struct ch_sv bytes, partial = CH_SV("");
    uint64_t number, rejected = 0;
    unsigned field;
    while (read_field(&in, &field, &number, &bytes))
        if (field == 1)
            partial = bytes;
    while (read_field(&partial, &field, &number, &bytes)) {
        if (field == 1)
            rejected = number;
        else if (field == 2)
            ch_utf8_add_valid(message, bytes);
    }
    return rejected > INT64_MAX ? 0 : (int64_t)rejected;
}

int64_t ch_otlp_rejected(struct ch_sv response, bool json, struct ch_buf *message) {
    static const char *const names[] = {"rejectedSpans", "rejectedDataPoints",
                                        "rejectedLogRecords"};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    int64_t rejected = 0;
    if (!json)
        return rejected_in_protobuf(response, message);
    if (ch_json_parse(&arena, response, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return 0;
    const struct ch_json *partial = ch_json_get(v, "partialSuccess");
    for (size_t i = 0; i < CH_LEN(names) && rejected == 0; i++) {
        const struct ch_json *n = ch_json_get(partial, names[i]);
        rejected = ch_json_is(n, CH_JSON_STRING)
                       ? strtoll(ch_arena_str(&arena, ch_json_str(n)), NULL, 10)
                       : ch_json_int(n, 0);
    }
    ch_buf_add_sv(message, ch_json_get_str(partial, "errorMessage"));
    return rejected > 0 ? rejected : 0;
}

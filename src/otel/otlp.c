/* otlp.c -- see otlp.h. */
#include "otel/otlp.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/word.h"
#include "json/json.h"
#include "json/scan.h"
#include "json/writer.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static const struct {
    struct ch_sv key; /* in JSON, with its quotes and colon */
    unsigned char number;
    bool repeated;
} fields[CH_OTLP_FIELD_COUNT] = {
#define OTLP_ROW(field, name, number, repeated)                                                \
    [CH_OTLP_##field] = {{"\"" name "\":", sizeof(name) + 2}, number, repeated},
    CH_OTLP_FIELDS(OTLP_ROW)
#undef OTLP_ROW
};

/* As ch_buf_reserve, with its usual case in place: a span takes dozens of calls. */
static inline char *room(struct ch_buf *out, size_t n) {
    return n < out->cap - out->n && !out->overflow ? out->p + out->n : ch_buf_reserve(out, n);
}

/* Counts the bytes up to `end`, which were written behind the bytes of the buffer. */
static void commit(struct ch_buf *out, const char *end) {
    ch_buf_commit(out, (size_t)(end - out->p) - out->n);
}

/* --- protobuf */

#define VARINT_BYTES 10

/* Every tag is one byte. */
#define OTLP_TAG(field, name, number, repeated)                                                \
    _Static_assert(number < 16, "a tag of " name " takes two bytes");
CH_OTLP_FIELDS(OTLP_TAG)
#undef OTLP_TAG

static char *put_tag(char *to, enum ch_otlp_field f, enum wire wire) {
    *to = (char)(fields[f].number << 3 | wire);
    return to + 1;
}

static char *put_varint(char *to, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        *to++ = (char)(v | 0x80);
    *to++ = (char)v;
    return to;
}

static char *put_fixed64(char *to, uint64_t v) {
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        v = __builtin_bswap64(v);
    memcpy(to, &v, sizeof(v));
    return to + sizeof(v);
}

static char *put_text(char *to, struct ch_sv text) {
    memcpy(to, text.p, text.n);
    return to + text.n;
}

static void add_varint(struct ch_otlp *w, enum ch_otlp_field f, uint64_t v) {
    char *p = room(w->out, 1 + VARINT_BYTES);
    if (p)
        commit(w->out, put_varint(put_tag(p, f, WIRE_VARINT), v));
}

static void add_little(struct ch_otlp *w, enum ch_otlp_field f, uint64_t v) {
    char *p = room(w->out, 1 + sizeof(v));
    if (p)
        commit(w->out, put_fixed64(put_tag(p, f, WIRE_FIXED64), v));
}

static uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* Most texts are ASCII and short. */
static bool is_utf8(struct ch_sv text) {
    uint64_t bytes = 0;
    size_t i = 0;
    for (; i + sizeof(bytes) <= text.n; i += sizeof(bytes))
        bytes |= ch_word_load(text.p + i);
    bytes |= ch_word_load_part(text.p + i, text.n - i);
    return !(bytes & CH_WORD_HIGH) || ch_utf8_valid(text);
}

/* Elements of 8 bytes. */
static void add_packed(struct ch_otlp *w, enum ch_otlp_field f, const void *v, size_t n) {
    uint64_t bits;
    ch_otlp_bytes(w, f, n * sizeof(bits));
    char *p = room(w->out, n * sizeof(bits));
    if (!p)
        return;
    for (size_t i = 0; i < n; i++) {
        memcpy(&bits, (const char *)v + i * sizeof(bits), sizeof(bits));
        p = put_fixed64(p, bits);
    }
    commit(w->out, p);
}

static void insert(struct ch_buf *out, size_t at, const char *bytes, size_t n) {
    size_t behind = out->n - at;
    if (!ch_buf_reserve(out, n))
        return;
    memmove(out->p + at + n, out->p + at, behind);
    memcpy(out->p + at, bytes, n);
    ch_buf_commit(out, n);
}

/* Writes the length of the bytes from `at` on. One byte is free before them. */
static void end_bytes(struct ch_buf *out, size_t at) {
    char length[VARINT_BYTES];
    if (out->overflow)
        return;
    char *end = put_varint(length, out->n - at);
    out->p[at - 1] = length[0];
    if (end > length + 1)
        insert(out, at, length + 1, (size_t)(end - length) - 1);
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
    struct ch_sv key = fields[f].key;
    bool repeated = fields[f].repeated, comma = w->level[w->depth].comma;
    int array = w->level[w->depth].array;
    char *p = room(w->out, key.n + 3 + n);
    if (!p)
        return NULL;
    w->level[w->depth].comma = true;
    w->level[w->depth].array = repeated ? (int)f : -1;
    if (repeated && array == (int)f) {
        *p = ',';
        return p + comma;
    }
    if (array >= 0)
        *p++ = ']';
    if (comma)
        *p++ = ',';
    p = put_text(p, key);
    if (repeated)
        *p++ = '[';
    return p;
}

static void json_key(struct ch_otlp *w, enum ch_otlp_field f) {
    char *p = json_room(w, f, 0);
    if (p)
        commit(w->out, p);
}

/* Writes v to an address with room for CH_OTLP_NUMBER. Returns the address after it. */
static char *put_int(char *to, int64_t v) {
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

static char *put_hex(char *to, const unsigned char *bytes, size_t n) {
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *to++ = hex[bytes[i] >> 4];
        *to++ = hex[bytes[i] & 15];
    }
    return to;
}

/* As put_int, for a number of whole thousandths, such as a time. NULL: another number. */
static char *put_thousandths(char *to, double v) {
    if (!(v >= 0 && v < 1e9))
        return NULL;
    uint64_t n = (uint64_t)(v * 1000 + 0.5);
    if ((double)n / 1000 != v)
        return NULL;
    to = put_int(to, (int64_t)(n / 1000));
    to[0] = '.';
    to[1] = (char)('0' + n / 100 % 10);
    to[2] = (char)('0' + n / 10 % 10);
    to[3] = (char)('0' + n % 10);
    return to + 4;
}

static void json_double(struct ch_buf *out, double v) {
    struct ch_jw j = ch_jw(out);
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
        ch_otlp_bytes(w, f, 0); /* ch_otlp_close writes the length */
    w->depth++;
    begin_level(w);
}

void ch_otlp_close(struct ch_otlp *w) {
    if (w->json) {
        end_array(w);
        ch_buf_addc(w->out, '}');
    } else {
        end_bytes(w->out, w->level[w->depth].at);
    }
    w->depth--;
}

void ch_otlp_bytes(struct ch_otlp *w, enum ch_otlp_field f, size_t n) {
    char *p = room(w->out, 1 + VARINT_BYTES);
    if (p)
        commit(w->out, put_varint(put_tag(p, f, WIRE_BYTES), n));
}

static void add_bytes(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv bytes) {
    char *p = room(w->out, 1 + VARINT_BYTES + bytes.n);
    if (p)
        commit(w->out, put_text(put_varint(put_tag(p, f, WIRE_BYTES), bytes.n), bytes));
}

void ch_otlp_wrap(struct ch_buf *out, size_t at, enum ch_otlp_field f) {
    char head[1 + VARINT_BYTES];
    char *end = put_varint(put_tag(head, f, WIRE_BYTES), out->n - at);
    insert(out, at, head, (size_t)(end - head));
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
    } else if (is_utf8(text)) {
        add_bytes(w, f, text);
    } else {
        add_repaired(w, f, text);
    }
}

void ch_otlp_id(struct ch_otlp *w, enum ch_otlp_field f, const unsigned char *id, size_t n) {
    if (!w->json) {
        add_bytes(w, f, ch_sv((const char *)id, n));
        return;
    }
    char *to = json_room(w, f, 2 * n + 2);
    if (!to)
        return;
    *to++ = '"';
    to = put_hex(to, id, n);
    *to++ = '"';
    commit(w->out, to);
}

/* Writes a JSON number; quoted: as a string. */
static void json_number(struct ch_otlp *w, enum ch_otlp_field f, int64_t v, bool quoted) {
    char *p = json_room(w, f, CH_OTLP_NUMBER + 2);
    if (!p)
        return;
    if (quoted)
        *p++ = '"';
    p = put_int(p, v);
    if (quoted)
        *p++ = '"';
    commit(w->out, p);
}

void ch_otlp_fixed64(struct ch_otlp *w, enum ch_otlp_field f, uint64_t v) {
    if (w->json) {
        json_number(w, f, (int64_t)v, true); /* counts and times: below 2^63 */
    } else {
        add_little(w, f, v);
    }
}

void ch_otlp_number(struct ch_otlp *w, enum ch_otlp_field f, unsigned v) {
    if (w->json) {
        json_number(w, f, v, false);
    } else {
        add_varint(w, f, v);
    }
}

void ch_otlp_int64(struct ch_otlp *w, enum ch_otlp_field f, int64_t v) {
    if (w->json) {
        json_number(w, f, v, true);
    } else {
        add_varint(w, f, (uint64_t)v);
    }
}

void ch_otlp_double(struct ch_otlp *w, enum ch_otlp_field f, double v) {
    if (w->json) {
        json_key(w, f);
        json_double(w->out, v);
    } else {
        add_little(w, f, bits_of(v));
    }
}

void ch_otlp_bool(struct ch_otlp *w, enum ch_otlp_field f, bool v) {
    if (w->json) {
        json_key(w, f);
        ch_buf_add_str(w->out, v ? "true" : "false");
    } else {
        add_varint(w, f, v);
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
    add_packed(w, f, v, n);
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
    add_packed(w, f, v, n);
}

/* --- attributes */

bool ch_otlp_is_plain(bool json, struct ch_sv text) {
    return json ? ch_scan_plain(text.p, text.p + text.n) == text.p + text.n : is_utf8(text);
}

struct ch_sv ch_otlp_int_bytes(bool json, int64_t v, char out[CH_OTLP_NUMBER]) {
    char *end = json ? put_int(out, v) : put_varint(out, (uint64_t)v);
    return ch_sv(out, (size_t)(end - out));
}

struct ch_sv ch_otlp_fixed64_bytes(bool json, uint64_t v, char out[CH_OTLP_NUMBER]) {
    char *end = json ? put_int(out, (int64_t)v) : put_fixed64(out, v);
    return ch_sv(out, (size_t)(end - out));
}

struct ch_sv ch_otlp_id_bytes(bool json, const unsigned char id[8], char out[CH_OTLP_NUMBER]) {
    char *end = json ? put_hex(out, id, 8) : put_text(out, ch_sv((const char *)id, 8));
    return ch_sv(out, (size_t)(end - out));
}

struct ch_sv ch_otlp_double_bytes(bool json, double v, char out[CH_OTLP_NUMBER]) {
    char *end = json ? put_thousandths(out, v) : put_fixed64(out, bits_of(v));
    return ch_sv(out, end ? (size_t)(end - out) : 0);
}

#define SHORT_BYTES 0x7f         /* longest message whose length takes one byte */
#define SHORT_KEY_AND_VALUE 110 /* of a message of SHORT_BYTES */

static bool protobuf_attribute(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv key,
                               enum ch_otlp_field value, struct ch_sv bytes) {
    enum wire wire = value == CH_OTLP_STRING_VALUE   ? WIRE_BYTES
                     : value == CH_OTLP_DOUBLE_VALUE ? WIRE_FIXED64
                                                     : WIRE_VARINT;
    if (key.n + bytes.n > SHORT_KEY_AND_VALUE)
        return false;
    char *from = room(w->out, 2 + SHORT_BYTES);
    if (!from)
        return true; /* the overflow is recorded */
    char *p = put_tag(from, f, WIRE_BYTES) + 1; /* the length follows */
    p = put_text(put_varint(put_tag(p, CH_OTLP_KEY, WIRE_BYTES), key.n), key);
    char *inner = put_tag(p, CH_OTLP_VALUE, WIRE_BYTES) + 1;
    p = put_tag(inner, value, wire);
    p = put_text(wire == WIRE_BYTES ? put_varint(p, bytes.n) : p, bytes);
    inner[-1] = (char)(p - inner);
    from[1] = (char)(p - from - 2);
    commit(w->out, p);
    return true;
}

static void json_attribute(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv key,
                           enum ch_otlp_field value, struct ch_sv bytes) {
    bool quoted = value != CH_OTLP_DOUBLE_VALUE;
    char *p = json_room(w, f, key.n + fields[value].key.n + bytes.n + 32);
    if (!p)
        return;
    p = put_text(p, CH_SV("{\"key\":\""));
    p = put_text(put_text(p, key), CH_SV("\",\"value\":{"));
    p = put_text(p, fields[value].key);
    if (quoted)
        *p++ = '"';
    p = put_text(p, bytes);
    if (quoted)
        *p++ = '"';
    commit(w->out, put_text(p, CH_SV("}}")));
}

bool ch_otlp_attribute(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv key,
                       enum ch_otlp_field value, struct ch_sv bytes) {
    if (!w->json)
        return protobuf_attribute(w, f, key, value, bytes);
    json_attribute(w, f, key, value, bytes);
    return true;
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

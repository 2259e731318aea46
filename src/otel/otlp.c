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
#include "otel/trace_context.h"

#define NS_PER_MS 1000000u
#define NUMBER_BYTES 40 /* room that put_int needs */

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

#define KEY_BYTES 29

static const struct {
    unsigned char number;
    bool repeated;
    unsigned char n;     /* bytes of `key` */
    char key[KEY_BYTES]; /* in JSON, with its quotes and colon; copied as a whole, which is fast */
} fields[CH_OTLP_FIELD_COUNT] = {
#define OTLP_ROW(field, name, number, repeated)                                                \
    [CH_OTLP_##field] = {number, repeated, sizeof(name) + 2, "\"" name "\":"},
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
    ch_word_store(to, v);
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
    bool repeated = fields[f].repeated, comma = w->level[w->depth].comma;
    int array = w->level[w->depth].array;
    char *p = room(w->out, KEY_BYTES + 3 + n);
    if (!p)
        return NULL;
    if (repeated && array == (int)f) {
        *p = ',';
        return p + 1;
    }
    w->level[w->depth].comma = true;
    w->level[w->depth].array = repeated ? (int)f : -1;
    if (array >= 0)
        *p++ = ']';
    if (comma)
        *p++ = ',';
    memcpy(p, fields[f].key, KEY_BYTES);
    p += fields[f].n;
    if (repeated)
        *p++ = '[';
    return p;
}

static void json_key(struct ch_otlp *w, enum ch_otlp_field f) {
    char *p = json_room(w, f, 0);
    if (p)
        commit(w->out, p);
}

/* The eight digits of v < 10^8, the first in the lowest byte. Each step splits all parts of the
 * word: into four digits, two digits, one. */
static uint64_t eight_digits(uint32_t v) {
    uint64_t w = v / 10000 | (uint64_t)(v % 10000) << 32;
    uint64_t hundreds = w * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    w = hundreds | (w - 100 * hundreds) << 16;
    uint64_t tens = w * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    w = tens | (w - 10 * tens) << 8;
    return w | CH_WORD_OF('0');
}

#define EIGHT_DIGITS 100000000u

/* Writes v to an address with room for NUMBER_BYTES. Returns the address after it. */
static char *put_int(char *to, int64_t v) {
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (v < 0)
        *to++ = '-';
    if (rest >= EIGHT_DIGITS) {
        to = put_int(to, (int64_t)(rest / EIGHT_DIGITS));
        return put_fixed64(to, eight_digits((uint32_t)(rest % EIGHT_DIGITS)));
    }
    if (rest < 10) {
        *to = (char)('0' + rest);
        return to + 1;
    }
    uint64_t digits = eight_digits((uint32_t)rest);
    unsigned zeros = ch_word_first(digits ^ CH_WORD_OF('0'));
    put_fixed64(to, digits >> 8 * zeros);
    return to + 8 - zeros;
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
    to = ch_otel_put_hex(to, id, n);
    *to++ = '"';
    commit(w->out, to);
}

/* Writes a JSON number; quoted: as a string. */
static void json_number(struct ch_otlp *w, enum ch_otlp_field f, int64_t v, bool quoted) {
    char *p = json_room(w, f, NUMBER_BYTES + 2);
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

void ch_otlp_time(struct ch_otlp *w, enum ch_otlp_field f, int64_t ms) {
    ms = CH_MAX(ms, 0);
    if (!w->json) {
        add_little(w, f, (uint64_t)ms * NS_PER_MS);
        return;
    }
    char *p = json_room(w, f, NUMBER_BYTES + 8);
    if (!p)
        return;
    *p++ = '"';
    p = put_int(p, ms);
    commit(w->out, ms ? put_text(p, CH_SV("000000\"")) : put_text(p, CH_SV("\"")));
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

#define SHORT_BYTES 0x7f         /* longest message whose length takes one byte */
#define SHORT_KEY_AND_VALUE 110 /* of a message of SHORT_BYTES */

static bool protobuf_attribute(struct ch_otlp *w, enum ch_otlp_field f,
                               const struct ch_otel_name *name, enum ch_otlp_field value,
                               enum wire wire, struct ch_sv bytes) {
    struct ch_sv key = ch_otel_name_text(name);
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

/* Begins an attribute in JSON, with room for n bytes of the value and its member name. */
static char *json_attribute(struct ch_otlp *w, enum ch_otlp_field f,
                            const struct ch_otel_name *name, size_t n) {
    char *p = json_room(w, f, CH_OTEL_BEGIN + 64 + n);
    if (!p)
        return NULL;
    memcpy(p, name->begin, CH_OTEL_BEGIN);
    return p + name->n;
}

bool ch_otlp_attribute_int(struct ch_otlp *w, enum ch_otlp_field f,
                           const struct ch_otel_name *name, int64_t v) {
    char varint[VARINT_BYTES];
    if (!w->json) {
        size_t n = (size_t)(put_varint(varint, (uint64_t)v) - varint);
        return protobuf_attribute(w, f, name, CH_OTLP_INT_VALUE, WIRE_VARINT, ch_sv(varint, n));
    }
    char *p = json_attribute(w, f, name, NUMBER_BYTES);
    if (p)
        commit(w->out, put_text(put_int(put_text(p, CH_SV("\"intValue\":\"")), v),
                                CH_SV("\"}}")));
    return true;
}

bool ch_otlp_attribute_double(struct ch_otlp *w, enum ch_otlp_field f,
                              const struct ch_otel_name *name, double v) {
    char bits[sizeof(uint64_t)];
    if (!w->json) {
        put_fixed64(bits, bits_of(v));
        return protobuf_attribute(w, f, name, CH_OTLP_DOUBLE_VALUE, WIRE_FIXED64,
                                  ch_sv(bits, sizeof(bits)));
    }
    char number[NUMBER_BYTES];
    char *end = put_thousandths(number, v);
    char *p = end ? json_attribute(w, f, name, NUMBER_BYTES) : NULL;
    if (p) {
        p = put_text(p, CH_SV("\"doubleValue\":"));
        p = put_text(p, ch_sv(number, (size_t)(end - number)));
        commit(w->out, put_text(p, CH_SV("}}")));
    }
    return end != NULL;
}

static bool is_plain(struct ch_sv text) {
    return ch_scan_plain(text.p, text.p + text.n) == text.p + text.n;
}

bool ch_otlp_attribute_text(struct ch_otlp *w, enum ch_otlp_field f,
                            const struct ch_otel_name *name, struct ch_sv text) {
    if (!w->json)
        return is_utf8(text) && protobuf_attribute(w, f, name, CH_OTLP_STRING_VALUE, WIRE_BYTES,
                                                   text);
    if (!is_plain(text))
        return false;
    char *p = json_attribute(w, f, name, text.n);
    if (p)
        commit(w->out, put_text(put_text(put_text(p, CH_SV("\"stringValue\":\"")), text),
                                CH_SV("\"}}")));
    return true;
}

bool ch_otlp_attribute_list(struct ch_otlp *w, enum ch_otlp_field f,
                            const struct ch_otel_name *name, struct ch_sv text) {
    static const struct ch_sv before = CH_SV("\"arrayValue\":{\"values\":[{\"stringValue\":\"");
    if (!w->json || !is_plain(text))
        return false;
    char *p = json_attribute(w, f, name, text.n);
    if (p)
        commit(w->out, put_text(put_text(put_text(p, before), text), CH_SV("\"}]}}}")));
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

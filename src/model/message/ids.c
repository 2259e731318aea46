/* ids.c -- see ids.h. */
#include "model/message/ids.h"

#include "base/chars.h"
#include "base/mem.h"

uint64_t ch_hash(uint64_t hash, struct ch_sv s) {
    if (!hash)
        hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

void ch_hash_hex(uint64_t hash, char out[CH_HASH_HEX]) {
    static const char hex[] = "0123456789abcdef";
    for (int i = 0; i < CH_HASH_HEX; i++, hash <<= 4)
        out[i] = hex[hash >> 60];
}

#define WORD (CH_CHAR_WORD | CH_CHAR_DASH)

static bool all(struct ch_sv s, unsigned classes) {
    return ch_char_run(s, classes) == s.n;
}

/* Appends a hash of the whole id, so that ids that differ only in removed characters stay
 * different. */
static struct ch_sv hashed_id(struct ch_sv id, size_t max, char *buf) {
    size_t n = CH_MIN(id.n, max - 17);
    for (size_t i = 0; i < n; i++)
        buf[i] = ch_char_is(id.p[i], WORD) ? id.p[i] : '_';
    buf[n++] = '_';
    ch_hash_hex(ch_hash(0, id), buf + n);
    return ch_sv(buf, n + CH_HASH_HEX);
}

/* 62^9 values: collisions within a history are negligible. */
static struct ch_sv nine(struct ch_sv id, char *buf) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    uint64_t hash = ch_hash(0, id);
    for (int i = 0; i < 9; i++, hash /= 62)
        buf[i] = digits[hash % 62];
    return ch_sv(buf, 9);
}

struct ch_sv ch_id_for(enum ch_id_rule rule, struct ch_sv id, char buf[CH_ID_ROOM]) {
    switch (rule) {
    case CH_ID_64:
        return id.n && id.n <= 64 && all(id, WORD) ? id : hashed_id(id, 64, buf);
    case CH_ID_40:
        return id.n && id.n <= 40 && all(id, CH_CHAR_VISIBLE) ? id : hashed_id(id, 40, buf);
    case CH_ID_9:
        return id.n == 9 && all(id, CH_CHAR_ALNUM) ? id : nine(id, buf);
    }
    CH_UNREACHABLE();
}

struct ch_sv ch_name_for(size_t max, struct ch_sv name, char buf[CH_NAME_ROOM]) {
    if (!name.n)
        return CH_SV("unknown");
    if (name.n <= max && all(name, WORD))
        return name;
    size_t n = CH_MIN(name.n, max);
    for (size_t i = 0; i < n; i++)
        buf[i] = ch_char_is(name.p[i], WORD) ? name.p[i] : '_';
    return ch_sv(buf, n);
}

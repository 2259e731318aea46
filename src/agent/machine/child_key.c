/* child_key.c -- see child_key.h. */
#include "agent/machine/child_key.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "chela/store.h"

#define KEY_DIGITS 12

int ch_session_key_check(struct ch_sv key, struct chela_error *err) {
    bool plain = ch_utf8_valid(key);
    for (size_t i = 0; i < key.n; i++)
        plain &= (unsigned char)key.p[i] >= ' ' && key.p[i] != 0x7f;
    if (plain && key.n >= 1 && key.n <= CH_LIMIT_SESSION_KEY)
        return 0;
    return ch_fail(err, CHELA_EINVAL,
                   "a session key must have 1 to %d bytes and no control characters",
                   CH_LIMIT_SESSION_KEY);
}

const char *ch_child_key(const char *session, const char *tool, const char *call_key,
                         struct ch_arena *a) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    struct ch_sha256 h;
    ch_sha256_init(&h);
    ch_sha256_add(&h, call_key, strlen(call_key));
    ch_sha256_end(&h, digest);
    ch_sha256_hex(digest, hex);
    return ch_arena_printf(a, "%s~%s-%.*s", session, tool, KEY_DIGITS, hex);
}

static bool is_child_part(const char *part) {
    size_t n = strlen(part);
    const char *dash = n > KEY_DIGITS + 1 ? part + n - KEY_DIGITS - 1 : NULL;
    return dash && *dash == '-' && strspn(dash + 1, "0123456789abcdef") == KEY_DIGITS;
}

size_t chela_session_root(const char *key) {
    CH_AUTOFREE char *rest = ch_strdup(key);
    for (char *mark; (mark = strrchr(rest, '~')) && is_child_part(mark + 1);)
        *mark = '\0';
    return strlen(rest);
}

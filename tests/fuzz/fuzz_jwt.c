/* fuzz_jwt.c -- any text as a JSON Web Token and as a set of keys.
 *
 * A token that is read has claims that are an object, and the text that is signed is its
 * beginning. The keys of a set have one of the known algorithms and a DER that begins as a
 * sequence. */
#include <stdint.h>
#include <stdlib.h>

#include "gateway/http/jwt.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check_token(struct ch_sv text) {
    CH_ARENA_AUTO a = {0};
    struct ch_jwt t;
    struct chela_error err = {0};
    int rc = ch_jwt_read(&a, text, &t, &err);
    if (rc < 0 && !err.message[0])
        abort();
    if (rc < 0)
        return;
    if (!ch_json_is(t.claims, CH_JSON_OBJECT) || t.alg >= CH_JWT_ALGS || t.text.n >= text.n ||
        memcmp(t.text.p, text.p, t.text.n) != 0 || text.p[t.text.n] != '.')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    struct ch_sv text = ch_sv((const char *)p, n);
    struct ch_jwks keys = {0};
    check_token(text);
    if (ch_jwks_read(&keys, text, NULL) < 0 && keys.n)
        abort();
    for (size_t i = 0; i < keys.n; i++)
        if (keys.keys[i].alg >= CH_JWT_ALGS || keys.keys[i].der.n < 2 ||
            keys.keys[i].der.p[0] != 0x30)
            abort();
    ch_jwks_release(&keys);
    return 0;
}

/* fuzz_beat.c -- any text as a companion's reply.
 *
 * Whatever is read, every action has a name and an object of parameters, there
 * are not more than allowed, and the same text gives the same reply. */
#include <stdint.h>
#include <stdlib.h>

#include "agent/feature/heartbeat/beat_reply.h"
#include "base/mem.h"

static void check(bool ok) {
    if (!ok)
        abort();
}

static void check_reply(const struct ch_beat_reply *r) {
    CH_ARENA_AUTO arena = {0};
    check(r->n <= CH_LIMIT_BEAT_ACTIONS && (r->dropped == 0 || r->n == CH_LIMIT_BEAT_ACTIONS));
    for (size_t i = 0; i < r->n; i++) {
        const struct ch_json *v = NULL;
        check(r->actions[i].name.n > 0);
        check(ch_json_parse(&arena, r->actions[i].params, CH_JSON_STRICT, &v, NULL, NULL) == 0);
        check(ch_json_is(v, CH_JSON_OBJECT));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO why = {0};
    CH_BUF_AUTO again_why = {0};
    struct ch_beat_reply r, again;
    char *copy = ch_memdup(data, size ? size : 1); /* reads past its end show */
    struct ch_sv text = ch_sv(copy, size);
    bool read = ch_beat_reply_read(text, &arena, &r, &why);
    check(read == ch_beat_reply_read(text, &arena, &again, &again_why));
    if (read) {
        check_reply(&r);
        check(r.n == again.n && r.more == again.more);
    } else {
        check(why.n > 0);
    }
    ch_free(copy);
    return 0;
}

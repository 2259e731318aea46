/* cooldown.h -- keys and models that are not used for a while after a failure.
 *
 * A runtime serves many runs. A failure that one run sees (the key is refused, the model is
 * overloaded for 20 seconds) concerns the others too. A chain of models skips the models that
 * cool down. A model without a substitute is tried again when the delay that its server asked
 * for has passed. */
#ifndef CH_MODEL_COOLDOWN_H
#define CH_MODEL_COOLDOWN_H
#include "model/codec/codec.h"

struct ch_cooldown;

/* A zeroed struct is empty. */
struct ch_cooldowns {
    struct ch_cooldown *list; /* owned */
    size_t n;
};
void ch_cooldowns_release(struct ch_cooldowns *c);

struct ch_cooling {
    int64_t ms;              /* time left; 0: not cooling down */
    int64_t asked_ms;        /* part of ms that the server asked for */
    enum ch_error_class cls; /* why */
};
/* A model of a service, used with a key. Texts are borrowed; key NULL: none. */
struct ch_cooldown_subject {
    const char *base_url, *key, *model;
};
struct ch_cooling ch_cooldown_of(const struct ch_cooldowns *c, struct ch_cooldown_subject s,
                                 int64_t now);

/* Reports a failed call. asked_ms: the delay that the server asked for; 0: none. */
void ch_cooldown_failed(struct ch_cooldowns *c, struct ch_cooldown_subject s,
                        enum ch_error_class cls, int64_t asked_ms, int64_t now);
/* Reports that the retries of a failed call are exhausted: starts a cooldown, which doubles
 * with each report in a row. */
void ch_cooldown_gave_up(struct ch_cooldowns *c, struct ch_cooldown_subject s,
                         enum ch_error_class cls, int64_t now);
/* Reports a successful call: ends the cooldowns of its key and its model. */
void ch_cooldown_clear(struct ch_cooldowns *c, struct ch_cooldown_subject s);

#endif

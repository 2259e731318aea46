/* cooldown.h -- who is better left alone for a while.
 *
 * A runtime may serve many runs at once. What one of them learns about a key
 * or a model holds for the others: the key is refused, the model is overloaded
 * for another 20 seconds. A chain of models passes over those that cool down;
 * a model without a substitute is waited for as long as its server asked. */
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
    int64_t ms;              /* left; 0: it does not cool down */
    int64_t asked_ms;        /* of those, what the server asked for */
    enum ch_error_class cls; /* why */
};
struct ch_cooling ch_cooldown_of(const struct ch_cooldowns *c, const struct ch_endpoint *ep,
                                 struct ch_sv model, int64_t now);

/* A call failed; asked_ms: what the server asked for, 0 if nothing. */
void ch_cooldown_failed(struct ch_cooldowns *c, const struct ch_endpoint *ep, struct ch_sv model,
                        enum ch_error_class cls, int64_t asked_ms, int64_t now);
/* And it will not be tried again: rest longer each time. */
void ch_cooldown_gave_up(struct ch_cooldowns *c, const struct ch_endpoint *ep, struct ch_sv model,
                         enum ch_error_class cls, int64_t now);
/* A call went well. */
void ch_cooldown_clear(struct ch_cooldowns *c, const struct ch_endpoint *ep, struct ch_sv model);

#endif

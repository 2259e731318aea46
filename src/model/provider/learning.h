/* learning.h -- the memory of what services refuse, for a day.
 *
 * A deployment is a model at a URL of a provider. What its refusals teach (codec/refusals.h) is
 * applied to its requests from then on, in every run of the runtime. A lesson that proved right is
 * also written to the file chela/refusals.json in the user's cache directory, from which other
 * processes take it, and is forgotten after CH_LEARNT_MS, because services change. While a
 * cassette records or plays, the file is neither read nor written: the recorded requests must not
 * depend on it. Loop thread only. */
#ifndef CH_MODEL_LEARNING_H
#define CH_MODEL_LEARNING_H
#include "model/codec/refusals.h"

struct ch_providers;
struct ch_target;
struct ch_lesson;

/* A zeroed struct is empty. */
struct ch_learning {
    struct ch_lesson *list; /* owned */
    size_t n;
    bool loaded; /* the file was read */
};
void ch_learning_release(struct ch_learning *l);

/* Brings the target's endpoint up to what is known at `now`, a time of the wall clock in ms. */
void ch_learning_apply(struct ch_providers *ps, struct ch_target *t, int64_t now);
/* Learns, and applies it to the target. False: the memory is full. */
bool ch_learning_add(struct ch_providers *ps, struct ch_target *t, const struct ch_refusal *r,
                     int64_t now);
/* The service took a request by the lessons of this deployment: they are kept. */
void ch_learning_keep(struct ch_providers *ps, struct ch_target *t, int64_t now);
/* The lessons did not help: `before` is what was known without them. */
void ch_learning_forget(struct ch_providers *ps, struct ch_target *t,
                        const struct ch_learnt *before, int64_t now);

#endif

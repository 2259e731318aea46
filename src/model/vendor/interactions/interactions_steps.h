/* interactions_steps.h -- decodes the steps of an interaction.
 *
 * A step is identified by its index. It is announced with what is known of it, grows by deltas and
 * is ended; a whole reply has whole steps. Data that only the service needs back is kept in
 * `extra`:
 *
 *       model_output   one block for each content; TEXT {"annotations":[..]}, as far as present
 *       thought        REASONING with the signature
 *       function_call  TOOL_CALL with the signature, if there is one
 *       user_input, function_result  not of the model: dropped
 *       any other      the service ran a tool, or the type is unknown: OPAQUE, the step itself */
#ifndef CH_MODEL_INTERACTIONS_STEPS_H
#define CH_MODEL_INTERACTIONS_STEPS_H
#include "model/codec/fold.h"

struct ch_interactions_step {
    uint8_t kind; /* enum step_kind */
    uint8_t content; /* enum ch_block_type of the content that deltas extend */
    bool open, has_content;
    bool grown;   /* a call: deltas brought its arguments */
    unsigned key; /* of the block that deltas extend */
    struct ch_buf json; /* a kept step; the arguments that announced a call; annotations */
};

/* A zeroed struct has no steps. */
struct ch_interactions_steps {
    struct ch_interactions_step *list; /* by index, owned */
    size_t n, cap;
    unsigned next;       /* key of the next block */
    size_t held;         /* bytes that were copied into steps */
    struct ch_buf error; /* JSON: the error of a step; empty: none */
};
void ch_interactions_steps_release(struct ch_interactions_steps *x);

/* What a delta brings; texts are decoded. */
struct ch_interactions_delta {
    struct ch_sv type, text, signature, arguments, media_type, data;
    struct ch_sv content;     /* JSON object */
    struct ch_sv annotations; /* JSON array */
    struct ch_sv json;        /* the whole delta */
};

/* All functions below return CHELA_ELIMIT past the limits of a reply.
 *
 * The step was announced; json is the step. */
int ch_interactions_begin(struct ch_interactions_steps *x, struct ch_fold *f, size_t index,
                          struct ch_sv json);
int ch_interactions_grow(struct ch_interactions_steps *x, struct ch_fold *f, size_t index,
                         const struct ch_interactions_delta *d);
int ch_interactions_end(struct ch_interactions_steps *x, struct ch_fold *f, size_t index);
/* The reply is complete: end the steps that are open. */
int ch_interactions_end_all(struct ch_interactions_steps *x, struct ch_fold *f);
/* Whole steps, from the end of a reply; those that were announced before are skipped. */
int ch_interactions_whole(struct ch_interactions_steps *x, struct ch_fold *f, struct ch_sv steps);

/* The block that the next text of this step extends, for a fast path; false: none. */
bool ch_interactions_target(const struct ch_interactions_steps *x, size_t index,
                            enum ch_block_type *type, unsigned *key);

#endif

/* responses_items.h -- the output items of a Responses reply.
 *
 * An item is known by its output_index; ids may change from event to event or
 * be missing. It is announced, grows by deltas, and is done with an object that
 * has all of it and the last word. What only the vendor needs to have back is
 * kept as JSON in `extra`:
 *
 *   TEXT       {"id","phase","annotations"}, what there is of it
 *   REASONING  the item itself, if it can be sent back: it holds its encrypted
 *              form, or the reasoning itself
 *   TOOL_CALL  {"id","namespace","caller"}, what there is of it */
#ifndef CH_MODEL_RESPONSES_ITEMS_H
#define CH_MODEL_RESPONSES_ITEMS_H
#include "model/codec/fold.h"

enum ch_responses_kind {
    CH_ITEM_UNKNOWN, /* kept as it is */
    CH_ITEM_MESSAGE,
    CH_ITEM_REASONING,
    CH_ITEM_CALL,
    CH_ITEM_CUSTOM_CALL,
};

struct ch_responses_item {
    uint8_t kind; /* enum ch_responses_kind */
    bool known;   /* an event named it */
    bool done;
    bool arguments_done;
    bool kept;    /* its extra is set */
    int64_t part; /* of reasoning, the last that had a delta */
};

#define CH_RESPONSES_PARTS 256 /* content parts beside the first of its item */

/* A zeroed struct has no items. */
struct ch_responses_items {
    struct ch_responses_item *list; /* by output_index, owned */
    size_t n, cap;
    struct {
        unsigned item;
        int64_t part;
    } parts[CH_RESPONSES_PARTS];
    unsigned nparts;
    struct ch_buf scratch, inner, text;
};
void ch_responses_items_release(struct ch_responses_items *x);

/* What a delta adds to. */
enum ch_responses_delta { CH_DELTA_TEXT, CH_DELTA_REFUSAL, CH_DELTA_REASONING, CH_DELTA_CALL };

/* All return CHELA_ELIMIT past the limits of a reply; `index` is the item's
 * output_index, `part` its content_index or summary_index.
 *
 * Announced; json is the item, and what it holds already is not yet used. */
int ch_responses_begin(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                       struct ch_sv json);
/* A piece of it; *key is where it went. */
int ch_responses_add(struct ch_responses_items *x, struct ch_fold *f, unsigned index, int64_t part,
                     enum ch_responses_delta kind, struct ch_sv piece, unsigned *key);
/* The whole of one text, as a `done` event has it: the pieces so far are its
 * beginning, or were wrong. */
int ch_responses_settle(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                        int64_t part, enum ch_responses_delta kind, struct ch_sv text);
/* The whole item. A call that is whole is closed. */
int ch_responses_done(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                      struct ch_sv json);
/* All items, as the end of a reply has them: what was missed is taken here. */
int ch_responses_output(struct ch_responses_items *x, struct ch_fold *f, struct ch_sv output);
/* The reply is complete: calls whose arguments were said to be are closed. */
void ch_responses_close(const struct ch_responses_items *x, struct ch_fold *f);

#endif

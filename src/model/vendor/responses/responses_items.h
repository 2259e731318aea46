/* responses_items.h -- decodes the output items of a Responses reply.
 *
 * An item is identified by its output_index; ids may change between events or be missing. The
 * id counts if a server sends no output_index (llama.cpp).
 * An item is announced, grows by deltas, and ends with an object that contains all of it
 * and takes precedence. Data that only the vendor needs back is kept as JSON in `extra`:
 *
 *       TEXT       {"id","phase","annotations"}, as far as present
 *       REASONING  the item itself, if it can be sent back: it contains its encrypted
 *                  form, or the reasoning itself
 *       TOOL_CALL  {"type","id","namespace","caller"}, as far as present; the type only of
 *                  items of responses_vendor.h
 *
 * A call of responses_vendor.h whose tool the request does not declare was run by the service
 * (xAI shows its own searches so): the item is kept unchanged, as are its other calls. */
#ifndef CH_MODEL_RESPONSES_ITEMS_H
#define CH_MODEL_RESPONSES_ITEMS_H
#include "model/catalog/model_request.h"
#include "model/codec/fold.h"

enum ch_responses_kind {
    CH_ITEM_UNKNOWN, /* kept unchanged */
    CH_ITEM_MESSAGE,
    CH_ITEM_REASONING,
    CH_ITEM_CALL,
    CH_ITEM_VENDOR_CALL, /* of responses_vendor.h, for the client */
    CH_ITEM_SERVICE_CALL, /* run by the service; kept unchanged */
};

struct ch_responses_item {
    uint8_t kind; /* enum ch_responses_kind */
    bool known;   /* an event announced it */
    bool done;
    bool arguments_done;
    bool kept;    /* its extra is set */
    int64_t part; /* reasoning part of the last delta */
    bool matched; /* its first part was found in the whole item */
    bool is_text; /* VENDOR_CALL: the pieces are free text */
    uint64_t id;  /* hash of the id that announced it; 0: none */
};

#define CH_RESPONSES_PARTS 256 /* content parts besides the first of an item */

/* A zeroed struct has no items. */
struct ch_responses_items {
    struct ch_responses_item *list; /* by output_index, owned */
    size_t n, cap;
    struct {
        unsigned item;
        int64_t part;
        bool matched; /* found in the whole item */
    } parts[CH_RESPONSES_PARTS];
    unsigned nparts;
    struct ch_buf scratch, inner, text;
    const struct ch_endpoint *endpoint; /* of the request, borrowed; NULL: unknown */
    struct ch_sv server_tools;          /* likewise */
};
void ch_responses_items_release(struct ch_responses_items *x);

/* The target of a delta. */
enum ch_responses_delta { CH_DELTA_TEXT, CH_DELTA_REFUSAL, CH_DELTA_REASONING, CH_DELTA_CALL };

/* The item of an event that has no output_index. `id`: item_id of the event; `json`: the item,
 * if the event contains it; `added`: the event announces it; `last`: index of the last event. */
size_t ch_responses_find(struct ch_responses_items *x, struct ch_sv id, struct ch_sv json,
                         bool added, unsigned last);

/* All functions below return CHELA_ELIMIT past the limits of a reply; `index` is the item's
 * output_index, `part` its content_index or summary_index.
 *
 * The item was announced; json is the item. Its content is not used yet. */
int ch_responses_begin(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                       struct ch_sv json);
/* Add a delta; *key is the fold key that received it. */
int ch_responses_add(struct ch_responses_items *x, struct ch_fold *f, unsigned index, int64_t part,
                     enum ch_responses_delta kind, struct ch_sv piece, unsigned *key);
/* The whole text from a `done` event; it extends the pieces so far, or replaces them if
 * they differ. */
int ch_responses_settle(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                        int64_t part, enum ch_responses_delta kind, struct ch_sv text);
/* The whole item. A complete call is closed. */
int ch_responses_done(struct ch_responses_items *x, struct ch_fold *f, unsigned index,
                      struct ch_sv json);
/* All items from the end of a reply; missed content is added here. */
int ch_responses_output(struct ch_responses_items *x, struct ch_fold *f, struct ch_sv output);
/* The reply is complete: close the calls whose arguments were reported complete. */
void ch_responses_close(struct ch_responses_items *x, struct ch_fold *f);

#endif

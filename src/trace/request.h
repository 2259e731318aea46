/* request.h -- a stored request to a model, rebuilt from the journal. */
#ifndef CH_TRACE_REQUEST_H
#define CH_TRACE_REQUEST_H
#include "trace/parts.h"

/* All data about one request. Texts are in `parts` or the arena. */
struct ch_request_past {
    struct ch_trace_parts parts;
    struct ch_arena arena;
    unsigned number, of;           /* number of the request, and of all */
    const struct ch_json *record;  /* the REQUEST record */
    const struct ch_trace_part *setup; /* NULL: it is not in the journal */
    struct ch_buf messages;        /* JSON array */
    int64_t ts, ended;             /* ms; ended 0: nothing followed */
    const struct ch_json *reply;   /* MESSAGE or ROLE record; NULL: none */
    const struct ch_json *failure; /* FAILURE record, or the STATE of the run's end; NULL: none */
    const struct ch_json *rewrite; /* the last COMPACTION before the request, without messages */
};

/* Reads request n (0: the last). CHELA_ENOENT: no such request. */
int ch_request_past_read(struct ch_request_past *p, chela_store *store, const char *key,
                         unsigned n, struct chela_error *err);
void ch_request_past_release(struct ch_request_past *p);

/* The number of the request of turn `turn`; turns are counted over the whole session, from
 * 1; 0: the last, whose number *found becomes. */
int ch_request_past_of_turn(chela_store *store, const char *key, unsigned turn, unsigned *found,
                            unsigned *n, struct chela_error *err);

/* Appends the request as `chela wire encode` reads it. */
void ch_request_past_neutral(const struct ch_request_past *p, struct ch_buf *out);

#endif

/* sse.h -- incremental decoder for server-sent events.
 *
 * Lines end in LF, CR or CRLF (also mixed, also split between chunks). One
 * leading BOM is dropped. Lines starting with ':' are comments. One space after
 * the colon is dropped. Several data lines are joined with LF. An empty line
 * ends an event; ch_sse_end delivers a last event without one. The same bytes
 * give the same events however they are split. Events without data are not
 * delivered (an empty data line is data). A line, or the data of an event,
 * larger than max stops the stream. */
#ifndef CH_NET_SSE_H
#define CH_NET_SSE_H
#include "base/buf.h"
#include "base/sv.h"

/* name is "" for an unnamed event; both are borrowed until fn returns. Return
 * false to stop decoding: feed returns at once and later calls do nothing. If
 * fn returns false, it may have released the decoder. */
typedef bool ch_sse_fn(struct ch_sv name, struct ch_sv data, void *user);

/* The fast path of an owner that recognises the events of its stream by their bytes. The data
 * of an event begins at `data`; the decoder leaves it to the function to find the end. Returns
 * the position after the empty line that ends the event, if the data is one line and the owner
 * has processed it; NULL: nothing was done, and the event is delivered to fn. An event with a CR
 * is not recognised. The function must not stop the stream or release the decoder. */
typedef const char *ch_sse_quick_fn(struct ch_sv name, const char *data, const char *end,
                                    void *user);

#define CH_SSE_LEAD 64

struct ch_sse {
    ch_sse_fn *fn;
    void *user;
    size_t max;
    /* Set by the owner after ch_sse_init. */
    ch_sse_quick_fn *quick; /* NULL: none */
    bool takes_json;   /* a line that begins with '{' begins an event that is pure JSON and ends at
                          the next empty line */
    bool takes_errors; /* a field "error" is the data of an event "error" */
    bool takes_ids;    /* the fields `id` and `retry` are kept in the next two members */
    struct ch_buf id;  /* the last event id; the owner releases it */
    int64_t retry_ms;  /* the last delay for reconnecting; 0: none */
    /* The state of the decoder. */
    struct ch_buf line; /* an incomplete line carried between feeds */
    struct ch_buf data; /* data of the current event, if copied */
    struct ch_buf name;
    struct ch_sv data_now, name_now; /* of the current event; they point into the buffers
                                        above or into the chunk being fed */
    /* The bytes of the last event before its data, which most events repeat, and the place of
     * the name in them. nlead 0: none. */
    char lead[CH_SSE_LEAD];
    size_t nlead, name_at, nname;
    bool has_data; /* the current event has a data line */
    bool in_json;  /* the current event is pure JSON */
    bool stopped;
    bool after_cr; /* the last chunk ended with CR: an LF at the start of the next belongs to it */
    bool past_bom;
};

/* max 0: CH_LIMIT_SSE_EVENT. */
void ch_sse_init(struct ch_sse *s, size_t max, ch_sse_fn *fn, void *user);
void ch_sse_release(struct ch_sse *s);

/* Returns 0, also when fn stopped the stream; CHELA_ELIMIT past max. */
int ch_sse_feed(struct ch_sse *s, struct ch_sv bytes, struct chela_error *err);
/* End the stream: later calls do nothing. */
int ch_sse_end(struct ch_sse *s, struct chela_error *err);

#endif

/* sse.h -- incremental decoder of server-sent events.
 *
 * Lines end in LF, CR or CRLF (also mixed, also split between chunks); one
 * leading BOM is dropped; lines starting with ':' are comments; one space
 * after the colon is dropped; several data lines join with LF; an event ends
 * at an empty line, and ch_sse_end delivers a last event that has none. The
 * same bytes give the same events however they are split. Events without data
 * are not delivered (an empty data line is data). A line, or the data of an
 * event, larger than max stops the stream. */
#ifndef CH_NET_SSE_H
#define CH_NET_SSE_H
#include "base/buf.h"
#include "base/sv.h"

/* name is "" for an unnamed event; both are borrowed until fn returns. Return
 * false to stop decoding: feed returns at once and later calls do nothing. The
 * decoder may be released in here if false is returned. */
typedef bool ch_sse_fn(struct ch_sv name, struct ch_sv data, void *user);

struct ch_sse {
    ch_sse_fn *fn;
    void *user;
    size_t max;
    struct ch_buf line; /* an unfinished line carried between feeds */
    struct ch_buf data; /* data of the current event, once it needs a copy */
    struct ch_buf name;
    struct ch_sv data_now, name_now; /* the current event's; into the above, or
                                        into the chunk being fed */
    bool has_data, stopped, after_cr, past_bom;
    bool takes_json; /* set by the owner: a line that begins with '{' begins an
                        event that is JSON alone, up to the next empty line */
    bool in_json;
};

/* max 0: CH_LIMIT_SSE_EVENT. */
void ch_sse_init(struct ch_sse *s, size_t max, ch_sse_fn *fn, void *user);
void ch_sse_release(struct ch_sse *s);

/* 0, also when fn stopped the stream; CHELA_ELIMIT past max. */
int ch_sse_feed(struct ch_sse *s, struct ch_sv bytes, struct chela_error *err);
/* The stream is over: later calls do nothing. */
int ch_sse_end(struct ch_sse *s, struct chela_error *err);

#endif

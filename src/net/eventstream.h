/* eventstream.h -- incremental decoder for Amazon's binary event streams
 * (application/vnd.amazon.eventstream).
 *
 *   u32 total size | u32 size of the headers | u32 CRC of these 8 bytes
 *   headers        | payload                 | u32 CRC of everything before
 *   a header: u8 length | name | u8 type | value
 *
 * Big endian, CRC-32. Both checksums and every header are checked before a
 * message is delivered. The same bytes give the same messages, and the same
 * failure at the same place, however they are split. Data after a failure is
 * ignored. The caller interprets the messages. */
#ifndef CH_NET_EVENTSTREAM_H
#define CH_NET_EVENTSTREAM_H
#include "base/buf.h"
#include "base/sv.h"

/* Fields are empty if the message has no such header, or the header is not a
 * string. */
struct ch_es_message {
    struct ch_sv type;       /* :message-type: "event", "exception", "error" */
    struct ch_sv event;      /* :event-type */
    struct ch_sv exception;  /* :exception-type */
    struct ch_sv code, text; /* :error-code, :error-message */
    struct ch_sv payload;
};

/* m is borrowed until fn returns. Return false to stop decoding: feed returns
 * at once and later calls do nothing. */
typedef bool ch_es_fn(const struct ch_es_message *m, void *user);

struct ch_eventstream {
    ch_es_fn *fn;
    void *user;
    struct ch_buf part; /* an incomplete message */
    bool stopped;
};

void ch_eventstream_init(struct ch_eventstream *s, ch_es_fn *fn, void *user);
void ch_eventstream_release(struct ch_eventstream *s);

/* Returns 0, also when fn stopped the stream. CHELA_EPARSE: damaged data, or
 * not an event stream. CHELA_ELIMIT: the message is too large. */
int ch_eventstream_feed(struct ch_eventstream *s, struct ch_sv bytes, struct chela_error *err);

/* Append the replacement of a payload. */
typedef void ch_es_payload_fn(struct ch_sv payload, struct ch_buf *out, void *user);
/* Append a copy of a stream with payloads replaced and sizes and checksums
 * recomputed. Stops before the first message that is incomplete, damaged, or
 * whose headers would change; returns the number of input bytes processed. */
size_t ch_eventstream_rewrite(struct ch_sv bytes, ch_es_payload_fn *fn, void *user,
                              struct ch_buf *out);

#endif

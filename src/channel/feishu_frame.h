/* feishu_frame.h -- frames of Feishu's long connection: one protobuf frame per WebSocket
 * message.
 *
 *       1 SeqID  2 LogID  3 service  4 method (0 control, 1 data)
 *       5 headers, each {1 key, 2 value}  6 payload_encoding  7 payload_type
 *       8 payload  9 LogIDNew
 *
 * The first four fields are always written, even if 0, because the service's own clients
 * require them. An event may arrive in several frames with one message_id, in any order; a
 * ch_feishu_gather reassembles them. Both parts are pure and bounded by limits.h. */
#ifndef CH_CHANNEL_FEISHU_FRAME_H
#define CH_CHANNEL_FEISHU_FRAME_H
#include "base/buf.h"
#include "base/limits.h"
#include "base/list.h"

enum { CH_FEISHU_CONTROL = 0, CH_FEISHU_DATA = 1 };

struct ch_feishu_field {
    struct ch_sv key, value;
};

struct ch_feishu_frame { /* views into the parsed bytes */
    uint64_t seq, log;
    int32_t service, method;
    struct ch_feishu_field headers[CH_LIMIT_FRAME_HEADERS];
    size_t nheaders;
    struct ch_sv encoding, type, payload, log_new; /* p NULL: absent */
};

/* CHELA_EPARSE: not a frame; CHELA_ELIMIT: too many headers. Unknown fields are skipped. */
int ch_feishu_frame_read(struct ch_sv bytes, struct ch_feishu_frame *out, struct chela_error *err);
void ch_feishu_frame_write(const struct ch_feishu_frame *f, struct ch_buf *out);
struct ch_sv ch_feishu_frame_header(const struct ch_feishu_frame *f, const char *key);

/* --- events in fragments */

struct ch_feishu_gather {
    struct ch_list sets; /* the oldest first */
    size_t n;
};

void ch_feishu_gather_init(struct ch_feishu_gather *g);
void ch_feishu_gather_release(struct ch_feishu_gather *g);

enum ch_feishu_gathered {
    CH_FEISHU_WHOLE,  /* the payload was appended to out */
    CH_FEISHU_PART,   /* more fragments are missing */
    CH_FEISHU_USELESS /* invalid fragment numbers, or too large */
};
/* Add a data frame that arrived at time now (ms). */
enum ch_feishu_gathered ch_feishu_gather(struct ch_feishu_gather *g,
                                         const struct ch_feishu_frame *f, int64_t now,
                                         struct ch_buf *out);

#endif

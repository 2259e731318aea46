/* rpc_lines.h -- splits a byte stream into lines, one message each.
 *
 * Lines end in LF; a CR before it is dropped. Empty lines are skipped. The same bytes give
 * the same lines however they are split. A line longer than the maximum stops the stream. */
#ifndef CH_RPC_LINES_H
#define CH_RPC_LINES_H
#include "base/buf.h"

/* line is borrowed until fn returns. Return false to stop: feed returns at once and does not
 * use the splitter again, which fn may have released. */
typedef bool ch_rpc_line_fn(struct ch_sv line, void *user);

struct ch_rpc_lines {
    ch_rpc_line_fn *fn;
    void *user;
    struct ch_buf partial; /* an incomplete line carried between feeds */
};

/* max 0: CH_LIMIT_RPC_MESSAGE. */
void ch_rpc_lines_init(struct ch_rpc_lines *l, size_t max, ch_rpc_line_fn *fn, void *user);
void ch_rpc_lines_release(struct ch_rpc_lines *l);
/* 0, also when fn stopped the stream; CHELA_ELIMIT: a line is too long. */
int ch_rpc_lines_feed(struct ch_rpc_lines *l, struct ch_sv bytes, struct chela_error *err);

#endif

/* wecom_line.h -- the long connection: frames and their answers. */
#ifndef CH_CHANNEL_WECOM_LINE_H
#define CH_CHANNEL_WECOM_LINE_H
#include "channel/wecom/wecom.h"

struct ch_wecom_answer {
    const struct ch_json *body; /* NULL: none */
    int64_t code;
    enum chela_receipt what;
    const char *why; /* if not SENT; borrowed */
    int64_t wait_ms;
};
typedef void ch_wecom_fn(const struct ch_wecom_answer *a, void *user);
/* Send a frame and wait for its answer. req NULL: an id of our own. The body is copied. fn may be
 * NULL; it is not called at once, nor after the channel has ended. */
void ch_wecom_send(struct ch_wecom *w, const char *cmd, const char *req, struct ch_sv body,
                   ch_wecom_fn *fn, void *user);
void ch_wecom_judge(int64_t code, struct ch_sv message, struct ch_arena *a,
                    struct ch_wecom_answer *out);
void ch_wecom_line_open(struct ch_wecom *w);
/* Another process may connect at once. */
void ch_wecom_line_hang_up(struct ch_wecom *w);
void ch_wecom_line_release(struct ch_wecom *w);
/* Notes of other processes. */
void ch_wecom_remind(void *self, const char *id, struct chela_text data);
void ch_wecom_reminded(void *self);

#endif

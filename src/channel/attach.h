/* attach.h -- outgoing files, shared by all channels: extracts them from a message and reads
 * them on a worker thread. */
#ifndef CH_CHANNEL_ATTACH_H
#define CH_CHANNEL_ATTACH_H
#include "agent/handle/agent.h"
#include "base/form.h"
#include "chela/mailbox.h"

/* The text of a message, including the URLs among its media, and its files as a
 * NULL-terminated list. The caller owns both. */
char *ch_outbound_text(const struct chela_outbound *m);
char **ch_outbound_files(const struct chela_outbound *m);
/* True: if this attempt fails too, the outbox drops the message. */
bool ch_outbound_is_last(const struct chela_outbound *m);

struct ch_attachment;
/* bytes: borrowed, at most CH_LIMIT_CHANNEL_FILE. n 0: the file cannot be sent; why gives
 * the reason. */
typedef void ch_attached_fn(struct ch_sv bytes, const char *why, void *user);

/* Read a file beneath the workspace; a path that leads out is refused. fn is called once,
 * later; the attachment is then freed. */
struct ch_attachment *ch_attach(chela_runtime *rt, const char *workspace, const char *path,
                                ch_attached_fn *fn, void *user);
void ch_attach_drop(struct ch_attachment *a); /* fn is not called after this */

#endif

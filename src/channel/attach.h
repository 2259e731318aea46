/* attach.h -- files of the workspace on their way to a chat service, the same for
 * all channels: told from the words, read on a worker, sent in a form. */
#ifndef CH_CHANNEL_ATTACH_H
#define CH_CHANNEL_ATTACH_H
#include "agent/handle/agent.h"
#include "chela/mailbox.h"

/* What a message says, with the addresses that it names instead of files, and
 * those files: up to a NULL. Both are the caller's. */
char *ch_outbound_text(const struct chela_outbound *m);
char **ch_outbound_files(const struct chela_outbound *m);

struct ch_attachment;
/* bytes, borrowed: at most CH_LIMIT_CHANNEL_FILE. n 0: it cannot be sent; why not. */
typedef void ch_attached_fn(struct ch_sv bytes, const char *why, void *user);

/* Read a file, which is opened beneath the workspace, whatever its path says. fn
 * is called once, later, and the attachment is gone then. */
struct ch_attachment *ch_attach(chela_runtime *rt, const char *workspace, const char *path,
                                ch_attached_fn *fn, void *user);
void ch_attach_drop(struct ch_attachment *a); /* fn is not called any more */

/* multipart/form-data */
struct ch_form {
    struct ch_buf body;
    char type[64]; /* Content-Type */
    char boundary[24];
};

void ch_form_init(struct ch_form *f);
void ch_form_release(struct ch_form *f);
void ch_form_field(struct ch_form *f, const char *name, const char *value);
/* path: of which the last part becomes its name. */
void ch_form_file(struct ch_form *f, const char *name, const char *path, struct ch_sv bytes);
void ch_form_end(struct ch_form *f);
/* The name of a file without what a form's header cannot hold. */
void ch_form_name(struct ch_buf *out, const char *path);

#endif

/* mail_message.h -- addresses, headers and parts of a mail: RFC 5322, RFC 2047, RFC 2231. A
 * mail module (chela/sys/mail.h) encodes them as MIME.
 *
 * A model cannot inject headers through a subject, a name or a file name: every header
 * passes through one function, which rejects control characters, and addresses are checked
 * character by character. */
#ifndef CH_TOOL_MAIL_MESSAGE_H
#define CH_TOOL_MAIL_MESSAGE_H
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "chela/sys/mail.h"

struct ch_mailbox {
    char *name; /* owned; display name, UTF-8, may be "" */
    char *addr; /* owned; user@host, ASCII */
};

struct ch_mailboxes {
    struct ch_mailbox *at; /* owned */
    size_t n;
};

struct ch_mail_file {
    const char *name; /* display name; borrowed */
    struct ch_sv data;
};

struct ch_mail {
    const struct ch_mailbox *from;
    struct ch_mailboxes to, cc; /* borrowed */
    struct ch_sv subject, body;
    const struct ch_mail_file *files;
    size_t nfiles;
    int64_t date_ms;
    uint64_t id[2]; /* random; source of the Message-ID */
};

/* Parse a comma-separated list of mailboxes ("a@x", "Name <a@x>") and append them to list.
 * CHELA_EINVAL: err names the first invalid mailbox. */
int ch_mailboxes_add(struct ch_mailboxes *list, struct ch_sv text, struct chela_error *err);
void ch_mailboxes_release(struct ch_mailboxes *list);

/* Append the Message-ID: "<number@host of the sender>". */
void ch_mail_id(const struct ch_mail *m, struct ch_buf *out);

/* Set headers and parts of *out, in the arena; files are borrowed. CHELA_EINVAL if a
 * header would hold a control character. */
int ch_mail_compose(const struct ch_mail *m, struct ch_arena *a, struct chela_mail *out,
                    struct chela_error *err);

#endif

/* mail.h -- the vtable of a mail module: one message handed to a server.
 *
 * Headers are encoded and addresses are checked before the module gets them. The
 * module puts headers and parts together as MIME, encodes the parts, and speaks
 * SMTP. Blocking; any thread, several at once. */
#ifndef CHELA_SYS_MAIL_H
#define CHELA_SYS_MAIL_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

struct chela_mail_part {
    const char *type;        /* "text/plain; charset=utf-8" */
    const char *disposition; /* "attachment; filename*=UTF-8''a.pdf"; NULL: none */
    const char *encoding;    /* to send it in: "7bit", which data allows, or "base64" */
    const char *data;
    size_t length;
};

struct chela_mail {
    size_t size;                 /* of this struct */
    const char *server;          /* "smtps://host:465", "smtp://host:587" */
    const char *user, *password; /* NULL: do not log in */
    const char *ca_file;         /* NULL: the system's trust store */
    int plain;                   /* non-zero: go on without TLS where it is not offered */
    const char *helo;            /* what to call ourselves */
    const char *from;            /* bare addresses */
    const char *const *to;       /* NULL-terminated */
    const char *const *headers;          /* "Name: value", folded, without MIME's; ended by NULL */
    const struct chela_mail_part *parts; /* the text, then the files */
    size_t nparts;
    int64_t timeout_ms;
    int (*stop)(void *user); /* asked now and then: non-zero gives up */
    void *user_data;         /* for stop */
};

struct chela_mail_outcome {
    int unknown;   /* non-zero: it failed after all was sent; it may have arrived */
    int64_t bytes; /* of the message, as sent */
};

struct chela_mail_ops {
    const char *name; /* "curl" */

    /* 0 once the server has taken the message for all recipients; if it refuses
     * one of them, it gets none. CHELA_EAUTH, CHELA_ETLS, CHELA_ENET,
     * CHELA_ETIMEOUT, CHELA_ECANCELED; CHELA_EPERM: the server said no, for good;
     * CHELA_EBUSY: for now. */
    int (*send)(const struct chela_mail *mail, struct chela_mail_outcome *out,
                struct chela_error *err);
};

CHELA_END_DECLS
#endif

/* mail.h -- the vtable of a mail module: one message handed to a server.
 *
 * The message is complete (RFC 5322, lines ended by CR LF) and the addresses
 * are checked; the module speaks SMTP. Blocking; any thread, several at once. */
#ifndef CHELA_SYS_MAIL_H
#define CHELA_SYS_MAIL_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

struct chela_mail {
    size_t size;                 /* of this struct */
    const char *server;          /* "smtps://host:465", "smtp://host:587" */
    const char *user, *password; /* NULL: do not log in */
    const char *ca_file;         /* NULL: the system's trust store */
    int plain;                   /* non-zero: go on without TLS where it is not offered */
    const char *helo;            /* what to call ourselves */
    const char *from;            /* bare addresses */
    const char *const *to;       /* NULL-terminated */
    const char *message;
    size_t length;
    int64_t timeout_ms;
    int (*stop)(void *user); /* asked now and then: non-zero gives up */
    void *user_data;         /* for stop */
};

struct chela_mail_outcome {
    int unknown; /* non-zero: it failed after all was sent; it may have arrived */
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

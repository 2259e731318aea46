/* mail.h -- the vtable of a mail module: sends one message to a server.
 *
 * The library encodes headers and checks addresses before it calls the module. The module
 * composes headers and parts to a MIME message, encodes the parts, and speaks SMTP. The
 * functions block. They are called on any thread, also on several at once. */
#ifndef CHELA_SYS_MAIL_H
#define CHELA_SYS_MAIL_H
#include <stddef.h>
#include <stdint.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* A part of a message. */
struct chela_mail_part {
    const char *type;        /* "text/plain; charset=utf-8" */
    const char *disposition; /* "attachment; filename*=UTF-8''a.pdf"; NULL: none */
    const char *encoding;    /* "7bit", if data permits it, or "base64" */
    const char *data;
    size_t length;
};

/* A message. */
struct chela_mail {
    size_t size;                 /* size of this struct */
    const char *server;          /* "smtps://host:465", "smtp://host:587" */
    const char *user, *password; /* NULL: no login */
    const char *ca_file;         /* NULL: the system's trust store */
    int plain;                   /* nonzero: continue without TLS if the server has none */
    const char *helo;            /* name of this machine */
    const char *from;            /* addresses without names, also in `to` */
    const char *const *to;       /* NULL-terminated */
    const char *const *headers;          /* "Name: value", folded, without the headers of MIME;
                                          * NULL-terminated */
    const struct chela_mail_part *parts; /* the text, then the files */
    size_t nparts;
    int64_t timeout_ms;
    int (*stop)(void *user); /* called repeatedly: a result other than 0 gives up */
    void *user_data;         /* for stop */
};

/* What happened to a message. */
struct chela_mail_outcome {
    int unknown;   /* nonzero: the failure came after everything was sent; the message may
                      have arrived */
    int64_t bytes; /* size of the message, as sent */
};

/* The functions of the module. */
struct chela_mail_ops {
    const char *name; /* "curl" */

    /* Send a message. Returns 0 after the server has accepted the message for all
     * recipients; if the server refuses a recipient, nobody gets the message. CHELA_EAUTH,
     * CHELA_ETLS, CHELA_ENET, CHELA_ETIMEOUT, CHELA_ECANCELED. CHELA_EPERM: the server
     * refuses the message. CHELA_EBUSY: the server refuses it temporarily. */
    int (*send)(const struct chela_mail *mail, struct chela_mail_outcome *out,
                struct chela_error *err);
};

CHELA_END_DECLS
#endif

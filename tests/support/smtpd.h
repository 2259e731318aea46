/* smtpd.h -- a mail server that lives in the test's own loop.
 *
 * It takes one message a connection, remembers everything that was said, and
 * misbehaves where the test wants it to. */
#ifndef SUPPORT_SMTPD_H
#define SUPPORT_SMTPD_H
#include <uv.h>

#include "base/buf.h"
#include "support/httpd.h"

struct smtpd;

struct smtpd_opts {
    const struct httpd_layer *tls; /* NULL: none is offered */
    void *tls_arg;
    bool implicit;          /* TLS from the first byte, else STARTTLS */
    const char *login;      /* "user\0password" is wanted, as sent by AUTH PLAIN; NULL: none */
    const char *refuse;     /* a command that starts with this is refused, */
    const char *refusal;    /* with this reply */
    bool silent_after_data; /* takes the message and says nothing more */
    bool cut_after_data;    /* or hangs up */
};

struct smtpd *smtpd_new(uv_loop_t *loop, const struct smtpd_opts *opts);
void smtpd_close(struct smtpd *s); /* freed once the loop has closed it all */
unsigned smtpd_port(const struct smtpd *s);
unsigned smtpd_connections(const struct smtpd *s);
unsigned smtpd_messages(const struct smtpd *s);    /* taken in full */
const char *smtpd_commands(const struct smtpd *s); /* one a line, of all connections */
const char *smtpd_message(const struct smtpd *s);  /* the last, dots unstuffed */
bool smtpd_encrypted(const struct smtpd *s);       /* it came over TLS */

#endif

/* smtpd.h -- a mail server that lives in the test's own loop.
 *
 * It accepts one message per connection, records all commands, and misbehaves as the test
 * requests. */
#ifndef SUPPORT_SMTPD_H
#define SUPPORT_SMTPD_H
#include <uv.h>

#include "base/buf.h"
#include "support/httpd.h"

struct smtpd;

struct smtpd_opts {
    const struct httpd_layer *tls; /* NULL: TLS is not offered */
    void *tls_arg;
    bool implicit;          /* TLS from the first byte, else STARTTLS */
    const char *login;      /* required credentials, "user\0password", as sent by AUTH PLAIN;
                             * NULL: none */
    const char *refuse;     /* a command that begins with this text is refused, */
    const char *refusal;    /* with this reply */
    bool silent_after_data; /* accepts the message and sends nothing more */
    bool cut_after_data;    /* or hangs up */
};

struct smtpd *smtpd_new(uv_loop_t *loop, const struct smtpd_opts *opts);
void smtpd_close(struct smtpd *s); /* freed after the loop has closed all handles */
unsigned smtpd_port(const struct smtpd *s);
unsigned smtpd_connections(const struct smtpd *s);
unsigned smtpd_messages(const struct smtpd *s);    /* taken in full */
const char *smtpd_commands(const struct smtpd *s); /* one command per line, of all connections */
const char *smtpd_message(const struct smtpd *s);  /* the last message, dots unstuffed */
bool smtpd_encrypted(const struct smtpd *s);       /* the message arrived over TLS */

#endif

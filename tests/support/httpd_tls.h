/* httpd_tls.h -- TLS for httpd.h, with certificates made on the spot. */
#ifndef SUPPORT_HTTPD_TLS_H
#define SUPPORT_HTTPD_TLS_H
#include "support/httpd.h"

struct test_ca; /* a certificate authority that is not trusted by default */

struct test_ca *test_ca_new(void);
void test_ca_free(struct test_ca *ca);

/* Write the certificate, or the key, of the authority to a new file; the caller unlinks and
 * frees the name. */
char *test_ca_write(const struct test_ca *ca);
char *test_ca_write_key(const struct test_ca *ca);

/* A layer for a server that presents a certificate of this authority. names: as in openssl's
 * subjectAltName ("DNS:localhost,IP:127.0.0.1"). days: validity; negative for an expired
 * certificate. */
void *test_ca_issue(const struct test_ca *ca, const char *names, int days);
/* The same for a server that presents the authority's own certificate. */
void *test_ca_self(const struct test_ca *ca);
void test_ca_issue_free(void *layer_arg);

extern const struct httpd_layer httpd_tls_layer;

#endif

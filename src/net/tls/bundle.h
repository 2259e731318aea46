/* bundle.h -- trust in the certificates of a file, each parsed when a chain needs it. */
#ifndef CH_NET_TLS_BUNDLE_H
#define CH_NET_TLS_BUNDLE_H
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

/* The method has to live longer than the contexts that use it. NULL: no memory. */
X509_LOOKUP_METHOD *ch_tls_bundle_method(void);

/* As SSL_CTX_load_verify_file. A file with other things than certificates is read by
 * OpenSSL, and so is a second bundle of a context. */
int ch_tls_bundle_load(SSL_CTX *ssl, X509_LOOKUP_METHOD *method, const char *path);

#endif

/* tls_world.h -- a loop with a server and a client in it, and an authority that the client
 * can trust. */
#ifndef SUPPORT_TLS_WORLD_H
#define SUPPORT_TLS_WORLD_H
#include "net/http.h"
#include "support/httpd.h"
#include "support/httpd_tls.h"

struct tls_world {
    struct ch_loop *loop;
    struct test_ca *ca;
    char *ca_file; /* certificate of the authority */
    char *modules; /* directory of the client's TLS module */
    /* Set by the test, closed with the other objects; NULL: none. */
    struct ch_http *http;
    struct httpd *server;
    void *identity; /* identity of the server, from test_ca_issue */
};

void tls_world_init(struct tls_world *w);
void tls_world_release(struct tls_world *w);

#endif

/* tls_world.c -- see tls_world.h. */
#include "support/tls_world.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/modules.h"

void tls_world_init(struct tls_world *w) {
    w->ca = test_ca_new();
    w->ca_file = test_ca_write(w->ca);
    w->modules = modules_dir();
    if (ch_loop_new(NULL, NULL, &w->loop, NULL) < 0)
        abort();
}

void tls_world_release(struct tls_world *w) {
    ch_http_close(w->http);
    httpd_close(w->server);
    ch_loop_close(w->loop, NULL, NULL);
    if (w->identity)
        test_ca_issue_free(w->identity);
    test_ca_free(w->ca);
    unlink(w->ca_file);
    ch_free(w->ca_file);
    ch_free(w->modules);
}

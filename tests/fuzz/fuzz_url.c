/* fuzz_url.c -- any bytes as a URL, a proxy setting and a no_proxy list.
 *
 * Input: URL, LF, list. A URL that is accepted must mean the same when it is
 * put together again from its parts, and hold no byte that could end a request
 * line or a header. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "net/proxy.h"
#include "net/url.h"

static void check_bytes(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7f)
            abort();
}

static void check_again(const struct ch_url *u) {
    CH_BUF_AUTO text = {0};
    struct ch_url again;

    ch_buf_add_str(&text, u->tls ? "https://" : "http://");
    ch_url_add_authority(&text, u);
    ch_url_add_target(&text, u);
    check_bytes(ch_buf_sv(&text));
    if (ch_url_parse(ch_buf_sv(&text), &again, NULL) == CHELA_ELIMIT)
        return; /* the '/' that was not there */
    if (again.tls != u->tls || again.kind != u->kind || again.port != u->port ||
        !ch_sv_eq(again.host, u->host) || again.userinfo.p)
        abort();
}

static void check_proxy(struct ch_sv text) {
    CH_AUTOFREE char *z = ch_strndup(text.p, text.n);
    struct ch_proxy *p = NULL;
    CH_BUF_AUTO head = {0};

    if (ch_proxy_new(z, &p, NULL) < 0)
        return;
    ch_proxy_add_connect(&head, p, "host", 1);
    struct ch_sv rest = ch_buf_sv(&head);
    int lines = 0;
    while (rest.p) {
        ch_sv_split(&rest, '\n');
        lines++;
    }
    if (lines != (p->auth ? 5 : 4))
        abort();
    ch_proxy_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ch_sv list = ch_sv((const char *)data, size);
    struct ch_sv text = ch_sv_split(&list, '\n');
    struct chela_error err = {0};
    struct ch_url u;

    check_proxy(text);
    if (ch_url_parse(text, &u, &err) < 0) {
        assert(err.code < 0 && err.message[0]);
        return 0;
    }
    if (u.host.n == 0 || u.port == 0)
        abort();
    check_again(&u);
    ch_proxy_bypass(list, &u);
    return 0;
}

/* fetch.h -- the one way to get what a model named by URL.
 *
 * A model's URL may come from a page it just read. So: http and https alone; no
 * credentials; a few ports; host lists of the operator; and every address is
 * judged at the moment of connecting (net/address.h), so that no spelling and no
 * name server leads to this machine, its network or a cloud's metadata. Proxies
 * of the environment are not used: they would connect in our place. Redirects
 * are followed here, a few, each checked like the first URL; never from https to
 * http. Size and time are bounded; compressed bodies are neither asked for nor
 * taken. Whatever else fetches for a model goes through this file too. */
#ifndef CH_TOOL_FETCH_H
#define CH_TOOL_FETCH_H
#include "base/buf.h"
#include "io/loop.h"
#include "net/transport.h"
#include "net/url.h"

struct ch_fetch_rules {
    /* Host patterns with commas between them: a name or address ("example.com",
     * "[::1]"), "*.example.com" (what is below it), ".example.com" (that and the
     * domain itself), "*"; each optionally with ":PORT" or ":*". NULL for allow:
     * every host; "": none. A pattern of allow that names a port opens it. */
    const char *allow, *deny;
    bool allow_private; /* also addresses that are not of the public Internet */
};

struct ch_fetch_opts {
    struct ch_loop *loop;
    struct ch_transport *transport;
    struct ch_fetch_rules rules; /* borrowed until done */
    const char *accept;          /* header of that name; static */
    /* Media types that are wanted: "text/" starts with, "+xml" ends with, else
     * equal; NULL-terminated, static. Others are refused before the body. */
    const char *const *types;
    size_t max_bytes; /* of the body: more is cut off */
    int64_t timeout_ms;
};

struct ch_fetch {
    struct ch_fetch_opts opts;
    struct ch_buf url; /* the last one asked for */
    unsigned redirects;
    int status; /* 0: none came */
    int64_t retry_after_ms;
    struct ch_buf type; /* Content-Type */
    struct ch_buf body;
    bool cut; /* there was more of it */

    /* private */
    void (*done)(struct ch_fetch *f, const struct chela_error *err, void *user);
    void *user;
    struct ch_http_call *call;
    struct ch_http_request req;
    struct ch_header headers[2];
    struct ch_address_filter filter;
    int64_t due;
    struct ch_task failing;
    struct chela_error failure;
};

/* May this URL be fetched, as far as its text tells? CHELA_EINVAL, CHELA_EPERM
 * (the message says which rule). *out, unless NULL, gets its parts. */
int ch_fetch_check(struct ch_sv url, const struct ch_fetch_rules *rules, struct ch_url *out,
                   struct chela_error *err);

/* Fetch url (copied). done is called exactly once, never from inside this call,
 * unless cancelled: err is NULL when a response of the 2xx kind was read. The
 * fetch is freed when done returns; buffers may be taken out of it. */
struct ch_fetch *ch_fetch_start(struct ch_sv url, const struct ch_fetch_opts *opts,
                                void (*done)(struct ch_fetch *f, const struct chela_error *err,
                                             void *user),
                                void *user);
void ch_fetch_cancel(struct ch_fetch *f); /* NULL is a no-op */

/* The type that a tool's error result has for this failure; static. */
const char *ch_fetch_error_type(const struct chela_error *err, int status);

#endif

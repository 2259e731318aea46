/* fetch.h -- the only code path that fetches a URL named by a model.
 *
 * A model's URL may come from an untrusted page. Rules: http and https only; no
 * credentials; a few ports; the operator's host lists. Every address is checked when the
 * connection is made (net/address.h), so no spelling and no name server can lead to this
 * machine, its network or a cloud's metadata service. Proxies of the environment are not
 * used, because a proxy would connect without the check. A few redirects are followed, each
 * checked like the first URL; never from https to http. Size and time are bounded;
 * compressed bodies are neither requested nor accepted. All other code that fetches for a
 * model must use this module. */
#ifndef CH_TOOL_FETCH_H
#define CH_TOOL_FETCH_H
#include "base/buf.h"
#include "io/loop.h"
#include "base/arena.h"
#include "net/transport.h"
#include "net/url.h"

#define CH_FETCH_SECRETS 4 /* headers of secrets in one request */

struct ch_egress;
struct ch_secret_refs;
struct sockaddr;

struct ch_fetch_rules {
    /* Comma-separated host patterns: a name or address ("example.com", "[::1]"),
     * "*.example.com" (subdomains), ".example.com" (subdomains and the domain itself), "*";
     * each optionally with ":PORT" or ":*". allow NULL: every host; "": none. An allow
     * pattern with a port permits that port. */
    const char *allow, *deny;
    const struct ch_egress *egress; /* a pattern that allows the port permits it; NULL: none does */
    const struct ch_secret_refs *secrets; /* with headers for the hosts that own them; NULL: none */
    bool allow_private; /* permit addresses outside of the public Internet */
    /* Optional, with the lists of the agent: the reason against an address (struct
     * ch_address_filter), instead of the usual one; whether a redirect may be followed. */
    const char *(*refuses)(const struct ch_url *to, const struct sockaddr *at, void *user);
    bool (*may_follow)(const struct ch_url *to, struct ch_sv text, void *user);
    void *user;
};

/* True if a list of the operator, in the form of `allow`, has the host. */
bool ch_fetch_is_listed(const char *patterns, const struct ch_url *url);

struct ch_fetch_opts {
    struct ch_loop *loop;
    struct ch_transport *transport;
    struct ch_fetch_rules rules; /* borrowed until done is called */
    const char *accept;          /* value of the Accept header; static */
    /* Accepted media types: "text/" is a prefix, "+xml" a suffix, anything else must be
     * equal; NULL-terminated, static. Other types are rejected before the body is read. */
    const char *const *types;
    size_t max_bytes; /* maximum body size; the rest is cut off */
    int64_t timeout_ms;
};

struct ch_fetch {
    struct ch_fetch_opts opts;
    struct ch_buf url; /* URL of the last request */
    unsigned redirects;
    int status; /* HTTP status; 0: no response */
    int64_t retry_after_ms;
    struct ch_buf type; /* Content-Type */
    struct ch_buf body;
    bool cut; /* the body was cut off at max_bytes */
    bool authorised; /* a request had a secret of its host */

    /* private */
    void (*done)(struct ch_fetch *f, const struct chela_error *err, void *user);
    void *user;
    struct ch_http_call *call;
    struct ch_http_request req;
    struct ch_arena arena; /* headers of the last request */
    struct ch_header headers[2 + CH_FETCH_SECRETS];
    struct ch_address_filter filter;
    int64_t due;
    struct ch_task failing;
    struct chela_error failure;
};

/* Check a URL by its text alone. CHELA_EINVAL, or CHELA_EPERM with the rule in err. *out,
 * unless NULL, receives the parts of the URL. */
int ch_fetch_check(struct ch_sv url, const struct ch_fetch_rules *rules, struct ch_url *out,
                   struct chela_error *err);

/* Fetch url (copied). done is called exactly once, never from inside this call, unless the
 * fetch is cancelled. err is NULL if a 2xx response was read. The fetch is freed when done
 * returns; done may move buffers out of the fetch. */
struct ch_fetch *ch_fetch_start(struct ch_sv url, const struct ch_fetch_opts *opts,
                                void (*done)(struct ch_fetch *f, const struct chela_error *err,
                                             void *user),
                                void *user);
void ch_fetch_cancel(struct ch_fetch *f); /* NULL is a no-op */

/* The error type of a tool result for this failure; static. */
const char *ch_fetch_error_type(const struct chela_error *err, int status);

#endif

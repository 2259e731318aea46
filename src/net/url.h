/* url.h -- strict parser for http and https URLs.
 *
 * One parser for every URL that names a peer, so that the checked host is the
 * connected host. Rejects what other parsers guess: control characters, spaces,
 * backslashes, non-ASCII text, numeric hosts that are not plain dotted quads
 * (2130706433, 0177.0.0.1), IPv6 zones, port 0. Allocates nothing: the parts
 * are views into the text. */
#ifndef CH_NET_URL_H
#define CH_NET_URL_H
#include <stdint.h>

#include "base/buf.h"
#include "base/sv.h"
#include "chela/error.h"

enum ch_host_kind { CH_HOST_NAME, CH_HOST_IPV4, CH_HOST_IPV6 };

struct ch_url {
    bool tls; /* https */
    enum ch_host_kind kind;
    uint16_t port;         /* the scheme's default port if the URL has none */
    struct ch_sv userinfo; /* text before '@', undecoded; {NULL,0} if absent */
    struct ch_sv host;     /* without brackets and without a final dot */
    struct ch_sv target;   /* path and query, no fragment; may be empty or
                              start with '?': see ch_url_add_target */
};

/* CHELA_EINVAL, or CHELA_ELIMIT past CH_LIMIT_URL. The message never contains
 * userinfo, path or query: they may hold secrets. */
int ch_url_parse(struct ch_sv text, struct ch_url *out, struct chela_error *err);

/* An authority alone, as in the header Host: "name:8787", "[::1]". tls: decides the default
 * port. CHELA_EINVAL, also for userinfo. */
int ch_url_parse_host(struct ch_sv text, bool tls, struct ch_url *out);
/* The same host, whatever its spelling; ports are not compared. */
bool ch_url_same_host(const struct ch_url *a, const struct ch_url *b);

/* True for localhost, *.localhost, 127.0.0.0/8, ::1 and its IPv4-mapped form. */
bool ch_url_is_loopback(const struct ch_url *u);

/* Append "host", "host:8080" or "[::1]:8080"; the port only if it is not the
 * scheme's default. */
void ch_url_add_authority(struct ch_buf *out, const struct ch_url *u);

/* Append the request target in origin form; it always starts with '/'. */
void ch_url_add_target(struct ch_buf *out, const struct ch_url *u);

/* Binary form of a literal address: 4 or 16 bytes; 0 if text is not an address. */
size_t ch_ip_parse(struct ch_sv text, unsigned char out[16]);

#endif

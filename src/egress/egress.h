/* egress.h -- which hosts an agent may send data to.
 *
 * Three lists of patterns: deny beats allow, allow beats ask, and a host that no pattern names is
 * asked about. A pattern is a host name, an address, a network in CIDR form, "*.NAME" (the
 * subdomains of NAME, not NAME) or "*" (every public host), each optionally with ":PORT" or ":*".
 * A name may end in a dot; names are written in ASCII, others as Punycode.
 *
 * Without a port, a pattern of allow or ask stands for the port of the scheme, one of deny for
 * every port. Neither "*" nor "*.NAME" stands for an address outside of the public Internet: such
 * an address has to be named, by a name, an address or a network. The address is known only when
 * a name was looked up, so it is judged once more before each connection (ch_egress_refuses).
 *
 * Immutable after ch_egress_new; any thread. */
#ifndef CH_EGRESS_EGRESS_H
#define CH_EGRESS_EGRESS_H
#include "base/mem.h"
#include "base/sha256.h"
#include "net/url.h"

struct ch_egress;
struct sockaddr;

struct ch_egress_lists {
    const char *allow, *deny, *ask; /* comma-separated; NULL: no pattern */
};

/* CHELA_EINVAL: a pattern names no host; the message has the pattern and the list. CHELA_ELIMIT:
 * too many patterns. */
int ch_egress_new(const struct ch_egress_lists *lists, struct ch_egress **out,
                  struct chela_error *err);
void ch_egress_free(struct ch_egress *e);
CH_DEFINE_AUTO(ch_egress)

/* 0 if the text is a pattern, else CHELA_EINVAL with the reason. */
int ch_egress_check(struct ch_sv pattern, struct chela_error *err);

/* True if the host is a literal address outside of the public Internet, or a name of this machine.
 * A name that a name server resolves to such an address is none. */
bool ch_egress_is_inward(const struct ch_url *to);

enum ch_egress_verdict { CH_EGRESS_ASK, CH_EGRESS_ALLOW, CH_EGRESS_DENY };

struct ch_egress_finding {
    enum ch_egress_verdict verdict;
    bool listed; /* a pattern decided; false: the host is in no list */
    /* The pattern is the name of the host, its address or its network. */
    bool named;
};

/* True for a short address without a query at a host of a public list, such as documentation or an
 * index of packages: it carries little, to a host whose requests nobody else reads. */
bool ch_egress_carries_little(const struct ch_url *to);

/* What the lists say about a destination. e NULL: everything is in no list. */
struct ch_egress_finding ch_egress_judge(const struct ch_egress *e, const struct ch_url *to);

/* The reason against connecting to this address of a host that ch_egress_judge did not deny
 * (static text, as in struct ch_address_filter), or NULL. named: the address may be outside of the
 * public Internet, because the destination was named. Cloud metadata and other link-local
 * addresses have to be named by themselves. */
const char *ch_egress_refuses(const struct ch_egress *e, const struct ch_url *to,
                              const struct sockaddr *at, bool named);

/* The digest of a host and its port, under which a consent is remembered. what: who may reach the
 * host. */
void ch_egress_digest(const struct ch_url *to, struct ch_sv what,
                      unsigned char out[CH_SHA256_SIZE]);

/* Appends the line of the configuration that would allow the destination:
 * egress: { allow: ["example.com"] }. */
void ch_egress_add_remedy(struct ch_buf *out, const struct ch_url *to);

#endif

/* address.h -- tell public Internet addresses from special ones.
 *
 * Code that connects on behalf of a model checks the exact address of the
 * connection (struct ch_address_filter in transport.h). The spelling in the URL
 * and earlier DNS answers then do not matter. */
#ifndef CH_NET_ADDRESS_H
#define CH_NET_ADDRESS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/sv.h"

struct sockaddr;

/* The kind of a special address ("loopback", "private", ...; static), or NULL
 * for a public Internet address. IPv4 inside IPv6 (mapped, NAT64) is judged as
 * the embedded IPv4 address. Address families other than IP are not public. */
const char *ch_address_kind(const struct sockaddr *a);

/* Whether the address belongs to a network interface of this machine. */
bool ch_address_is_own(const struct sockaddr *a);

/* The bytes of an address, 4 or 16 of them: IPv4 inside IPv6 (mapped, NAT64) as IPv4. 0: not an
 * address. */
size_t ch_address_read(struct ch_sv text, unsigned char ip[16]);
size_t ch_address_bytes(const struct sockaddr *a, unsigned char ip[16]);

/* Whether two texts are one IP address, in any spelling. IPv4 inside IPv6 (mapped, NAT64) is the
 * embedded IPv4 address. */
bool ch_address_same(struct ch_sv a, struct ch_sv b);

#endif

/* address.h -- which addresses belong to the public Internet.
 *
 * Whoever connects on behalf of a model asks this about the very address that
 * is about to be connected to (struct ch_address_filter in transport.h): how a
 * URL spelt it, and what a name meant a moment ago, cannot matter then. */
#ifndef CH_NET_ADDRESS_H
#define CH_NET_ADDRESS_H
#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

/* What kind of address it is ("loopback", "private", ...; static), or NULL if
 * it is one of the public Internet. IPv4 inside IPv6 (mapped, NAT64) is judged
 * as the IPv4 address it leads to. Families other than IP are not public. */
const char *ch_address_kind(const struct sockaddr *a);

/* The same for 4 or 16 bytes in network order. */
const char *ch_address_kind_of(const unsigned char *ip, size_t n);

/* Is it an address of this machine's own network interfaces? */
bool ch_address_is_own(const struct sockaddr *a);

#endif

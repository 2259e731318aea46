/* address.c -- see address.h.
 *
 * IPv4 is public unless the table lists it (IANA's special-purpose registry,
 * and the addresses at which clouds serve credentials to their machines). IPv6
 * is the reverse: only 2000::/3 is global, with a few exceptions. The tables
 * cannot know public addresses that a network uses only internally; host lists
 * cover those. */
#include "net/address.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "base/mem.h"
#include "net/url.h"

struct range {
    unsigned char prefix[16];
    unsigned char bits;
    const char *kind;
};

static const struct range v4[] = {
    {{0}, 8, "unspecified"},
    {{10}, 8, "private"},
    {{100, 64}, 10, "shared"},
    {{127}, 8, "loopback"},
    {{168, 63, 129, 16}, 32, "cloud metadata"},
    {{169, 254}, 16, "link-local"},
    {{172, 16}, 12, "private"},
    {{192, 0, 0}, 24, "reserved"},
    {{192, 0, 2}, 24, "documentation"},
    {{192, 88, 99}, 24, "reserved"},
    {{192, 168}, 16, "private"},
    {{198, 18}, 15, "benchmark"},
    {{198, 51, 100}, 24, "documentation"},
    {{203, 0, 113}, 24, "documentation"},
    {{224}, 4, "multicast"},
    {{240}, 4, "reserved"},
};

/* Exceptions inside 2000::/3. */
static const struct range v6[] = {
    {{0x20, 0x01, 0x00}, 23, "reserved"}, /* Teredo, ORCHID, benchmarks */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    {{0x20, 0x02}, 16, "6to4"},
    {{0x3f, 0xff, 0x00}, 20, "documentation"},
};

/* Outside of 2000::/3, only for messages that say more than "not global". */
static const struct range v6_other[] = {
    {{[15] = 1}, 128, "loopback"},    {{0}, 128, "unspecified"},     {{0xfc}, 7, "private"},
    {{0xfe, 0x80}, 10, "link-local"}, {{0xfe, 0xc0}, 10, "private"}, {{0xff}, 8, "multicast"},
};

static bool inside(const struct range *r, const unsigned char *ip) {
    size_t whole = r->bits / 8, rest = r->bits % 8;

    if (memcmp(ip, r->prefix, whole) != 0)
        return false;
    return rest == 0 || ((ip[whole] ^ r->prefix[whole]) >> (8 - rest)) == 0;
}

static const char *net_address_find(const struct range *table, size_t n, const unsigned char *ip) {
    for (size_t i = 0; i < n; i++)
        if (inside(&table[i], ip))
            return table[i].kind;
    return NULL;
}

/* The IPv4 address that an IPv6 address embeds, or NULL. */
static const unsigned char *embedded(const unsigned char *ip) {
    static const struct range carriers[] = {
        {{[10] = 0xff, 0xff}, 96, "mapped"},
        {{0x00, 0x64, 0xff, 0x9b}, 96, "NAT64"},
    };
    return net_address_find(carriers, CH_LEN(carriers), ip) ? ip + 12 : NULL;
}

/* As ch_address_kind, for 4 or 16 bytes in network order. */
static const char *address_kind(const unsigned char *ip, size_t n) {
    if (n == 16 && embedded(ip)) {
        ip = embedded(ip);
        n = 4;
    }
    if (n == 4)
        return net_address_find(v4, CH_LEN(v4), ip);
    if (n != 16)
        return "unknown";
    if (ip[0] >> 5 == 1)
        return net_address_find(v6, CH_LEN(v6), ip);
    const char *kind = net_address_find(v6_other, CH_LEN(v6_other), ip);
    return kind ? kind : "reserved";
}

/* The address bytes, or NULL if the family is not IP. */
static const unsigned char *net_address_bytes_of(const struct sockaddr *a, size_t *n) {
    switch (a->sa_family) {
    case AF_INET:
        *n = 4;
        return (const unsigned char *)&((const struct sockaddr_in *)(const void *)a)->sin_addr;
    case AF_INET6:
        *n = 16;
        return (const unsigned char *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    }
    *n = 0;
    return NULL;
}

const char *ch_address_kind(const struct sockaddr *a) {
    size_t n;
    const unsigned char *ip = net_address_bytes_of(a, &n);

    return address_kind(ip, n);
}

bool ch_address_is_own(const struct sockaddr *a) {
    struct ifaddrs *all = NULL;
    size_t n, k;
    const unsigned char *ip = net_address_bytes_of(a, &n), *mine;
    bool own = false;

    if (n == 16 && embedded(ip)) {
        ip = embedded(ip);
        n = 4;
    }
    if (!ip || getifaddrs(&all) < 0)
        return false;
    for (struct ifaddrs *at = all; at && !own; at = at->ifa_next)
        own = at->ifa_addr && (mine = net_address_bytes_of(at->ifa_addr, &k)) && k == n &&
              memcmp(mine, ip, n) == 0;
    freeifaddrs(all);
    return own;
}

static size_t unwrap(unsigned char ip[16], size_t n) {
    if (n != 16 || !embedded(ip))
        return n;
    memmove(ip, embedded(ip), 4);
    return 4;
}

size_t ch_address_read(struct ch_sv text, unsigned char ip[16]) {
    return unwrap(ip, ch_ip_parse(text, ip));
}

size_t ch_address_bytes(const struct sockaddr *a, unsigned char ip[16]) {
    size_t n;
    const unsigned char *bytes = net_address_bytes_of(a, &n);

    if (bytes)
        memcpy(ip, bytes, n);
    return unwrap(ip, n);
}

bool ch_address_same(struct ch_sv a, struct ch_sv b) {
    unsigned char x[16], y[16];
    size_t n = ch_address_read(a, x);

    return n && n == ch_address_read(b, y) && memcmp(x, y, n) == 0;
}

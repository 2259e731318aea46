/* names.c -- see names.h. The program's own getaddrinfo overrides libc's, also for libuv; a
 * test that refers to test_names links it. */
#include "support/names.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EXPORT __attribute__((visibility("default")))

const struct name_row *test_names;
static atomic_uint lookups;

unsigned test_lookups(void) {
    return atomic_load(&lookups);
}

struct answer {
    struct addrinfo info;
    struct sockaddr_storage address;
};

static struct addrinfo *make(const char *text, struct addrinfo *next) {
    struct answer *a = calloc(1, sizeof(*a));
    struct sockaddr_in *v4 = (struct sockaddr_in *)&a->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a->address;

    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        a->info.ai_family = AF_INET;
        a->info.ai_addrlen = sizeof(*v4);
    } else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        a->info.ai_family = AF_INET6;
        a->info.ai_addrlen = sizeof(*v6);
    } else {
        abort();
    }
    a->address.ss_family = (sa_family_t)a->info.ai_family;
    a->info.ai_socktype = SOCK_STREAM;
    a->info.ai_addr = (struct sockaddr *)&a->address;
    a->info.ai_next = next;
    return &a->info;
}

EXPORT int getaddrinfo(const char *restrict node, const char *restrict service,
                       const struct addrinfo *restrict hints, struct addrinfo **restrict out) {
    const struct name_row *row = test_names;
    unsigned n = atomic_fetch_add(&lookups, 1);
    char *words, *rest, *word;

    (void)service, (void)hints;
    *out = NULL;
    while (row && row->name && strcasecmp(row->name, node) != 0)
        row++;
    if (!row || !row->name)
        return EAI_NONAME;
    words = rest = strdup(row->addresses);
    for (unsigned i = 0; (word = strsep(&rest, " "));)
        if (strcmp(row->name, "flip.example") != 0 || i++ == n % 2)
            *out = make(word, *out);
    free(words);
    return *out ? 0 : EAI_NONAME;
}

EXPORT void freeaddrinfo(struct addrinfo *all) {
    while (all) {
        struct addrinfo *next = all->ai_next;
        free(all);
        all = next;
    }
}

/* transport.c -- functions for all transports. */
#include "net/transport.h"

struct ch_sv ch_header_find(const struct ch_header *headers, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (ch_sv_is(headers[i].name, name))
            return headers[i].value;
    return (struct ch_sv){NULL, 0};
}

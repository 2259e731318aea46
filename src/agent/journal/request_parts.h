/* request_parts.h -- which parts of requests a session has stored, and the digest of the
 * last request. */
#ifndef CH_AGENT_REQUEST_PARTS_H
#define CH_AGENT_REQUEST_PARTS_H
#include <stdbool.h>

#include "base/sha256.h"

#define CH_PART_HEX 17 /* length of an id as text, with its NUL */

/* A set of ids. A zeroed struct is empty. */
struct ch_part_ids {
    uint64_t *list; /* owned */
    size_t n, cap;
};

/* True: the set did not have the id. */
bool ch_part_ids_add(struct ch_part_ids *s, uint64_t id);
void ch_part_ids_release(struct ch_part_ids *s);

/* The id of a part: the first 64 bits of the SHA-256 of its JSON. */
uint64_t ch_part_id(struct ch_sv json);
void ch_part_id_write(uint64_t id, char out[CH_PART_HEX]);
bool ch_part_id_read(struct ch_sv hex, uint64_t *out); /* false: not an id */

/* Digests of what requests of several sessions have in common: most sessions of an agent have
 * the same system prompt and tools. A zeroed struct is empty. */
struct ch_request_digests {
    struct ch_known_part {
        char *json; /* owned */
        size_t n;
        uint64_t id;
    } *parts; /* owned; by their positions in the setup */
    size_t nparts;
    const char *head; /* shared_text.h: the head of a body; NULL: none */
    struct ch_sha256 sha; /* digest of `head` */
};

void ch_request_digests_free(struct ch_request_digests *m);
/* ch_part_id of the part at a position. Position n may be asked for after positions 0 to n - 1. */
uint64_t ch_request_digests_part(struct ch_request_digests *m, size_t position, struct ch_sv json);
/* The digest of a head (shared_text.h). */
struct ch_sha256 ch_request_digests_head(struct ch_request_digests *m, const char *head);

/* The digest of a request's body. The messages of a body are only appended to, so a new
 * request hashes only its new messages. A zeroed struct is an empty digest. */
struct ch_request_sum {
    struct ch_sha256 sha;         /* digest of head and messages so far */
    uint64_t shape, revision;     /* values of the encoder */
    uint64_t epoch;               /* epoch of the encoder */
    size_t messages;              /* bytes of messages in sha */
    uint64_t setup;               /* id of the setup with this shape and revision */
    bool known;
};

#endif

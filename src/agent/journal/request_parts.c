/* request_parts.c -- see request_parts.h. */
#include "agent/journal/request_parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/shared_text.h"

bool ch_part_ids_add(struct ch_part_ids *s, uint64_t id) {
    for (size_t i = s->n; i > 0; i--)
        if (s->list[i - 1] == id)
            return false;
    if (s->n == CH_LIMIT_PART_IDS) /* parts that are not known are stored again */
        s->n = 0;
    CH_GROW(s->list, s->n, s->cap, 16);
    s->list[s->n++] = id;
    return true;
}

void ch_part_ids_release(struct ch_part_ids *s) {
    ch_free(s->list);
    *s = (struct ch_part_ids){0};
}

uint64_t ch_part_id(struct ch_sv json) {
    unsigned char digest[CH_SHA256_SIZE];
    uint64_t id = 0;
    ch_sha256_of(json, digest);
    for (size_t i = 0; i < sizeof(id); i++)
        id = id << 8 | digest[i];
    return id;
}

void ch_request_digests_free(struct ch_request_digests *m) {
    if (!m)
        return;
    for (size_t i = 0; i < m->nparts; i++)
        ch_free(m->parts[i].json);
    ch_free(m->parts);
    ch_shared_text_release(m->head);
    ch_free(m);
}

uint64_t ch_request_digests_part(struct ch_request_digests *m, size_t position, struct ch_sv json) {
    if (position == m->nparts) {
        m->parts = ch_realloc(m->parts, ++m->nparts * sizeof(*m->parts));
        m->parts[position] = (struct ch_known_part){0};
    }
    struct ch_known_part *part = &m->parts[position];
    if (!part->json || part->n != json.n || memcmp(part->json, json.p, json.n) != 0) {
        ch_free(part->json);
        *part = (struct ch_known_part){ch_strndup(json.p, json.n), json.n, ch_part_id(json)};
    }
    return part->id;
}

struct ch_sha256 ch_request_digests_head(struct ch_request_digests *m, const char *head) {
    struct ch_sv text = ch_shared_text_sv(head);
    if (m->head != head) {
        ch_shared_text_release(m->head);
        m->head = ch_shared_text_ref(head);
        ch_sha256_init(&m->sha);
        ch_sha256_add(&m->sha, text.p, text.n);
    }
    return m->sha;
}

void ch_part_id_write(uint64_t id, char out[CH_PART_HEX]) {
    snprintf(out, CH_PART_HEX, "%016" PRIx64, id);
}

bool ch_part_id_read(struct ch_sv hex, uint64_t *out) {
    uint64_t id = 0;
    for (size_t i = 0; i < hex.n; i++) {
        char c = hex.p[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        id = id << 4 | (uint64_t)digit;
    }
    *out = id;
    return hex.n == CH_PART_HEX - 1;
}

/* schema_names.c -- see schema_names.h. */
#include "schema/schema_names.h"

#include "base/mem.h"

#define TRIES 32 /* multipliers tried for one size */

uint64_t ch_name_hash_long(uint64_t hash, const char *s, size_t n, uint64_t multiplier) {
    for (size_t i = 8; i < n - 8; i += 8)
        hash = (hash ^ hash >> 32 ^ ch_word_load(s + i)) * multiplier;
    return hash;
}

/* The number of names that share a slot with another name under a multiplier. */
static size_t collisions(const struct ch_name *names, size_t n, uint64_t multiplier, unsigned shift,
                         unsigned char *used) {
    size_t count = 0;
    memset(used, 0, (size_t)1 << (64 - shift));
    for (size_t i = 0; i < n; i++) {
        const struct ch_name *one = &names[i];
        size_t at = ch_name_hash(one->head, one->tail, one->s, one->n, multiplier) >> shift;
        count += used[at];
        used[at] = 1;
    }
    return count;
}

/* Search a multiplier: without collisions for small sets, with few collisions
 * for large ones. */
static uint64_t schema_names_search(const struct ch_name *names, size_t n, unsigned shift) {
    uint64_t candidate = UINT64_C(0x9e3779b97f4a7c15), best = candidate;
    size_t least = SIZE_MAX;
    CH_AUTOFREE unsigned char *used = ch_malloc((size_t)1 << (64 - shift));
    for (int i = 0; i < TRIES && least > 0; i++) {
        size_t count = collisions(names, n, candidate, shift, used);
        if (count < least) {
            least = count;
            best = candidate;
        }
        candidate = (candidate * UINT64_C(0xd1342543de82ef95) + 0x2545f491) | 1;
    }
    return best;
}

static unsigned shift_for(size_t n) {
    unsigned bits = 1;
    while (((size_t)1 << bits) < 2 * n)
        bits++;
    return 64 - bits;
}

static struct ch_name *slot_for(struct ch_names *set, const struct ch_name *name) {
    struct ch_name *slot = (struct ch_name *)ch_names_find(set, NULL, name->s, name->n);
    if (slot)
        return slot;
    slot = &set->slots[ch_name_hash(name->head, name->tail, name->s, name->n, set->multiplier) >>
                       set->shift];
    while (slot->s)
        slot++;
    set->n++;
    return slot;
}

static void link_names(struct ch_names *set, const struct ch_name *list, size_t n) {
    const struct ch_name **behind = &set->first;
    for (size_t i = 0; i < n; i++) {
        struct ch_name *slot = slot_for(set, &list[i]);
        if (slot->index != i)
            continue;
        *behind = slot;
        behind = &slot->next;
    }
}

/* A cluster may extend past the last slot by at most n slots, and a free slot
 * ends it. */
struct ch_names *ch_names_new(struct ch_arena *a, const struct ch_sv *names, size_t n) {
    unsigned shift = shift_for(n);
    size_t slots = ((size_t)1 << (64 - shift)) + n + 1;
    struct ch_names *set = ch_arena_zalloc(a, sizeof(*set) + slots * sizeof(set->slots[0]));
    CH_AUTOFREE struct ch_name *list = ch_alloc((n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        list[i].s = names[i].n ? names[i].p : "";
        list[i].n = (uint32_t)names[i].n;
        list[i].index = (uint32_t)i;
        ch_name_words(list[i].s, list[i].n, &list[i].head, &list[i].tail);
    }
    set->shift = shift;
    set->multiplier = schema_names_search(list, n, shift);
    for (size_t i = 0; i < n; i++)
        *slot_for(set, &list[i]) = list[i];
    link_names(set, list, n);
    return set;
}

/* list.h -- an intrusive doubly linked list.
 *
 * Elements embed the link. An empty list's head is linked to itself. A zeroed
 * link is in no list. */
#ifndef CH_BASE_LIST_H
#define CH_BASE_LIST_H
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct ch_link {
    struct ch_link *prev, *next;
};
struct ch_list {
    struct ch_link head;
};

static inline void ch_list_init(struct ch_list *l) {
    l->head.prev = l->head.next = &l->head;
}
static inline bool ch_list_empty(const struct ch_list *l) {
    return l->head.next == &l->head;
}
static inline void ch_list_add(struct ch_list *l, struct ch_link *k) {
    k->prev = l->head.prev;
    k->next = &l->head;
    k->prev->next = k->next->prev = k;
}
static inline void ch_list_del(struct ch_link *k) {
    if (!k->next)
        return;
    k->prev->next = k->next;
    k->next->prev = k->prev;
    k->prev = k->next = NULL;
}

/* The first element, cast to its type; NULL if the list is empty. */
#define CH_LIST_FIRST(list, type, member)                                      \
    (ch_list_empty(list) ? NULL : CH_CONTAINER((list)->head.next, type, member))

#define CH_LIST_EACH(k, list)                                                  \
    struct ch_link *k = (list)->head.next;                                     \
    k != &(list)->head;                                                        \
    k = k->next

#endif

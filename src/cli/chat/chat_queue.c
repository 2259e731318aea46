/* chat_queue.c -- see chat_queue.h. */
#include "cli/chat/chat_queue.h"

#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"

void ch_chat_queue_add(struct ch_chat *c, const char *text, const char *typed) {
    c->queue = ch_must(realloc(c->queue, (c->nqueue + 1) * sizeof(*c->queue)));
    c->queue[c->nqueue++] = (struct ch_chat_queued){.text = ch_dup(text), .typed = ch_dup(typed)};
}

static void queue_drop(struct ch_chat *c, size_t i) {
    free(c->queue[i].text);
    free(c->queue[i].typed);
    memmove(c->queue + i, c->queue + i + 1, (c->nqueue - i - 1) * sizeof(*c->queue));
    c->nqueue--;
}

/* Messages of other programs are delivered to the run, too. */
char *ch_chat_queue_delivered(struct ch_chat *c, struct chela_str text) {
    for (size_t i = 0; i < c->nqueue; i++) {
        if (strlen(c->queue[i].text) == text.n && memcmp(c->queue[i].text, text.p, text.n) == 0) {
            char *typed = ch_dup(c->queue[i].typed);
            queue_drop(c, i);
            return typed;
        }
    }
    return NULL;
}

char *ch_chat_queue_take(struct ch_chat *c) {
    struct ch_draft d;
    if (c->nqueue == 0)
        return NULL;
    ch_draft_init(&d);
    for (bool first = true; c->nqueue > 0; first = false) {
        fprintf(d.f, "%s%s", first ? "" : "\n", c->queue[0].typed);
        queue_drop(c, 0);
    }
    ch_draft_finish(&d);
    return d.p;
}

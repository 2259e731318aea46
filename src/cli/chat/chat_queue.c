/* chat_queue.c -- see chat_queue.h. */
#include "cli/chat/chat_queue.h"

#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"

void ch_chat_queue_add(struct ch_chat *c, const char *text, const char *typed) {
    c->queue = ch_must(realloc(c->queue, (c->nqueue + 1) * sizeof(*c->queue)));
    c->queue[c->nqueue++] = (struct ch_chat_queued){
        .text = ch_dup(text), .typed = ch_dup(typed), .outputs = c->outputs};
    c->outputs = NULL;
}

static void queue_drop(struct ch_chat *c, size_t i) {
    free(c->queue[i].text);
    free(c->queue[i].typed);
    free(c->queue[i].outputs);
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

/* Appends a line to the text. */
static void queue_join(char **text, const char *line) {
    char *all = ch_format("%s%s%s", *text ? *text : "", *text ? "\n" : "", line);
    free(*text);
    *text = all;
}

bool ch_chat_queue_take(struct ch_chat *c, char **text, char **typed) {
    *text = *typed = NULL;
    for (; c->nqueue > 0; queue_drop(c, 0)) {
        queue_join(text, c->queue[0].text);
        queue_join(typed, c->queue[0].typed);
        if (c->queue[0].outputs)
            queue_join(&c->outputs, c->queue[0].outputs);
    }
    return *text;
}

void ch_chat_queue_release(struct ch_chat *c) {
    while (c->nqueue > 0)
        queue_drop(c, 0);
    free(c->queue);
}

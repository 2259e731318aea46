/* chat_source.c -- see chat_source.h. */
#include "cli/chat/chat_source.h"

#include <stdlib.h>

#include "cli/chat/chat_files.h"
#include "cli/chat/chat_servers.h"

static const struct ch_chat_source *const sources[] = {&ch_chat_servers, &ch_chat_files};
enum { SOURCES = sizeof(sources) / sizeof(sources[0]) };

void ch_chat_words_add(struct ch_chat_words *w, char *word) {
    if (w->n < CH_CHAT_WORDS)
        w->list[w->n++] = word;
    else
        free(word);
}

void ch_chat_sources_offer(struct ch_chat *c, const char *typed, struct ch_chat_words *w) {
    for (size_t i = 0; i < SOURCES; i++)
        sources[i]->offer(c, typed, w);
}

int ch_chat_sources_attach(struct ch_chat *c, const char *name, struct ch_chat_message *m,
                           struct chela_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < SOURCES; i++)
        if (sources[i]->attach)
            rc = sources[i]->attach(c, name, m, err);
    return rc;
}

char *ch_chat_sources_expand(struct ch_chat *c, const char *line) {
    char *text = NULL;
    for (size_t i = 0; !text && i < SOURCES; i++)
        if (sources[i]->expand)
            text = sources[i]->expand(c, line);
    return text;
}

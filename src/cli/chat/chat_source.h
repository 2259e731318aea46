/* chat_source.h -- sources of items that a message can name: @files, /prompts.
 *
 * A source completes a word, and turns a name after '@' into a part of the message, or a line
 * that begins with '/' into a message. The table of sources is in chat_source.c. */
#ifndef CH_CLI_CHAT_SOURCE_H
#define CH_CLI_CHAT_SOURCE_H
#include "cli/chat/chat.h"
#include "cli/support/input.h"

enum {
    CH_CHAT_WORDS = 64, /* completions of a word, at most */
    CH_CHAT_MEDIA = 20, /* images and documents of a message, at most: the library's limit */
};

/* Completions of a word. */
struct ch_chat_words {
    char *list[CH_CHAT_WORDS]; /* owned */
    size_t n;
};

/* A message that is being made. */
struct ch_chat_message {
    struct ch_draft more; /* text that is appended to the typed text */
    struct chela_media media[CH_CHAT_MEDIA];
    struct ch_cli_input files[CH_CHAT_MEDIA]; /* owned: the bytes of media */
    char *names[CH_CHAT_MEDIA];               /* owned */
    size_t nmedia;
};

struct ch_chat_source {
    const char *name;
    /* Add the completions of a word that begins with '@', or of a first word that begins with
     * '/'. */
    void (*offer)(struct ch_chat *c, const char *typed, struct ch_chat_words *w);
    /* Add the item that a name after '@' denotes. 1: done; 0: this source has no such item;
     * negative: failed, and err is set. NULL: the source has no such names. */
    int (*attach)(struct ch_chat *c, const char *name, struct ch_chat_message *m,
                  struct chela_error *err);
    /* The message that a line such as "/NAME words" expands to; free with chela_free. NULL:
     * this source has no such name. The member may be NULL: the source expands no lines. */
    char *(*expand)(struct ch_chat *c, const char *line);
};

/* Add a word that the caller allocated, or free it if the list is full. */
void ch_chat_words_add(struct ch_chat_words *w, char *word);

/* The same for all sources. */
void ch_chat_sources_offer(struct ch_chat *c, const char *typed, struct ch_chat_words *w);
int ch_chat_sources_attach(struct ch_chat *c, const char *name, struct ch_chat_message *m,
                           struct chela_error *err);
char *ch_chat_sources_expand(struct ch_chat *c, const char *line);

#endif

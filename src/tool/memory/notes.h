/* notes.h -- what was written down, or said, to be known later.
 *
 * Notes are Markdown files of the workspace that people read and write as well:
 * MEMORY.md, for what lasts, and memory/\*.md, one a day. They are read anew for
 * each search: there is no index that could be out of date. Past conversations
 * are asked for from whoever keeps them. Both become passages on a shelf
 * (passage_index.h), which ranks them.
 *
 * Everything here blocks. */
#ifndef CH_TOOL_NOTES_H
#define CH_TOOL_NOTES_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define CH_NOTES_LASTING "MEMORY.md"
#define CH_NOTES_DIR "memory"

struct ch_shelf;

/* Put all notes of a workspace on the shelf, within CH_LIMIT_NOTE_*. */
void ch_notes_read(const char *workspace, struct ch_shelf *out);

/* Past conversations, as somebody of a later layer keeps them. */
struct ch_recall_query {
    const char *text;    /* all of its words have to be there; NULL: the newest texts */
    const char *session; /* in this one; NULL: in all */
    const char *run;     /* what belongs to this run is left out; NULL: nothing is */
    size_t limit;
};
struct ch_recalled {
    const char *session;
    uint64_t seq;     /* of its record */
    uint64_t turn;    /* of the session, from 1; 0: nobody knows */
    const char *text; /* all of it, or what is around the words, between \x01 and \x02 */
};
/* Returns non-zero to stop. */
typedef int ch_recall_fn(const struct ch_recalled *what, void *to);
struct ch_recall {
    /* Any thread. */
    int (*find)(const struct ch_recall_query *q, ch_recall_fn *fn, void *to, void *user);
    void *user;
};

/* Put on the shelf what was said: the newest texts, and of all others those with
 * the words of the query, or some of them. session and run as above. */
void ch_notes_recall(const struct ch_recall *r, const char *session, const char *run,
                     struct ch_sv query, struct ch_shelf *out);

/* What a search found. */
struct ch_note {
    char *source; /* owned: "memory/2026-11-15.md:3", "session trip, turn 12" */
    char *text;   /* owned: at most CH_LIMIT_NOTE_SHOWN bytes */
};

struct ch_notes { /* zeroed: none */
    struct ch_note *list; /* owned; the best first */
    size_t n, cap;
};

void ch_notes_release(struct ch_notes *n);
bool ch_notes_have(const struct ch_notes *n, struct ch_sv text);
void ch_notes_add(struct ch_notes *n, const char *source, struct ch_sv text); /* copied */

/* The best, one after the other with their sources, in at most max bytes. */
void ch_notes_write(const struct ch_notes *n, size_t max, struct ch_buf *out);

#endif

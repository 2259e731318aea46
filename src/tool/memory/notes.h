/* notes.h -- notes and past conversations as searchable passages.
 *
 * Notes are Markdown files in the workspace that people may edit too: MEMORY.md for lasting
 * facts, and memory/\*.md, one file per day. note_index.h keeps their passages
 * between searches; no index is stored. Past conversations come from the owner of the
 * session store through struct ch_recall. Both become passages of a shelf
 * (passage_index.h), which ranks them.
 *
 * All functions block. */
#ifndef CH_TOOL_NOTES_H
#define CH_TOOL_NOTES_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define CH_NOTES_LASTING "MEMORY.md"
#define CH_NOTES_DIR "memory"

struct ch_shelf;

/* Call fn with the files of notes of a workspace that are not empty, within CH_LIMIT_NOTE_*:
 * name in the workspace, last change in ms since 1970, text. */
typedef void ch_notes_file_fn(const char *path, int64_t ts, struct ch_sv text, void *user);
void ch_notes_files(const char *workspace, ch_notes_file_fn *fn, void *user);

/* The parts of ch_notes_files. _root: a descriptor of the workspace, which the caller closes,
 * or -1. _paths calls fn with the path of each file, in the order of ch_notes_order: MEMORY.md,
 * then the days, newest first. _text appends a file's text, at most CH_LIMIT_NOTE_FILE bytes;
 * nothing if it is no regular file of the workspace, or one of `hide` (as in struct
 * ch_path_guard) under another name. */
typedef void ch_notes_path_fn(const char *path, void *user);
int ch_notes_root(const char *workspace);
void ch_notes_paths(int root, ch_notes_path_fn *fn, void *user);
int ch_notes_order(const char *a, const char *b);
/* Returns the last change in ms. */
int64_t ch_notes_text(int root, const char *path, const char *const *hide, struct ch_buf *out);

/* Search of past conversations, implemented by a higher layer. */
struct ch_recall_query {
    const char *text;    /* all words must occur; NULL: the newest texts */
    const char *session; /* search this session; NULL: all sessions */
    const char *run;     /* exclude this run; NULL: exclude nothing */
    size_t limit;
};
struct ch_recalled {
    const char *session;
    uint64_t seq;     /* seq of the record */
    uint64_t turn;    /* turn in the session, from 1; 0: unknown */
    /* the whole text, or the part around the matched words, which stand between \x01 and
     * \x02 */
    const char *text;
};
/* Returns non-zero to stop. */
typedef int ch_recall_fn(const struct ch_recalled *what, void *to);
struct ch_recall {
    /* Callable from any thread. */
    int (*find)(const struct ch_recall_query *q, ch_recall_fn *fn, void *to, void *user);
    void *user;
};

/* Add past texts to the shelf: the newest texts, and older texts that contain all or some
 * words of the query. session and run as in struct ch_recall_query. */
void ch_notes_recall(const struct ch_recall *r, const char *session, const char *run,
                     struct ch_sv query, struct ch_shelf *out);

/* One search result. */
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

/* Append the best notes with their sources, at most max bytes. */
void ch_notes_write(const struct ch_notes *n, size_t max, struct ch_buf *out);

#endif

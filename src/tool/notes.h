/* notes.h -- what was written down to be known later.
 *
 * Notes are Markdown files of the workspace that people read and write as well:
 * MEMORY.md, for what lasts, and memory/\*.md, one a day. They are cut into
 * passages at headings and blank lines and ranked by their words (bm25.h), read
 * anew for each search: there is no index that could be out of date. Past
 * conversations are asked for from whoever keeps them.
 *
 * Everything here blocks. */
#ifndef CH_TOOL_NOTES_H
#define CH_TOOL_NOTES_H
#include <stdint.h>

#include "base/buf.h"

#define CH_NOTES_LASTING "MEMORY.md"
#define CH_NOTES_DIR "memory"

struct ch_note {
    char *source; /* owned: "memory/2026-11-15.md:3", "session trip, record 12" */
    char *text;   /* owned: at most CH_LIMIT_NOTE_SHOWN bytes */
    float score;
};

struct ch_notes { /* zeroed: none */
    struct ch_note *list; /* owned; the best first */
    size_t n, cap;
};

void ch_notes_release(struct ch_notes *n);

/* Append the passages that suit best. */
void ch_notes_search(const char *workspace, struct ch_sv query, size_t limit,
                     struct ch_notes *out);

/* Past conversations, as somebody of a later layer keeps them. */
typedef int ch_recall_fn(const char *session, uint64_t record, const char *excerpt, void *to);
struct ch_recall {
    /* Places where all words of text occur; in one session, or in all if that is
     * NULL. fn returns non-zero to stop. Any thread. */
    int (*search)(const char *text, const char *session, size_t limit, ch_recall_fn *fn, void *to,
                  void *user);
    void *user;
};

/* Append what was said about it: places with all of its words, then those with
 * most of them. */
void ch_notes_recall(const struct ch_recall *r, const char *session, struct ch_sv query,
                     size_t limit, struct ch_notes *out);

/* The best, one after the other with their sources, in at most max bytes. */
void ch_notes_write(const struct ch_notes *n, size_t max, struct ch_buf *out);

#endif

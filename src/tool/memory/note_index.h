/* note_index.h -- the notes of a workspace as passages, kept between searches.
 *
 * A search compares the size, the inode and the time of the last change of each file with
 * those of the search before, and reads only files that differ. Passages of files that were
 * changed or removed stay in the index, marked as gone, until they are too many; the index is
 * then made anew. The index belongs to one workspace at a time. */
#ifndef CH_TOOL_NOTE_INDEX_H
#define CH_TOOL_NOTE_INDEX_H
#include <stddef.h>

struct ch_note_index;
struct ch_shelf;

struct ch_note_index *ch_note_index_new(void);
void ch_note_index_free(struct ch_note_index *x); /* NULL is a no-op */

/* Read the changed notes, and lock the passages for the caller until _unlock. hide: as for
 * ch_notes_text. Blocks; callable from any thread. */
struct ch_shelf *ch_note_index_lock(struct ch_note_index *x, const char *workspace,
                                    const char *const *hide);
void ch_note_index_unlock(struct ch_note_index *x);

/* Number of files read since the index was made, for tests and benchmarks. */
size_t ch_note_index_reads(const struct ch_note_index *x);

#endif

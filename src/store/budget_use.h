/* budget_use.h -- notes of a store that hold the use of budgets.
 *
 * A note belongs to one process, one day (UTC) and one counter. A counter is the use of a
 * budget. If every agent, channel or sender has a separate budget, each of them has a
 * counter. Only its process writes a note, so the use of a counter is the sum of the notes
 * of all processes. */
#ifndef CH_STORE_BUDGET_USE_H
#define CH_STORE_BUDGET_USE_H
#include "base/arena.h"
#include "base/buf.h"
#include "chela/store.h"

#define CH_BUDGET_NOTE "budget/" /* prefix of the ids: budget/DAY/COUNTER/PROCESS */
#define CH_BUDGET_DAY_MS 86400000LL

/* Identifies the counter of a budget and of the agent, channel or sender `of`. */
uint64_t ch_budget_counter(const char *name, struct ch_sv of);
/* The id of a note; day: days since 1970. */
void ch_budget_note_id(struct ch_buf *out, int64_t day, uint64_t counter, const char *process);
/* The data of a note. */
void ch_budget_note_write(struct ch_buf *out, const struct chela_budget_use *use);

struct ch_budget_note {
    int64_t day;
    uint64_t counter;
    const char *process;         /* part of the id */
    struct chela_budget_use use; /* texts are in the arena */
};
/* Reads a note. False: the note is not about a budget, or its data is malformed. */
bool ch_budget_note_read(const struct chela_store_item *i, struct ch_arena *a,
                         struct ch_budget_note *out);

#endif

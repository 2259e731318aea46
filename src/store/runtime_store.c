/* runtime_store.c -- gives a runtime its store; see chela/store.h. */
#include <string.h>

#include "agent/handle/guarded_files.h"
#include "agent/handle/runtime.h"
#include "agent/journal/journal.h"
#include "base/choice.h"
#include "base/error.h"
#include "io/loop_entry.h"
#include "store/writer.h"

int chela_runtime_store(chela_runtime *rt, chela_store *store, enum chela_durability durability,
                        struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    CH_NEEDS(store, err);
    bool turn = durability == CHELA_DURABILITY_TURN;
    int rc = ch_choice_check(CHELA_CHOICE_DURABILITY, durability, err);

    if (rc < 0)
        return rc;
    if (rt->journal)
        return ch_fail(err, CHELA_EEXIST, "this runtime already has a store");
    if (strncmp(store->url, "sqlite:", 7) == 0)
        ch_runtime_hide_database(rt, store->url + 7);
    rt->journal = ch_writer_new(rt->loop, store);
    rt->journal->gate = turn ? CH_SYNC_COMMIT : CH_SYNC_DISK;
    rt->journal->end = turn ? CH_SYNC_DISK : CH_SYNC_TOLD;
    return 0;
}

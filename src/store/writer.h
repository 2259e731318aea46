/* writer.h -- a runtime's journal: one thread writes for all sessions. */
#ifndef CH_STORE_WRITER_H
#define CH_STORE_WRITER_H
#include "store/store.h"

struct ch_journal *ch_writer_new(struct ch_loop *loop, chela_store *store);

#endif

/* module.c -- libchela-store-sqlite.so: sessions in one SQLite file. */
#include "chela/sys/module.h"
#include "store/sqlite/change.h"
#include "store/sqlite/db.h"
#include "store/sqlite/feed.h"
#include "store/sqlite/identity.h"
#include "store/sqlite/read.h"
#include "store/sqlite/search.h"

static const struct chela_store_ops ops = {
    .name = "sqlite",
    .open = ch_sqlite_open,
    .close = ch_sqlite_close,
    .commit = ch_sqlite_commit,
    .open_session = ch_sqlite_open_session,
    .session = ch_sqlite_session,
    .list = ch_sqlite_list,
    .records = ch_sqlite_records,
    .items = ch_sqlite_items,
    .waiting = ch_sqlite_waiting,
    .kept = ch_sqlite_kept,
    .hear = ch_sqlite_hear,
    .search = ch_sqlite_search,
    .index = ch_sqlite_index,
    .check = ch_sqlite_check,
    .scan = ch_sqlite_scan,
    .identity = ch_sqlite_identity,
    .purge = ch_sqlite_purge,
};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "store-sqlite", "store", &ops};

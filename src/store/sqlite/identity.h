/* identity.h -- whether the file is still the one that was opened.
 *
 * The table `identity` names the database and its epoch. Each process that writes has a row in
 * `writers`, whose number each of its transactions raises. A file that was emptied, replaced or
 * restored has another name, another epoch, or an older number: the process writes nothing more. */
#ifndef CH_STORE_SQLITE_IDENTITY_H
#define CH_STORE_SQLITE_IDENTITY_H
#include "store/sqlite/db.h"

/* Reads the identity of a file that was just opened for writing. */
int ch_sqlite_identify(struct chela_store_db *db, struct chela_error *err);
/* CHELA_EPROTO: the file was removed, or another one has its name. Before a transaction. */
int ch_sqlite_check_file(struct chela_store_db *db, struct chela_error *err);
/* Checks the identity and raises the mark, in a transaction; on failure rolls back. */
int ch_sqlite_raise_mark(struct chela_store_db *db, struct chela_error *err);
/* The transaction is committed. */
void ch_sqlite_mark_committed(struct chela_store_db *db);
/* Checks file and identity, without a transaction. */
int ch_sqlite_verify(struct chela_store_db *db, struct chela_error *err);
/* See the vtable. */
int ch_sqlite_identity(struct chela_store_db *db, int raise, struct chela_store_identity *inout,
                       struct chela_error *err);

#endif

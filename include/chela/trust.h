/* trust.h -- the record of the configuration files that a user trusts.
 *
 * A file counts by its path (the real directory and the name) and by a digest of
 * its options that decide anything (chela_config_claims), so that an edit of one
 * of them ends the trust. The digest is that of the parsed configuration: what
 * was checked is what is used, whatever happens to the file meanwhile.
 *
 * The record is a directory with one file for each path. It must belong to the
 * user and be writable by nobody else; it is made with mode 0700, its files with
 * 0600. Changes are atomic. Calls block. */
#ifndef CHELA_TRUST_H
#define CHELA_TRUST_H
#include <stdint.h>

#include "chela/config.h"
CHELA_BEGIN_DECLS

/* 0: trusted. CHELA_ENOENT: there is no record. CHELA_ESTATE: there is one, of
 * other options. Any other error: the record cannot be read or believed. */
CHELA_API int chela_trust_check(const char *dir, const chela_config *cfg, struct chela_error *err);

/* Record the file. Makes dir, whose parent must exist. */
CHELA_API int chela_trust_add(const char *dir, const chela_config *cfg, struct chela_error *err);

/* Forget a file. CHELA_ENOENT: it was not trusted. */
CHELA_API int chela_trust_remove(const char *dir, const char *file, struct chela_error *err);

/* What differs from the record: change is 1 for an option that is new or has a new
 * value, -1 for one that is gone or had another value. Without a record every
 * option is new. Texts are borrowed for the call. */
typedef void chela_trust_change_fn(int change, const char *kind, const char *key,
                                   const char *value, void *user);
CHELA_API int chela_trust_compare(const char *dir, const chela_config *cfg,
                                  chela_trust_change_fn *fn, void *user, struct chela_error *err);

struct chela_trusted {
    const char *path, *digest; /* hexadecimal */
    int64_t ts;                /* ms, wall clock: since when */
};
/* In no order; a value of fn other than 0 ends the list. Records that cannot be
 * read are left out. */
typedef int chela_trusted_fn(const struct chela_trusted *t, void *user);
CHELA_API int chela_trust_list(const char *dir, chela_trusted_fn *fn, void *user,
                               struct chela_error *err);

CHELA_END_DECLS
#endif

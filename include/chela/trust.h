/* trust.h -- the record of the configuration files that a user trusts.
 *
 * A file is identified by its path: the real path of its directory, and its name. The record
 * holds a digest of the sensitive options (chela_config_claims), so that an edit of
 * one of them ends the trust. It also covers the content of the programs that the file names and
 * that lie in its directory or in a workspace; tools of a trusted configuration compare the
 * programs before they run them. The digest is that of the parsed configuration: the options that
 * were checked are the options that are used, even if the file changes meanwhile.
 *
 * The record is a directory, `dir`, with one file for each path. The directory has mode 0700
 * and its files have mode 0600. A record that belongs to another user, or that others can
 * write, is refused. Changes are atomic. The functions wait for the disk.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts are borrowed until fn returns.
 *   Threads: any, one at a time
 *   Callbacks: yes
 *   Errors: CHELA_EPERM: the record is refused. CHELA_EIO, CHELA_EPARSE, CHELA_ELIMIT: the
 *   record cannot be read or written */
#ifndef CHELA_TRUST_H
#define CHELA_TRUST_H
#include <stdint.h>

#include "chela/config.h"
CHELA_BEGIN_DECLS

/* Whether the user trusts the file of cfg: 0 if so.
 * Errors: also CHELA_ENOENT: there is no record of the file. CHELA_ESTATE: the file was trusted
 * with other options. */
CHELA_API int chela_trust_check(const char *dir, const chela_config *cfg, struct chela_error *err);

/* Record that the user trusts the file of cfg. Creates dir if needed, but not its parent.
 * Errors: also CHELA_ENOENT: the parent of dir does not exist. */
CHELA_API int chela_trust_add(const char *dir, const chela_config *cfg, struct chela_error *err);

/* Remove the record of a file.
 * Errors: also CHELA_ENOENT: the file is not trusted. */
CHELA_API int chela_trust_remove(const char *dir, const char *file, struct chela_error *err);

/* Record that the user trusts the directory of a workspace (NULL: the current one) with the
 * allowed-tools of its skills (docs/skills.md), and pass each list to fn, which may be NULL: kind,
 * skill and tools. An edit of a list, or another skill with a list, ends the trust. Skills of the
 * user in `folders` (NULL-terminated; may be NULL) are not part of the record. The record has the
 * path WORKSPACE/skills.
 * Errors: also CHELA_ENOENT: there is no such directory, or no skill has such a list. */
CHELA_API int chela_trust_skills_add(const char *dir, const char *workspace,
                                     const char *const *folders, chela_config_claim_fn *fn,
                                     void *user, struct chela_error *err);

/* Agents of this workspace (NULL: the current directory) that are created afterwards let active
 * skills use their allowed-tools without approval, if the user trusts the workspace with these
 * lists.
 * Threads: loop
 * Errors: also CHELA_ENOENT: there is no record of the workspace. */
CHELA_API int chela_trust_skills(const char *dir, const char *workspace, chela_runtime *rt,
                                 struct chela_error *err);

/* Receives a difference. change is 1 for an option that is new or has a new value, and -1 for
 * one that is gone or had another value. */
typedef void chela_trust_change_fn(int change, const char *kind, const char *key,
                                   const char *value, void *user);

/* Compare the sensitive options of the file with the record. Without a record, or with dir
 * NULL, every option is new. */
CHELA_API int chela_trust_compare(const char *dir, const chela_config *cfg,
                                  chela_trust_change_fn *fn, void *user, struct chela_error *err);

/* A trusted file. */
struct chela_trusted {
    const char *path, *digest; /* the digest in hexadecimal */
    int64_t ts;                /* milliseconds since 1970: time of the decision */
};
/* Receives trusted files. A result other than 0 ends the listing. */
typedef int chela_trusted_fn(const struct chela_trusted *t, void *user);

/* List the trusted files, in no particular order. Files of the record that cannot be read are
 * left out. Returns the result of fn if that ended the listing. */
CHELA_API int chela_trust_list(const char *dir, chela_trusted_fn *fn, void *user,
                               struct chela_error *err);

CHELA_END_DECLS
#endif

/* skill_package.h -- the files of a skill that is to be installed, from a folder or a tar
 * archive.
 *
 * The source is a stranger's. Links, devices, paths that lead out, and more files or bytes than
 * the limits are refused, before anything is written. Nothing is executed, except gzip(1) to
 * decompress. Blocks. */
#ifndef CH_PROMPT_SKILL_PACKAGE_H
#define CH_PROMPT_SKILL_PACKAGE_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/sha256.h"
#include "chela/error.h"

#define CH_SKILL_RECORD ".chela-skill.json" /* records the content and the source of an installed
                                             * skill */

struct ch_package_file {
    const char *path; /* relative, without ".." */
    struct ch_sv data;
    bool runs; /* executable */
};

struct ch_package { /* zeroed: empty */
    struct ch_arena arena;
    struct ch_package_file *files; /* owned; sorted by path */
    size_t n, cap, bytes;
    const char *name; /* of the skill */
    const char *description;
    const char *const *tools; /* its allowed-tools (skill_file.h) */
    char digest[2 * CH_SHA256_SIZE + 1];
};

/* The path of a file below the skill's folder: relative, of plain names; nothing that leads out
 * of the folder or hides in a terminal. */
bool ch_package_path_is_safe(struct ch_sv path);
int ch_package_read(struct ch_package *p, const char *from, struct chela_error *err);
/* Add the files of a tar archive, which is in memory. */
int ch_package_tar(struct ch_package *p, struct ch_sv archive, struct chela_error *err);
void ch_package_release(struct ch_package *p);

#endif

/* entry_type.h -- the type of a directory entry. A header alone: the sandbox program uses the
 * function without the error texts of file.c. */
#ifndef CH_BASE_ENTRY_TYPE_H
#define CH_BASE_ENTRY_TYPE_H
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

/* The type of an entry of the open directory dir: DT_DIR and others; DT_UNKNOWN only if the entry
 * cannot be looked at. */
static inline unsigned char ch_entry_type(int dir, const struct dirent *e) {
    struct stat st;
    return e->d_type == DT_UNKNOWN && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0
               ? IFTODT(st.st_mode)
               : e->d_type;
}

#endif

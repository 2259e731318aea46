/* walk.h -- compares the upper directory of an overlay with the tree that it covers.
 *
 * Overlayfs writes a removed name as a character device 0:0, and marks a directory that hides the
 * one below with the attribute user.overlay.opaque. No link is followed. */
#ifndef CH_LAYER_WALK_H
#define CH_LAYER_WALK_H
#include <sys/stat.h>

#include "base/buf.h"
#include "chela/error.h"

/* A name that differs. Removed directories follow the names in them, new ones precede them. A
 * directory that both trees have is reported, too. */
struct ch_layer_node {
    const char *path;                 /* relative */
    const struct stat *upper, *lower; /* NULL: the name does not exist there */
    int udir, ldir;                   /* directories that hold the name; -1: none */
    const char *name;
};

/* Returns 0, or < 0 to end the walk. */
typedef int ch_layer_node_fn(const struct ch_layer_node *node, void *user);

/* Walks below two open directories. CHELA_ELIMIT: the tree is too deep. CHELA_EIO: a directory
 * cannot be read. */
int ch_layer_walk(int upper, int lower, ch_layer_node_fn *fn, void *user, struct chela_error *err);

/* The names in an open directory, sorted, without "." and "..". */
struct ch_layer_names {
    char **v; /* owned */
    size_t n, cap;
};
int ch_layer_names_read(int dir, struct ch_layer_names *out);
void ch_layer_names_free(struct ch_layer_names *names);

bool ch_layer_is_whiteout(const struct stat *st);
/* True if an open directory of the upper tree hides the directory below. */
bool ch_layer_is_opaque(int dir);

/* Copies the rest of an open file to another one. Returns 0 or -errno. */
int ch_layer_copy_bytes(int from, int to);

/* Removes a name and everything below. Returns 0 or -errno. */
int ch_layer_erase(int dir, const char *name);

#endif

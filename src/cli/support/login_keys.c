/* login_keys.c -- see login_keys.h. */
#include "cli/support/login_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/state_path.h"

enum { MOST_NAME = 64, MOST_KEY = 4096 };

struct kept {
    struct kept *next;
    char *name, *key; /* owned; key NULL: none is kept */
};

struct ch_login_keys {
    const struct ch_env *env; /* borrowed */
    struct kept *list;        /* owned */
};

static bool keys_is_variable(const char *name) {
    size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 2 && n <= MOST_NAME && !name[n];
}

char *ch_login_keys_path(const struct ch_env *env, const char *variable) {
    if (!keys_is_variable(variable) || (!env->config_home && !env->home))
        return NULL;
    return env->config_home ? ch_format("%s/chela/secrets/%s", env->config_home, variable)
                            : ch_format("%s/.config/chela/secrets/%s", env->home, variable);
}

struct ch_login_keys *ch_login_keys_new(const struct ch_env *env) {
    struct ch_login_keys *keys = ch_must(calloc(1, sizeof(*keys)));
    keys->env = env;
    return keys;
}

static void keys_wipe(char *text) {
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void ch_login_keys_free(struct ch_login_keys *keys) {
    while (keys && keys->list) {
        struct kept *k = keys->list;
        keys->list = k->next;
        free(k->name);
        keys_wipe(k->key);
        free(k);
    }
    free(keys);
}

/* The first line of a file that only its owner can read; NULL: there is no such file. */
static char *keys_read(const char *path) {
    char text[MOST_KEY + 1];
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    bool mine = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                (st.st_mode & 077) == 0;
    ssize_t n = mine ? read(fd, text, MOST_KEY) : -1;
    close(fd);
    if (n <= 0)
        return NULL;
    text[n] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    char *key = *text ? ch_dup(text) : NULL;
    explicit_bzero(text, sizeof(text));
    return key;
}

const char *ch_login_keys_find(struct ch_login_keys *keys, const char *variable) {
    for (const struct kept *k = keys->list; k; k = k->next)
        if (strcmp(k->name, variable) == 0)
            return k->key;
    char *path = ch_login_keys_path(keys->env, variable);
    if (!path)
        return NULL;
    struct kept *k = ch_must(calloc(1, sizeof(*k)));
    *k = (struct kept){keys->list, ch_dup(variable), keys_read(path)};
    keys->list = k;
    free(path);
    return k->key;
}

static int keys_fail(struct chela_error *err, const char *path) {
    return ch_problem(err, CHELA_EIO, "%s: %s", path, strerror(errno));
}

static bool keys_fill(int fd, const char *key) {
    return fchmod(fd, 0600) == 0 && dprintf(fd, "%s\n", key) > 0 && fsync(fd) == 0;
}

int ch_login_keys_write(const struct ch_env *env, const char *variable, const char *key,
                  struct chela_error *err) {
    char *path = ch_login_keys_path(env, variable);
    if (!path)
        return ch_problem(err, CHELA_EINVAL, "there is no place for the key: HOME is not set");
    char *draft = ch_format("%s.XXXXXX", path);
    int rc = ch_state_make_parents(draft, err), fd = rc == 0 ? mkostemp(draft, O_CLOEXEC) : -1;
    if (rc == 0 && fd < 0)
        rc = keys_fail(err, draft);
    if (rc == 0 && (!keys_fill(fd, key) || rename(draft, path) < 0)) {
        rc = keys_fail(err, path);
        unlink(draft);
    }
    if (fd >= 0)
        close(fd);
    free(draft);
    free(path);
    return rc;
}

int ch_login_keys_remove(const struct ch_env *env, const char *variable, struct chela_error *err) {
    char *path = ch_login_keys_path(env, variable);
    int rc = CHELA_OK;
    if (!path || (unlink(path) < 0 && errno == ENOENT))
        rc = ch_problem(err, CHELA_ENOENT, "no key is kept for %s", variable);
    else if (access(path, F_OK) == 0)
        rc = keys_fail(err, path);
    free(path);
    return rc;
}

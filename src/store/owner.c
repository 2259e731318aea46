/* owner.c -- see owner.h.
 *
 * The text is "HOST BOOT NAMESPACE PID START NONCE [gateway]". A process of the
 * same boot and the same pid namespace can therefore tell whether the holder is
 * alive, and whether it is stopped. A session whose process was killed can be
 * opened at once. A session whose process works stays locked, even if the clock
 * was changed. All other processes wait until the lease expires. */
#include "store/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "store/store.h"

struct owner {
    char host[65], boot[40], space[40], pid[16], start[24];
};

/* Read the first word of a file. */
static void owner_read_word(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);

    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, " \n")] = '\0';
}

/* Field 22 of /proc/PID/stat. The name in field 2 may contain any character and
 * ends with the last ')'. *out is "" if there is no such process, or only a
 * zombie. *state: field 3; may be NULL. False: the process exists but cannot be
 * inspected. */
static bool start_time(const char *pid, char *out, size_t size, char *state) {
    char path[64], text[1024];
    int fd;

    out[0] = '\0';
    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        return kill((pid_t)strtol(pid, NULL, 10), 0) < 0 && errno == ESRCH;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    char *at = strrchr(text, ')');
    if (at && (at[1] == '\0' || strchr("ZXx", at[2])))
        return true;
    if (at && state)
        *state = at[2];
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at)
        snprintf(out, size, "%.*s", (int)strcspn(at + 1, " "), at + 1);
    return true;
}

static void owner_identify(struct owner *o) {
    struct utsname name;

    snprintf(o->host, sizeof(o->host), "%s", uname(&name) == 0 ? name.nodename : "?");
    for (char *c = o->host; *c; c++)
        if (*c == ' ')
            *c = '_';
    owner_read_word("/proc/sys/kernel/random/boot_id", o->boot, sizeof(o->boot));
    ssize_t n = readlink("/proc/self/ns/pid", o->space, sizeof(o->space) - 1);
    o->space[n > 0 ? n : 0] = '\0';
    snprintf(o->pid, sizeof(o->pid), "%ld", (long)getpid());
    start_time("self", o->start, sizeof(o->start), NULL);
}

void ch_owner_make(struct ch_buf *out) {
    struct owner o;
    uint64_t nonce;

    if (getrandom(&nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
        abort();
    owner_identify(&o);
    ch_buf_addf(out, "%s %s %s %s %s %016llx", *o.host ? o.host : "?", *o.boot ? o.boot : "?",
                *o.space ? o.space : "?", o.pid, *o.start ? o.start : "?",
                (unsigned long long)nonce);
}

static bool owner_parse(const char *text, struct owner *o) {
    return sscanf(text, "%64s %39s %39s %15s %23s", o->host, o->boot, o->space, o->pid,
                  o->start) == 5;
}

enum life { UNKNOWN, LIVES, STOPPED, DEAD };

static enum life owner_look_at(const char *text) {
    struct owner other, me;
    char start[24], state = 0;

    if (!owner_parse(text, &other))
        return UNKNOWN;
    owner_identify(&me);
    if (strcmp(other.boot, me.boot) != 0 || strcmp(other.space, me.space) != 0 || !*me.boot ||
        !*me.space || strcmp(other.start, "?") == 0)
        return UNKNOWN;
    if (!start_time(other.pid, start, sizeof(start), &state))
        return UNKNOWN;
    if (strcmp(start, other.start) != 0)
        return DEAD;
    return state == 'T' || state == 't' ? STOPPED : LIVES;
}

bool ch_owner_is_same(const char *a, const char *b) {
    struct owner x = {0}, y = {0};
    if (!owner_parse(a, &x) || !owner_parse(b, &y))
        return strcmp(a, b) == 0;
    return strcmp(x.host, y.host) == 0 && strcmp(x.boot, y.boot) == 0 &&
           strcmp(x.space, y.space) == 0 && strcmp(x.pid, y.pid) == 0 &&
           strcmp(x.start, y.start) == 0;
}

bool ch_owner_serves(const char *owner) {
    size_t n = strlen(owner), end = strlen(CH_OWNER_SERVES);
    return n >= end && strcmp(owner + n - end, CH_OWNER_SERVES) == 0;
}

bool ch_owner_is_held(const char *owner) {
    return strcmp(owner, CH_OWNER_HELD) == 0;
}

bool ch_owner_is_dead(const char *text) {
    return owner_look_at(text) == DEAD;
}

bool ch_owner_lives(const char *text) {
    enum life life = owner_look_at(text);
    return life == LIVES || life == STOPPED;
}

bool ch_owner_is_stopped(const char *text) {
    return owner_look_at(text) == STOPPED;
}

void ch_owner_show(const char *text, struct ch_buf *out) {
    struct owner o;

    if (ch_owner_is_held(text))
        ch_buf_add_str(out, "nobody, and waits since the store was restored: `chela sessions "
                            "recover` lists and releases it");
    else if (owner_parse(text, &o))
        ch_buf_addf(out, "process %s on %s", o.pid, o.host);
    else
        ch_buf_add_str(out, *text ? "another process" : "nobody");
}

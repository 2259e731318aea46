/* zone_file.c -- see zone_file.h. */
#include "base/zone_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/calendar.h"
#include "base/limits.h"
#include "base/zone.h"

static const char *const directories[] = {"/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                          "/usr/share/lib/zoneinfo"};

int ch_zone_database(void) {
    for (size_t i = 0; i < CH_LEN(directories); i++) {
        int fd = open(directories[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    return -errno;
}

/* Closes fd. */
static struct ch_zone *zone_file_read(int fd) {
    CH_BUF_AUTO data = {0};

    if (fd < 0)
        return NULL;
    char *at = ch_buf_reserve(&data, CH_LIMIT_ZONE_FILE + 1);
    ssize_t n = read(fd, at, CH_LIMIT_ZONE_FILE + 1);
    close(fd);
    ch_buf_commit(&data, n > 0 ? (size_t)n : 0);
    return ch_zone_parse(ch_buf_sv(&data));
}

/* "America/New_York": letters, digits and the punctuation that zone names use. */
static bool zone_file_is_name(const char *s) {
    size_t n = strlen(s);

    if (n == 0 || n > CH_LIMIT_TOOL_NAME || s[0] == '/' || strstr(s, ".."))
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && !strchr("/_+-", c))
            return false;
    }
    return true;
}

struct ch_zone *ch_zone_read(int database, const char *name) {
    return zone_file_is_name(name)
               ? zone_file_read(openat(database, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC))
               : NULL;
}

bool ch_zone_offset(struct ch_sv name, int *offset) {
    *offset = 0;
    if (ch_sv_is(name, "UTC") || ch_sv_is(name, "utc") || ch_sv_is(name, "Z"))
        return true;
    if (ch_sv_starts(name, "UTC") || ch_sv_starts(name, "GMT"))
        name = ch_sv(name.p + 3, name.n - 3);
    return ch_offset_read(name, offset);
}

static struct ch_zone *zone_file_load_named(const char *name) {
    int database = ch_zone_database();
    struct ch_zone *z = database < 0 ? NULL : ch_zone_read(database, name);

    if (database >= 0)
        close(database);
    return z;
}

struct ch_zone *ch_zone_load(const char *name) {
    int offset;

    if (!name)
        return zone_file_read(open(CH_ZONE_LOCAL, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    return ch_zone_offset(ch_sv_str(name), &offset) ? ch_zone_fixed(offset)
                                                    : zone_file_load_named(name);
}

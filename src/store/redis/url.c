/* url.c -- parse redis://[USER[:PASSWORD]@]HOST[:PORT][/NUMBER][?ttl=30d&...].
 *
 * Parameters: ttl (seconds, or with a unit s m h d: how long an unchanged
 * session is kept), prefix (of all keys), password_file (the password is its
 * first line; command lines are visible to other users). Messages contain no
 * part of the URL, since in a malformed URL a password may be anywhere. */
#include "store/redis/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/redis/db.h"

#define TTL_MIN 60
#define TTL_MAX (100LL * 365 * 86400)
#define PREFIX_MAX 64

static int redis_url_bad(struct chela_error *err, const char *what) {
    return ch_fail(err, CHELA_EINVAL,
                   "store redis://...: %s; expected "
                   "redis://USER:PASSWORD@HOST:PORT/NUMBER?ttl=30d&prefix=NAME:, with "
                   "other signs in a password written as %%XX",
                   what);
}

static int redis_url_hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* NULL: invalid escapes. */
static char *redis_url_decode(struct ch_sv s) {
    CH_BUF_AUTO out = {0};

    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? redis_url_hex(s.p[i + 1]) : -1;
        int low = high >= 0 ? redis_url_hex(s.p[i + 2]) : -1;
        if (s.p[i] == '%' && (low < 0 || (high == 0 && low == 0)))
            return NULL;
        ch_buf_addc(&out, low >= 0 ? (char)(high * 16 + low) : s.p[i]);
        i += low >= 0 ? 2 : 0;
    }
    return ch_buf_take(&out);
}

static bool redis_url_number_of(struct ch_sv s, long long min, long long max, long long *out) {
    long long n = 0;

    if (s.n == 0 || s.n > 15)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        n = n * 10 + (s.p[i] - '0');
    }
    *out = n;
    return n >= min && n <= max;
}

/* --- parts ---------------------------------------------------------------------- */

static int parse_login(struct ch_sv login, struct ch_redis_url *u, struct chela_error *err) {
    struct ch_sv rest = login, user = ch_sv_split(&rest, ':');

    ch_free(u->user);
    ch_free(u->password);
    u->user = redis_url_decode(user);
    u->password = redis_url_decode(rest);
    return u->user && u->password ? 0 : redis_url_bad(err, "the user or the password");
}

/* Accepts [::1]:6379, host:6379, host. */
static int parse_address(struct ch_sv at, struct ch_redis_url *u, struct chela_error *err) {
    struct ch_sv rest = at, host;
    long long port = 6379;

    if (at.n && at.p[0] == '[') {
        rest = ch_sv(at.p + 1, at.n - 1);
        host = ch_sv_split(&rest, ']');
        if (!rest.p || (rest.n && rest.p[0] != ':'))
            return redis_url_bad(err, "the host");
        rest = rest.n ? ch_sv(rest.p + 1, rest.n - 1) : ch_sv(NULL, 0);
    } else {
        host = ch_sv_split(&rest, ':');
    }
    if (memchr(host.p, '@', host.n) || host.n > 255)
        return redis_url_bad(err, "the host");
    if (rest.p && !redis_url_number_of(rest, 1, 65535, &port))
        return redis_url_bad(err, "the port");
    u->host = host.n ? ch_strndup(host.p, host.n) : ch_strdup("127.0.0.1");
    u->port = (int)port;
    return 0;
}

static int parse_ttl(struct ch_sv value, struct ch_redis_url *u, struct chela_error *err) {
    static const char units[] = "smhd";
    static const int seconds[] = {1, 60, 3600, 86400};
    const char *unit = value.n ? strchr(units, value.p[value.n - 1]) : NULL;
    long long n;

    if (unit)
        value.n--;
    if (!redis_url_number_of(value, 1, TTL_MAX, &n))
        return redis_url_bad(err, "ttl is a number of seconds, or one with s, m, h or d");
    u->ttl = n * (unit ? seconds[unit - units] : 1);
    return u->ttl >= TTL_MIN && u->ttl <= TTL_MAX
               ? 0
               : redis_url_bad(err, "ttl is a minute at least and a hundred years at most");
}

static int parse_prefix(struct ch_sv value, struct ch_redis_url *u, struct chela_error *err) {
    for (size_t i = 0; i < value.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:",
                    value.p[i]))
            return redis_url_bad(err, "prefix holds letters, digits and _ - . :");
    if (value.n == 0 || value.n > PREFIX_MAX)
        return redis_url_bad(err, "prefix has 1 to 64 bytes");
    ch_free(u->prefix);
    u->prefix = ch_strndup(value.p, value.n);
    return 0;
}

static int read_password(struct ch_sv value, struct ch_redis_url *u, struct chela_error *err) {
    CH_AUTOFREE char *path = redis_url_decode(value);
    char line[1024];

    if (!path || !*path)
        return redis_url_bad(err, "password_file");
    FILE *f = fopen(path, "re");
    if (!f || !fgets(line, sizeof(line), f)) {
        int failed = f ? 0 : errno;
        if (f)
            fclose(f);
        return ch_fail(err, CHELA_EAUTH, "store redis://...: password_file %s: %s", path,
                       failed ? strerror(failed) : "it is empty");
    }
    fclose(f);
    line[strcspn(line, "\r\n")] = '\0';
    ch_free(u->password);
    u->password = ch_strdup(line);
    return 0;
}

static int parse_parameters(struct ch_sv rest, struct ch_redis_url *u, struct chela_error *err) {
    int rc = 0;

    while (rc == 0 && rest.n) {
        struct ch_sv value = ch_sv_split(&rest, '&'), name = ch_sv_split(&value, '=');
        if (ch_sv_is(name, "ttl"))
            rc = parse_ttl(value, u, err);
        else if (ch_sv_is(name, "prefix"))
            rc = parse_prefix(value, u, err);
        else if (ch_sv_is(name, "password_file"))
            rc = read_password(value, u, err);
        else
            rc = redis_url_bad(err, "a parameter that is not known");
    }
    return rc;
}

int ch_redis_url_parse(const char *text, struct ch_redis_url *u, struct chela_error *err) {
    struct ch_sv rest = ch_sv_str(text), scheme = ch_sv_split(&rest, ':');
    long long number = 0;

    if (ch_sv_is(scheme, "rediss"))
        return ch_fail(err, CHELA_EINVAL,
                       "store rediss://...: TLS to Redis is not supported; use redis:// to a "
                       "tunnel on this machine (stunnel, spiped, ssh -L)");
    if (rest.n < 2 || rest.p[0] != '/' || rest.p[1] != '/')
        return redis_url_bad(err, "the beginning");
    rest = ch_sv(rest.p + 2, rest.n - 2);
    u->user = ch_strdup("");
    u->password = ch_strdup("");
    u->prefix = ch_strdup("chela:");
    struct ch_sv parameters = rest, path = ch_sv_split(&parameters, '?');
    struct ch_sv index = path, address = ch_sv_split(&index, '/');
    const char *sign = memchr(address.p, '@', address.n);
    int rc = 0;
    if (sign) {
        rc = parse_login(ch_sv(address.p, (size_t)(sign - address.p)), u, err);
        address = ch_sv(sign + 1, address.n - (size_t)(sign + 1 - address.p));
    }
    if (rc == 0)
        rc = parse_address(address, u, err);
    if (rc == 0 && index.n && !redis_url_number_of(index, 0, 1000000, &number))
        rc = redis_url_bad(err, "the database, which is a number");
    u->index = (int)number;
    return rc == 0 ? parse_parameters(parameters, u, err) : rc;
}

void ch_redis_url_release(struct ch_redis_url *u) {
    ch_free(u->host);
    ch_free(u->user);
    ch_free(u->password);
    ch_free(u->prefix);
    *u = (struct ch_redis_url){0};
}

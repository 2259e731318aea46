/* address.c -- see address.h. */
#include "config/address.h"

#include "base/mem.h"
#include "guard/secrets.h"

/* Whether a password of the form USER:PASSWORD@HOST begins at p. The password
 * ends at the last @, since an unencoded password may contain one. */
static bool begins_in_userinfo(const char *address, const char *p) {
    const char *user = strstr(address, "://");
    return user && p > user + 3 && p[-1] == ':' && strchr(user + 3, ':') == p - 1;
}

static bool begins_in_query(const char *address, const char *p) {
    static const char name[] = "password=";
    const size_t n = sizeof(name) - 1;
    return (size_t)(p - address) >= n && memcmp(p - n, name, n) == 0;
}

/* The end of the password that begins at p; p itself: no password. */
static const char *end_of_password(const char *address, const char *p) {
    const char *at = strrchr(p, '@');
    if (begins_in_query(address, p))
        return p + strcspn(p, "& ");
    return at && begins_in_userinfo(address, p) ? at : p;
}

void ch_address_show(struct ch_buf *out, const char *address) {
    const char *end = address;
    for (const char *p = address; *p; p++) {
        const char *e = end_of_password(address, p);
        if (e > p && p >= end)
            ch_buf_add_str(out, "***");
        end = e > end ? e : end;
        if (p >= end)
            ch_buf_addc(out, *p);
    }
}

void ch_address_redact(const char *address) {
    for (const char *p = address; *p; p++) {
        const char *end = end_of_password(address, p);
        CH_AUTOFREE char *password = end > p ? ch_strndup(p, (size_t)(end - p)) : NULL;
        ch_secret_add(password, "the password of an address");
    }
}

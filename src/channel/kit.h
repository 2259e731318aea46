/* kit.h -- small helpers for channels that are modules (slack/, discord/). A module links
 * base and json only, so the helpers are inline. kit/ has the larger ones. */
#ifndef CH_CHANNEL_KIT_H
#define CH_CHANNEL_KIT_H
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/chars.h"
#include "base/say.h"
#include "chela/sys/channel.h"
#include "json/json.h"

static inline struct ch_sv ch_kit_sv(struct chela_text t) {
    return ch_sv(t.p, t.n);
}
static inline struct chela_text ch_kit_text(struct ch_sv s) {
    return (struct chela_text){s.p, s.n};
}

/* The value of an option of the channel's own; NULL: not set. */
static inline const char *ch_kit_setting(const struct chela_channel_opts *o, const char *name) {
    for (size_t i = 0; o->settings && o->settings[i]; i += 2)
        if (strcmp(o->settings[i], name) == 0)
            return o->settings[i + 1];
    return NULL;
}

/* CHELA_ECONFIG with the reason. */
static inline int ch_kit_refuse(struct chela_error *err, const char *channel, const char *why) {
    snprintf(err->message, sizeof(err->message), "channel %s: %s", channel, why);
    return err->code = CHELA_ECONFIG;
}

/* Whether a token begins with prefix and can be part of a header. */
static inline bool ch_kit_is_token(const char *token, const char *prefix) {
    if (!token || !*token || strncmp(token, prefix, strlen(prefix)) != 0)
        return false;
    for (; *token; token++)
        if (*token <= ' ' || *token > '~')
            return false;
    return true;
}

/* Whether a URL with this scheme names a loopback address and a port, and nothing before them. */
static inline bool ch_kit_is_near(const char *url, const char *scheme) {
    static const char *const hosts[] = {"127.0.0.1:", "[::1]:"};
    size_t n = strlen(scheme);
    for (size_t i = 0; i < CH_LEN(hosts) && strncmp(url, scheme, n) == 0; i++) {
        const char *port = url + n + strlen(hosts[i]);
        if (strncmp(url + n, hosts[i], strlen(hosts[i])) != 0)
            continue;
        size_t digits = strspn(port, "0123456789");
        return digits && (!port[digits] || port[digits] == '/' || port[digits] == '?');
    }
    return false;
}

/* Whether the URL of an API is encrypted, or on this machine. */
static inline bool ch_kit_is_safe_url(const char *url) {
    return strncmp(url, "https://", 8) == 0 || ch_kit_is_near(url, "http://");
}
/* The same for a WebSocket. */
static inline bool ch_kit_is_safe_socket(const char *url) {
    return strncmp(url, "wss://", 6) == 0 || ch_kit_is_near(url, "ws://");
}

/* Whether a URL has the scheme, the host and the port of another one, in the same spelling. */
static inline bool ch_kit_is_origin(const char *url, const char *base) {
    const char *host = strstr(base, "://");
    size_t n = host ? (size_t)(host - base) + 3 : 0;
    n += strcspn(base + n, "/?#");
    return host && strncmp(url, base, n) == 0 && url[n] == '/';
}

/* A safe URL without slashes at its end, owned by the caller; NULL: it is not safe. */
static inline char *ch_kit_base(const char *url) {
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    return ch_kit_is_safe_url(url) && ch_kit_is_token(url, "") ? ch_strndup(url, n) : NULL;
}

/* The text of a member, without NUL, at most 4,096 bytes, in the arena; NULL: none. */
static inline const char *ch_kit_word(const struct ch_json *v, const char *key,
                                      struct ch_arena *a) {
    struct ch_sv s = ch_json_get_str(v, key);
    return s.n && s.n <= 4096 && !memchr(s.p, 0, s.n) ? ch_arena_str(a, s) : NULL;
}

/* Append how to decide about a call where no buttons are shown. */
static inline void ch_kit_decide(struct ch_buf *out, const char *question, const char *approval) {
    ch_buf_add_str(out, "\n\n");
    ch_say_add(out, CH_SAY_DECIDE_HOW, ch_say_language_of_question(question),
               CH_SAY_VALUES(ch_sv_str(approval)));
}

/* The header Retry-After in milliseconds; 0: none. */
static inline int64_t ch_kit_retry_after(const struct chela_channel_response *r) {
    struct ch_sv s = ch_kit_sv(r->header(r, "retry-after"));
    int64_t n = 0;
    for (size_t i = 0; i < s.n && i < 6 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        n = 10 * n + (s.p[i] - '0');
    return 1000 * n;
}

/* Append a text for a form or a path: all but letters, digits, '-', '_' and '.' as %XX. */
static inline void ch_kit_percent(struct ch_buf *out, const char *text) {
    for (; *text; text++)
        if ((*text >= '0' && *text <= '9') || ((*text | 32) >= 'a' && (*text | 32) <= 'z') ||
            strchr("-_.", *text))
            ch_buf_addc(out, *text);
        else
            ch_buf_addf(out, "%%%02X", (unsigned char)*text);
}

#endif

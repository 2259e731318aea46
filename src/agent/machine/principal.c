/* principal.c -- see principal.h. */
#include "agent/machine/principal.h"

#include "base/limits.h"
#include "base/mem.h"
#include "chela/channel.h"

static const char *const permissions[] = {"admin", "write", "read"};

/* The sender controls the text. */
static char *copy_traceparent(const char *text) {
    return text && strnlen(text, CH_LIMIT_TRACEPARENT + 1) <= CH_LIMIT_TRACEPARENT
               ? ch_strdup(text)
               : NULL;
}

/* Where the input comes from, unless the host says so: a group, where anybody may have written what
 * the message quotes; a person whom the channel lets in; another program. */
static char *labels_of(const struct chela_run_opts *o) {
    const char *type = o->inbound ? o->inbound->chat_type : NULL;

    if (o->labels)
        return ch_strdup(o->labels);
    if (type && strcmp(type, "group") == 0)
        return ch_strdup("group");
    return o->kind == CHELA_INPUT_WEBHOOK ? ch_strdup("stranger")
           : o->channel && o->sender      ? ch_strdup("member")
                                          : NULL;
}

struct ch_principal ch_principal_of(const struct chela_run_opts *o) {
    return (struct ch_principal){.channel = ch_strdup(o->channel),
                                 .sender = ch_strdup(o->sender),
                                 .allow = ch_strdup(o->allow),
                                 .deny = ch_strdup(o->deny),
                                 .approve = o->approve,
                                 .permission = o->permission,
                                 .labels = labels_of(o),
                                 .traceparent = copy_traceparent(o->traceparent)};
}

void ch_principal_release(struct ch_principal *b) {
    ch_free(b->channel);
    ch_free(b->sender);
    ch_free(b->allow);
    ch_free(b->deny);
    ch_free(b->labels);
    ch_free(b->traceparent);
    *b = (struct ch_principal){0};
}

void ch_principal_apply(const struct ch_principal *b, struct chela_run_opts *o) {
    o->channel = b->channel;
    o->sender = b->sender;
    o->allow = b->allow;
    o->deny = b->deny;
    o->approve = b->approve;
    o->permission = b->permission;
    o->labels = b->labels;
    o->traceparent = b->traceparent;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool ch_principal_same(const struct ch_principal *a, const struct ch_principal *b,
                       const struct ch_policies *ps) {
    return same_text(a->allow, b->allow) && same_text(a->deny, b->deny) &&
           a->approve == b->approve && a->permission == b->permission &&
           ch_policies_same(ps, (struct ch_who){a->channel, a->sender},
                            (struct ch_who){b->channel, b->sender});
}

void ch_principal_write(const struct ch_principal *b, struct ch_jw *w) {
    const struct {
        const char *key, *value;
    } texts[] = {{"channel", b->channel},
                 {"sender", b->sender},
                 {"allow", b->allow},
                 {"deny", b->deny},
                 {"approve", b->approve ? chela_approve_name(b->approve) : NULL},
                 {"permission", b->permission ? permissions[b->permission] : NULL},
                 {"labels", b->labels},
                 {"traceparent", b->traceparent}};
    bool any = false;

    for (size_t i = 0; i < CH_LEN(texts); i++) {
        if (!texts[i].value)
            continue;
        if (!any) {
            ch_jw_kbegin(w, "for", '{');
        }
        any = true;
        ch_jw_kcstr(w, texts[i].key, texts[i].value);
    }
    if (any)
        ch_jw_end(w, '}');
}

static char *read_text(const struct ch_json *v, const char *key) {
    const struct ch_json *text = ch_json_get(v, key);
    struct ch_sv s = ch_json_str(text);

    return ch_json_is(text, CH_JSON_STRING) ? ch_strndup(s.p ? s.p : "", s.n) : NULL;
}

/* A value that this version does not know counts as the strictest. */
static enum chela_approve read_approve(const struct ch_json *v) {
    CH_AUTOFREE char *word = read_text(v, "approve");
    enum chela_approve choice = CHELA_APPROVE_DEFAULT;
    return word && chela_approve_read(word, &choice, NULL) < 0 ? CHELA_APPROVE_DENY : choice;
}

struct ch_principal ch_principal_read(const struct ch_json *record) {
    const struct ch_json *v = ch_json_get(record, "for");
    struct ch_sv permission = ch_json_get_str(v, "permission");

    return (struct ch_principal){.channel = read_text(v, "channel"),
                                 .sender = read_text(v, "sender"),
                                 .allow = read_text(v, "allow"),
                                 .deny = read_text(v, "deny"),
                                 .labels = read_text(v, "labels"),
                                 .traceparent = read_text(v, "traceparent"),
                                 .approve = read_approve(v),
                                 .permission = ch_sv_is(permission, "read")    ? CHELA_PERM_READ
                                               : ch_sv_is(permission, "write") ? CHELA_PERM_WRITE
                                                                               : CHELA_PERM_ADMIN};
}

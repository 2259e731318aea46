/* openai_turns.c -- see openai_turns.h. The bytes of the last message alone show its role
 * and whether it is open. */
#include "model/vendor/openai/openai_turns.h"

#include "json/writer.h"

struct turn {
    struct ch_sv role; /* empty: there is no message */
    bool in_string;
    unsigned depth; /* number of open containers; 0: the message is closed */
};

/* Determine the open containers at the end of a message; false if s starts inside of a
 * message, because more is closed than opened. */
static bool openai_turns_read_message(struct ch_sv s, struct turn *t) {
    t->in_string = false;
    t->depth = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '"')
            t->in_string = !t->in_string;
        else if (t->in_string)
            i += c == '\\';
        else if (c == '{' || c == '[')
            t->depth++;
        else if ((c == '}' || c == ']') && !t->depth--)
            return false;
    }
    return true;
}

static struct turn last_turn(const struct ch_buf *out) {
    static const struct ch_sv mark = CH_SV("{\"role\":\"");
    struct turn t = {0};
    for (size_t at = out->n; at-- > 0;) {
        struct ch_sv rest = ch_sv(out->p + at, out->n - at);
        if (*rest.p != '{' || !ch_sv_starts(rest, mark.p) || !openai_turns_read_message(rest, &t))
            continue;
        rest = ch_sv(rest.p + mark.n, rest.n - mark.n);
        t.role = ch_sv_split(&rest, '"');
        return t;
    }
    return (struct turn){.role = CH_SV("")};
}

bool ch_turn_goes_on(const struct ch_buf *out, const char *role) {
    struct turn t = last_turn(out);
    return t.depth && ch_sv_is(t.role, role);
}

void ch_turn_add_text(struct ch_buf *out, struct ch_sv text) {
    CH_BUF_LIT(out, "\\n\\n");
    ch_json_escape(out, text);
}

void ch_turn_leave_open(struct ch_buf *out) {
    if (out->n)
        out->p[--out->n] = '\0';
}

void ch_turn_close(struct ch_buf *out) {
    struct turn t = last_turn(out);
    if (t.depth)
        ch_buf_add_str(out, t.in_string ? "\"}" : "]}");
}

void ch_turn_next(struct ch_buf *out, const char *role) {
    ch_turn_close(out);
    if (strcmp(role, "user") == 0 && ch_sv_is(last_turn(out).role, "tool"))
        CH_BUF_LIT(out, ",{\"role\":\"assistant\",\"content\":\"(noted)\"}");
}

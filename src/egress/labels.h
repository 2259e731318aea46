/* labels.h -- where the content of a conversation came from.
 *
 * A set has two lists of sources: FOREIGN, whose text other people may have written, and PRIVATE,
 * whose data is not meant for everybody. A source is a word, or a word and a name: "web:a.com",
 * "mcp:github", "file:.env". A set only grows. A list that is full, or a name that is too long,
 * loses the names, never the fact: the source "more" stands for the rest. */
#ifndef CH_EGRESS_LABELS_H
#define CH_EGRESS_LABELS_H
#include "base/buf.h"
#include "json/json.h"
#include "json/writer.h"

enum ch_label { CH_LABEL_FOREIGN, CH_LABEL_PRIVATE, CH_LABELS };

struct ch_labels { /* zeroed: empty */
    char **names[CH_LABELS]; /* owned */
    size_t n[CH_LABELS];
};

void ch_labels_release(struct ch_labels *l);
void ch_labels_add(struct ch_labels *l, enum ch_label kind, struct ch_sv source);
void ch_labels_join(struct ch_labels *l, const struct ch_labels *from); /* from may be NULL */
static inline bool ch_labels_any(const struct ch_labels *l) {
    return l->n[CH_LABEL_FOREIGN] || l->n[CH_LABEL_PRIVATE];
}

/* The member "labels" of a record: {"foreign":[..],"private":[..]}; nothing for an empty set. The
 * second joins the sources of such a member. */
void ch_labels_write(const struct ch_labels *l, struct ch_jw *w);
void ch_labels_read(struct ch_labels *l, const struct ch_json *record);

/* The same as one text, "web:a.com,private=file:.env", for options and events. */
void ch_labels_write_text(const struct ch_labels *l, struct ch_buf *out);
void ch_labels_read_text(struct ch_labels *l, struct ch_sv text);

/* The operator's rule of two (tool/call/flow.h). Texts may be NULL. */
enum ch_flow_rule { CH_FLOW_ASK, CH_FLOW_DENY, CH_FLOW_OFF };
struct ch_flow_rules {
    enum ch_flow_rule rule;
    const char *trust; /* sources whose text is trusted; NULL: CH_FLOW_TRUST */
    const char *private_files; /* globs of files that are private besides those known by kind */
};
#define CH_FLOW_TRUST "owner,member"

/* True if the comma-separated list has the source, or its word: "mcp:github" is in "web,mcp". */
bool ch_labels_listed(struct ch_sv list, struct ch_sv source);

#endif

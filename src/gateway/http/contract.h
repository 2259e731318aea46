/* contract.h -- the members of a request to /v1, one table for each endpoint.
 *
 * A member is honoured; or dropped, and the header X-Chela-Dropped names it; or refused, because
 * the answer would mean something else without it. A member that no table has is dropped. The page
 * docs/v1.md is made from the tables. */
#ifndef CH_GATEWAY_CONTRACT_H
#define CH_GATEWAY_CONTRACT_H
#include "base/buf.h"
#include "json/json.h"

enum ch_fate {
    CH_HONOURED,
    CH_DROPPED,
    CH_REFUSED,
    CH_PASSED,  /* sent to a model of the same protocol, otherwise dropped */
    CH_SAMPLING /* the same, if the model takes settings of sampling */
};

struct ch_contract_passed {
    struct ch_buf members; /* `"a":1,"b":2` */
    bool passes, samples;  /* is the model's protocol that of the request; see CH_SAMPLING */
};

struct ch_contract_row {
    /* The members of an object follow it: "tools", "tools[].name". A honoured member without
     * members of its own is honoured whole. */
    const char *path;
    enum ch_fate fate;
    const char *about;
    /* Values that ask for nothing, beside null, false, 0 and what is empty; separated by spaces. Of
     * a list of objects: the types whose members the table has; others are taken or left whole. Of
     * a list of words: those that are honoured; others are named. */
    const char *words;
};

extern const struct ch_contract_row ch_contract_chat[], ch_contract_responses[],
    ch_contract_messages[], ch_contract_embeddings[];

/* passed may be NULL. Adds the names of the dropped members of a request, comma separated, each
 * once; at most CH_LIMIT_DROPPED bytes. CHELA_EINVAL: a member is refused; the error names it. */
int ch_contract_apply(const struct ch_contract_row *table, const struct ch_json *request,
                      struct ch_contract_passed *passed, struct ch_buf *dropped,
                      struct chela_error *err);
/* Adds one name: prefix and name. */
void ch_contract_drop(struct ch_buf *dropped, const char *prefix, struct ch_sv name);

#endif

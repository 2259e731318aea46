/* why.h -- finds the parts of a request that a model's decision depended on.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; the caller frees the result with
 *   chela_free. */
#ifndef CHELA_WHY_H
#define CHELA_WHY_H
#include "chela/store.h"
CHELA_BEGIN_DECLS

/* A question about a decision. */
struct chela_why_opts {
    size_t size;   /* set by CHELA_WHY_OPTS */
    unsigned turn; /* turn of the session, from 1; 0: the last one */
    const char *call; /* id of a call: only this call of the decision counts; NULL: all */
    const char *model; /* "provider/model"; NULL: the model of the request */
    const char *base_url, *api_key_env; /* instead of the provider's; NULL: none */
    unsigned calls;   /* most model calls; 0: 30 */
    unsigned repeats; /* calls that have to agree; 0: 2 */
    /* Called on the loop thread before each call of the model; may be NULL. */
    void (*progress)(unsigned call, unsigned most, void *user);
    void *user; /* for progress */
    /* "provider/model" that decides whether two answers that differ in words say the same; its
     * calls count. NULL: answers are compared as texts. Calls of tools are never judged. */
    const char *judge;
};
#define CHELA_WHY_OPTS(...) {.size = sizeof(struct chela_why_opts), __VA_ARGS__}

/* Find parts of a stored request without which the model decides otherwise. The request is
 * sent again without some of its parts: sections and sentences of the system prompt, tools,
 * messages, notes and results. The search bisects. The result is a JSON object: {"session",
 * "turn","request","model","decision","budget","calls","answered","parts","verdict","complete",
 * "causes":[{"parts":[{"kind","origin","text"}],"instead","agreed","of"}],"notes"}. verdict:
 * "cause"; "no_cause": the decision stays the same without all parts; "chance": the same
 * request leads to different decisions; "unknown": the model failed. answered: the calls that
 * got a reply. A cause is a minimal set of parts: the decision changes only if all of them are
 * removed. complete is false if the calls did not suffice. Waits for the model.
 * Threads: loop
 * Callbacks: no: CHELA_EBUSY
 * Errors: CHELA_ESTATE: the loop belongs to a host, or the journal lacks parts of the
 * request. CHELA_EBUSY: called from a callback. CHELA_ENOENT: there is no such session, turn
 * or call. CHELA_EINVAL: an option is wrong. CHELA_ECONFIG, CHELA_EAUTH: the model cannot be
 * asked. CHELA_EIO, CHELA_ENET, CHELA_EPERM, CHELA_EPARSE, CHELA_ELIMIT: the database failed. */
CHELA_API char *chela_why(chela_runtime *rt, chela_store *store, const char *key,
                          const struct chela_why_opts *opts, struct chela_error *err);

/* The first request in which two sessions differ, and in what: {"request","same",
 * "differences":[{"what","name","a","b"}]}. what: "version", "model", "parameter", "section",
 * "tool", "message", "reply", "end". No model is asked. b_key may be the key of a_key.
 * Threads: any
 * Callbacks: yes
 * Errors: CHELA_ENOENT: there is no such session, or it holds no request. CHELA_EIO,
 * CHELA_ENET, CHELA_EBUSY, CHELA_EPERM, CHELA_EPARSE, CHELA_ELIMIT: the database failed. */
CHELA_API char *chela_why_versus(chela_store *store, const char *a_key, const char *b_key,
                                 struct chela_error *err);

CHELA_END_DECLS
#endif

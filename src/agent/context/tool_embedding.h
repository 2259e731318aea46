/* tool_embedding.h -- tools chosen by what they mean, with an embedding model.
 *
 * Before a run chooses its tools, its input and those descriptions that are not
 * known yet are turned into vectors (model/wire/embed.h). Each description is sent
 * once in the agent's life. The run waits for a few seconds at most: what is
 * there by then counts, and without the input's vector words decide alone. A
 * service that failed is left alone for a minute. */
#ifndef CH_AGENT_TOOL_EMBEDDING_H
#define CH_AGENT_TOOL_EMBEDDING_H
#include "agent/handle/agent.h"
#include "tool/memory/memory_search.h"

struct ch_tool_embedding { /* of an agent */
    struct ch_target *target; /* owned */
    struct ch_embedder embedder; /* it, for whoever asks; memory does, too */
    char *cache;                 /* owned: of embedder */
    struct ch_vectors vectors;
    const chela_run *asking; /* for tools; NULL: nobody */
};

struct ch_embedding_wait; /* of a run that waits */

/* CHELA_ECONFIG: there is no such provider, or it has no embeddings. A key that is
 * missing is a warning: *out is then NULL. */
int ch_tool_embedding_new(chela_runtime *rt, const char *spec, struct ch_tool_embedding **out,
                          struct chela_error *err);
void ch_tool_embedding_free(struct ch_tool_embedding *m);
const struct ch_vectors *ch_tool_embedding_vectors(const struct ch_tool_embedding *m);

/* Must the run wait before its model call? done follows then. True also when the run
 * was closed meanwhile. */
bool ch_tool_embedding_input(chela_run *run, void (*done)(chela_run *run));
void ch_tool_embedding_abort(chela_run *run);

/* The embedding model has read so many tokens for a run, which pays for them. */
void ch_tool_embedding_charge(chela_run *run, int64_t tokens);

#endif

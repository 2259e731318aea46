/* tool_embedding.h -- selects tools by meaning, with an embedding model.
 *
 * Before a run selects its tools, its input and descriptions without a vector are embedded
 * (model/wire/embed.h). Each description is embedded once per agent. The run waits a few
 * seconds at most and then uses the vectors that have arrived; without a vector of the
 * input, words alone decide. After a failure the service is not asked for a minute. */
#ifndef CH_AGENT_TOOL_EMBEDDING_H
#define CH_AGENT_TOOL_EMBEDDING_H
#include "agent/handle/agent.h"
#include "tool/memory/memory_search.h"

struct ch_tool_embedding { /* embedding model of an agent */
    struct ch_target *target; /* owned */
    struct ch_embedder embedder; /* the model as a service, also for memory */
    char *cache;                 /* owned: cache directory of the embedder */
    struct ch_vectors vectors;
    const chela_run *asking; /* run that embeds descriptions; NULL: none */
};

struct ch_embedding_wait; /* a run that waits for vectors */

/* CHELA_ECONFIG: unknown provider, or it has no embeddings. A missing key is only a
 * warning; *out is then NULL. */
int ch_tool_embedding_new(chela_runtime *rt, const char *spec, struct ch_tool_embedding **out,
                          struct chela_error *err);
void ch_tool_embedding_free(struct ch_tool_embedding *m);
const struct ch_vectors *ch_tool_embedding_vectors(const struct ch_tool_embedding *m);

/* Embeds the input. True: the run has to wait, and done is called later; or the run was
 * closed meanwhile. */
bool ch_tool_embedding_input(chela_run *run, void (*done)(chela_run *run));
void ch_tool_embedding_abort(chela_run *run);

/* Charges the run for tokens that the embedding model has read. */
void ch_tool_embedding_charge(chela_run *run, int64_t tokens);

#endif

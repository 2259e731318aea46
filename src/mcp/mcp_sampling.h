/* mcp_sampling.h -- answers of a model that a server asks for (sampling/createMessage).
 *
 * The model is that of the run whose call the server works on. The model sees the server's
 * messages and nothing of the conversation. Requests and tokens are counted per session of a
 * person, for each server. Loop thread only. */
#ifndef CH_MCP_SAMPLING_H
#define CH_MCP_SAMPLING_H
#include "mcp/mcp_client.h"

/* Checks the parameters of a request. CHELA_EPROTO: they are invalid, or want tools or content
 * that is not text. Pure. */
int ch_mcp_sampling_check(const struct ch_json *params, struct chela_error *err);
/* Appends the text that the model would get, for a person; long texts are cut. Pure. */
void ch_mcp_sampling_tell(struct ch_buf *out, const struct ch_json *params);

struct ch_mcp_sample; /* a request to the model */

/* Exactly one of result (JSON) and err is set. Borrowed. */
typedef void ch_mcp_sampled_fn(struct ch_sv result, const struct chela_error *err, void *user);

/* False with err: the server may not ask for a further answer in the session of the call. */
bool ch_mcp_sampling_has_room(chela_mcp *m, const chela_call *call, struct chela_error *err);
/* Asks the model. `done` is called once, later. CHELA_ELIMIT: the budget is used up. */
int ch_mcp_sampling_start(chela_mcp *m, const chela_call *call, const struct ch_json *params,
                          ch_mcp_sampled_fn *done, void *user, struct ch_mcp_sample **out,
                          struct chela_error *err);
/* No callback follows. Must not be called inside `done`. */
void ch_mcp_sampling_cancel(struct ch_mcp_sample *s);

/* The client closes: open requests fail before the function returns. */
void ch_mcp_sampling_close(chela_mcp *m);

#endif

/* openai.h -- agents as models, and the settings that OpenAI's two protocols share.
 *
 * Texts that struct ch_lane_opts points to live in the request's arena. */
#ifndef CH_GATEWAY_OPENAI_H
#define CH_GATEWAY_OPENAI_H
#include "gateway/http/client_tools.h"
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

/* GET /v1/models and GET /v1/models/{id} */
ch_http_route_fn ch_openai_models, ch_openai_model;

/* Finds the agent that `model` names. CHELA_ENOENT: the error lists the known ones. */
int ch_openai_agent(struct ch_request *req, struct ch_lane_opts *o, struct chela_error *err);
/* Reads temperature, top_p, seed, stop, the effort of reasoning, and the limit of output
 * tokens. Values are put into the request's arena. */
int ch_openai_sampling(struct ch_request *req, struct ch_lane_opts *o, struct chela_error *err);
/* Reads one number or one list of stop sequences, for other protocols with such members. */
int ch_openai_number(struct ch_request *req, const char *key, double max, const double **set,
                     struct chela_error *err);
int ch_openai_stop(struct ch_request *req, const char *key, struct ch_lane_opts *o,
                   struct chela_error *err);
int ch_openai_positive(struct ch_request *req, const char *key, int64_t *out,
                       struct chela_error *err);
/* Reads the effort of reasoning in each form that clients send: a word, a number of tokens, a
 * switch, or the `thinking` of Messages. */
int ch_openai_effort(const struct ch_json *request, enum chela_reasoning *out,
                     struct chela_error *err);
/* Reads a list of tools, in the form of Chat Completions or of Responses. Tools that the client
 * does not run are left out. */
int ch_openai_tools(struct ch_client_tools *t, const struct ch_json *tools,
                    struct chela_error *err);
/* Reads the format of the reply: text, json_object, or json_schema with a schema. name: of
 * the member that f is, for errors. */
int ch_openai_format(struct ch_request *req, const char *name, const struct ch_json *f,
                     const struct ch_json *schema, struct ch_lane_opts *o,
                     struct chela_error *err);
/* Reads the member key: auto, none, required, a tool by name, or a list of allowed tools. Call
 * after the tools were read. */
int ch_openai_choice(struct ch_request *req, const char *key, struct ch_client_tools *t,
                     struct ch_lane_opts *o, struct chela_error *err);

/* Writes the member "usage". in, out: the protocol's names for the two kinds of tokens. */
void ch_openai_write_usage(struct ch_jw *w, const char *in, const char *out,
                           const struct chela_usage *u);

#endif

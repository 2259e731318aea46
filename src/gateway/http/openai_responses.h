/* openai_responses.h -- POST /v1/responses, and the form of its responses. */
#ifndef CH_GATEWAY_OPENAI_RESPONSES_H
#define CH_GATEWAY_OPENAI_RESPONSES_H
#include "chela/event.h"
#include "gateway/lane/delivery.h"
#include "gateway/request/http_route.h"
#include "gateway/request/request.h"

struct ch_response_run;
struct openai_response;

ch_http_route_fn ch_openai_responses;
extern const struct ch_delivery_kind ch_openai_response_turn; /* "message", "system", "request" */

/* A background response as the events of its run show it. req gets the run's request as its body;
 * stream: the events of the response are sent to req. Without a stream, any thread. */
struct openai_response *ch_openai_response_view(const struct ch_response_run *run,
                                                struct ch_request *req, bool stream);
void ch_openai_response_free(struct openai_response *r);
/* Begins the stream. Events up to the number `after` - 1 are not sent. */
void ch_openai_response_begin(struct openai_response *r, int64_t after);
/* The next event of the run. True: the response is complete. Its stream has ended, and its request
 * is gone. */
bool ch_openai_response_show(struct openai_response *r, const struct chela_event *ev);
/* The response as JSON. status: of a response that is not complete. */
struct ch_sv ch_openai_response_object(struct openai_response *r, const char *status);
/* The completed items: JSON, comma separated. */
struct ch_sv ch_openai_response_output(const struct openai_response *r);

#endif

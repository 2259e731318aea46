/* response_echo.h -- what an object of Responses repeats of its request. */
#ifndef CH_GATEWAY_RESPONSE_ECHO_H
#define CH_GATEWAY_RESPONSE_ECHO_H
#include "json/json.h"
#include "json/writer.h"

/* Writes the members. The protocol requires all of them: one that the request lacks, or that has no
 * effect here, has the value that was used. The types of the request were checked. */
void ch_response_echo(struct ch_jw *w, const struct ch_json *request);

#endif

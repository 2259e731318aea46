/* wire.h -- a codec by itself, for `chela wire` and for tests: a recorded
 * response becomes the reply it folds to, a neutral request becomes the HTTP
 * request that would be sent. Both as JSON. */
#ifndef CH_MODEL_WIRE_H
#define CH_MODEL_WIRE_H
#include "model/codec/codec.h"

/* Append one object:
 *   {"text","reasoning","refusal","tool_calls":[{"id","name","arguments"}],
 *    "stop","stop_raw","usage":{"input","output","cache_read","cache_write",
 *    "reasoning"},"model","complete","error":{"class","message","retryable"}}
 * where error may be null; arguments that are no object are {"_invalid":text};
 * a call has "cut" or "repaired":true where it applies. A status of 0 means
 * 200. Returns CHELA_EPROTO, the object written all the same, if the body is
 * not of this protocol. */
int ch_wire_decode(const struct ch_codec *codec, int status, struct ch_sv content_type,
                   struct ch_sv body, struct ch_buf *out, struct chela_error *err);

/* The same of a decoder that has ended. */
void ch_wire_write_reply(const struct ch_decoder *d, struct ch_buf *out);

/* Read a neutral request and append {"method","url","headers":{},"body":{}}.
 *   {"provider","base_url","model","system","messages":[..],
 *    "tools":[{"name","description","parameters":{},"strict":bool}],
 *    "tool_choice":"auto|any|none|NAME","parallel":bool,"stream":bool,
 *    "max_output_tokens":n,"temperature":x,"top_p":x,"top_k":n,"seed":n,
 *    "reasoning":"off|low|medium|high","stop":[..],"output_schema":{},
 *    "cache":"short|long|off","cache_key","quirks":["-name",..],
 *    "headers":{},"extra_body":{}}
 * Only messages is required; their form is in message.h. model, if not empty,
 * goes before the request's. A credential is shown as the name of the variable
 * it comes from. */
int ch_wire_encode(const struct ch_codec *codec, struct ch_sv model, struct ch_sv request,
                   struct ch_buf *out, struct chela_error *err);

#endif

/* wire_encode.h -- encodes a neutral request to an HTTP request, as JSON; for `chela wire` and for
 * tests. */
#ifndef CH_MODEL_WIRE_ENCODE_H
#define CH_MODEL_WIRE_ENCODE_H
#include "model/codec/codec.h"

/* Read a neutral request and append {"method","url","headers":{},"body":{}}.
 *   {"provider","base_url","model","system","messages":[..],
 *    "tools":[{"name","description","parameters":{},"strict":bool,
 *      "defer_loading":bool,"allowed_callers":[]}],
 *    "tool_choice":"auto|any|none|NAME","parallel":bool,"stream":bool,
 *    "max_output_tokens":n,"temperature":x,"top_p":x,"top_k":n,"seed":n,
 *    "reasoning":"off|...|max","stop":[..],"output_schema":{},
 *    "cache":"short|long|off","cache_key","quirks":["-name",..],
 *    "headers":{},"extra_body":{},"server_tools":[],"logprobs":n,"kept_free":n,
 *    "no_calls":bool,"note"}
 * A list of quirks that begins with "=" replaces the provider's quirks; otherwise it changes
 * them. Only messages is required; their form is in message.h. model, if not empty, goes
 * before the request's. "dropped" names members without an effect: others, also of a tool, as in
 * ["tools[0].cache_control"], and options that the service or the model does not have. A
 * credential is shown as the name of the variable it comes from. */
int ch_wire_encode(const struct ch_codec *codec, struct ch_sv model, struct ch_sv request,
                   struct ch_buf *out, struct chela_error *err);
/* The same, without naming options; *body becomes the bytes of the body, borrowed from out. */
int ch_wire_encode_body(const struct ch_codec *codec, struct ch_sv model, struct ch_sv request,
                        struct ch_buf *out, struct ch_sv *body, struct chela_error *err);

#endif

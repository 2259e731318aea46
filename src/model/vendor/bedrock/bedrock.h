/* bedrock.h -- the halves of the Converse codec, joined in
 * bedrock_decode.c. */
#ifndef CH_MODEL_BEDROCK_H
#define CH_MODEL_BEDROCK_H
#include "model/catalog/claude.h"
#include "model/codec/codec.h"

/* The maker of a model, which determines the accepted parameters. */
enum ch_maker {
    CH_MAKER_OTHER,
    CH_MAKER_CLAUDE,
    CH_MAKER_NOVA,
    CH_MAKER_NOVA_2,
    CH_MAKER_GPT_OSS,
    CH_MAKER_GPT,
    CH_MAKER_MISTRAL
};
static inline bool ch_maker_is_nova(enum ch_maker m) {
    return m == CH_MAKER_NOVA || m == CH_MAKER_NOVA_2;
}

#define CH_BEDROCK_NAME 64 /* characters of a tool's name, at most */

#endif

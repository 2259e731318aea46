/* ids.h -- maps call ids and tool names to a vendor's format.
 *
 * A history made with one vendor may continue with another that has other id formats. The
 * mapping depends on the id alone, so a call and its result agree, and the same history
 * always gives the same bytes. */
#ifndef CH_MODEL_IDS_H
#define CH_MODEL_IDS_H
#include <stdint.h>

#include "base/sv.h"

enum ch_id_rule {
    CH_ID_64, /* [a-zA-Z0-9_-], at most 64: Anthropic, Bedrock, Gemini */
    CH_ID_40, /* at most 40 printable characters: OpenAI */
    CH_ID_9,  /* exactly nine alphanumerics: Mistral */
};

#define CH_ID_ROOM 64
#define CH_NAME_ROOM 128

/* The id itself if it fits the rule, else a replacement in buf. */
struct ch_sv ch_id_for(enum ch_id_rule rule, struct ch_sv id, char buf[CH_ID_ROOM]);

/* A tool name with characters outside of [a-zA-Z0-9_-] replaced and truncated to max (<=
 * CH_NAME_ROOM), because a model may invent names. */
struct ch_sv ch_name_for(size_t max, struct ch_sv name, char buf[CH_NAME_ROOM]);

/* FNV-1a, continued from `hash` (0 to begin). */
uint64_t ch_hash(uint64_t hash, struct ch_sv s);

/* The hash in lower-case hexadecimal, without a NUL. */
#define CH_HASH_HEX 16
void ch_hash_hex(uint64_t hash, char out[CH_HASH_HEX]);

#endif

/* ids.h -- call ids and tool names as a vendor will take them.
 *
 * A history made by one vendor is continued with another whose ids look
 * different. The mapping is a function of the id alone: the call and its
 * result agree, and the same history gives the same bytes every time. */
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

/* The id itself if it fits, else a replacement in buf. */
struct ch_sv ch_id_for(enum ch_id_rule rule, struct ch_sv id, char buf[CH_ID_ROOM]);

/* A tool's name with other characters than [a-zA-Z0-9_-] replaced, cut at max
 * (<= CH_NAME_ROOM): a model may have made one up. */
struct ch_sv ch_name_for(size_t max, struct ch_sv name, char buf[CH_NAME_ROOM]);

/* FNV-1a, continued from `hash` (0 to begin). */
uint64_t ch_hash(uint64_t hash, struct ch_sv s);

#endif

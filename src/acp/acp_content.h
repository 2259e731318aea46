/* acp_content.h -- the blocks of a prompt as input of a run. */
#ifndef CH_ACP_CONTENT_H
#define CH_ACP_CONTENT_H
#include "base/buf.h"
#include "chela/session.h"
#include "json/json.h"

struct ch_acp_input {
    struct ch_buf text;
    struct chela_media *media; /* owned, with its texts */
    size_t nmedia;
};

/* CHELA_EINVAL: a block is malformed or of a kind that is not offered. CHELA_ELIMIT: too many
 * images. The caller frees *out. */
int ch_acp_input_read(const struct ch_json *blocks, struct ch_acp_input **out,
                      struct chela_error *err);
void ch_acp_input_free(struct ch_acp_input *in);

#endif

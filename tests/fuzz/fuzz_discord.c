/* fuzz_discord.c -- any frames of the Gateway, through the whole channel; see channel_frames.h. */
#include "fuzz/channel_frames.h"

extern const struct chela_module chela_module;

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    static const struct chela_channel_opts o =
        CHELA_CHANNEL_OPTS(.name = "discord", .secret = "d.1");
    return frames_play(chela_module.ops, &o, "{\"url\":\"wss://x\",\"id\":\"9000\"}", p, n);
}

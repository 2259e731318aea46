/* fuzz_slack.c -- any frames of Socket Mode, through the whole channel; see channel_frames.h. */
#include "fuzz/channel_frames.h"

extern const struct chela_module chela_module;

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    static const char *const settings[] = {"appToken", "xapp-1", NULL};
    static const struct chela_channel_opts o =
        CHELA_CHANNEL_OPTS(.name = "slack", .secret = "xoxb-1", .settings = settings);
    return frames_play(chela_module.ops, &o,
                       "{\"ok\":true,\"user_id\":\"UBOT\",\"url\":\"wss://x/\"}", p, n);
}

/* layer_mount.h -- a layer (layer/layer.h) mounted over its workspace, for the calls of a run.
 *
 * A process of chela-sandbox holds the mount (sandbox/overlay.h). Tools reach the mounted tree by
 * a path of this process, /proc/self/fd/N, which takes the place of the workspace's; commands join
 * the mount. The path stays the same while the struct lives. All functions are for one thread at a
 * time, and block for some milliseconds. */
#ifndef CH_TOOL_LAYER_MOUNT_H
#define CH_TOOL_LAYER_MOUNT_H
#include <sys/types.h>

#include "layer/layer.h"
#include "tool/process/sandbox_policy.h"

struct ch_layer_mount;

struct ch_layer_mount_opts {
    const char *workspace, *session; /* as in struct ch_layer_opts */
    enum ch_layer_apply apply;
    const struct ch_sandbox_policy *policy; /* may be NULL */
};

/* A layer that is not mounted. Never NULL. */
struct ch_layer_mount *ch_layer_mount_new(const struct ch_layer_mount_opts *opts);
void ch_layer_mount_free(struct ch_layer_mount *m); /* accepts NULL */

/* Mount the layer, unless it is mounted. CHELA_EBUSY: another process uses the layer.
 * CHELA_EPERM: this machine cannot mount layers; err has the reason. */
int ch_layer_mount_up(struct ch_layer_mount *m, struct chela_error *err);
/* Unmount the layer. Nothing may run in it. *changes: the layer has changes; without any, it is
 * removed. */
void ch_layer_mount_down(struct ch_layer_mount *m, bool *changes);

/* Record what the layer covers by now (layer/covered.h). */
void ch_layer_mount_note(struct ch_layer_mount *m);

const char *ch_layer_mount_path(const struct ch_layer_mount *m);
/* The process that holds the layer; 0: m is NULL, or not mounted. */
pid_t ch_layer_mount_holder(const struct ch_layer_mount *m);
const char *ch_layer_mount_workspace(const struct ch_layer_mount *m);

/* 0 if this machine can mount layers over the workspace (NULL: over some directory), found by
 * doing so; else CHELA_EPERM, and err has the reason. */
int ch_layer_mount_trial(const char *workspace, const struct ch_sandbox_policy *policy,
                         struct chela_error *err);

#endif

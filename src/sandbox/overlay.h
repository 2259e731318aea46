/* overlay.h -- the mount of a layer, which the commands of a run share.
 *
 * A process of this program holds an overlay over the workspace in a mount namespace of its own.
 * The sandboxes of the run's commands join that namespace, and the runtime reaches the mounted tree
 * through /proc/PID/root. So there is one mount of the layer, as overlayfs requires. */
#ifndef CH_SANDBOX_OVERLAY_H
#define CH_SANDBOX_OVERLAY_H
#include "sandbox/box.h"

/* Mount the layer, write the line "ready" to stdout, and wait until stdin is closed. */
_Noreturn void ch_overlay_hold(const struct ch_box *box);

/* Enter the namespaces of the process that holds the layer. The caller has one thread. */
void ch_overlay_join(pid_t holder);

#endif

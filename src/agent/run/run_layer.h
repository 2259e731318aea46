/* run_layer.h -- the layers in which the runs of a session work (tool/process/layer_mount.h).
 *
 * With `apply: review` or `never`, the tools of a run, and of the agents that it calls, see their
 * workspace through a layer that belongs to the session at the top. The layer is mounted while a
 * run is in progress, and while background processes of the session work in it. */
#ifndef CH_AGENT_RUN_LAYER_H
#define CH_AGENT_RUN_LAYER_H
#include "agent/handle/run.h"

struct ch_layer_mount;
struct ch_session_layer;

/* Mounts the layer of the run's workspace, if it works in one. A failure stops the run. */
void ch_run_layer_up(chela_run *run);
/* The run rests: unmounts the layers if nothing works in them any more. True: changes wait. */
bool ch_run_layer_down(chela_run *run);
/* A call has ended. */
void ch_run_layer_note(chela_run *run);

/* The layer of the run's workspace; NULL: the run works on the workspace itself. */
const struct ch_layer_mount *ch_run_layer(const chela_run *run);
/* The path of the workspace for tools. */
const char *ch_run_workspace(const chela_run *run);

void ch_session_layers_free(chela_session *s);

#endif

/* ui_stream.h -- a run as the AI SDK's UI message stream.
 *
 * A stream lasts from a request to the end or pause of its run, with or without viewers. It
 * keeps all chunks sent so far, so that a page that is opened again gets all of them. Only
 * chunks that every client since version 5 accepts are sent; approvals need version 6. */
#ifndef CH_GATEWAY_UI_STREAM_H
#define CH_GATEWAY_UI_STREAM_H
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

struct ch_ui_stream;

/* Creates a stream of the session; then call ch_ui_stream_watch, or pass its watcher to a
 * tail. message_id: id of the message that contains the chunks. page_tools: names of the
 * tools that the page runs, comma separated. */
struct ch_ui_stream *ch_ui_stream_new(chela_gateway *gw, const char *key, const char *message_id,
                                      const char *page_tools);
/* Watches l from now on. */
void ch_ui_stream_watch(struct ch_ui_stream *t, struct ch_lane *l);
struct ch_lane_watcher *ch_ui_stream_watcher(struct ch_ui_stream *t);
/* Nothing was begun: frees a stream without viewers. */
void ch_ui_stream_free(struct ch_ui_stream *t);
/* The stream of this session that is in progress; NULL: none. A stream without a first viewer is
 * not found: the request that created it may still free it. */
struct ch_ui_stream *ch_ui_stream_find(chela_gateway *gw, struct ch_sv key);
/* Responds with everything sent so far and everything that follows. */
void ch_ui_stream_add_viewer(struct ch_ui_stream *t, struct ch_request *req);
/* The page denied this call. */
void ch_ui_stream_mark_denied(struct ch_ui_stream *t, struct ch_sv call_id);
void ch_ui_streams_close(chela_gateway *gw);

#endif

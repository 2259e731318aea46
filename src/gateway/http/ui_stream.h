/* ui_stream.h -- a run as the AI SDK's UI message stream.
 *
 * One talk lasts from a request to the end or pause of its run, whoever still
 * looks at it: what was said is kept until then, so that a page that was
 * closed and opened again gets all of it. Only chunks that every version of
 * the clients since 5 takes are sent; approvals need 6. */
#ifndef CH_GATEWAY_UI_STREAM_H
#define CH_GATEWAY_UI_STREAM_H
#include "gateway/lane/lane.h"

struct ch_ui_talk;

/* Watch l from now on. message_id: of the message that the chunks belong to.
 * mine: names of tools that the page runs, comma separated. */
struct ch_ui_talk *ch_ui_talk_new(struct ch_lane *l, const char *message_id, const char *mine);
/* The one of this session that is under way; NULL: none is. */
struct ch_ui_talk *ch_ui_talk_find(chela_gateway *gw, struct ch_sv key);
/* Answer v with all of it so far and all that comes. */
void ch_ui_talk_view(struct ch_ui_talk *t, struct ch_visit *v);
/* The page said no to this call. */
void ch_ui_talk_denied(struct ch_ui_talk *t, struct ch_sv call_id);
void ch_ui_talks_close(chela_gateway *gw);

#endif

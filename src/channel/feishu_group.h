/* feishu_group.h -- name, description and members of groups, as far as the app may read them.
 *
 * Facts are kept for CH_DEFAULT_GROUP_FACTS_MS. A group that cannot be looked up has none, for as
 * long. All texts are untrusted. */
#ifndef CH_CHANNEL_FEISHU_GROUP_H
#define CH_CHANNEL_FEISHU_GROUP_H
#include "channel/feishu.h"

struct ch_feishu_groups;

/* api is borrowed and must be closed first. */
struct ch_feishu_groups *ch_feishu_groups_new(chela_runtime *rt, struct ch_feishu_api *api);
void ch_feishu_groups_free(struct ch_feishu_groups *g);

/* Completes a message of a group: the group, and the names of people whose lines were overheard.
 * The arrival and its arena live until done. False: done is not called. */
bool ch_feishu_group_tell(struct ch_feishu_groups *g, struct chela_channel_arrival *in,
                          struct ch_arena *a, void (*done)(void *tag), void *tag);

#endif

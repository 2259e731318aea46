/* feishu_survey.h -- checks the app's setup at the service, for `chela doctor`. */
#ifndef CH_CHANNEL_FEISHU_SURVEY_H
#define CH_CHANNEL_FEISHU_SURVEY_H
#include "channel/feishu.h"

void ch_feishu_survey(chela_runtime *rt, const struct chela_channel_opts *o,
                      const struct chela_channel_survey *told);

#endif

/* slack_text.h -- converts between Markdown and mrkdwn, the dialect of Slack. Pure. */
#ifndef CH_CHANNEL_SLACK_TEXT_H
#define CH_CHANNEL_SLACK_TEXT_H
#include "base/buf.h"

/* Append Markdown as mrkdwn. Tables, which mrkdwn lacks, become blocks of code. */
void ch_slack_format(struct ch_buf *out, struct ch_sv markdown);
/* Append a text with &, < and > escaped. */
void ch_slack_escape(struct ch_buf *out, struct ch_sv text);
/* Append a person's text as plain text, without mentions of `me`. Returns whether `me` was
 * mentioned. */
bool ch_slack_read(struct ch_buf *out, struct ch_sv mrkdwn, const char *me);

#endif

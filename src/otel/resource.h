/* resource.h -- the resource and the scope of everything that is exported. */
#ifndef CH_OTEL_RESOURCE_H
#define CH_OTEL_RESOURCE_H
#include "base/buf.h"
#include "otel/settings.h"

/* Append the message Resource. here: this process made the data. */
void ch_otel_write_resource(struct ch_buf *out, bool json, const struct ch_otel_settings *s,
                            bool here);
/* Append the message InstrumentationScope. */
void ch_otel_write_scope(struct ch_buf *out, bool json);

#endif

/* number.h -- doubles as text, whatever the locale. */
#ifndef CH_JSON_NUMBER_H
#define CH_JSON_NUMBER_H
#include <stddef.h>

#define CH_NUMBER_MAX 32 /* room for any double, NUL included */

/* The shortest decimal text that reads back as v, which must be finite;
 * returns its length. */
size_t ch_number_format(char out[CH_NUMBER_MAX], double v);

#endif

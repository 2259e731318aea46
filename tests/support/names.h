/* names.h -- a name server for tests: replaces getaddrinfo in this program.
 *
 * The test lists the names and their addresses; "flip.example" has another address at each
 * lookup. Other names do not exist: the network is not used. */
#ifndef TEST_SUPPORT_NAMES_H
#define TEST_SUPPORT_NAMES_H

struct name_row {
    const char *name, *addresses; /* with spaces between them */
};
extern const struct name_row *test_names; /* ended by name == NULL; set by the test */
unsigned test_lookups(void);              /* number of lookups so far */

#endif

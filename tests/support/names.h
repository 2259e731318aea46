/* names.h -- a name server for tests: what getaddrinfo says in this program.
 *
 * The names below stand for the addresses given; "flip.example" changes its mind
 * with every question. Other names do not exist: the network is left alone. */
#ifndef TEST_SUPPORT_NAMES_H
#define TEST_SUPPORT_NAMES_H

struct name_row {
    const char *name, *addresses; /* with spaces between them */
};
extern const struct name_row *test_names; /* ended by name == NULL; set by the test */
unsigned test_lookups(void);              /* questions so far */

#endif

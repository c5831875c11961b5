/* count_builds.h: how many networks and plans a program has built. */
#ifndef TINCA_TESTS_COUNT_BUILDS_H
#define TINCA_TESTS_COUNT_BUILDS_H

struct builds {
    unsigned networks, plans;
};

/* Returns the numbers since the last call. */
struct builds builds_take(void);

#endif

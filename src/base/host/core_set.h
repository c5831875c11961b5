/* core_set.h: the cores that threads may run on, which a launcher or a batch system may restrict.
 * Where the system cannot bind threads, sets are empty and binding fails. */
#ifndef TINCA_BASE_HOST_CORE_SET_H
#define TINCA_BASE_HOST_CORE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CORE_SET_MOST = 4096 }; /* cores beyond them are ignored */

/* A set of cores; {0} is empty. Processes may send it to others of the same machine. */
struct core_set {
    uint64_t bits[CORE_SET_MOST / 64];
};

/* Returns the cores that the calling thread may run on. */
struct core_set core_set_here(void);

/* Adds the cores of another set. */
void core_set_add(struct core_set *set, const struct core_set *other);

/* Returns the number of cores in a set. */
size_t core_set_count(const struct core_set *set);

/* Binds the calling thread, and those that it creates from now on, to a set. Returns false if that
 * is not possible; then nothing has changed. */
bool core_set_bind(const struct core_set *set);

#endif

/* control_group.h: the memory that the control groups of this process leave it (cgroups(7)).
 *
 * Versions 1 and 2 of the interface are read. The limits of a group's ancestors apply, too; the
 * smallest limit is the effective one.
 */
#ifndef TINCA_BASE_HOST_CONTROL_GROUP_H
#define TINCA_BASE_HOST_CONTROL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes; UINT64_MAX means no limit. */
struct control_group {
    uint64_t limit; /* memory that the group may use */
    uint64_t free;  /* the rest of it; counts file pages that the kernel can drop at once */
    uint64_t swap;  /* what may be moved to swap in addition */
};

/* Fills *group. Tests pass a folder as `root`, in which proc/ and the mounts are found; other
 * callers pass "". */
void control_group_read(const char *root, struct control_group *group);

/* Returns how many processes of this group the kernel has killed for a lack of memory; 0 if
 * unknown. `root` as above. */
uint64_t control_group_memory_kills(const char *root);

#endif

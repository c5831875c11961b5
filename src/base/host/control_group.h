/* control_group.h: how much memory the control groups of this process leave it (cgroups(7)).
 *
 * Versions 1 and 2 are read. A group counts, and each one above it, up to the place where the
 * hierarchy is mounted: the narrowest of them is what the process feels.
 */
#ifndef TINCA_BASE_HOST_CONTROL_GROUP_H
#define TINCA_BASE_HOST_CONTROL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes; UINT64_MAX: no limit. What the kernel can drop at once (file pages long unused) counts as
 * free. `swap`: what may be moved to swap besides. */
struct control_group {
    uint64_t limit, free, swap;
};

/* `root`: a folder in which proc/ and the mounts are looked for; "" but in tests. */
void control_group_read(const char *root, struct control_group *group);

#endif

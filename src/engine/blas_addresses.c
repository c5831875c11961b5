#include "engine/blas_addresses.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t parts; /* that are mapped already */

/* A line of the list has the first address and the one behind the last, rights, offset, device and
 * inode, which is 0 where no file is mapped. */
void blas_addresses_note(void)
{
    char line[512];
    uint64_t from, to, inode;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps)
        return; /* none is taken to be there */
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %" SCNu64, &from, &to, &inode) == 3 &&
            inode == 0)
            parts += (to - from) / BLAS_PART;
    fclose(maps);
}

uint64_t blas_addresses_to_come(size_t threads)
{
    return threads > parts ? (threads - parts) * BLAS_PART : 0;
}

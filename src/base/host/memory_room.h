/* memory_room.h: whether the memory of a computation fits into the memory that this process may
 * still take. A process that takes more is killed without a message, or swaps, so commands ask
 * before they allocate large blocks. */
#ifndef TINCA_BASE_HOST_MEMORY_ROOM_H
#define TINCA_BASE_HOST_MEMORY_ROOM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of addresses that `threads` compute threads will reserve but not use; 0 where
 * addresses are not limited (ulimit -v, -d). If `beforehand`, the threads do not exist yet. */
uint64_t memory_room_reserve(size_t threads, bool beforehand);

/* Returns whether the process may take `bytes` more, swap included; true if its limits are not
 * known. If not, sets an error about `subject` with the total that the process needs and its limit.
 * Thread-safe. */
bool memory_room_check(const char *subject, uint64_t bytes, struct error *error);

#endif

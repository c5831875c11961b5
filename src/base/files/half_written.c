#include "base/files/half_written.h"

#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

enum { MOST = 32 };

static const char *_Atomic paths[MOST];

void half_written_add(const char *path)
{
    for (size_t i = 0; i < MOST; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&paths[i], &none, path))
            return;
    }
}

void half_written_remove(const char *path)
{
    for (size_t i = 0; path && i < MOST; i++) {
        const char *same = path;
        if (atomic_compare_exchange_strong(&paths[i], &same, NULL))
            return;
    }
}

void half_written_delete(void)
{
    for (size_t i = 0; i < MOST; i++) {
        const char *const path = atomic_load(&paths[i]);
        if (path)
            unlink(path);
    }
}

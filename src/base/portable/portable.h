/* portable.h: replaces functions that configure did not find on this system. */
#ifndef TINCA_BASE_PORTABLE_PORTABLE_H
#define TINCA_BASE_PORTABLE_PORTABLE_H

#include "config.h"

#include <stddef.h>
#include <string.h>

/* macOS has other names for the times of struct stat, and no fdatasync in its headers. */
#if !HAVE_STRUCT_STAT_ST_MTIM && HAVE_STRUCT_STAT_ST_MTIMESPEC
#define st_atim st_atimespec
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif
#if !HAVE_DECL_FDATASYNC
#define fdatasync fsync
#endif

/* Returns the last byte of data[0..size) that is `byte`, or NULL. */
static inline const char *portable_find_last(const char *data, char byte, size_t size)
{
#if HAVE_DECL_MEMRCHR
    return memrchr(data, byte, size);
#else
    while (size > 0)
        if (data[--size] == byte)
            return data + size;
    return NULL;
#endif
}

/* A comparison as for qsort, with a context. */
typedef int portable_comparison(const void *first, const void *second, void *context);

/* Sorts as qsort does, with a context for the comparison. Thread-safe; a comparison must not sort.
 */
void portable_sort(void *items, size_t count, size_t size, portable_comparison *compare,
                   void *context);

#endif

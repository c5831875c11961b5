/* qsort_r has this form in glibc, musl and POSIX 2024; elsewhere its arguments have another order.
 */
#include "base/portable/portable.h"

#include <stdlib.h>

#if HAVE_POSIX_QSORT_R

void portable_sort(void *items, size_t count, size_t size, portable_comparison *compare,
                   void *context)
{
    qsort_r(items, count, size, compare, context);
}

#else

static _Thread_local portable_comparison *current;
static _Thread_local void *current_context;

static int compare_currently(const void *first, const void *second)
{
    return current(first, second, current_context);
}

void portable_sort(void *items, size_t count, size_t size, portable_comparison *compare,
                   void *context)
{
    current = compare;
    current_context = context;
    qsort(items, count, size, compare_currently);
}

#endif

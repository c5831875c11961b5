/* compare_published.h: the figures that Gondim Santos (2019) published for CIFAR-10. For
 * studies/compare/ and studies/tables/. */
#ifndef TINCA_STUDIES_COMPARE_COMPARE_PUBLISHED_H
#define TINCA_STUDIES_COMPARE_COMPARE_PUBLISHED_H

#include <stddef.h>

struct published_result {
    const char *base, *technique;
    double top1; /* percent */
    size_t parameters;
    double gpu_ms, cpu_ms; /* for one image; published without intervals */
};

extern const struct published_result published_results[];
extern const size_t published_result_count;
extern const char published_gpu[], published_cpu[]; /* the devices that they were measured on */

#endif

/* compare_published.h: the figures of Gondim Santos 2019 for CIFAR-10. Internal to session/. */
#ifndef TINCA_SESSION_COMPARE_COMPARE_PUBLISHED_H
#define TINCA_SESSION_COMPARE_COMPARE_PUBLISHED_H

#include <stddef.h>

struct published_result {
    const char *base, *technique;
    double top1; /* percent */
    size_t parameters;
    double gpu_ms, cpu_ms; /* one image; no intervals were published with them */
};

extern const struct published_result published_results[];
extern const size_t published_result_count;
extern const char published_gpu[], published_cpu[]; /* the devices */

#endif

/* lacking.h: a device that lacks kernels, for tests of the fallback on the reference kernel.
 *
 * The driver of an open device is replaced by a copy that hides the kernels of one operator, or of
 * all. Copies between the device and the host are counted.
 */
#ifndef TINCA_TESTS_CUDA_LACKING_H
#define TINCA_TESTS_CUDA_LACKING_H

#include "engine/devices/device_backend.h"
#include "engine/ops/op.h"

#include <string.h>

static const struct device_driver *lacking_whole; /* the driver that is copied */
static const char *lacking_op;                    /* a name, or "all" */
static uint64_t lacking_copied;                   /* bytes, both ways */

static inline size_t lacking_kernels(const struct op *op, const struct kernel **list,
                                     size_t capacity)
{
    if (strcmp(lacking_op, "all") == 0 || strcmp(lacking_op, op->name) == 0)
        return 0;
    return lacking_whole->kernels(op, list, capacity);
}

static inline void lacking_copy_in(struct device *device, void *to, const void *from, size_t bytes)
{
    lacking_copied += bytes;
    lacking_whole->backend->copy_in(device, to, from, bytes);
}

static inline void lacking_copy_out(struct device *device, void *to, const void *from, size_t bytes)
{
    lacking_copied += bytes;
    lacking_whole->backend->copy_out(device, to, from, bytes);
}

/* Opens the device; without kernels for the operator, or for any if `op` is "all". */
static inline struct device *lacking_open(const char *name, const char *op, struct error *error)
{
    static struct device_driver driver;
    static struct device_backend backend;
    struct device *device = device_open(name, 1, error);
    if (!device)
        return NULL;
    lacking_whole = device->driver;
    lacking_op = op;
    driver = *lacking_whole;
    driver.kernels = lacking_kernels;
    if (driver.backend) {
        backend = *driver.backend;
        backend.copy_in = lacking_copy_in;
        backend.copy_out = lacking_copy_out;
        driver.backend = &backend;
    }
    device->driver = &driver;
    for (size_t i = 0; i < device->other_count; i++)
        device->others[i]->driver = &driver;
    return device;
}

#endif

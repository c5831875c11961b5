/* The device `reference` runs every operator's plain C kernel on the calling thread. Its results
 * are those that all other devices are compared with. */
#include "base/language.h"
#include "base/threads/pool.h"
#include "engine/devices/drivers.h"
#include "engine/devices/host/host_memory.h"
#include "engine/ops/op.h"

static bool reference_available(char *reason, size_t size)
{
    if (size > 0)
        reason[0] = '\0';
    return true;
}

static bool reference_open(struct device *device, struct error *error)
{
    device->threads = 1;
    device->pool = pool_create(1, error);
    return device->pool;
}

static void reference_close(struct device *device)
{
    pool_free(device->pool);
}

static size_t reference_kernels(const struct op *op, const struct kernel **list, size_t capacity)
{
    if (!op->reference || capacity == 0)
        return 0;
    list[0] = op->reference;
    return 1;
}

static void reference_update(struct device *device, const struct solver_update *update)
{
    (void)device;
    solver_update_range(update, 0, update->count);
}

const struct device_driver device_reference = {
    .name = "reference",
    .description = N_("plain C loops on one thread, to test other devices"),
    .available = reference_available,
    .open = reference_open,
    .close = reference_close,
    .kernels = reference_kernels,
    .update = reference_update,
    .allocate = device_allocate_host,
    .release = device_release_host,
    .computes_on_host = true,
};

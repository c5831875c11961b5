/* The device `reference` runs every operator's plain C kernel on the calling thread. Its results
 * are those that all other devices are compared with. */
#include "base/float16.h"
#include "base/language.h"
#include "base/threads/pool.h"
#include "engine/devices/device.h"
#include "engine/devices/host/host_memory.h"
#include "engine/ops/int8.h"
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
    const struct kernel *int8 = int8_reference_kernel(op);
    size_t count = 0;
    if (int8 && count < capacity)
        list[count++] = int8;
    if (op->reference && count < capacity)
        list[count++] = op->reference;
    return count;
}

/* Returns true: kernels compute in float32, and the execution rounds (plan/rounding.h). */
static bool reference_plans_bf16(const char **reason)
{
    (void)reason;
    return true;
}

static void reference_round(struct device *device, const float *from, float *to, size_t count)
{
    (void)device;
    for (size_t i = 0; i < count; i++)
        to[i] = bf16_round(from[i]);
}

static void reference_quantize(struct device *device, struct quantization quantization,
                               struct tensor_layout layout, struct shape shape, size_t batch,
                               const float *from, uint8_t *to)
{
    (void)device;
    int8_quantize(quantization, layout, shape, batch, from, to);
}

static void reference_dequantize(struct device *device, struct quantization quantization,
                                 struct tensor_layout layout, struct shape shape, size_t batch,
                                 const uint8_t *from, float *to)
{
    (void)device;
    int8_dequantize(quantization, layout, shape, batch, from, to);
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
    .plans_bf16 = reference_plans_bf16,
    .round = reference_round,
    .quantize = reference_quantize,
    .dequantize = reference_dequantize,
    .allocate = device_allocate_host,
    .release = device_release_host,
    .computes_on_host = true,
};

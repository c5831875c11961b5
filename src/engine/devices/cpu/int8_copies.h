/* int8_copies.h: conversions between float32 and integers of 8 bits, the driver's `quantize` and
 * `dequantize`. Only the device cpu uses it. */
#ifndef TINCA_ENGINE_DEVICES_CPU_INT8_COPIES_H
#define TINCA_ENGINE_DEVICES_CPU_INT8_COPIES_H

#include "engine/devices/cpu/simd.h"

void KERNEL(quantize)(struct pool *pool, struct quantization quantization,
                      struct tensor_layout layout, struct shape shape, size_t batch,
                      const float *from, uint8_t *to);
void KERNEL(dequantize)(struct pool *pool, struct quantization quantization,
                        struct tensor_layout layout, struct shape shape, size_t batch,
                        const uint8_t *from, float *to);

#endif

#include "op_values.h"

#include "base/random.h"
#include "random_fill.h"

#include <math.h>

static const struct {
    const char *name;
    float low, high;
} table[OP_VALUES] = {
    [VALUES_MIXED] = {"mixed", -2, 2},   [VALUES_NEGATIVE] = {"negative", -2, -0.5f},
    [VALUES_LARGE] = {"large", -20, 20}, [VALUES_TIES] = {"tied", -1, 1},
    [VALUES_ZERO] = {"zero", -1, 1},     [VALUES_TINY] = {"tiny", -1e-38f, 1e-38f},
};

const char *op_values_name(enum op_values values)
{
    return table[values].name;
}

void op_values_fill(enum op_values values, uint64_t seed, uint32_t stream, float *out, size_t count)
{
    if (values == VALUES_MIXED)
        return;
    random_fill_uniform(seed, RANDOM_TEST, stream, table[values].low, table[values].high, out,
                        count);
    for (size_t i = 0; i < count; i++)
        if (values == VALUES_LARGE && i % 5 == 4)
            out[i] *= 10;
        else if (values == VALUES_TIES)
            out[i] = roundf(2 * out[i]) / 2;
        else if (values == VALUES_ZERO)
            out[i] = copysignf(0, out[i]);
}

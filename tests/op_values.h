/* op_values.h: the kinds of values that an operator's inputs are tested with. */
#ifndef TINCA_TESTS_OP_VALUES_H
#define TINCA_TESTS_OP_VALUES_H

#include <stddef.h>
#include <stdint.h>

enum op_values {
    VALUES_MIXED,    /* -2 to 2, following the case's flags; the goldens use these */
    VALUES_NEGATIVE, /* -2 to -0.5: padding read as 0 would be larger than all values */
    VALUES_LARGE,    /* up to +-20, every fifth up to +-200: functions saturate */
    VALUES_TIES,     /* -1, -0.5, 0, 0.5 and 1 */
    VALUES_ZERO,     /* 0 and -0 */
    VALUES_TINY,     /* up to +-1e-38: denormal numbers */
    OP_VALUES
};

/* Returns "negative", ... */
const char *op_values_name(enum op_values values);

/* Fills out[0..count) with numbers from `seed` and `stream`. VALUES_MIXED changes nothing. */
void op_values_fill(enum op_values values, uint64_t seed, uint32_t stream, float *out,
                    size_t count);

#endif

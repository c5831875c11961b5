/* op_cases.h: the one list of operator cases.
 *
 * Gradient test, parity with PyTorch's goldens, comparison of device kernels and benchmark iterate
 * it. The shapes are small but awkward: images of one pixel, primes, one below, at and above the
 * widths that vectors and tiles have, windows that overhang. A new case needs new goldens:
 * see tests/parity/make_goldens.py.
 */
#ifndef TINCA_TESTS_OP_CASES_H
#define TINCA_TESTS_OP_CASES_H

#include "engine/ops/op.h"

enum op_case_flags {
    CASE_INFERENCE = 1 << 0,   /* forward only, not in training */
    CASE_TIES = 1 << 1,        /* inputs are multiples of 1/2, so that many are equal */
    CASE_LARGE = 1 << 2,       /* inputs of up to +-200, where exp() overflows */
    CASE_UNIT_TARGET = 1 << 3, /* input 1 holds probabilities */
};

struct op_case {
    const char *name; /* unique; prefix of its arrays in the goldens */
    const struct op *op;
    union attributes attributes;
    struct shape inputs[NODE_MAX_INPUTS];
    size_t input_count;
    size_t batch;
    unsigned flags;
};

extern const struct op_case op_cases[];
extern const size_t op_case_count;

#endif

/* op_cases.h: the one list of operator cases.
 *
 * Gradient test, parity with PyTorch's goldens, comparison of device kernels and benchmark iterate
 * it; the flags say which of them a case is for. Most shapes are small but awkward: images of one
 * pixel, primes, one below, at and above the sizes that vectors, tiles and blocks have in any
 * instruction set, windows that overhang. A new case without CASE_EDGE, CASE_LARGER or CASE_TIMED
 * needs new goldens: see tests/parity/make_goldens.py.
 */
#ifndef TINCA_TESTS_OP_CASES_H
#define TINCA_TESTS_OP_CASES_H

#include "engine/ops/op.h"

enum op_case_flags {
    CASE_INFERENCE = 1 << 0,   /* forward only, not in training */
    CASE_TIES = 1 << 1,        /* inputs are multiples of 1/2, so that many are equal */
    CASE_LARGE = 1 << 2,       /* inputs of up to +-200, where exp() overflows */
    CASE_UNIT_TARGET = 1 << 3, /* input 1 holds probabilities */
    CASE_EDGE = 1 << 4,        /* one size of a sweep: no golden */
    CASE_LARGER = 1 << 5,      /* against the reference alone: no golden, no central differences */
    CASE_TIMED = 1 << 6,       /* a layer of a studied network, for `make bench`; too large to be
                                  compared with the reference every day */
    CASE_WITHOUT_GOLDEN = CASE_EDGE | CASE_LARGER | CASE_TIMED,
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

/* The kernels that a case belongs to: the operator's name, or "depthwise". A family's cases to be
 * timed follow one another. */
const char *op_case_family(const struct op_case *op_case);

#endif

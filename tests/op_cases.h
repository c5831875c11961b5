/* op_cases.h: the list of operator cases.
 *
 * The gradient test, the parity test with PyTorch's goldens, the comparison of device kernels and
 * the benchmark use this list; flags say which of them a case is for. Most shapes are small but
 * awkward: images of one pixel, primes, sizes one below, at and above those of vectors, tiles and
 * blocks in any instruction set, windows that extend beyond the image. A new case without
 * CASE_EDGE, CASE_LARGER or CASE_TIMED needs new goldens: see tests/parity/make_goldens.py.
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
    CASE_LARGER = 1 << 5, /* compared with the reference only: no golden, no central differences */
    CASE_TIMED =
        1 << 6, /* a layer of a studied network, for `make bench`; too large for `make check` */
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

/* Returns the family of kernels of a case: the operator's name, or "depthwise". The timed cases of
 * a family are adjacent in the list. */
const char *op_case_family(const struct op_case *op_case);

#endif

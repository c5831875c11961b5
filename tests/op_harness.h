/* op_harness.h: one operator case in memory, and any kernel run on it.
 *
 * Every array lies against a page that must not be touched (guarded_memory.h): a kernel has no
 * right to a byte outside of its arrays, whatever lies there in a plan's arena. Before a kernel
 * runs, all that it must write is NaN and so is what it has no right to read: scratch, saved data,
 * and in backward the inputs and the output unless its traits announce them.
 */
#ifndef TINCA_TESTS_OP_HARNESS_H
#define TINCA_TESTS_OP_HARNESS_H

#include "guarded_memory.h"
#include "op_cases.h"
#include "op_values.h"

enum { HARNESS_SEED = 1234, HARNESS_ITERATION = 7 }; /* what dropout draws from */

enum harness_options {
    HARNESS_IN_PLACE = 1 << 0,          /* output in input 0's memory, where the kernel may */
    HARNESS_GRADIENT_IN_PLACE = 1 << 1, /* input 0's gradient in the output's, where it may */
    HARNESS_ACCUMULATE = 1 << 2,        /* add to gradients that are there */
    HARNESS_NO_INPUT_GRADIENTS = 1 << 3,
};

/* Where kernels run that do not run on this processor: memory that both reach, and the state that
 * their calls carry. */
struct op_harness_device {
    void *context;
    void *(*allocate)(size_t bytes); /* aligned as memory_new_aligned() does; NULL: none is left */
    void (*release)(void *memory);   /* may be NULL */
    void (*finish)(void *context);   /* waits for all that was called */
};
extern const struct op_harness_device *op_harness_device; /* NULL: this processor */

/* What a harness is made with. */
struct op_harness_setup {
    uint64_t seed;
    enum op_values values;  /* of the inputs */
    enum guarded_side side; /* where arrays touch their page; not on an op_harness_device */
};

struct op_harness {
    const struct op_case *op_case;
    enum guarded_side side;
    struct graph graph;
    const struct node *node; /* of the graph */
    size_t input_count, parameter_count;
    size_t input_values[NODE_MAX_INPUTS], parameter_values[NODE_MAX_PARAMETERS];
    size_t output_values; /* of the whole batch, like input_values */
    bool learnable[NODE_MAX_PARAMETERS];

    /* given: never changed by a run */
    float *inputs[NODE_MAX_INPUTS], *parameters[NODE_MAX_PARAMETERS];
    float *output_gradient; /* NULL for a loss */
    float *base;            /* what gradients hold before HARNESS_ACCUMULATE adds to them */
    int32_t *labels;        /* NULL unless the operator reads them */

    /* results of the last run */
    float *output, *input_gradients[NODE_MAX_INPUTS];
    float *parameter_gradients[NODE_MAX_PARAMETERS]; /* NULL where not learnable */
    float *updated[NODE_MAX_PARAMETERS];             /* parameters after the run */
};

/* Builds the graph of a case and fills what is given with random numbers from `seed`. NULL with an
 * error. Not for OP_VIEW operators. op_harness_create() takes VALUES_MIXED and GUARDED_END. */
struct op_harness *op_harness_create(const struct op_case *op_case, uint64_t seed,
                                     struct error *error);
struct op_harness *op_harness_create_as(const struct op_case *op_case,
                                        const struct op_harness_setup *setup, struct error *error);
void op_harness_free(struct op_harness *harness); /* may be NULL */

/* Where the case's operator works: for supports(). */
struct kernel_site op_harness_site(const struct op_harness *harness, size_t threads);

/* Runs forward and, unless the case is inference, backward. `pool` may be NULL. False with an error
 * when memory is out, or when the kernel wrote outside of an array. One that reads or writes beyond
 * the page there ends the program with a message. */
bool op_harness_run(struct op_harness *harness, const struct kernel *kernel, unsigned options,
                    struct pool *pool, struct error *error);

/* Forward alone, in training when the case is: what central differences need. */
bool op_harness_forward(struct op_harness *harness, const struct kernel *kernel, struct pool *pool,
                        struct error *error);

/* Compares all results of two runs of the same case. Returns the largest difference
 * (harness_difference) and the name of the array in *where. */
double op_harness_compare(const struct op_harness *got, const struct op_harness *wanted,
                          const char **where);

/* Whether two runs of the same case gave the same bits. */
bool op_harness_same(const struct op_harness *a, const struct op_harness *b);

/* max |got - wanted| / (max |wanted| + 1e-2): relative in the maximum norm, absolute below 0.01.
 * Infinite when there is a value that is no number. */
double harness_difference(const float *got, const float *wanted, size_t count);

/* Checks the promises of kernel.h: everything is written, the traits are true, gradients are added
 * to where asked, parameters alone can be asked for. False with the reason in why[0..size). */
bool op_harness_check_contract(const struct op_case *op_case, const struct kernel *kernel,
                               struct pool *pool, char *why, size_t size);

#endif

/* op_harness.h: holds one operator case in memory and runs any kernel on it.
 *
 * Every array is next to a guard page (guarded_memory.h): a kernel must not access any byte outside
 * of its arrays, whatever may be there in a plan's arena. Before a kernel runs, everything that it
 * must write is NaN, and so is everything that it must not read: scratch, saved data, and in
 * backward the inputs and the output unless its traits declare them.
 */
#ifndef TINCA_TESTS_OP_HARNESS_H
#define TINCA_TESTS_OP_HARNESS_H

#include "guarded_memory.h"
#include "op_cases.h"
#include "op_values.h"

enum { HARNESS_SEED = 1234, HARNESS_ITERATION = 7 }; /* the seed of dropout */

enum harness_options {
    HARNESS_IN_PLACE = 1 << 0, /* the output is in input 0's memory, if the kernel supports it */
    HARNESS_GRADIENT_IN_PLACE =
        1 << 1, /* input 0's gradient is in the output's gradient, if it supports it */
    HARNESS_ACCUMULATE = 1 << 2, /* add to existing gradients */
    HARNESS_NO_INPUT_GRADIENTS = 1 << 3,
};

/* A device for kernels that do not run on this processor: memory that both can access, and the
 * state of its calls. */
struct op_harness_device {
    void *context;
    void *(*allocate)(size_t bytes); /* aligned as by memory_new_aligned(); NULL: memory is short */
    void (*release)(void *memory);   /* may be NULL */
    void (*finish)(void *context);   /* waits for all earlier calls */
};
extern const struct op_harness_device *op_harness_device; /* NULL: this processor */

/* The settings of a harness. */
struct op_harness_setup {
    uint64_t seed;
    enum op_values values; /* the kind of values of the inputs */
    enum guarded_side
        side; /* which end of arrays is at the guard page; not for an op_harness_device */
};

struct op_harness {
    const struct op_case *op_case;
    enum guarded_side side;
    struct graph graph;
    const struct node *node; /* node of the graph */
    size_t input_count, parameter_count;
    size_t input_values[NODE_MAX_INPUTS], parameter_values[NODE_MAX_PARAMETERS];
    size_t output_values; /* all of the whole batch, like input_values */
    bool learnable[NODE_MAX_PARAMETERS];
    /* Whether all inputs, and the output, are channels-last, with their gradients. False at first;
     * the caller sets it and orders the values. */
    bool inputs_last, output_last;

    /* given; a run does not change them */
    float *inputs[NODE_MAX_INPUTS], *parameters[NODE_MAX_PARAMETERS];
    float *output_gradient; /* NULL for a loss */
    float *base;            /* the initial gradients, to which HARNESS_ACCUMULATE adds */
    int32_t *labels;        /* NULL unless the operator reads them */

    /* results of the last run */
    float *output, *input_gradients[NODE_MAX_INPUTS];
    float *parameter_gradients[NODE_MAX_PARAMETERS]; /* NULL where not learnable */
    float *updated[NODE_MAX_PARAMETERS];             /* parameters after the run */
};

/* Builds the graph of a case and fills the given arrays with random numbers from `seed`. NULL with
 * an error. Not for OP_VIEW operators. op_harness_create() uses VALUES_MIXED and GUARDED_END. */
struct op_harness *op_harness_create(const struct op_case *op_case, uint64_t seed,
                                     struct error *error);
struct op_harness *op_harness_create_as(const struct op_case *op_case,
                                        const struct op_harness_setup *setup, struct error *error);
void op_harness_free(struct op_harness *harness); /* may be NULL */

/* Returns the site of the case's operator, for supports(). */
struct kernel_site op_harness_site(const struct op_harness *harness, size_t threads);

/* Runs forward and, unless the case is inference, backward. `pool` may be NULL. Returns false with
 * an error when memory is short or the kernel wrote outside of an array. A kernel that accesses a
 * guard page ends the program with a message. */
bool op_harness_run(struct op_harness *harness, const struct kernel *kernel, unsigned options,
                    struct pool *pool, struct error *error);

/* Runs forward only, in training if the case is, for central differences. */
bool op_harness_forward(struct op_harness *harness, const struct kernel *kernel, struct pool *pool,
                        struct error *error);

/* Compares all results of two runs of the same case. Returns the largest difference
 * (harness_difference) and the name of the array in *where. */
double op_harness_compare(const struct op_harness *got, const struct op_harness *wanted,
                          const char **where);

/* Returns whether two runs of the same case gave the same bits. */
bool op_harness_same(const struct op_harness *a, const struct op_harness *b);

/* Returns max |got - wanted| / (max |wanted| + 1e-2): relative in the maximum norm, absolute below
 * 0.01. Infinite if a value is NaN or infinite. */
double harness_difference(const float *got, const float *wanted, size_t count);

/* Checks the promises of kernel.h: everything is written, the traits are true, gradients are
 * accumulated if requested, and gradients of parameters can be requested alone. Returns false with
 * the reason in why[0..size). */
bool op_harness_check_contract(const struct op_case *op_case, const struct kernel *kernel,
                               struct pool *pool, char *why, size_t size);

#endif

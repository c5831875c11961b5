/* profile.h: measures the time of each node and pass, of the solver's steps, and of GEMM calls by
 * kind and shape.
 *
 * A kernel may report its GEMM calls from several threads at once: each thread has its own table,
 * merged when it is read. profile_start and profile_add_gemm do nothing if the profile is NULL.
 */
#ifndef TINCA_ENGINE_PROFILE_PROFILE_H
#define TINCA_ENGINE_PROFILE_PROFILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct profile;

enum gemm_kind { GEMM_NN, GEMM_NT, GEMM_TN }; /* which operand is transposed, row-major */

struct gemm_row {
    enum gemm_kind kind;
    size_t m, n, k;
    uint64_t calls;
    double seconds; /* summed over threads */
};

struct profile_layer {
    uint64_t calls;
    double forward_seconds, backward_seconds;
};

/* Returns an empty profile for `nodes` nodes and `threads` threads; NULL with an error. */
struct profile *profile_create(size_t nodes, size_t threads, struct error *error);
void profile_free(struct profile *profile);

/* Adds a forward or backward pass of a node. */
void profile_add_node(struct profile *profile, size_t node, bool backward, uint64_t nanoseconds);

/* Adds the time of a solver step, which updates all layers. */
void profile_add_update(struct profile *profile, uint64_t nanoseconds);
double profile_update_seconds(const struct profile *profile);

/* Returns the time at the beginning of a GEMM call, for profile_add_gemm; 0 without a profile. */
uint64_t profile_start(const struct profile *profile);
void profile_add_gemm(struct profile *profile, size_t thread, enum gemm_kind kind, size_t m,
                      size_t n, size_t k, uint64_t start);

/* Adds calls that were measured elsewhere, for example on a GPU. */
void profile_add_gemm_row(struct profile *profile, size_t thread, const struct gemm_row *done);

/* Returns calls and times of a node. */
struct profile_layer profile_node(const struct profile *profile, size_t node);

/* Returns the merged GEMM table, most seconds first, which the caller frees; NULL with an error. */
struct gemm_row *profile_gemm_rows(const struct profile *profile, size_t *count,
                                   struct error *error);

/* Returns "nn", "nt" or "tn". */
const char *gemm_kind_name(enum gemm_kind kind);

#endif

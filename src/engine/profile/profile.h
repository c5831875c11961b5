/* profile.h: where the time goes: nanoseconds a node and direction, those of the solver's steps,
 * and GEMM calls by kind and shape.
 *
 * A kernel may report its GEMM calls from several threads at once: each thread has its own table,
 * merged when it is read. Without a profile (NULL) every function here returns at once.
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

struct profile *profile_create(size_t nodes, size_t threads, struct error *error);
void profile_free(struct profile *profile);

void profile_add_node(struct profile *profile, size_t node, bool backward, uint64_t nanoseconds);

/* A solver step; there is one for all layers. */
void profile_add_update(struct profile *profile, uint64_t nanoseconds);
double profile_update_seconds(const struct profile *profile);

/* A stamp for the beginning of a call; 0 without a profile. */
uint64_t profile_start(const struct profile *profile);
void profile_add_gemm(struct profile *profile, size_t thread, enum gemm_kind kind, size_t m,
                      size_t n, size_t k, uint64_t start);

/* The same of calls that were measured elsewhere, as by a GPU. */
void profile_add_gemm_row(struct profile *profile, size_t thread, const struct gemm_row *done);

struct profile_layer profile_node(const struct profile *profile, size_t node);

/* The merged GEMM table, most seconds first; owned by the caller. */
struct gemm_row *profile_gemm_rows(const struct profile *profile, size_t *count,
                                   struct error *error);
const char *gemm_kind_name(enum gemm_kind kind); /* "nn", "nt", "tn" */

#endif

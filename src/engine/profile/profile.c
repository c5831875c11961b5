/* Each thread has its own table of GEMM calls, so that kernels count without a lock; the tables are
 * merged when the profile is read. */
#include "engine/profile/profile.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Rows of one thread. Networks have a few dozen shapes: a linear search from the row used last
 * finds them, since an iteration repeats the same order. */
struct gemm_table {
    struct gemm_row *rows;
    size_t count, capacity, last;
};

struct profile {
    struct profile_layer *layers;
    size_t nodes;
    double update_seconds;
    struct gemm_table *tables;
    size_t threads;
};

struct profile *profile_create(size_t nodes, size_t threads, struct error *error)
{
    struct profile *profile = memory_new(1, sizeof *profile, "the profile", error);
    if (!profile)
        return NULL;
    *profile = (struct profile){.nodes = nodes, .threads = threads};
    profile->layers = memory_new(nodes, sizeof *profile->layers, "the profile", error);
    profile->tables = memory_new(threads, sizeof *profile->tables, "the profile", error);
    if (profile->layers && profile->tables)
        return profile;
    profile_free(profile);
    return NULL;
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; profile->tables && i < profile->threads; i++)
        free(profile->tables[i].rows);
    free(profile->tables);
    free(profile->layers);
    free(profile);
}

void profile_add_node(struct profile *profile, size_t node, bool backward, uint64_t nanoseconds)
{
    struct profile_layer *layer = &profile->layers[node];
    double seconds = (double)nanoseconds * 1e-9;
    if (backward) {
        layer->backward_seconds += seconds;
    } else {
        layer->forward_seconds += seconds;
        layer->calls++;
    }
}

void profile_add_update(struct profile *profile, uint64_t nanoseconds)
{
    profile->update_seconds += (double)nanoseconds * 1e-9;
}

double profile_update_seconds(const struct profile *profile)
{
    return profile->update_seconds;
}

struct profile_layer profile_node(const struct profile *profile, size_t node)
{
    return profile->layers[node];
}

uint64_t profile_start(const struct profile *profile)
{
    return profile ? clock_nanoseconds() : 0;
}

static bool same_shape(const struct gemm_row *a, const struct gemm_row *b)
{
    return a->kind == b->kind && a->m == b->m && a->n == b->n && a->k == b->k;
}

/* Returns the table's row for this kind and shape, and adds one if needed. Returns NULL if out of
 * memory; the call is then not counted. */
static struct gemm_row *find_row(struct gemm_table *table, const struct gemm_row *wanted)
{
    for (size_t i = 0; i < table->count; i++) {
        size_t at = (table->last + i) % table->count;
        if (same_shape(&table->rows[at], wanted)) {
            table->last = at;
            return &table->rows[at];
        }
    }
    if (!memory_grow(&table->rows, &table->capacity, table->count + 1, sizeof *table->rows,
                     "the profile", NULL))
        return NULL;
    struct gemm_row *row = &table->rows[table->count++];
    *row = *wanted;
    row->calls = 0;
    row->seconds = 0;
    return row;
}

void profile_add_gemm(struct profile *profile, size_t thread, enum gemm_kind kind, size_t m,
                      size_t n, size_t k, uint64_t start)
{
    if (!profile)
        return;
    const struct gemm_row done = {.kind = kind,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .calls = 1,
                                  .seconds = clock_seconds(start, clock_nanoseconds())};
    profile_add_gemm_row(profile, thread, &done);
}

void profile_add_gemm_row(struct profile *profile, size_t thread, const struct gemm_row *done)
{
    struct gemm_row *row = find_row(&profile->tables[thread], done);
    if (!row)
        return;
    row->calls += done->calls;
    row->seconds += done->seconds;
}

static int most_seconds_first(const void *a, const void *b)
{
    double x = ((const struct gemm_row *)a)->seconds, y = ((const struct gemm_row *)b)->seconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

struct gemm_row *profile_gemm_rows(const struct profile *profile, size_t *count,
                                   struct error *error)
{
    struct gemm_table merged = {0};
    size_t rows = 0;
    for (size_t t = 0; t < profile->threads; t++)
        rows += profile->tables[t].count;
    if (!memory_grow(&merged.rows, &merged.capacity, rows + 1, sizeof *merged.rows, "the profile",
                     error))
        return NULL;
    for (size_t t = 0; t < profile->threads; t++)
        for (size_t i = 0; i < profile->tables[t].count; i++) {
            const struct gemm_row *row = &profile->tables[t].rows[i];
            struct gemm_row *sum = find_row(&merged, row);
            sum->calls += row->calls;
            sum->seconds += row->seconds;
        }
    qsort(merged.rows, merged.count, sizeof *merged.rows, most_seconds_first);
    *count = merged.count;
    return merged.rows;
}

const char *gemm_kind_name(enum gemm_kind kind)
{
    static const char *const names[] = {"nn", "nt", "tn"};
    return names[kind];
}

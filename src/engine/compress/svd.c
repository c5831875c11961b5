/* LAPACK's matrices are column-major: it reads a row-major matrix as its transpose, which is (U S
 * V^T)^T = V S U^T. So dgesdd's U is V here, and its V^T is U^T; read row by row, they are V^T and
 * U, as the header declares them. */
#include "engine/compress/factor.h"

#include "base/memory.h"

#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* The divide-and-conquer SVD of LAPACK 3. The last argument is the length of `job`, which compilers
 * of Fortran add. */
extern void dgesdd_(const char *job, const int *m, const int *n, double *a, const int *lda,
                    double *s, double *u, const int *ldu, double *vt, const int *ldvt, double *work,
                    const int *work_size, int *integers, int *info, size_t job_length);

enum { INTEGERS = 8 }; /* dgesdd's integer workspace for each singular value */

static bool check_values(const double *matrix, size_t count, const char *what, struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(matrix[i]))
            return error_set(error, ERROR_INPUT, what,
                             "train it again: tinca weights FILE shows the values of each layer",
                             "its weights contain NaN or infinity");
    return true;
}

static bool refuse_size(const struct svd *svd, const char *what, struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, what, "leave this layer as it is, with --keep",
                     "a matrix of %zu x %zu is too large for LAPACK", svd->rows, svd->columns);
}

/* Calls dgesdd for the transposed matrix. With `work_size` -1 it only writes the best size of the
 * workspace to work[0]. Returns LAPACK's status, 0 for success. */
static int call_lapack(struct svd *svd, double *matrix, double *work, int work_size, int *integers)
{
    const int m = (int)svd->columns, n = (int)svd->rows, k = (int)svd->rank;
    int info = 0;
    dgesdd_("S", &m, &n, matrix, &m, svd->s, svd->vt, &m, svd->u, &k, work, &work_size, integers,
            &info, 1);
    return info;
}

static bool decompose(struct svd *svd, double *matrix, const char *what, struct error *error)
{
    double best = 0;
    int *integers = memory_new(svd->rank, INTEGERS * sizeof *integers, what, error);
    if (!integers)
        return false;
    int info = call_lapack(svd, matrix, &best, -1, integers);
    if (info || best > (double)INT_MAX) {
        free(integers);
        return refuse_size(svd, what, error);
    }
    double *work = memory_new_aligned((size_t)best, sizeof *work, what, error);
    info = work ? call_lapack(svd, matrix, work, (int)best, integers) : 0;
    free(integers);
    free(work);
    if (info)
        error_set(error, ERROR_UNSUPPORTED, what, "leave this layer as it is, with --keep",
                  "LAPACK's dgesdd did not find its singular values (status %d)", info);
    return work && info == 0;
}

bool svd_compute(struct svd *svd, double *matrix, size_t rows, size_t columns, const char *what,
                 struct error *error)
{
    const size_t rank = rows < columns ? rows : columns;
    *svd = (struct svd){.rows = rows, .columns = columns, .rank = rank};
    if (rows > INT_MAX || columns > INT_MAX)
        return refuse_size(svd, what, error);
    if (!check_values(matrix, rows * columns, what, error))
        return false;
    openblas_set_num_threads(1);
    svd->u = memory_new_aligned(rows * rank, sizeof *svd->u, what, error);
    svd->s = memory_new_aligned(rank, sizeof *svd->s, what, error);
    svd->vt = memory_new_aligned(rank * columns, sizeof *svd->vt, what, error);
    if (svd->u && svd->s && svd->vt && decompose(svd, matrix, what, error))
        return true;
    svd_free(svd);
    return false;
}

uint64_t svd_bytes(size_t rows, size_t columns, uint64_t *working)
{
    const uint64_t rank = rows < columns ? rows : columns;
    struct svd svd = {.rows = rows, .columns = columns, .rank = (size_t)rank};
    double best = 0;
    if (rows <= INT_MAX && columns <= INT_MAX)
        call_lapack(&svd, NULL, &best, -1, NULL);
    *working = rank * INTEGERS * sizeof(int) +
               ((uint64_t)rows * columns + (uint64_t)best) * sizeof(double);
    return (rank * rows + rank + rank * columns) * sizeof(double);
}

void svd_free(struct svd *svd)
{
    free(svd->u);
    free(svd->s);
    free(svd->vt);
    *svd = (struct svd){0};
}

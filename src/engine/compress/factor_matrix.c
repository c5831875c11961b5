/* The methods svd and spatial. The kernel of a group becomes the matrix [(output, x)][(input, y)];
 * with a 1 x 1 kernel that is the matrix of a linear layer. Its SVD, cut at rank R, is the closest
 * matrix of that rank (Eckart & Young 1936), and the sum of the squared differences is that of the
 * squared singular values that were cut off. */
#include "engine/compress/factor.h"

#include "base/memory.h"

#include <cblas.h>
#include <stdlib.h>

enum { ROWS = 64 }; /* of the product that is compared with the weights at a time */

/* Returns the weight in row (output, x) and column (input, y) of the matrix. */
static float element(const struct factor *factor, const float *weights, size_t row, size_t column)
{
    const struct factor_kernel *k = &factor->kernel;
    const size_t o = row / k->width, x = row % k->width;
    const size_t i = column / k->height, y = column % k->height;
    return weights[((o * k->inputs + i) * k->height + y) * k->width + x];
}

bool factor_matrix_decompose(struct factor *factor, size_t g, struct error *error)
{
    const struct factor_kernel *k = &factor->kernel;
    const size_t rows = k->outputs * k->width, columns = k->inputs * k->height;
    const float *weights = factor_group_weights(factor, g);
    double *matrix = memory_new_aligned(rows * columns, sizeof *matrix, factor->what, error);
    if (!matrix)
        return false;
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            matrix[row * columns + column] = (double)element(factor, weights, row, column);
    const bool done = svd_compute(&factor->svds[g], matrix, rows, columns, factor->what, error);
    free(matrix);
    return done;
}

/* Writes S V^T [R][inputs, height, 1] and U as [outputs][R][1, width], rounded to float32. */
static void write_parts(const struct factor *factor, size_t g, size_t rank, float *first,
                        float *second)
{
    const struct factor_kernel *k = &factor->kernel;
    const struct svd *svd = &factor->svds[g];
    for (size_t r = 0; r < rank; r++)
        for (size_t column = 0; column < svd->columns; column++)
            first[r * svd->columns + column] =
                (float)(svd->s[r] * svd->vt[r * svd->columns + column]);
    for (size_t o = 0; o < k->outputs; o++)
        for (size_t r = 0; r < rank; r++)
            for (size_t x = 0; x < k->width; x++)
                second[(o * rank + r) * k->width + x] =
                    (float)svd->u[(o * k->width + x) * svd->rank + r];
}

/* The parts of a group as matrices in double: u [rows][R], v [R][columns]; and some rows of their
 * product. */
struct product {
    double *u, *v, *rows;
};

static bool product_create(struct product *product, const struct svd *svd, size_t rank,
                           const char *what, struct error *error)
{
    product->u = memory_new_aligned(svd->rows * rank, sizeof *product->u, what, error);
    product->v = memory_new_aligned(rank * svd->columns, sizeof *product->v, what, error);
    product->rows = memory_new_aligned(ROWS * svd->columns, sizeof *product->rows, what, error);
    return product->u && product->v && product->rows;
}

static void product_free(struct product *product)
{
    free(product->u);
    free(product->v);
    free(product->rows);
}

static void product_read(struct product *product, const struct factor *factor,
                         const struct svd *svd, size_t rank, const float *first,
                         const float *second)
{
    const size_t width = factor->kernel.width;
    for (size_t row = 0; row < svd->rows; row++)
        for (size_t r = 0; r < rank; r++)
            product->u[row * rank + r] =
                (double)second[(row / width * rank + r) * width + row % width];
    for (size_t i = 0; i < rank * svd->columns; i++)
        product->v[i] = (double)first[i];
}

/* Returns the sum of the squared differences between the weights and the product of the parts. */
static double compare(const struct product *product, const struct factor *factor, size_t g,
                      size_t rank)
{
    const struct svd *svd = &factor->svds[g];
    const float *weights = factor_group_weights(factor, g);
    double sum = 0;
    for (size_t done = 0; done < svd->rows; done += ROWS) {
        const size_t some = svd->rows - done < ROWS ? svd->rows - done : ROWS;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)some, (int)svd->columns,
                    (int)rank, 1, product->u + done * rank, (int)rank, product->v,
                    (int)svd->columns, 0, product->rows, (int)svd->columns);
        for (size_t row = 0; row < some; row++)
            for (size_t column = 0; column < svd->columns; column++) {
                const double difference = product->rows[row * svd->columns + column] -
                                          (double)element(factor, weights, done + row, column);
                sum += difference * difference;
            }
    }
    return sum;
}

bool factor_matrix_make(const struct factor *factor, const size_t *ranks, size_t g,
                        float *const parts[FACTOR_PARTS], double *tail, double *difference,
                        struct error *error)
{
    const struct svd *svd = &factor->svds[g];
    const size_t rank = ranks[0];
    struct product product = {0};
    float *first = parts[0] + g * rank * svd->columns, *second = parts[1] + g * rank * svd->rows;
    write_parts(factor, g, rank, first, second);
    const bool good = product_create(&product, svd, rank, factor->what, error);
    if (good) {
        product_read(&product, factor, svd, rank, first, second);
        *tail += factor_tail(svd, rank);
        *difference += compare(&product, factor, g, rank);
    }
    product_free(&product);
    return good;
}

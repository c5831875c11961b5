/* Computes the spectra, the choice of ranks and the sizes of the parts for all methods. */
#include "engine/compress/factor.h"

#include "base/memory.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the weights of a group, [outputs][inputs][height][width]. */
static const float *group_weights(const struct factor *factor, size_t g)
{
    const struct factor_kernel *k = &factor->kernel;
    return k->weight + g * k->outputs * k->inputs * k->height * k->width;
}

/* Returns the sum of the squares of s[from..svd->rank), beginning with the smallest. */
static double tail_from(const struct svd *svd, size_t from)
{
    double sum = 0;
    for (size_t r = svd->rank; r > from; r--)
        sum += svd->s[r - 1] * svd->s[r - 1];
    return sum;
}

/* The methods svd and spatial. The kernel of a group becomes the matrix [(output, x)][(input, y)];
 * with a 1 x 1 kernel that is the matrix of a linear layer. Its SVD, cut at rank R, is the closest
 * matrix of that rank (Eckart & Young 1936), and the sum of the squared differences is that of the
 * squared singular values that were cut off. */

enum { ROWS = 64 }; /* rows of the product that are compared with the weights at a time */

/* Returns the weight in row (output, x) and column (input, y) of the matrix. */
static float element(const struct factor *factor, const float *weights, size_t row, size_t column)
{
    const struct factor_kernel *k = &factor->kernel;
    const size_t o = row / k->width, x = row % k->width;
    const size_t i = column / k->height, y = column % k->height;
    return weights[((o * k->inputs + i) * k->height + y) * k->width + x];
}

/* Decomposes group `g` into svds[g * modes ...]. */
static bool decompose_matrix(struct factor *factor, size_t g, struct error *error)
{
    const struct factor_kernel *k = &factor->kernel;
    const size_t rows = k->outputs * k->width, columns = k->inputs * k->height;
    const float *weights = group_weights(factor, g);
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
static void write_matrix_parts(const struct factor *factor, size_t g, size_t rank, float *first,
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
static double compare_matrix(const struct product *product, const struct factor *factor, size_t g,
                             size_t rank)
{
    const struct svd *svd = &factor->svds[g];
    const float *weights = group_weights(factor, g);
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

/* Writes the parts of group `g`. Adds the group's lost squared singular values to *tail, and the
 * sum of the squared differences from its weights to *difference. */
static bool make_matrix_parts(const struct factor *factor, const size_t *ranks, size_t g,
                              float *const parts[FACTOR_PARTS], double *tail, double *difference,
                              struct error *error)
{
    const struct svd *svd = &factor->svds[g];
    const size_t rank = ranks[0];
    struct product product = {0};
    float *first = parts[0] + g * rank * svd->columns, *second = parts[1] + g * rank * svd->rows;
    write_matrix_parts(factor, g, rank, first, second);
    const bool good = product_create(&product, svd, rank, factor->what, error);
    if (good) {
        product_read(&product, factor, svd, rank, first, second);
        *tail += tail_from(svd, rank);
        *difference += compare_matrix(&product, factor, g, rank);
    }
    product_free(&product);
    return good;
}

/* The method tucker. With the kernel of a group as W[o][i][k], k counting its elements:
 *
 *   W[o][i][k] ~ sum over a, b of A[o][a] * core[a][b][k] * B[i][b]
 *
 * A [outputs][R_out] and B [inputs][R_in] have orthonormal columns. They begin as the first left
 * singular vectors of W unfolded by outputs and by inputs (HOSVD, De Lathauwer et al. 2000). Then
 * each is computed anew from W projected onto the other, in turn (HOOI): no step makes the error
 * larger. The core is W projected onto both, so the sum of the squared differences is that of W
 * less that of the core. It is also the part of W that the projection onto A leaves out, plus the
 * squared singular values that the last step cut off.
 *
 * A rank that is full needs no projection: that matrix is the identity, and its 1 x 1 convolution
 * is left out. Then there is nothing to iterate, and the other matrix is the best one at once. */

/* HOOI ends after this number of rounds, or when a round adds less than this share to the squares
 * that are kept. */
enum { ROUNDS = 10 };
static const double gain_to_continue = 1e-7;

struct tucker {
    const struct factor *factor;
    size_t o, i, k;             /* outputs and inputs of the group, elements of the kernel */
    size_t out, in;             /* the ranks */
    double *w;                  /* [o][i][k] */
    double *a;                  /* [o][out]; NULL: the identity */
    double *b;                  /* [i][in]; NULL: the identity */
    double *projected, *matrix; /* scratch of as many values as w */
    double tail;                /* sum of the squared differences that A and B make */
};

/* --- arrays --- */

/* Copies from [planes][rows][k] to [rows][planes][k]. */
static void swap_axes(const double *from, double *to, size_t planes, size_t rows, size_t k)
{
    for (size_t p = 0; p < planes; p++)
        for (size_t r = 0; r < rows; r++)
            memcpy(to + (r * planes + p) * k, from + (p * rows + r) * k, k * sizeof *to);
}

/* Computes to[columns of m][n] = m^T [rows][columns] * from[rows][n]. */
static void project(const double *m, size_t rows, size_t columns, const double *from, size_t n,
                    double *to)
{
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)columns, (int)n, (int)rows, 1, m,
                (int)columns, from, (int)n, 0, to, (int)n);
}

/* Writes W projected onto A, [out][i][k]. */
static void project_outputs(const struct tucker *t, const double *from, double *to)
{
    if (t->a)
        project(t->a, t->o, t->out, from, t->i * t->k, to);
    else
        memcpy(to, from, t->o * t->i * t->k * sizeof *to);
}

/* Writes an array [planes][i][k] projected onto B, [planes][in][k]. */
static void project_inputs(const struct tucker *t, const double *from, size_t planes, double *to)
{
    if (!t->b)
        memcpy(to, from, planes * t->i * t->k * sizeof *to);
    for (size_t p = 0; t->b && p < planes; p++)
        project(t->b, t->i, t->in, from + p * t->i * t->k, t->k, to + p * t->in * t->k);
}

static double squares(const double *values, size_t count)
{
    double sum = 0;
    for (size_t n = 0; n < count; n++)
        sum += values[n] * values[n];
    return sum;
}

/* --- decomposition --- */

static void read_kernel(const struct factor *factor, size_t g, double *w)
{
    const struct factor_kernel *k = &factor->kernel;
    const float *weights = group_weights(factor, g);
    for (size_t n = 0; n < k->outputs * k->inputs * k->height * k->width; n++)
        w[n] = (double)weights[n];
}

/* Decomposes group `g` into svds[g * modes ...]. */
static bool decompose_tucker(struct factor *factor, size_t g, struct error *error)
{
    const struct factor_kernel *kernel = &factor->kernel;
    const size_t o = kernel->outputs, i = kernel->inputs, k = kernel->height * kernel->width;
    double *w = memory_new_aligned(2 * o * i * k, sizeof *w, factor->what, error);
    if (!w)
        return false;
    double *unfolded = w + o * i * k;
    read_kernel(factor, g, w);
    swap_axes(w, unfolded, o, i, k);
    const bool done =
        svd_compute(&factor->svds[g * 2], w, o, i * k, factor->what, error) &&
        svd_compute(&factor->svds[g * 2 + 1], unfolded, i, o * k, factor->what, error);
    free(w);
    return done;
}

/* --- HOOI --- */

/* Copies the first `columns` columns of U. */
static void take_columns(const struct svd *svd, size_t columns, double *to)
{
    for (size_t row = 0; row < svd->rows; row++)
        memcpy(to + row * columns, svd->u + row * svd->rank, columns * sizeof *to);
}

/* Replaces `vectors` [rows][columns] by the first left singular vectors of t->matrix [rows][n], and
 * sets t->tail from the squares that the matrix has and W lacks. */
static bool renew(struct tucker *t, double *vectors, size_t rows, size_t columns, size_t n,
                  struct error *error)
{
    struct svd svd;
    const double outside = squares(t->w, t->o * t->i * t->k) - squares(t->matrix, rows * n);
    if (!svd_compute(&svd, t->matrix, rows, n, t->factor->what, error))
        return false;
    take_columns(&svd, columns, vectors);
    t->tail = (outside > 0 ? outside : 0) + tail_from(&svd, columns);
    svd_free(&svd);
    return true;
}

/* Computes A from W projected onto B, then B from W projected onto A. */
static bool improve(struct tucker *t, struct error *error)
{
    project_inputs(t, t->w, t->o, t->matrix); /* [o][in][k] */
    if (!renew(t, t->a, t->o, t->out, t->in * t->k, error))
        return false;
    project_outputs(t, t->w, t->projected); /* [out][i][k] */
    swap_axes(t->projected, t->matrix, t->out, t->i, t->k);
    return renew(t, t->b, t->i, t->in, t->out * t->k, error);
}

static bool iterate(struct tucker *t, struct error *error)
{
    const double enough = gain_to_continue * squares(t->w, t->o * t->i * t->k);
    double before = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        if (!improve(t, error))
            return false;
        if (round > 0 && before - t->tail < enough)
            break;
        before = t->tail;
    }
    return true;
}

/* Begins with the singular vectors of the unfolded kernel. */
static bool begin(struct tucker *t, size_t g, struct error *error)
{
    const struct svd *svds = &t->factor->svds[g * 2];
    const size_t count = t->o * t->i * t->k;
    const char *what = t->factor->what;
    t->w = memory_new_aligned(count, sizeof *t->w, what, error);
    t->projected = memory_new_aligned(count, sizeof *t->projected, what, error);
    t->matrix = memory_new_aligned(count, sizeof *t->matrix, what, error);
    bool good = t->w && t->projected && t->matrix;
    if (good && t->out < t->o)
        good = (t->a = memory_new_aligned(t->o * t->out, sizeof *t->a, what, error));
    if (good && t->in < t->i)
        good = (t->b = memory_new_aligned(t->i * t->in, sizeof *t->b, what, error));
    if (!good)
        return false;
    read_kernel(t->factor, g, t->w);
    if (t->a)
        take_columns(&svds[0], t->out, t->a);
    if (t->b)
        take_columns(&svds[1], t->in, t->b);
    t->tail = t->a ? tail_from(&svds[0], t->out) : tail_from(&svds[1], t->in);
    return true;
}

static void end(struct tucker *t)
{
    free(t->w);
    free(t->a);
    free(t->b);
    free(t->projected);
    free(t->matrix);
}

/* --- parts --- */

/* Writes B^T [in][i], the core [out][in][k] and A [o][out], rounded to float32, and reads them back
 * as float32 holds them. Leaves the core in t->matrix. */
static void write_tucker_parts(struct tucker *t, size_t g, float *const parts[FACTOR_PARTS])
{
    project_outputs(t, t->w, t->projected);
    project_inputs(t, t->projected, t->out, t->matrix);
    float *first = t->b ? parts[0] + g * t->in * t->i : NULL;
    float *core = parts[1] + g * t->out * t->in * t->k;
    float *last = t->a ? parts[2] + g * t->o * t->out : NULL;
    for (size_t i = 0; first && i < t->i; i++)
        for (size_t b = 0; b < t->in; b++) {
            first[b * t->i + i] = (float)t->b[i * t->in + b];
            t->b[i * t->in + b] = (double)first[b * t->i + i];
        }
    for (size_t n = 0; n < t->out * t->in * t->k; n++) {
        core[n] = (float)t->matrix[n];
        t->matrix[n] = (double)core[n];
    }
    for (size_t n = 0; last && n < t->o * t->out; n++) {
        last[n] = (float)t->a[n];
        t->a[n] = (double)last[n];
    }
}

/* Computes to[rows][n] = m[rows][columns] * from[columns][n]. */
static void expand(const double *m, size_t rows, size_t columns, const double *from, size_t n,
                   double *to)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)n, (int)columns, 1, m,
                (int)columns, from, (int)n, 0, to, (int)n);
}

/* Returns the sum of the squared differences between W and the product of the parts, whose core is
 * in t->matrix. */
static double compare_tucker(struct tucker *t)
{
    const size_t count = t->o * t->i * t->k;
    double *spread = t->projected; /* [out][i][k] */
    if (t->b)
        for (size_t a = 0; a < t->out; a++)
            expand(t->b, t->i, t->in, t->matrix + a * t->in * t->k, t->k, spread + a * t->i * t->k);
    else
        memcpy(spread, t->matrix, t->out * t->i * t->k * sizeof *spread);
    if (t->a)
        expand(t->a, t->o, t->out, spread, t->i * t->k, t->matrix);
    else
        memcpy(t->matrix, spread, count * sizeof *spread);
    for (size_t n = 0; n < count; n++)
        t->matrix[n] -= t->w[n];
    return squares(t->matrix, count);
}

/* Does for the method tucker what make_matrix_parts does for the others. */
static bool make_tucker_parts(const struct factor *factor, const size_t *ranks, size_t g,
                              float *const parts[FACTOR_PARTS], double *tail, double *difference,
                              struct error *error)
{
    const struct factor_kernel *kernel = &factor->kernel;
    struct tucker t = {.factor = factor,
                       .o = kernel->outputs,
                       .i = kernel->inputs,
                       .k = kernel->height * kernel->width,
                       .out = ranks[0],
                       .in = ranks[1]};
    bool good = begin(&t, g, error) && (!t.a || !t.b || iterate(&t, error));
    if (good) {
        write_tucker_parts(&t, g, parts);
        *tail += t.a || t.b ? t.tail : 0;
        *difference += compare_tucker(&t);
    }
    end(&t);
    return good;
}

/* --- both --- */

/* Sums the tails of all groups, which have matrices of the same size. */
static bool make_spectrum(struct factor *factor, size_t mode, size_t full, struct error *error)
{
    struct factor_spectrum *spectrum = &factor->spectra[mode];
    spectrum->full = full;
    spectrum->tails = memory_new(full + 1, sizeof *spectrum->tails, factor->what, error);
    if (!spectrum->tails)
        return false;
    for (size_t g = 0; g < factor->kernel.groups; g++) {
        const struct svd *svd = &factor->svds[g * factor->modes + mode];
        double tail = 0;
        for (size_t r = full; r > 0; r--) {
            tail += svd->s[r - 1] * svd->s[r - 1];
            spectrum->tails[r - 1] += tail;
        }
    }
    return true;
}

static bool make_spectra(struct factor *factor, struct error *error)
{
    const struct factor_kernel *k = &factor->kernel;
    for (size_t mode = 0; mode < factor->modes; mode++)
        if (!make_spectrum(factor, mode, factor->svds[mode].rank, error))
            return false;
    for (size_t i = 0; i < k->groups * k->outputs * k->inputs * k->height * k->width; i++)
        factor->squares += (double)k->weight[i] * (double)k->weight[i];
    return true;
}

bool factor_decompose(struct factor *factor, enum factor_method method,
                      const struct factor_kernel *kernel, const char *what, struct error *error)
{
    *factor = (struct factor){.method = method,
                              .kernel = *kernel,
                              .what = what,
                              .modes = method == FACTOR_TUCKER ? 2 : 1};
    factor->svds = memory_new(kernel->groups * factor->modes, sizeof *factor->svds, what, error);
    bool good = factor->svds;
    for (size_t g = 0; good && g < kernel->groups; g++)
        good = method == FACTOR_TUCKER ? decompose_tucker(factor, g, error)
                                       : decompose_matrix(factor, g, error);
    if (good && make_spectra(factor, error))
        return true;
    factor_free(factor);
    return false;
}

uint64_t factor_bytes(enum factor_method method, const struct factor_kernel *kernel,
                      uint64_t *working)
{
    const struct factor_kernel *k = kernel;
    const size_t area = k->height * k->width, o = k->outputs, i = k->inputs;
    uint64_t other, bytes;
    if (method != FACTOR_TUCKER)
        return k->groups * svd_bytes(o * k->width, i * k->height, working);
    bytes = svd_bytes(o, i * area, working) + svd_bytes(i, o * area, &other);
    /* the matrix of the mode that is not being decomposed */
    *working = (*working > other ? *working : other) + (uint64_t)o * i * area * sizeof(double);
    return k->groups * bytes;
}

void factor_free(struct factor *factor)
{
    for (size_t i = 0; factor->svds && i < factor->kernel.groups * factor->modes; i++)
        svd_free(&factor->svds[i]);
    for (size_t mode = 0; mode < FACTOR_MODES; mode++)
        free(factor->spectra[mode].tails);
    free(factor->svds);
    *factor = (struct factor){0};
}

size_t factor_part_values(const struct factor *factor, const size_t *ranks, size_t i)
{
    const struct factor_kernel *k = &factor->kernel;
    if (factor->method != FACTOR_TUCKER)
        return i == 0   ? k->groups * ranks[0] * k->inputs * k->height
               : i == 1 ? k->groups * ranks[0] * k->outputs * k->width
                        : 0;
    const size_t out = ranks[0], in = ranks[1];
    return i == 0   ? (in < k->inputs ? k->groups * in * k->inputs : 0)
           : i == 1 ? k->groups * out * in * k->height * k->width
                    : (out < k->outputs ? k->groups * out * k->outputs : 0);
}

void factor_choose_ranks(const struct factor *factor, double loss, size_t *ranks)
{
    for (size_t mode = 0; mode < factor->modes; mode++) {
        const struct factor_spectrum *spectrum = &factor->spectra[mode];
        const double most = loss / (double)factor->modes * spectrum->tails[0];
        size_t low = 1, high = spectrum->full; /* the tails fall with the rank */
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (spectrum->tails[middle] <= most)
                high = middle;
            else
                low = middle + 1;
        }
        ranks[mode] = low;
    }
    /* A kernel projected onto R vectors along one mode has a rank of at most R times its elements
     * along the other. */
    const size_t k = factor->kernel.height * factor->kernel.width;
    if (factor->modes == 2 && ranks[0] > ranks[1] * k)
        ranks[0] = ranks[1] * k;
    if (factor->modes == 2 && ranks[1] > ranks[0] * k)
        ranks[1] = ranks[0] * k;
}

/* Returns the share of `squares`, the sum of all squared singular values, that these ranks lose,
 * plus the price of their size. */
static double objective(const struct factor *factor, const size_t *ranks, double squares,
                        double price)
{
    double loss = 0;
    size_t values = 0;
    for (size_t mode = 0; mode < factor->modes; mode++)
        loss += factor->spectra[mode].tails[ranks[mode]];
    for (size_t i = 0; i < FACTOR_PARTS; i++)
        values += factor_part_values(factor, ranks, i);
    return loss / squares + price * (double)values;
}

/* Tries all ranks, or all pairs of ranks that a kernel can have. */
double factor_choose_ranks_at(const struct factor *factor, double price, size_t *ranks)
{
    const struct factor_spectrum *spectra = factor->spectra;
    const double squares = spectra[0].tails[0] > 0 ? spectra[0].tails[0] : 1;
    const size_t k = factor->kernel.height * factor->kernel.width;
    const size_t seconds = factor->modes == 2 ? spectra[1].full : 1;
    double least = INFINITY;
    for (size_t first = 1; first <= spectra[0].full; first++)
        for (size_t second = 1; second <= seconds; second++) {
            const size_t tried[FACTOR_MODES] = {first, second};
            if (factor->modes == 2 && (first > second * k || second > first * k))
                continue;
            const double sum = objective(factor, tried, squares, price);
            if (sum >= least)
                continue;
            least = sum;
            for (size_t mode = 0; mode < factor->modes; mode++)
                ranks[mode] = tried[mode];
        }
    return least;
}

bool factor_make(const struct factor *factor, const size_t *ranks, float *const parts[FACTOR_PARTS],
                 struct factor_fit *fit, struct error *error)
{
    double tail = 0, difference = 0;
    for (size_t g = 0; g < factor->kernel.groups; g++)
        if (!(factor->method == FACTOR_TUCKER ? make_tucker_parts : make_matrix_parts)(
                factor, ranks, g, parts, &tail, &difference, error))
            return false;
    const double squares = factor->squares > 0 ? factor->squares : 1;
    *fit = (struct factor_fit){.energy = 1 - tail / squares,
                               .tail = sqrt(tail / squares),
                               .error = sqrt(difference / squares)};
    return true;
}

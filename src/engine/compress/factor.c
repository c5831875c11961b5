/* What the methods have in common: the spectra, the choice of ranks, and the sizes of the parts. */
#include "engine/compress/factor.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

const float *factor_group_weights(const struct factor *factor, size_t g)
{
    const struct factor_kernel *k = &factor->kernel;
    return k->weight + g * k->outputs * k->inputs * k->height * k->width;
}

double factor_tail(const struct svd *svd, size_t from)
{
    double sum = 0;
    for (size_t r = svd->rank; r > from; r--)
        sum += svd->s[r - 1] * svd->s[r - 1];
    return sum;
}

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
        good = method == FACTOR_TUCKER ? factor_tucker_decompose(factor, g, error)
                                       : factor_matrix_decompose(factor, g, error);
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

/* Returns the loss and price of these ranks; `squares` is the sum of all squared singular values.
 */
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
        if (!(factor->method == FACTOR_TUCKER ? factor_tucker_make : factor_matrix_make)(
                factor, ranks, g, parts, &tail, &difference, error))
            return false;
    const double squares = factor->squares > 0 ? factor->squares : 1;
    *fit = (struct factor_fit){.energy = 1 - tail / squares,
                               .tail = sqrt(tail / squares),
                               .error = sqrt(difference / squares)};
    return true;
}

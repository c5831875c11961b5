#include "base/statistics/mcnemar.h"

#include "base/statistics/chi_square.h"
#include "base/statistics/incomplete_beta.h"

#include <math.h>

/* Returns the probability of at most `k` of `n` heads of a fair coin, for k < n. */
static double coin_probability(size_t k, size_t n)
{
    return incomplete_beta((double)(n - k), (double)k + 1, 0.5);
}

struct mcnemar mcnemar_test(size_t first_only, size_t second_only)
{
    const size_t discordant = first_only + second_only;
    const size_t least = first_only < second_only ? first_only : second_only;
    struct mcnemar test = {.first_only = first_only,
                           .second_only = second_only,
                           .exact = discordant < MCNEMAR_EXACT_BELOW};
    if (test.exact) {
        test.statistic = (double)least;
        test.p = 2 * least >= discordant ? 1 : fmin(1, 2 * coin_probability(least, discordant));
        return test;
    }
    const double excess = fmax(0, (double)(discordant - 2 * least) - 1);
    test.statistic = excess * excess / (double)discordant;
    test.p = chi_square_exceeds(test.statistic, 1);
    return test;
}

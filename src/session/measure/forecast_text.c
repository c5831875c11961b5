/* What a forecast says in words. */
#include "session/measure/forecast.h"

#include "base/language.h"
#include "base/text.h"

#include <stdio.h>

char *forecast_swap_text(const struct forecast *forecast, size_t batch, char *text, size_t size)
{
    char needed[32], free_bytes[32];
    text_bytes(forecast_needed(forecast), needed, sizeof needed);
    text_bytes(forecast->memory_free, free_bytes, sizeof free_bytes);
    if (forecast->largest_batch)
        snprintf(text, size,
                 _("batch %zu needs %s of memory, and %s are free: it would swap, which can make "
                   "it 4 to 32 times slower; batch %zu would not"),
                 batch, needed, free_bytes, forecast->largest_batch);
    else
        snprintf(text, size,
                 _("batch %zu needs %s of memory, and %s are free: it would swap, which can make "
                   "it 4 to 32 times slower, and so would each smaller batch"),
                 batch, needed, free_bytes);
    return text;
}

char *forecast_limit_text(const struct memory_forecast *memory, char *text, size_t size)
{
    char limited[32], unlimited[32];
    const double work = plan_recompute_overhead(memory);
    if (size > 0)
        text[0] = '\0';
    if (memory->unlimited <= memory->total)
        return text;
    text_bytes(memory->total, limited, sizeof limited);
    text_bytes(memory->unlimited, unlimited, sizeof unlimited);
    if (work >= 0.05)
        snprintf(text, size, _("%s instead of %s by computing values again: %.1f %% more FLOPs"),
                 limited, unlimited, work);
    else
        snprintf(text, size,
                 _("%s instead of %s by computing values again: under 0.1 %% more FLOPs"), limited,
                 unlimited);
    return text;
}

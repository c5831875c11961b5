/* The rows of figures.inc as a table. A figure with numbers is a double of struct run_figures, so
 * that all of them are read, printed and averaged by the offset of their member. */
#include "runs/figures.h"

#include "base/language.h"
#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

const struct figure_row figure_rows[FIGURES] = {
#define FIGURE_TEXT(id, key, name, title, heading, help)                                           \
    [FIGURE_##id] = {key, name, title, heading, help, FIGURE_NEITHER, FIGURE_NAMES, NULL, NULL, 0},
#define FIGURE(id, member, key, name, title, heading, help, better, unit, format)                  \
    [FIGURE_##id] = {key,    name, title,  heading, help,                                          \
                     better, unit, format, #member, offsetof(struct run_figures, member)},
#include "runs/figures.inc"
};

const enum figure figure_results[FIGURE_RESULTS] = {FIGURE_LOSS,
                                                    FIGURE_VALIDATION_LOSS,
                                                    FIGURE_BEST_VALIDATION_LOSS,
                                                    FIGURE_TOP1,
                                                    FIGURE_TOP5,
                                                    FIGURE_BEST_TOP1,
                                                    FIGURE_TEST_LOSS,
                                                    FIGURE_TEST_TOP1,
                                                    FIGURE_TEST_TOP5};

double *figure_place(struct run_figures *figures, enum figure figure)
{
    return (double *)(void *)((char *)figures + figure_rows[figure].offset);
}

double figure_of(const struct run_figures *figures, enum figure figure)
{
    double value = NAN;
    if (figure_rows[figure].unit != FIGURE_NAMES)
        memcpy(&value, (const char *)figures + figure_rows[figure].offset, sizeof value);
    return value;
}

struct run_figures run_figures_unknown(void)
{
    struct run_figures figures = {0};
    for (enum figure i = 0; i < FIGURES; i++)
        if (figure_rows[i].unit != FIGURE_NAMES)
            *figure_place(&figures, i) = NAN;
    return figures;
}

enum figure figure_find(const char *name)
{
    enum figure figure = 0;
    while (figure < FIGURES &&
           !(figure_rows[figure].name && strcmp(figure_rows[figure].name, name) == 0))
        figure++;
    return figure;
}

double figure_of_count(uint64_t count)
{
    return count ? (double)count : (double)NAN;
}

uint64_t figure_to_count(double value)
{
    return number_to_uint64(value);
}

/* --- printing --- */

static char *print(enum figure figure, double value, const char *format, char *text, size_t size)
{
    if (figure_rows[figure].unit == FIGURE_COUNT)
        return text_si(value, text, size);
    if (figure_rows[figure].unit == FIGURE_BYTES)
        return text_bytes(number_to_uint64(value), text, size);
    snprintf(text, size, format, value);
    return text;
}

char *figure_print(enum figure figure, double value, char *text, size_t size)
{
    text[0] = '\0';
    if (isnan(value) && figure != FIGURE_LOSS)
        return text;
    if (figure_rows[figure].unit == FIGURE_DURATION)
        return text_duration(value, text, size);
    return isfinite(value) ? print(figure, value, figure_rows[figure].format, text, size)
                           : text_number(value, 4, text, size);
}

char *figure_print_short(enum figure figure, double value, char *text, size_t size)
{
    text[0] = '\0';
    return isfinite(value) ? print(figure, value, "%.4g", text, size) : text;
}

char *figure_print_exact(double value, char *text, size_t size)
{
    text[0] = '\0';
    if (isfinite(value))
        snprintf(text, size, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%.9g", value);
    return text;
}

bool figure_to_json(enum figure figure, const struct run_figures *figures, struct json *object)
{
    const struct figure_row *row = &figure_rows[figure];
    const double value = figure_of(figures, figure);
    const bool whole = isfinite(value) && (row->unit == FIGURE_COUNT || row->unit == FIGURE_BYTES);
    return whole ? json_add_count(object, row->member, number_to_uint64(value))
                 : json_add_number(object, row->member, value);
}

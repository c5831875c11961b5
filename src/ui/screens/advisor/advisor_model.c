#include "ui/screens/advisor/advisor_model.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void advisor_model_begin(struct advisor_model *view)
{
    static const char *const first[ADVISOR_FIELDS] = {
        [ADVISOR_NEED] = "faster", [ADVISOR_DEVICE] = "cpu", [ADVISOR_LOSS] = "5"};
    for (int i = 0; !view->begun && i < ADVISOR_FIELDS; i++)
        snprintf(view->values[i], sizeof view->values[i], "%s", first[i] ? first[i] : "");
    view->begun = true;
}

void advisor_model_free_runs(struct advisor_model *view)
{
    run_reader_drop(view->reader);
    view->reader = NULL;
    compare_free(&view->comparison);
    view->comparison = (struct comparison){0};
    for (size_t i = 0; i < view->own_count; i++)
        run_free(view->own[i]);
    view->own_count = 0;
    free(view->answers);
    view->answers = NULL;
    view->answer_count = 0;
    view->error.kind = ERROR_NONE;
}

void advisor_model_free(struct advisor_model *view)
{
    if (view->background_job) {
        background_job_cancel(view->background_job);
        background_job_finish(view->background_job, NULL);
    }
    advisor_model_free_runs(view);
    free(view->own);
    *view = (struct advisor_model){0};
}

/* --- fields --- */

static size_t add_choice(const char **choices, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(choices[i], text) == 0)
            return count;
    if (count < ADVISOR_CHOICES)
        choices[count++] = text;
    return count;
}

size_t advisor_model_choices(const struct advisor_model *view, enum advisor_field field,
                             const char **choices)
{
    static const char *const devices[] = {"cpu", "cuda", "reference", "weak", "powerful"};
    const struct comparison *table = &view->comparison;
    size_t count = 0;
    if (field == ADVISOR_NEED)
        for (; advise_need_names[count]; count++)
            choices[count] = advise_need_names[count];
    if (field == ADVISOR_DEVICE) {
        for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
            count = add_choice(choices, count, devices[i]);
        for (size_t i = 0; i < table->device_count; i++)
            count = add_choice(choices, count, table->devices[i]);
    }
    if (field == ADVISOR_NETWORK) {
        count = add_choice(choices, count, "");
        for (size_t i = 0; i < table->count; i++)
            count = add_choice(choices, count, table->rows[i].base);
    }
    return count;
}

void advisor_model_cycle(struct advisor_model *view, int direction)
{
    const char *choices[ADVISOR_CHOICES];
    if (view->focus >= ADVISOR_FIELDS)
        return;
    char *value = view->values[view->focus];
    size_t count = advisor_model_choices(view, (enum advisor_field)view->focus, choices), at = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(choices[i], value) == 0)
            at = i;
    if (count > 0)
        snprintf(value, sizeof view->values[0], "%s",
                 choices[(at + count + (size_t)(direction + (int)count)) % count]);
}

bool advisor_model_set(struct advisor_model *view, const char *text)
{
    double number;
    const bool limit = view->focus == ADVISOR_LIMIT_MS || view->focus == ADVISOR_LIMIT_MB;
    if (!(limit && !text[0]) && (!text_to_double(text, &number) || !isfinite(number) || number < 0))
        return false;
    snprintf(view->values[view->focus], sizeof view->values[0], "%.60s", text);
    return true;
}

/* --- answers --- */

static double number_of(const struct advisor_model *view, enum advisor_field field)
{
    double number = NAN;
    return view->values[field][0] && text_to_double(view->values[field], &number) ? number
                                                                                  : (double)NAN;
}

static bool add_answer(struct advisor_model *view, const struct advise_request *request)
{
    size_t capacity = view->answer_count;
    if (!memory_grow(&view->answers, &capacity, view->answer_count + 1, sizeof *view->answers,
                     "the advice", &view->error) ||
        !advise(&view->comparison, request, &view->answers[view->answer_count], &view->error))
        return false;
    view->answer_count++;
    return true;
}

void advisor_model_answer(struct advisor_model *view)
{
    const char *networks[ADVISOR_CHOICES];
    struct advise_request request = {.device = view->values[ADVISOR_DEVICE],
                                     .limit_ms = number_of(view, ADVISOR_LIMIT_MS),
                                     .limit_mb = number_of(view, ADVISOR_LIMIT_MB),
                                     .accept_loss = number_of(view, ADVISOR_LOSS)};
    const char *wanted = view->values[ADVISOR_NETWORK];
    const size_t count = advisor_model_choices(view, ADVISOR_NETWORK, networks);
    for (size_t i = 0; advise_need_names[i]; i++)
        if (strcmp(view->values[ADVISOR_NEED], advise_need_names[i]) == 0)
            request.need = (enum advise_need)i;
    free(view->answers);
    view->answers = NULL;
    view->answer_count = 0;
    view->error.kind = ERROR_NONE;
    for (size_t i = 1; i < count; i++) { /* the first choice is all of them */
        request.network = networks[i];
        if ((!wanted[0] || strcmp(wanted, networks[i]) == 0) && !add_answer(view, &request))
            break;
    }
    const size_t last = ADVISOR_FIELDS + advisor_model_gap_count(view) - 1;
    if (view->focus > last)
        view->focus = last;
}

size_t advisor_model_gap_count(const struct advisor_model *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->answer_count; i++)
        count += view->answers[i].gap_count;
    return count;
}

const struct advise_gap *advisor_model_gap(const struct advisor_model *view,
                                           const struct advice **answer)
{
    size_t gap = view->focus - ADVISOR_FIELDS;
    if (view->focus < ADVISOR_FIELDS)
        return NULL;
    for (size_t i = 0; i < view->answer_count; i++) {
        *answer = &view->answers[i];
        if (gap < view->answers[i].gap_count)
            return &view->answers[i].gaps[gap];
        gap -= view->answers[i].gap_count;
    }
    return NULL;
}

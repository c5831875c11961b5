/* The state of the screen Advisor: the fields with their choices, and the answers, which
 * studies/compare computes for each network from the runs that were read. */
#include "ui/screens/advisor/internal.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void advisor_model_begin(struct advisor_model *model)
{
    static const char *const first[ADVISOR_FIELDS] = {
        [ADVISOR_NEED] = "faster", [ADVISOR_DEVICE] = "cpu", [ADVISOR_LOSS] = "5"};
    for (int i = 0; !model->begun && i < ADVISOR_FIELDS; i++)
        snprintf(model->values[i], sizeof model->values[i], "%s", first[i] ? first[i] : "");
    model->begun = true;
}

void advisor_model_free_runs(struct advisor_model *model)
{
    run_reader_drop(model->reader);
    model->reader = NULL;
    compare_free(&model->comparison);
    model->comparison = (struct comparison){0};
    for (size_t i = 0; i < model->loaded_count; i++)
        run_free(model->loaded[i]);
    model->loaded_count = 0;
    free(model->answers);
    model->answers = NULL;
    model->answer_count = 0;
    model->error.kind = ERROR_NONE;
}

void advisor_model_free(struct advisor_model *model)
{
    if (model->background_job) {
        background_job_cancel(model->background_job);
        background_job_finish(model->background_job, NULL);
    }
    advisor_model_free_runs(model);
    advisor_other_free(&model->other);
    free(model->loaded);
    *model = (struct advisor_model){0};
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

size_t advisor_model_choices(const struct advisor_model *model, enum advisor_field field,
                             const char **choices)
{
    static const char *const devices[] = {"cpu", "cuda", "reference", "weak", "powerful"};
    const struct comparison *table = &model->comparison;
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

void advisor_model_cycle(struct advisor_model *model, int direction)
{
    const char *choices[ADVISOR_CHOICES];
    if (model->focus >= ADVISOR_FIELDS)
        return;
    char *value = model->values[model->focus];
    size_t count = advisor_model_choices(model, (enum advisor_field)model->focus, choices), at = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(choices[i], value) == 0)
            at = i;
    if (count > 0)
        snprintf(value, sizeof model->values[0], "%s",
                 choices[(at + count + (size_t)(direction + (int)count)) % count]);
}

bool advisor_model_set(struct advisor_model *model, const char *text)
{
    double number;
    const bool limit = model->focus == ADVISOR_LIMIT_MS || model->focus == ADVISOR_LIMIT_MB;
    if (!(limit && !text[0]) && (!text_to_double(text, &number) || !isfinite(number) || number < 0))
        return false;
    snprintf(model->values[model->focus], sizeof model->values[0], "%.60s", text);
    return true;
}

/* --- answers --- */

static double number_of(const struct advisor_model *model, enum advisor_field field)
{
    double number = NAN;
    return model->values[field][0] && text_to_double(model->values[field], &number) ? number
                                                                                    : (double)NAN;
}

static bool add_answer(struct advisor_model *model, const struct advise_request *request)
{
    size_t capacity = model->answer_count;
    if (!memory_grow(&model->answers, &capacity, model->answer_count + 1, sizeof *model->answers,
                     "the advice", &model->error) ||
        !advise(&model->comparison, request, &model->answers[model->answer_count], &model->error))
        return false;
    model->answer_count++;
    return true;
}

struct means_request advisor_model_means(const struct advisor_model *model)
{
    const char *need = model->values[ADVISOR_NEED], *network = model->values[ADVISOR_NETWORK];
    const double limit_ms = number_of(model, ADVISOR_LIMIT_MS);
    const double limit_mb = number_of(model, ADVISOR_LIMIT_MB);
    return (struct means_request){.network = network[0] ? network : NULL,
                                  .faster = strcmp(need, "smaller") != 0 || isfinite(limit_ms),
                                  .smaller = strcmp(need, "faster") != 0 || isfinite(limit_mb),
                                  .limit_ms = limit_ms,
                                  .limit_mb = limit_mb,
                                  .accept_loss = number_of(model, ADVISOR_LOSS)};
}

const char *advisor_model_device(const struct advisor_model *model)
{
    const char *device = model->values[ADVISOR_DEVICE];
    return strcmp(device, "weak") == 0 ? "cpu" : strcmp(device, "powerful") == 0 ? "cuda" : device;
}

/* Answers the second page from its table, which is read again for another device. */
static void answer_other(struct advisor_model *model)
{
    struct advisor_other *other = &model->other;
    const struct means_request request = advisor_model_means(model);
    if (!other->made || strcmp(other->table.device, advisor_model_device(model)) != 0)
        advisor_other_read(other, advisor_model_device(model));
    else
        advisor_other_advise(other, &request);
}

void advisor_model_answer(struct advisor_model *model)
{
    const char *networks[ADVISOR_CHOICES];
    struct advise_request request = {.device = model->values[ADVISOR_DEVICE],
                                     .limit_ms = number_of(model, ADVISOR_LIMIT_MS),
                                     .limit_mb = number_of(model, ADVISOR_LIMIT_MB),
                                     .accept_loss = number_of(model, ADVISOR_LOSS)};
    const char *wanted = model->values[ADVISOR_NETWORK];
    const size_t count = advisor_model_choices(model, ADVISOR_NETWORK, networks);
    for (size_t i = 0; advise_need_names[i]; i++)
        if (strcmp(model->values[ADVISOR_NEED], advise_need_names[i]) == 0)
            request.need = (enum advise_need)i;
    if (model->other.shown)
        answer_other(model);
    free(model->answers);
    model->answers = NULL;
    model->answer_count = 0;
    model->error.kind = ERROR_NONE;
    for (size_t i = 1; i < count; i++) { /* choice 0 stands for all networks */
        request.network = networks[i];
        if ((!wanted[0] || strcmp(wanted, networks[i]) == 0) && !add_answer(model, &request))
            break;
    }
    const size_t last = ADVISOR_FIELDS + advisor_model_missing_count(model) - 1;
    if (model->focus > last)
        model->focus = last;
}

size_t advisor_model_missing_count(const struct advisor_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->answer_count && !model->other.shown; i++)
        count += model->answers[i].missing_count;
    return count;
}

const struct advise_missing *advisor_model_missing(const struct advisor_model *model,
                                                   const struct advice **answer)
{
    size_t missing = model->focus - ADVISOR_FIELDS;
    if (model->focus < ADVISOR_FIELDS)
        return NULL;
    for (size_t i = 0; i < model->answer_count; i++) {
        *answer = &model->answers[i];
        if (missing < model->answers[i].missing_count)
            return &model->answers[i].missing[missing];
        missing -= model->answers[i].missing_count;
    }
    return NULL;
}

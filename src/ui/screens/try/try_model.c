/* The state of the screen Try it. The probe's thread evaluates the test images in order and answers
 * one request at a time for the image that is shown. A request has a ticket; an answer with another
 * ticket is discarded, because the user has moved on. */
#include "ui/screens/try/internal.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double POLL_SECONDS = 0.25, ANSWER_SECONDS = 0.02;

static void free_cells(struct try_model *model)
{
    for (size_t i = 0; i < PROBE_PICTURES; i++)
        halfblocks_free(&model->cells[i]);
}

static void free_answer(struct try_model *model)
{
    free_cells(model);
    probe_answer_free(&model->answer);
    model->answered = false;
    model->ticket = 0;
}

void try_model_free(struct try_model *model)
{
    free_answer(model);
    probe_free(model->probe);
    confusion_free(&model->confusion);
    free(model->order);
    free(model->sources);
    *model = (struct try_model){0};
}

/* --- opening --- */

void try_model_reopen(struct try_model *model)
{
    free_answer(model);
    confusion_free(&model->confusion);
    free(model->order);
    model->order = NULL;
    model->counted = 0;
    model->error.kind = ERROR_NONE;
    model->status = (struct probe_status){.phase = PROBE_OPENING};
    probe_open(model->probe, &model->request);
}

bool try_model_open(struct try_model *model, const struct try_source *source, struct error *error)
{
    struct probe_request *request = &model->request;
    const size_t threads = model->probe ? request->threads : 1;
    if (!model->probe && !(model->probe = probe_create(error)))
        return false;
    *request =
        (struct probe_request){.device = "cpu", .threads = threads, .tolerance = source->tolerance};
    snprintf(request->model, sizeof request->model, "%s", source->path);
    snprintf(request->data, sizeof request->data, "%s", source->data);
    snprintf(model->name, sizeof model->name, "%s", source->name);
    model->image = model->row = model->column = model->top = model->left = 0;
    model->path[0] = '\0';
    model->walk = WALK_ALL;
    model->kind = TRY_IMAGE;
    try_model_reopen(model);
    return true;
}

/* --- polling the probe --- */

static void count_outcomes(struct try_model *model)
{
    const struct probe_status *status = &model->status;
    if (status->classes == 0 || status->outcome_count == model->counted ||
        model->error.kind != ERROR_NONE)
        return;
    if (!model->confusion.counts &&
        !confusion_create(&model->confusion, status->classes, &model->error))
        return;
    for (; model->counted < status->outcome_count; model->counted++)
        confusion_add(&model->confusion, &status->outcomes[model->counted]);
    try_model_sort(model);
}

static void take_answer(struct try_model *model)
{
    struct probe_answer answer;
    if (!probe_take(model->probe, &answer))
        return;
    if (answer.ticket != model->ticket) { /* the user has gone to another image */
        probe_answer_free(&answer);
        return;
    }
    free_answer(model);
    model->answer = answer;
    model->answered = true;
}

/* Requests the first image as soon as the model is open. */
static void ask_first(struct try_model *model)
{
    if (model->answered || model->ticket)
        return;
    if (model->path[0])
        try_model_show_file(model, model->path);
    else if (model->status.images > 0)
        try_model_show(model, model->image);
}

void try_model_step(struct try_model *model)
{
    if (!model->probe)
        return;
    probe_status(model->probe, &model->status);
    count_outcomes(model);
    if (model->status.phase == PROBE_EVALUATING || model->status.phase == PROBE_READY)
        ask_first(model);
    if (model->ticket)
        take_answer(model);
}

bool try_model_busy(const struct try_model *model, double *seconds)
{
    const enum probe_phase phase = model->status.phase;
    *seconds = model->ticket || phase == PROBE_OPENING ? ANSWER_SECONDS : POLL_SECONDS;
    return model->probe && (model->ticket || phase == PROBE_OPENING || phase == PROBE_EVALUATING);
}

/* --- results --- */

const struct outcome *try_model_outcome(const struct try_model *model, size_t image)
{
    const struct probe_status *status = &model->status;
    if (image < status->outcome_count && status->outcomes[image].image == image)
        return &status->outcomes[image];
    for (size_t i = 0; i < status->outcome_count; i++) /* unreadable images have no outcome */
        if (status->outcomes[i].image == image)
            return &status->outcomes[i];
    return NULL;
}

bool try_model_makes_pictures(const struct try_model *model)
{
    return model->status.network && model->status.classes == 0;
}

const char *try_model_class_name(const struct try_model *model, size_t label)
{
    return label < model->status.classes ? model->status.class_names[label] : "?";
}

/* --- walking --- */

static bool is_walked(const struct try_model *model, const struct outcome *outcome)
{
    switch (model->walk) {
    case WALK_WRONG:
        return outcome->guess != outcome->label;
    case WALK_CELL:
        return outcome->label == model->label && outcome->guess == model->guess;
    case WALK_CLASS:
        return outcome->label == model->label && outcome->guess != outcome->label;
    default:
        return true;
    }
}

size_t try_model_count(const struct try_model *model, size_t *place)
{
    const struct probe_status *status = &model->status;
    const bool of_file = model->answered ? model->answer.path[0] : model->path[0];
    const size_t image = model->answered ? model->answer.index : model->image;
    size_t count = 0;
    *place = 0;
    if (model->walk == WALK_ALL) {
        *place = of_file || status->images == 0 ? 0 : image + 1;
        return status->images;
    }
    for (size_t i = 0; i < status->outcome_count; i++) {
        if (!is_walked(model, &status->outcomes[i]))
            continue;
        count++;
        if (status->outcomes[i].image == image && !of_file)
            *place = count;
    }
    return count;
}

void try_model_show(struct try_model *model, size_t image)
{
    model->image = image;
    model->path[0] = '\0';
    model->ticket = probe_ask(model->probe, NULL, image);
}

void try_model_show_file(struct try_model *model, const char *path)
{
    if (path != model->path)
        snprintf(model->path, sizeof model->path, "%s", path);
    model->ticket = probe_ask(model->probe, model->path, 0);
}

static bool move_in_set(struct try_model *model, long steps)
{
    const long last = (long)model->status.images - 1, from = (long)model->image;
    const long to = model->path[0] ? from : from + steps; /* from a file back to the last image */
    if (last < 0)
        return false;
    try_model_show(model, (size_t)(to < 0 ? 0 : to > last ? last : to));
    return true;
}

/* Returns the index of the next outcome in the direction of `step`. Unreadable images have no
 * outcome, and the last images may not be evaluated yet. */
static long next_outcome(const struct try_model *model, long step)
{
    const struct probe_status *status = &model->status;
    long i = step > 0 ? 0 : (long)status->outcome_count - 1;
    while (i >= 0 && i < (long)status->outcome_count &&
           (step > 0 ? status->outcomes[i].image <= model->image
                     : status->outcomes[i].image >= model->image))
        i += step;
    return i;
}

bool try_model_move(struct try_model *model, long steps)
{
    const struct probe_status *status = &model->status;
    const long step = steps < 0 ? -1 : 1;
    bool found = false;
    if (model->walk == WALK_ALL)
        return move_in_set(model, steps);
    size_t to = model->image;
    for (long i = next_outcome(model, step); i >= 0 && i < (long)status->outcome_count && steps;
         i += step) {
        if (!is_walked(model, &status->outcomes[i]))
            continue;
        to = (size_t)i;
        steps -= step;
        found = true;
    }
    if (found)
        try_model_show(model, status->outcomes[to].image);
    return found;
}

void try_model_start_walk(struct try_model *model, enum try_walk walk, size_t label, size_t guess)
{
    const struct probe_status *status = &model->status;
    const size_t before = model->image;
    model->walk = walk;
    model->label = label;
    model->guess = guess;
    if (walk == WALK_CELL || walk == WALK_CLASS) { /* begins at the first image of the walk */
        for (size_t i = 0; i < status->outcome_count; i++)
            if (is_walked(model, &status->outcomes[i])) {
                try_model_show(model, status->outcomes[i].image);
                return;
            }
        return;
    }
    const struct outcome *seen = model->path[0] ? NULL : try_model_outcome(model, before);
    if (walk == WALK_ALL || (seen && is_walked(model, seen)))
        return;
    if (!try_model_move(model, 1))
        try_model_move(model, -1);
}

/* --- classes --- */

/* Compares classes by accuracy, the lowest first; classes without images come last. Equal ones are
 * ordered by number. */
static int compare_classes(const void *first, const void *second)
{
    const struct try_class *a = first, *b = second;
    const int by_number = (a->label > b->label) - (a->label < b->label);
    if (isnan(a->accuracy) || isnan(b->accuracy))
        return isnan(a->accuracy) == isnan(b->accuracy) ? by_number : isnan(a->accuracy) ? 1 : -1;
    if (a->accuracy < b->accuracy)
        return -1;
    return a->accuracy > b->accuracy ? 1 : by_number;
}

void try_model_sort(struct try_model *model)
{
    const size_t classes = model->confusion.classes;
    if (classes == 0) /* no image was evaluated yet */
        return;
    if (!model->order)
        model->order = memory_new(classes, sizeof *model->order, "the classes", &model->error);
    for (size_t i = 0; model->order && i < classes; i++)
        model->order[i] = (struct try_class){confusion_accuracy(&model->confusion, i), i};
    if (model->order && model->worst_first)
        qsort(model->order, classes, sizeof *model->order, compare_classes);
}

size_t try_model_class(const struct try_model *model, size_t row)
{
    return model->order ? model->order[row].label : row;
}

size_t try_model_most_confused(const struct try_model *model, size_t label, size_t *count)
{
    const struct confusion *confusion = &model->confusion;
    size_t most = label;
    *count = 0;
    for (size_t guess = 0; guess < confusion->classes; guess++)
        if (guess != label && confusion_count(confusion, label, guess) > *count) {
            *count = confusion_count(confusion, label, guess);
            most = guess;
        }
    return most;
}

/* --- pictures --- */

bool try_model_make_cells(struct try_model *model, struct rect room)
{
    const struct probe_answer *answer = &model->answer;
    bool made = answer->picture_count > 0 && !rect_is_empty(room);
    if (made && model->cells[0].cells && model->room.rows == room.rows &&
        model->room.columns == room.columns)
        return true;
    free_cells(model);
    for (size_t i = 0; made && i < answer->picture_count; i++)
        made = halfblocks_make(&model->cells[i], &answer->pictures[i], (size_t)room.rows,
                               (size_t)room.columns, &model->error);
    model->room = room;
    return made;
}

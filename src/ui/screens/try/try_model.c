#include "ui/screens/try/try_model.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LOOK_SECONDS = 0.25, ANSWER_SECONDS = 0.02;

static void forget_cells(struct try_model *view)
{
    for (size_t i = 0; i < PROBE_PICTURES; i++)
        halfblocks_free(&view->cells[i]);
}

static void forget_answer(struct try_model *view)
{
    forget_cells(view);
    probe_answer_free(&view->answer);
    view->answered = false;
    view->ticket = 0;
}

void try_model_free(struct try_model *view)
{
    forget_answer(view);
    probe_free(view->probe);
    confusion_free(&view->confusion);
    free(view->order);
    free(view->sources);
    *view = (struct try_model){0};
}

/* --- opening --- */

void try_model_reopen(struct try_model *view)
{
    forget_answer(view);
    confusion_free(&view->confusion);
    free(view->order);
    view->order = NULL;
    view->counted = 0;
    view->error.kind = ERROR_NONE;
    view->look = (struct probe_status){.phase = PROBE_OPENING};
    probe_open(view->probe, &view->request);
}

bool try_model_open(struct try_model *view, const struct try_source *source, struct error *error)
{
    struct probe_request *request = &view->request;
    const size_t threads = view->probe ? request->threads : 1;
    if (!view->probe && !(view->probe = probe_create(error)))
        return false;
    *request =
        (struct probe_request){.device = "cpu", .threads = threads, .tolerance = source->tolerance};
    snprintf(request->model, sizeof request->model, "%s", source->path);
    snprintf(request->data, sizeof request->data, "%s", source->data);
    snprintf(view->name, sizeof view->name, "%s", source->name);
    view->image = view->row = view->column = view->top = view->left = 0;
    view->path[0] = '\0';
    view->walk = WALK_ALL;
    view->kind = TRY_IMAGE;
    try_model_reopen(view);
    return true;
}

/* --- news --- */

static void count_outcomes(struct try_model *view)
{
    const struct probe_status *look = &view->look;
    if (look->classes == 0 || look->outcome_count == view->counted ||
        view->error.kind != ERROR_NONE)
        return;
    if (!view->confusion.counts && !confusion_create(&view->confusion, look->classes, &view->error))
        return;
    for (; view->counted < look->outcome_count; view->counted++)
        confusion_add(&view->confusion, &look->outcomes[view->counted]);
    try_model_sort(view);
}

static void take_answer(struct try_model *view)
{
    struct probe_answer answer;
    if (!probe_take(view->probe, &answer))
        return;
    if (answer.ticket != view->ticket) { /* of what is not looked at any more */
        probe_answer_free(&answer);
        return;
    }
    forget_answer(view);
    view->answer = answer;
    view->answered = true;
}

/* The first image is shown as soon as the model is open. */
static void ask_first(struct try_model *view)
{
    if (view->answered || view->ticket)
        return;
    if (view->path[0])
        try_model_show_file(view, view->path);
    else if (view->look.images > 0)
        try_model_show(view, view->image);
}

void try_model_step(struct try_model *view)
{
    if (!view->probe)
        return;
    probe_status(view->probe, &view->look);
    count_outcomes(view);
    if (view->look.phase == PROBE_EVALUATING || view->look.phase == PROBE_READY)
        ask_first(view);
    if (view->ticket)
        take_answer(view);
}

bool try_model_busy(const struct try_model *view, double *seconds)
{
    const enum probe_phase phase = view->look.phase;
    *seconds = view->ticket || phase == PROBE_OPENING ? ANSWER_SECONDS : LOOK_SECONDS;
    return view->probe && (view->ticket || phase == PROBE_OPENING || phase == PROBE_EVALUATING);
}

/* --- what is known --- */

const struct outcome *try_model_outcome(const struct try_model *view, size_t image)
{
    const struct probe_status *look = &view->look;
    if (image < look->outcome_count && look->outcomes[image].image == image)
        return &look->outcomes[image];
    for (size_t i = 0; i < look->outcome_count; i++) /* unreadable images were left out */
        if (look->outcomes[i].image == image)
            return &look->outcomes[i];
    return NULL;
}

bool try_model_makes_pictures(const struct try_model *view)
{
    return view->look.network && view->look.classes == 0;
}

const char *try_model_class_name(const struct try_model *view, size_t label)
{
    return label < view->look.classes ? view->look.class_names[label] : "?";
}

/* --- walking --- */

static bool is_walked(const struct try_model *view, const struct outcome *outcome)
{
    switch (view->walk) {
    case WALK_WRONG:
        return outcome->guess != outcome->label;
    case WALK_CELL:
        return outcome->label == view->label && outcome->guess == view->guess;
    case WALK_CLASS:
        return outcome->label == view->label && outcome->guess != outcome->label;
    default:
        return true;
    }
}

size_t try_model_count(const struct try_model *view, size_t *place)
{
    const struct probe_status *look = &view->look;
    const bool of_file = view->answered ? view->answer.path[0] : view->path[0];
    const size_t image = view->answered ? view->answer.index : view->image;
    size_t count = 0;
    *place = 0;
    if (view->walk == WALK_ALL) {
        *place = of_file || look->images == 0 ? 0 : image + 1;
        return look->images;
    }
    for (size_t i = 0; i < look->outcome_count; i++) {
        if (!is_walked(view, &look->outcomes[i]))
            continue;
        count++;
        if (look->outcomes[i].image == image && !of_file)
            *place = count;
    }
    return count;
}

void try_model_show(struct try_model *view, size_t image)
{
    view->image = image;
    view->path[0] = '\0';
    view->ticket = probe_ask(view->probe, NULL, image);
}

void try_model_show_file(struct try_model *view, const char *path)
{
    if (path != view->path)
        snprintf(view->path, sizeof view->path, "%s", path);
    view->ticket = probe_ask(view->probe, view->path, 0);
}

static bool move_in_set(struct try_model *view, long steps)
{
    const long last = (long)view->look.images - 1, from = (long)view->image;
    const long to = view->path[0] ? from : from + steps; /* back from a file to where one was */
    if (last < 0)
        return false;
    try_model_show(view, (size_t)(to < 0 ? 0 : to > last ? last : to));
    return true;
}

/* The place in the outcomes of the next one in a direction. Images that could not be read have
 * none, and those at the end may not have been seen yet. */
static long next_outcome(const struct try_model *view, long step)
{
    const struct probe_status *look = &view->look;
    long i = step > 0 ? 0 : (long)look->outcome_count - 1;
    while (i >= 0 && i < (long)look->outcome_count &&
           (step > 0 ? look->outcomes[i].image <= view->image
                     : look->outcomes[i].image >= view->image))
        i += step;
    return i;
}

bool try_model_move(struct try_model *view, long steps)
{
    const struct probe_status *look = &view->look;
    const long step = steps < 0 ? -1 : 1;
    bool found = false;
    if (view->walk == WALK_ALL)
        return move_in_set(view, steps);
    size_t to = view->image;
    for (long i = next_outcome(view, step); i >= 0 && i < (long)look->outcome_count && steps;
         i += step) {
        if (!is_walked(view, &look->outcomes[i]))
            continue;
        to = (size_t)i;
        steps -= step;
        found = true;
    }
    if (found)
        try_model_show(view, look->outcomes[to].image);
    return found;
}

void try_model_start_walk(struct try_model *view, enum try_walk walk, size_t label, size_t guess)
{
    const struct probe_status *look = &view->look;
    const size_t before = view->image;
    view->walk = walk;
    view->label = label;
    view->guess = guess;
    if (walk == WALK_CELL || walk == WALK_CLASS) { /* they begin at their first image */
        for (size_t i = 0; i < look->outcome_count; i++)
            if (is_walked(view, &look->outcomes[i])) {
                try_model_show(view, look->outcomes[i].image);
                return;
            }
        return;
    }
    const struct outcome *seen = view->path[0] ? NULL : try_model_outcome(view, before);
    if (walk == WALK_ALL || (seen && is_walked(view, seen)))
        return;
    if (!try_model_move(view, 1))
        try_model_move(view, -1);
}

/* --- classes --- */

/* By accuracy, the lowest first; classes without images last; equal ones by number. */
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

void try_model_sort(struct try_model *view)
{
    const size_t classes = view->confusion.classes;
    if (classes == 0) /* no image was seen yet */
        return;
    if (!view->order)
        view->order = memory_new(classes, sizeof *view->order, "the classes", &view->error);
    for (size_t i = 0; view->order && i < classes; i++)
        view->order[i] = (struct try_class){confusion_accuracy(&view->confusion, i), i};
    if (view->order && view->worst_first)
        qsort(view->order, classes, sizeof *view->order, compare_classes);
}

size_t try_model_class(const struct try_model *view, size_t row)
{
    return view->order ? view->order[row].label : row;
}

size_t try_model_most_confused(const struct try_model *view, size_t label, size_t *count)
{
    const struct confusion *confusion = &view->confusion;
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

bool try_model_make_cells(struct try_model *view, struct rect room)
{
    const struct probe_answer *answer = &view->answer;
    bool made = answer->picture_count > 0 && !rect_is_empty(room);
    if (made && view->cells[0].cells && view->room.rows == room.rows &&
        view->room.columns == room.columns)
        return true;
    forget_cells(view);
    for (size_t i = 0; made && i < answer->picture_count; i++)
        made = halfblocks_make(&view->cells[i], &answer->pictures[i], (size_t)room.rows,
                               (size_t)room.columns, &view->error);
    view->room = room;
    return made;
}

#include "ui/screens/runs/internal.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void free_step(struct runs_undo_step *step)
{
    for (size_t i = 0; i < step->count; i++) {
        free(step->texts[i].directory);
        free(step->texts[i].text);
    }
    free(step->texts);
    *step = (struct runs_undo_step){0};
}

static void add_step(struct runs_undo *undo, struct runs_undo_step step)
{
    if (undo->count == RUNS_UNDO_STEPS) {
        free_step(&undo->steps[0]);
        memmove(&undo->steps[0], &undo->steps[1], --undo->count * sizeof undo->steps[0]);
    }
    undo->steps[undo->count++] = step;
}

void runs_undo_begin(struct runs_undo *undo, int label)
{
    add_step(undo, (struct runs_undo_step){.label = label});
}

void runs_undo_add_deletion(struct runs_undo *undo)
{
    add_step(undo, (struct runs_undo_step){.is_deletion = true});
}

bool runs_undo_add(struct runs_undo *undo, const char *directory, const char *text,
                   struct error *error)
{
    struct runs_undo_step *step = &undo->steps[undo->count - 1];
    if (!memory_grow(&step->texts, &step->capacity, step->count + 1, sizeof *step->texts,
                     "what can be undone", error))
        return false;
    struct runs_undo_text *added = &step->texts[step->count];
    added->directory = memory_copy_text(directory, error);
    added->text = memory_copy_text(text, error);
    if (added->directory && added->text) {
        step->count++;
        return true;
    }
    free(added->directory);
    free(added->text);
    return false;
}

const struct runs_undo_step *runs_undo_newest(const struct runs_undo *undo)
{
    return undo->count > 0 ? &undo->steps[undo->count - 1] : NULL;
}

void runs_undo_drop(struct runs_undo *undo)
{
    if (undo->count > 0)
        free_step(&undo->steps[--undo->count]);
}

void runs_undo_free(struct runs_undo *undo)
{
    while (undo->count > 0)
        runs_undo_drop(undo);
}

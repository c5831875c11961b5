/* sample_view.h: the newest picture that a run has saved, shown in character cells. It is looked
 * for once a second, and decoded only when there is a newer one, both in the background. */
#ifndef TINCA_UI_SCREENS_RUN_SAMPLE_MODEL_H
#define TINCA_UI_SCREENS_RUN_SAMPLE_MODEL_H

#include "data/images/image.h"
#include "session/files/sample_files.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/halfblock.h"

struct detached_task;
struct sample_check;

struct sample_model {
    size_t example; /* the first one in sight */
    /* what was looked at last */
    char directory[512];
    struct detached_task *background; /* of the look that goes on; NULL: none does */
    struct sample_check *look;        /* the same */
    uint64_t looked;                  /* clock_nanoseconds; 0: never */
    bool found;
    struct sample_file file;
    struct image image;
    struct error error; /* why the file cannot be shown; kind ERROR_NONE: it can */
    /* what the cells were made for */
    struct halfblocks thirds[3]; /* input, generated, target */
    struct rect room;
    size_t from, count;
};

/* Has a newer picture of the run looked for, and draws the newest one that was found. `examples` is
 * sample_examples' of the run. */
void sample_model_draw(struct sample_model *view, struct canvas *canvas, struct rect area,
                       const char *run_directory, size_t examples);

/* Whether a look goes on: then it should be drawn again soon. */
bool sample_model_busy(const struct sample_model *view);

/* The next or previous example; stops at the ends. */
void sample_model_move(struct sample_model *view, int step);

void sample_model_free(struct sample_model *view);

/* How many of `examples` pictures of height x width pixels are shown one above the other in rows x
 * columns cells: as many as leave each three quarters of the size it could have, one at least. */
size_t sample_model_fit(size_t examples, size_t height, size_t width, int rows, int columns);

#endif

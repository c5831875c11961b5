/* setup_view.h: what is found out in the background about the form's choice: pictures of its data
 * set, and how long the same work took before. Asked when typing rests, taken when it is there. */
#ifndef TINCA_UI_SCREENS_SETUP_SETUP_MODEL_H
#define TINCA_UI_SCREENS_SETUP_SETUP_MODEL_H

#include "session/history/past_run.h"
#include "ui/plot/plot.h"
#include "ui/shared/form.h"
#include "ui/widgets/chooser.h"
#include "ui/widgets/picture_grid.h"

struct app;

struct setup_model {
    struct preview *preview;
    enum preview_status status;
    struct dataset_facts facts; /* once it is open */
    struct error error;         /* why there are no pictures; kind ERROR_NONE: none */
    struct picture_grid grid;
    size_t from; /* the first picture in sight */
    uint64_t epoch;
    bool as_trained;

    struct past_search *search;
    struct run_config searched; /* what for; an empty network: nothing yet */
    bool past_known;
    struct past_run past;

    struct plot plot;         /* of the learning rate */
    struct run_config before; /* what the defaults replaced, see setup_toggle_defaults */
    bool replaced;
    struct chooser chooser; /* of values for a field of the form */
    bool facts_in_sight;    /* the screen of pictures shows what the run takes instead */
};

/* Returns the state of the form's screen, which the screen of pictures shares. */
struct setup_model *setup_model(const struct app *app);

void setup_free(struct setup_model *view);

/* Asks for what the form says now, and takes what is ready. Quick. */
void setup_step(struct setup_model *view, const struct form *form);
/* Whether an answer is still to come: then setup_step should be called again soon. */
bool setup_is_waiting(const struct setup_model *view);
/* A run has ended: times may be known now. */
void setup_invalidate_past_time(struct setup_model *view);

/* The next or previous pictures (+1, -1); round the end. */
void setup_turn_pictures(struct setup_model *view, int direction);
/* The draws of the next or previous epoch. */
void setup_turn_epoch(struct setup_model *view, int direction);

/* The pictures, or why there are none. */
void setup_draw_pictures(struct setup_model *view, const struct form *form, struct canvas *canvas,
                         struct rect area);

/* Why the training data of the form cannot be opened, or NULL. */
const struct error *setup_data_error(const struct setup_model *view, const struct form *form);

/* Images of the training set; 0: not known (yet). */
size_t setup_images(const struct setup_model *view, const struct form *form);

/* Expected seconds of training; negative: not known. */
double setup_seconds(const struct setup_model *view, const struct form *form);

/* Puts the defaults into the form, and back what was there when it is asked again; returns whether
 * the form holds the defaults now. */
bool setup_toggle_defaults(struct setup_model *view, struct form *form);

#endif

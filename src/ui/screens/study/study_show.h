/* study_show.h: the state of a study's session in the terminal, and its drawing. */
#ifndef TINCA_UI_SCREENS_STUDY_STUDY_SHOW_H
#define TINCA_UI_SCREENS_STUDY_STUDY_SHOW_H

#include "base/text.h"
#include "ui/screens/study/study_session.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum phase { PHASE_INTRO, PHASE_HALT, PHASE_PAUSE, PHASE_SHOWING, PHASE_ASKING, PHASE_FEEDBACK };
enum overlay { OVERLAY_NONE, OVERLAY_HELP, OVERLAY_QUIT };

struct study_show {
    const struct study_display *display;
    const struct study *study;
    const struct image *images;
    const char *participant;
    struct study_vote *vote;
    uint32_t *order;
    struct theme theme;
    struct canvas canvas;
    struct text bytes; /* of the picture that is on */
    size_t at;         /* how many are answered */
    enum phase phase;
    enum overlay overlay;
    bool stale;     /* to be drawn */
    bool seen;      /* the picture was sent: its time runs */
    bool quit_next; /* q was typed while nothing could be asked */
    uint64_t until; /* when a pause or a picture ends */
    uint64_t asked; /* when the question came */
    bool done, ended, gone;
    struct error *error; /* set: something failed */
    bool failed;
};

extern const struct key_table study_show_keys;

/* Returns whether the phase takes this key. */
bool study_show_takes(const struct study_show *show, enum action action);

/* Returns whether the terminal is large enough for a picture and the text around it. */
bool study_show_fits(const struct study_show *show);

/* Returns the image that is shown or asked about. */
const struct study_image *study_show_current(const struct study_show *show);
/* Returns how many images are for practice; they come first. */
size_t study_show_practice_count(const struct study *study);

/* Draws the phase with what lies over it; sends the picture if it was not sent yet. */
void study_show_draw(struct study_show *show);

#endif

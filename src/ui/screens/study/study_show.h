/* study_show.h: the state of a session of a perceptual study, and its drawing. */
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
    uint32_t *order; /* the pictures' order, shuffled */
    struct theme theme;
    struct canvas canvas;
    struct text bytes; /* escape sequence of the present picture */
    size_t at;         /* number of pictures answered */
    enum phase phase;
    enum overlay overlay;
    bool stale;     /* the phase must be drawn again */
    bool seen;      /* the picture was sent completely: its time runs */
    bool quit_next; /* q was typed while the picture was shown */
    uint64_t until; /* end of a pause or of a picture (clock_nanoseconds) */
    uint64_t asked; /* time of the question (clock_nanoseconds); 0: not yet */
    bool done;      /* all pictures are answered */
    bool ended;     /* the participant or a signal has ended the session */
    bool gone;      /* the terminal was closed */
    struct error *error;
    bool failed; /* `error` is set */
};

/* The keys of the session. */
extern const struct key_table study_show_keys;

/* Returns whether the phase takes this key. */
bool study_show_takes(const struct study_show *show, enum action action);

/* Returns whether the terminal is large enough for a picture and the text around it. */
bool study_show_fits(const struct study_show *show);

/* Returns the image that is shown or asked about. */
const struct study_image *study_show_current(const struct study_show *show);
/* Returns how many images are for practice; they come first. */
size_t study_show_practice_count(const struct study *study);

/* Draws the phase and its overlay, and sends the picture if the phase shows one. */
void study_show_draw(struct study_show *show);

#endif

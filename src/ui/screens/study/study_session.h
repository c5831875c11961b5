/* study_session.h: the session of a perceptual study in the terminal: one participant sees the
 * pictures and answers, for each one, whether it is real.
 *
 * ncurses draws the text; pictures are sent to the terminal directly (graphics.h). A session that
 * ends early restores the terminal and gives no vote.
 */
#ifndef TINCA_UI_SCREENS_STUDY_STUDY_SESSION_H
#define TINCA_UI_SCREENS_STUDY_STUDY_SESSION_H

#include "base/error.h"
#include "data/images/image.h"
#include "studies/pictures/study.h"
#include "ui/terminal/graphics.h"

#include <stdbool.h>

struct study_display {
    enum graphics graphics;
    struct graphics_facts facts;
};

/* Detects how this terminal can show pictures and fills in `display`: with the best protocol, or
 * with the one of graphics_names called `name` (NULL or "auto": the best). It opens and closes the
 * terminal. Returns false with ERROR_UNSUPPORTED, which says what is missing and which terminals
 * work, or with ERROR_INTERRUPTED. */
bool study_display_detect(struct study_display *display, const char *name, struct error *error);

/* Shows the pictures images[study->count] to `participant` and fills in the vote, whose `answers`
 * has study->count elements. Returns false with ERROR_INTERRUPTED if the participant or a signal
 * ended the session; the vote is then invalid. */
bool study_session_run(const struct study_display *display, const struct study *study,
                       const struct image *images, const char *participant, struct study_vote *vote,
                       struct error *error);

/* The same two functions for the workbench, whose terminal is open already. They use its screen, so
 * the caller must load the theme and draw everything again. A signal stays pending for
 * terminal_wait. */
bool study_display_detect_in_workbench(struct study_display *display, struct error *error);
bool study_session_run_in_workbench(const struct study_display *display, const struct study *study,
                                    const struct image *images, const char *participant,
                                    struct study_vote *vote, struct error *error);

#endif

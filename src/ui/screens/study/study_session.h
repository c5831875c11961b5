/* study_screen.h: a perceptual study in the terminal: one participant sees the pictures and
 * answers.
 *
 * Text is drawn as everywhere; pictures go past ncurses (graphics.h). Whatever ends a session early
 * leaves the terminal as it was and no vote.
 */
#ifndef TINCA_UI_SCREENS_STUDY_STUDY_SESSION_H
#define TINCA_UI_SCREENS_STUDY_STUDY_SESSION_H

#include "base/error.h"
#include "data/images/image.h"
#include "session/study/study.h"
#include "ui/terminal/graphics.h"

#include <stdbool.h>

struct study_display {
    enum graphics graphics;
    struct graphics_facts facts;
};

/* Finds out how this terminal can show pictures: the best way, or the one of graphics_names called
 * `name` (NULL or "auto": the best). The screen is the terminal's own again afterwards. False when
 * it cannot (ERROR_UNSUPPORTED: what is missing and what would do), or was interrupted meanwhile.
 */
bool study_display_detect(struct study_display *display, const char *name, struct error *error);

/* Shows study's pictures, images[study->count], to `participant`, and fills the vote, whose
 * `answers` has study->count places. ERROR_INTERRUPTED: the participant or a signal ended it; the
 * vote is void. */
bool study_session_run(const struct study_display *display, const struct study *study,
                       const struct image *images, const char *participant, struct study_vote *vote,
                       struct error *error);

/* The same two inside a terminal that is open already (the workbench's), whose screen they take
 * over: it is to be drawn afresh afterwards, with its theme loaded anew. A signal stays to be seen
 * by terminal_wait. */
bool study_display_detect_in_workbench(struct study_display *display, struct error *error);
bool study_session_run_in_workbench(const struct study_display *display, const struct study *study,
                                    const struct image *images, const char *participant,
                                    struct study_vote *vote, struct error *error);

#endif

/* technique.h: what the commands share that apply a technique to a saved model: the options that
 * name layers, and how they show the work and end it after a signal. */
#ifndef TINCA_CLI_TECHNIQUE_H
#define TINCA_CLI_TECHNIQUE_H

#include "cli/options.h"

#include "training/compress/fine_tune.h"

#include <stdbool.h>

enum { TECHNIQUE_PATTERNS = 1024 };

/* Joins the patterns of all --keep options with commas. Returns false with an error if they are too
 * many. */
bool technique_join_keep(const struct option_list *keep, char patterns[TECHNIQUE_PATTERNS],
                         struct error *error);

struct technique_display {
    const char *command, *advice; /* of the error after a signal; advice NULL: none */
    bool quiet;                   /* show nothing */
    bool live;                    /* on a terminal, a step replaces the line of the last one */
    char shown[256];              /* the last step */
};

/* Returns a watch that shows the steps and the runs of fine-tuning on standard error. The display
 * must outlive it. */
struct technique_watch technique_display_watch(struct technique_display *display);

/* Erases the line of the last step, if there is one. */
void technique_display_end(struct technique_display *display);

#endif

/* try_dialogs.h: what the screen Try it asks. */
#ifndef TINCA_UI_SCREENS_TRY_TRY_DIALOGS_H
#define TINCA_UI_SCREENS_TRY_TRY_DIALOGS_H

struct app;

void try_ask_file(struct app *app);    /* an image file */
void try_ask_data(struct app *app);    /* a data set whose test images are walked through */
void try_ask_threads(struct app *app); /* how many threads may compute */
void try_ask_go(struct app *app);      /* the number of the image to go to */

#endif

/* try_dialogs.h: the dialogs of the screen Try it. */
#ifndef TINCA_UI_SCREENS_TRY_TRY_DIALOGS_H
#define TINCA_UI_SCREENS_TRY_TRY_DIALOGS_H

struct app;

/* Asks for an image file and shows it. */
void try_ask_file(struct app *app);
/* Asks for a data set and evaluates the model on its test images. */
void try_ask_data(struct app *app);
/* Asks how many threads may compute. */
void try_ask_threads(struct app *app);
/* Asks for the number of an image and shows it. */
void try_ask_go(struct app *app);

#endif

/* exporting.h: the export that is written in the background, whichever screen has started it. */
#ifndef TINCA_UI_APP_EXPORTING_H
#define TINCA_UI_APP_EXPORTING_H

#include <stdbool.h>
#include <stddef.h>

struct app;
struct error;

/* Writes into `path` the path of the file `name` in the folder where exports go. */
void exporting_path(const struct app *app, const char *name, char *path, size_t size);

/* Returns whether an export is being written. */
bool exporting_is_active(const struct app *app);

/* Says how the export has ended, once it has. */
void exporting_poll(struct app *app);

/* Opens the dialog again, so that the name can be corrected, and says what is wrong with it. */
void exporting_reopen_dialog(struct app *app, const struct error *error);

#endif

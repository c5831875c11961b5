/* exporting.h: the export that a background thread writes, whichever screen has started it. */
#ifndef TINCA_UI_APP_EXPORTING_H
#define TINCA_UI_APP_EXPORTING_H

#include <stdbool.h>
#include <stddef.h>

struct app;
struct error;

/* Writes into `path` the path of the file `name` in the export folder, a setting. */
void exporting_path(const struct app *app, const char *name, char *path, size_t size);

/* Returns whether an export is being written. */
bool exporting_is_active(const struct app *app);

/* Shows a message when the export has ended: the file that was written, or why it failed. */
void exporting_poll(struct app *app);

/* Opens the dialog for the file name again and shows `error` in it, so that the user can correct
 * the name. */
void exporting_reopen_dialog(struct app *app, const struct error *error);

#endif

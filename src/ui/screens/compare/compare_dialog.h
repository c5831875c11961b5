/* compare_dialog.h: the dialog that writes a comparison into a file. */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_DIALOG_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_DIALOG_H

struct app;

/* Asks for the name of a Markdown, CSV or JSON file and writes the comparison into it. */
void ask_compare_export(struct app *app);

#endif

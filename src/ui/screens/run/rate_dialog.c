/* The dialog for another learning rate: a number that Up and Down double and halve. */
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "base/text.h"
#include "ui/app/app.h"
#include "ui/app/questions.h"

#include <stdio.h>

static void answer_rate(struct app *app, size_t choice)
{
    double rate;
    (void)choice;
    if (!text_to_double(app->dialog.edit.text, &rate) || rate < 0) {
        snprintf(app->dialog.note, sizeof app->dialog.note,
                 _("This is not a learning rate: give a number such as 0.01."));
        app->dialog.open = true;
    } else if (questions_send_command(app, COMMAND_LEARNING_RATE, rate))
        app_say(app, ROLE_GOOD, "The learning rate is %g from the next iteration on.", rate);
}

static void set_rate(struct dialog *dialog, double rate)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", rate);
    line_edit_begin(&dialog->edit, text, 32, true);
    dialog->note[0] = '\0';
}

static bool rate_key(struct app *app, int key)
{
    double rate;
    if ((key != UI_UP && key != UI_DOWN && key != '+') ||
        !text_to_double(app->dialog.edit.text, &rate))
        return false;
    set_rate(&app->dialog, key == UI_DOWN ? rate / 2 : rate * 2);
    return true;
}

static void clear_note(struct app *app)
{
    app->dialog.note[0] = '\0';
}

void ask_rate(struct app *app, double factor)
{
    const struct run_entry *entry = questions_target_run(app);
    if (!entry) {
        app_say(app, ROLE_WARNING, "No run is on: set the learning rate in the form.");
        return;
    }
    struct dialog *dialog = dialog_begin(app, _("Learning rate"), answer_rate);
    snprintf(
        dialog->text, sizeof dialog->text,
        _("It is %g now. The schedule goes on from the new rate. Up and down double and halve it."),
        entry->snapshot.learning_rate);
    dialog->edit_key = rate_key;
    dialog->edited = clear_note;
    set_rate(dialog, entry->snapshot.learning_rate * factor);
}

/* The keys that mean the same on every screen, and the keys that edit a line of text. */
#include "ui/app/app.h"

#include "base/language.h"

static const struct key_binding everywhere[] = {
    {'?', UI_F1, ACTION_HELP, "? F1", N_("help"), N_("this help")},
    {'q', UI_ESCAPE, ACTION_BACK, "q Esc", N_("back"),
     N_("back; q on the first screen: quit (asks while a run is on)")},
    {UI_F10, 0, ACTION_BACK, "F10", NULL, N_("the same as q, also while a text is typed")},
    {UI_F5, UI_CTRL_R, ACTION_RUN_FORM, "F5 C-r", NULL,
     N_("run what the form says, from every screen, also while a text is typed")},
    {'m', UI_F9, ACTION_MENU, "m F9", N_("menu"),
     N_("everywhere one can go; a letter there goes at once, other characters search")},
    {':', 0, ACTION_COMMANDS, ":", N_("command"),
     N_("all that can be done now: type words of it, Enter does it")},
    {'o', 0, ACTION_RUNS, "o", N_("runs"), N_("the runs, of this session and of earlier ones")},
    {'e', 0, ACTION_EXPORT, "e", N_("export"),
     N_("export the session, this run or the marked ones: JSON, CSV, picture, report; asks")},
    {'c', 0, ACTION_COMPARE, "c", N_("compare"),
     N_("compare runs: the marked ones, or those that the list shows")},
    {UI_CTRL_L, 0, ACTION_REDRAW, "C-l", NULL, N_("draw the screen afresh")},
};
const struct key_table keys_everywhere = {N_("Everywhere"), everywhere,
                                          sizeof everywhere / sizeof *everywhere};

static const struct key_binding editing[] = {
    {UI_ENTER, 0, ACTION_NONE, N_("Enter"), N_("take it"), N_("take the value")},
    {UI_ESCAPE, 0, ACTION_NONE, "Esc", N_("leave it"), N_("leave the value as it was")},
    {UI_TAB, 0, ACTION_NONE, "Tab", N_("complete"),
     N_("complete as far as it is certain, then choose among the candidates; in the form the "
        "arrows choose too, Enter takes one, and Esc closes their list")},
    {UI_CTRL_U, 0, ACTION_NONE, "C-u", N_("clear"),
     N_("clear the line; C-w a word, C-k the rest, C-a and C-e to its ends")},
    {UI_F5, 0, ACTION_NONE, "F5", N_("run"), NULL},
};
const struct key_table keys_editing = {N_("Typing a value (just begin, or Enter)"), editing,
                                       sizeof editing / sizeof *editing};

/* screens.h: the table of all screens, made from ui/app/screens.inc. */
#ifndef TINCA_UI_SCREENS_H
#define TINCA_UI_SCREENS_H

#include "ui/app/screen.h"

extern const struct screen *const screens[SCREEN_COUNT]; /* by enum screen_id */

#endif

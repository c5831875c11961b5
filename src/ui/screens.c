#include "ui/screens.h"

#define SCREEN(identifier, table) extern const struct screen table;
#include "ui/app/screens.inc"
#undef SCREEN

const struct screen *const screens[SCREEN_COUNT] = {
#define SCREEN(identifier, table) [SCREEN_##identifier] = &(table),
#include "ui/app/screens.inc"
#undef SCREEN
};

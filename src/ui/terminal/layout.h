/* layout.h: the rectangles of every screen, computed from the terminal's size.
 *
 * For any size from 1x1 on, every rectangle lies within the terminal, and the rectangles of one
 * screen do not overlap. A part without space gets zero rows or columns and is not drawn.
 */
#ifndef TINCA_UI_TERMINAL_LAYOUT_H
#define TINCA_UI_TERMINAL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

struct rect {
    int row, column, rows, columns;
};

/* Returns whether the rectangle has no cells. */
bool rect_is_empty(struct rect rect);

/* The parts that all screens have. */
struct frame_layout {
    struct rect title;   /* the top line */
    struct rect body;    /* the part that the screen draws itself */
    struct rect message; /* messages and errors: the line above the key hints; on small terminals it
                            replaces them */
    struct rect hints;   /* the bottom line */
};

/* Returns the frame of a terminal of this size. */
struct frame_layout layout_frame(int rows, int columns);

struct form_layout {
    struct rect fields;
    struct rect help;     /* explains the focused field */
    struct rect panel;    /* the forecast of memory and time */
    struct rect summary;  /* the forecast in one line, where the panel does not fit */
    struct rect pictures; /* pictures of the data set, between the two on wide terminals */
    int label_columns;    /* the width of the fields' labels */
};

/* Returns the layout of the configuration form. */
struct form_layout layout_form(struct rect body);

/* One of several parts that stand below each other and share the rows. */
struct layout_part {
    int rank;        /* 0 is the most important; each part has a different rank */
    int least, most; /* the rows it needs and the rows it can use; most 0: not wanted */
    int gap;         /* empty rows above it */
    int given;       /* result of layout_share; 0: the part is left out */
};

/* Distributes `rows` over the parts, in the order of their ranks: first each gets the rows it
 * needs while they last, then the rest is given out. Sets `given`. */
void layout_share(int rows, struct layout_part *parts, size_t count);

/* The densities at which facts about a run are written. */
enum density { DENSITY_TINY, DENSITY_SMALL, DENSITY_NORMAL, DENSITY_PANEL };

struct run_layout {
    struct rect tabs;
    struct rect view; /* the plot, the findings or the memory table */
    struct rect rate; /* a plot of the learning rate below the view */
    struct rect facts;
    struct rect progress; /* one line */
    enum density density;
};

/* Returns the layout of the screen of one run. */
struct run_layout layout_run(struct rect body);

/* A plot with its legend (above), labels of the y axis (left) and x axis (below). */
struct plot_layout {
    struct rect legend, labels, plot, axis;
};

/* Returns the layout of a single plot; `legend`: it has one. */
struct plot_layout layout_plot(struct rect view, bool legend);

enum { LAYOUT_PANELS = 4 };

/* Plots above each other on a common x axis. */
struct panels_layout {
    struct rect readout, axis;                /* readout: the values under the cursor */
    struct plot_layout panels[LAYOUT_PANELS]; /* their `axis` is not used */
    int count;                                /* plots that fit, at least 1 */
};

/* Returns the layout of `count` plots. The first is the largest; plots that do not fit are left
 * out. `readout`: reserve a line for it; `legend_lines`: lines that the first legend would fill. */
struct panels_layout layout_panels(struct rect view, int count, bool readout, int legend_lines);

/* Returns a box in the middle of the screen, of the wished size or as large as fits. */
struct rect layout_dialog(int rows, int columns, int wished_rows, int wished_columns);

#endif

#!/bin/sh
# The loss lab: the arithmetic of Caffe's mean at an iteration, in the workbench.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the loss lab is shown"
case $srcdir in /*) ;; *) srcdir=$PWD/$srcdir ;; esac
cd "$T" || exit 99

succeeds "a run whose mean falls below zero" import "$srcdir/tests/cli/logs/caffe.txt"
screen_start 80x24 C.UTF-8 "$TINCA"
screen_shows 'Set up' "the workbench"
screen_keys m o Enter
screen_shows 'stopped +lenet' "the imported run is listed"
screen_keys Enter
screen_shows 'imported: caffe' "its title names the framework"
screen_shows 'epoch +- of -' "unknown values are marked"
screen_shows '[0-9] +iteration *$' "its x axis is iterations, since its epochs are unknown"
screen_keys 9
screen_shows '9\[Loss lab\]' "9: the loss lab"
screen_shows 'Down: [0-9]+ more lines' "it says that there is more below"
screen_shows 'Iteration 3 of 4, window 1' "at the first negative mean"
screen_shows 'as Caffe prints it +-4.50473e-08 +-0x1\.' "with its bits"
screen_shows 'entering - leaving +-1.82841e-05 +exact' "and each operation"
screen_keys Left
screen_shows 'Iteration 2 of 4' "Left: the previous iteration"
screen_keys Home
screen_shows 'while the window fills' "Home: the first"
screen_keys Left
screen_shows 'Iteration 1 of 4' "and it stops there"
screen_keys End
screen_shows 'Iteration 4 of 4' "End: the last"
screen_keys f
screen_shows 'Iteration 3 of 4' "f: where the mean falls below zero"
screen_keys Down Down Down Down Down Down Down Down Down Down Down Down Down Down Down Down Down
screen_shows 'issue 3029' "Down shows the conclusion"
for size in 40x12 20x6 1x1 200x60; do
    screen_resize $size
    screen_keys Left Right PgUp PgDn Home End Up Down f
done
screen_shows 'below zero, although no loss was' "it works at every size, and a large terminal shows everything"
screen_resize 40x12
screen_keys Up Up Up Up Up Up Up Up Up Up Up Up Up Up Up Up Up
screen_shows '-4.50473e-08 *$' "a narrow terminal cuts labels, not numbers"
screen_keys '?'
screen_shows 'Help|Watching' "help opens"
screen_keys Escape q
screen_resize 80x24
screen_shows 'stopped +lenet' "back in the list"
screen_keys f
screen_shows 'from the log of run' "f: the form has the known settings of the run"
screen_shows 'Training data +digits' "  and defaults for the others"
# a table of losses: what it does not give is not shown
screen_end
printf 'step,loss\n1,2\n2,1.5\n3,1\n' >bare.csv
succeeds "a table of losses" import bare.csv --name bare
screen_start 130x40 C.UTF-8 "$TINCA"
screen_shows 'Set up' "the workbench"
screen_keys m o Enter
screen_shows 'done +unknown' "the table's run is listed"
screen_keys Enter
screen_shows 'imported: csv\) .+ bare' "its title is its name"
screen_shows 'iteration +3 of 3' "with its curve"
screen_lacks '^learning rate' "and no panel of a learning rate"
screen_keys 5
screen_shows 'another program computed' "its layers are not measured"
screen_lacks 'tinca bench' "and no benchmark of an unknown network is proposed"
done_testing

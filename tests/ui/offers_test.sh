#!/bin/sh
# Every key that the screens offer where there is no run does something.
. "${srcdir:-.}/tests/ui/offers.sh"

enter() { go 200x60 t Try; screen_wait 'no run yet whose'; }
press_all Try "Trying a model out" "without a model" w
sweep() { go 200x60 w Sweep --data digits,limit=40 --batch 20 --iterations 2 --threads 1; screen_wait '1 cell'; }
enter() { sweep; screen_keys v; screen_wait 'No sweep is open'; }
press_all Sweep "A sweep" "no sweep is open" "v f e"
enter() { sweep; screen_keys v v; screen_wait 'no sweeps yet'; }
press_all Sweep "A sweep" "no earlier sweep" "v f e"
XDG_STATE_HOME=$T/swept
enter() { sweep; }
press_all Sweep "A sweep" "set up, on a list" "r v e Enter"
enter() { sweep; screen_keys Home; screen_wait '> Study'; }
press_all Sweep "A sweep" "set up, on the study's grid" "r v e f"
enter() { sweep; screen_keys End; screen_wait '> Name'; }
press_all Sweep "A sweep" "set up, on a text" "r v e f Enter"
XDG_STATE_HOME=$T/state
enter() { go 200x60 p Study; screen_wait 'No run of a network'; }
press_all Study "Perceptual studies" "without a run" Enter
enter() { go 80x16 p Study; screen_wait 'No run of a network'; }
press_all Study "Perceptual studies" "in a low terminal" Enter
enter() { go 200x60 a Advisor; screen_wait 'There is no run to read'; }
press_all Advisor "Asking the advisor" "without a run" Enter
enter() { go 200x60 a Advisor; screen_keys Down Down 5 Enter; screen_wait 'ms/image +5'; }
press_all Advisor "Asking the advisor" "on a limit" "Enter Delete Del"
enter() { go 200x60 d Devices; screen_wait 'What tinca can compute on'; }
press_all Devices "The devices" "all visible" ""
enter() { go 80x16 d Devices; screen_wait 'Processor'; }
press_all Devices "The devices" "in a low terminal" ""
enter() { go 200x60 l Log; screen_wait 'no messages yet'; }
press_all Log "The log" "empty" ""
enter() { go 200x60 , Settings; screen_wait Colours; }
press_all Settings "Settings of the workbench" "with the defaults" "Enter Right Left"
rm -rf "$XDG_CONFIG_HOME"
enter
screen_keys Right
screen_wait 'saved'
cp -r "$XDG_CONFIG_HOME" changed
enter() { rm -rf "$XDG_CONFIG_HOME"; cp -r changed "$XDG_CONFIG_HOME"; go 200x60 , Settings; screen_wait Colours; }
press_all Settings "Settings of the workbench" "changed" "d Enter"
rm -rf "$XDG_CONFIG_HOME"
enter() { go 200x60 i Pictures --data digits; screen_wait '1-[0-9]* of'; }
press_all Pictures "Pictures of the training data" "of digits" "v Tab"
enter() { go 200x60 i Pictures --data digits; screen_keys v; screen_wait 'What it takes'; }
press_all Pictures "Pictures of the training data" "what the run takes" "v Tab"
enter() { go 200x60 f Find --data digits,limit=200 --batch 20 --threads 1; screen_wait 'Suggestion|Marked'; }
press_all Find "Finding a learning rate" "of digits" "Enter u"
enter() { go 200x60 f Find --data idx:nowhere; screen_wait 'nowhere'; }
press_all Find "Finding a learning rate" "of a folder that is missing" "u"
enter() { go 200x60 i Pictures --data idx:nowhere; screen_wait 'There are no pictures'; }
press_all Pictures "Pictures of the training data" "of a folder that is missing" "v Tab"
done_testing

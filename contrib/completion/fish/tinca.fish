# Completion of tinca's command line for fish. The program itself knows the answers:
# tinca completion words -- WORD... prints a line for each word that can follow.
#   =WORD<tab>NOTE   a whole word      +WORD<tab>NOTE   one that goes on (a folder, KIND:, KEY=)
#   :files [.END...] also files        :folders         also folders
function __tinca_complete
    set -l given (commandline -opc)
    set -l current (commandline -ct)
    set -l program $given[1]
    command -q -- $program; or set program tinca
    for line in ($program completion words -- $given[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files*'
                set -l ends (string split -n ' ' -- (string replace ':files' '' -- $line))
                set -l before (string match -r -- '^--[^=]*=' $current)
                set -l typed (string replace -r -- '^--[^=]*=' '' $current)
                for path in (complete -C "'' $typed" 2>/dev/null | string replace -r '\t.*' '')
                    if string match -q -- '*/' $path; or test (count $ends) = 0
                        echo "$before$path"
                    else
                        for end in $ends
                            string match -q -- "*$end" $path; and echo "$before$path"
                        end
                    end
                end
            case ':folders'
                set -l before (string match -r -- '^--[^=]*=' $current)
                set -l typed (string replace -r -- '^--[^=]*=' '' $current)
                for path in (complete -C "'' $typed" 2>/dev/null | string replace -r '\t.*' '')
                    string match -q -- '*/' $path; and echo "$before$path"
                end
            case '=*' '+*'
                string sub -s 2 -- $line
        end
    end
end

complete -c tinca -f -a '(__tinca_complete)'

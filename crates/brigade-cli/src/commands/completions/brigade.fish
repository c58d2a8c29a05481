# Completions of brigade for fish: brigade completions fish > ~/.config/fish/completions/brigade.fish
function __brigade_complete
    set -l words (commandline -opc)
    set -l found ($words[1] complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c brigade -f -a '(__brigade_complete)'

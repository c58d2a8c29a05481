#compdef brigade
# Completions of brigade for zsh: brigade completions zsh > a directory in $fpath/_brigade
_brigade() {
    local line
    local -a found described
    found=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in $found; do
        described+=("${${line%%$'\t'*}//:/\\:}:${${line#*$'\t'}#$line}")
    done
    if (( $#described )); then
        _describe -V brigade described
    else
        _files
    fi
}
if [[ $funcstack[1] == _brigade ]]; then
    _brigade "$@"
else
    compdef _brigade brigade
fi

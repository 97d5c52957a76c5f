#compdef mcp-sandbox
# Completion of mcp-sandbox for zsh: mcp-sandbox completion zsh > "${fpath[1]}/_mcp-sandbox"
_mcp_sandbox() {
    local -a all
    all=("${(@f)$("${words[1]}" __complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    all=("${(@)all:#}")
    if (( ${#all} == 0 )); then
        _files
    elif (( ${#all[(r)*\\::*]} )); then
        _describe '' all -S '' # a path comes after SANDBOX:
    else
        _describe '' all
    fi
}
if [ "$funcstack[1]" = "_mcp-sandbox" ]; then
    _mcp_sandbox "$@"
else
    compdef _mcp_sandbox mcp-sandbox
fi

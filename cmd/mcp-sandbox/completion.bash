# Completion of mcp-sandbox for bash: source <(mcp-sandbox completion bash)
_mcp_sandbox() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <("$1" __complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    # A path comes after SANDBOX:, so no blank does. Old versions cannot be told.
    if [ "${#COMPREPLY[@]}" = 1 ] && [ "${COMPREPLY[0]%:}" != "${COMPREPLY[0]}" ]; then
        compopt -o nospace 2>/dev/null
    fi
}
# Where there is nothing to say, files are completed.
complete -o default -F _mcp_sandbox mcp-sandbox

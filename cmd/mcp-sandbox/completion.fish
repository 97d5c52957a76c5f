# Completion of mcp-sandbox for fish: mcp-sandbox completion fish > ~/.config/fish/completions/mcp-sandbox.fish
function __mcp_sandbox_complete
    set -l line (commandline -opc)
    set -l current (commandline -ct)
    set -l all ($line[1] __complete fish $line[2..-1] "$current" 2>/dev/null)
    if test (count $all) -gt 0
        printf '%s\n' $all
    else
        __fish_complete_path "$current"
    end
end
complete -c mcp-sandbox -f -a '(__mcp_sandbox_complete)'

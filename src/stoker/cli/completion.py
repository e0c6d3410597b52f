"""Print what makes a shell complete commands, options, their choices, and kinds.

  source <(stoker completion bash)                                    for this bash
  stoker completion bash > /etc/bash_completion.d/stoker              for every bash
  stoker completion zsh > ~/.zsh/completions/_stoker                  a folder of your fpath
  stoker completion fish > ~/.config/fish/completions/stoker.fish

It is made of the commands' own options, and needs nothing but the shell. Nothing is asked of a
cluster: names of objects and namespaces are not completed.

Exit status: 0 if it was printed, 2 if the command was not understood.
"""

import argparse
from typing import Final

_SHELLS: Final = ("bash", "zsh", "fish")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker completion`."""
    parser.add_argument("shell", choices=_SHELLS, help="for which shell")


def run(options: argparse.Namespace) -> int:
    """Print the script; return the exit status."""
    from stoker.cli.outline import outline
    from stoker.cli.shells import script

    print(script(options.shell, outline()), end="")
    return 0

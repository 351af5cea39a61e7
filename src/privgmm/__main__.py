"""``python -m privgmm`` is the ``privgmm`` command."""

from privgmm.cli import main

if __name__ == "__main__":
    main()

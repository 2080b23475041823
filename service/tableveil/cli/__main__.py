"""`python -m tableveil.cli`."""

from tableveil.cli.main import main

if __name__ == "__main__":
    main()

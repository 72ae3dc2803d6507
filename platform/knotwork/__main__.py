"""`python -m knotwork`: the command line."""

from knotwork.cli.main import run

if __name__ == "__main__":
    run()

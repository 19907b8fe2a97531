"""`antiphon`, and `python -m antiphon`."""

from antiphon.cli import app


def main() -> None:
    """Runs the command line."""
    app(prog_name="antiphon")


if __name__ == "__main__":
    main()

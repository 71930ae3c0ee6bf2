"""`python -m apportion`."""

from apportion.cli import main

if __name__ == "__main__":
    main()
